"""``map`` into a folder of files, runs that are interrupted and continued, and killed runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autodiff_cli.cli.cluster_options import Cluster
from autodiff_cli.compiler.threads import processors
from autodiff_cli.data.parts import coordinator, job
from autodiff_cli.data.row_blocks import Input
from autodiff_cli.errors import ClusterError
from tests.mapping import Done, refused, run_map, well
from tests.processes import LIMIT, completed, started, unfinished, until

pytestmark = pytest.mark.usefixtures("elsewhere")

MAP = [sys.executable, "-m", "autodiff_cli", "map"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "OMP_NUM_THREADS": "1"}
SLOW = "inv([[x, 1], [1, y]]).sum()"
"""An expression whose rows are computed one by one."""
STATE = ".part-.csv.unfinished"


def save(rows: int = 60, name: str = "d.csv") -> str:
    Path(name).write_text("x,y\n" + "".join(f"{2 + i / 7},{3 + i / 3}\n" for i in range(rows)))
    return name


def parts(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir()) if path.is_file()}


def interrupted(monkeypatch: pytest.MonkeyPatch, *arguments: Any, after: int = 2) -> Done:
    """A run that loses its workers after some parts."""
    with monkeypatch.context() as patch:
        calls: list[str] = []

        def work(text: str, partition: Input, path: str) -> job.Part:
            calls.append(path)
            if len(calls) > after:
                raise ClusterError("the workers are lost")
            return job.work(text, partition, path)

        patch.setattr(coordinator, "work", work)
        done = run_map(*arguments)
    assert (done.code, "the workers are lost\n  hint: continue the run with --resume" in done.err) == (5, True)
    return done


SMALL = ("--partition-bytes", 252, "--threads", 1)


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet", "npy", "csv.gz"])
def test_a_file_for_each_part(form: str) -> None:
    files = [save(60, "a.csv"), save(3, "b.csv")]
    well(run_map("x*y", *files, "-o", f"out/*.{form}", "--partition-bytes", 252))
    names = sorted(os.listdir("out"))
    assert names[0] == f"00000.{form}"
    assert len(names) > 5
    whole = well(run_map("x*y", *files)).text
    again = ("v = x; v,", "--keep-columns", "x,y,value,d_x,d_y", "--format", "csv")
    rows = [line for name in names for line in well(run_map(*again, f"out/{name}")).text.splitlines()[1:]]
    assert [line.rsplit(",", 2)[0] for line in rows] == whole.splitlines()[1:]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_continued_run_is_an_uninterrupted_run(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    path = save()
    with open(path, "a") as file:
        file.write("oops,1\n" + "1,2\n" * 9)
    arguments = ("log(x - 3)*y", path, "--on-error", "nan", "--partition-bytes", 252, "--threads", threads)
    right = run_map(*arguments, "-o", "right/")
    assert (right.code, right.err.count("note: ")) == (0, 2)
    interrupted(monkeypatch, *arguments, "-o", "out/")
    before = {name: os.stat(f"out/{name}").st_mtime_ns for name in parts("out")}
    assert 0 < len(before) < len(parts("right"))
    done = run_map(*arguments, "-o", "out/", "--resume")
    assert (done.code, done.err) == (right.code, right.err)
    assert parts("out") == parts("right")
    assert sorted(os.listdir("out")) == sorted(os.listdir("right"))
    assert {name: os.stat(f"out/{name}").st_mtime_ns for name in before} == before


def test_a_first_run_may_say_resume_and_a_finished_one_is_finished() -> None:
    path = save()
    well(run_map("x", path, "-o", "out/", "--resume", *SMALL))
    before = parts("out")
    refused(5, "has no unfinished run, but files, such as 'part-00000.csv'", "x", path, "-o", "out/", "--resume", *SMALL)
    assert parts("out") == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("x**2", "d.csv"), "the expression has changed"),
        (("x*a", "e.csv"), "the list of input files has changed"),
        (("x*a", "d.csv", "e.csv"), "the list of input files has changed"),
        (("x*a", "d.csv", "--at", "b=3"), "--at has changed"),
        (("x*a", "d.csv", "--where", "x > 1"), "--where has changed"),
        (("x*a", "d.csv", "--no-keep"), "--no-keep has changed"),
        (("x*a", "d.csv", "-q"), "has changed"),
        (("x*a", "d.csv", "--partition-bytes", 300), "--partition-bytes has changed"),
    ],
)
def test_another_run_is_not_continued(monkeypatch: pytest.MonkeyPatch, change: tuple[Any, ...], message: str) -> None:
    save()
    save(5, "e.csv")
    same = ("--at", "a=2", "-o", "out/", *SMALL)
    interrupted(monkeypatch, "x*a", "d.csv", *same)
    before = parts("out")
    done = run_map(*change[:2], *same, *change[2:], "--resume")
    assert (done.code, done.out, message in done.err) == (5, b"", True)
    assert "hint: repeat the command of this run with the same input files, or write to another folder" in done.err
    assert parts("out") == before
    well(run_map("x*a", os.path.abspath("d.csv"), *same, "--resume"))


def test_all_processors_are_used_unless_their_number_is_given() -> None:
    def workers(engine: str, threads: int | None) -> int:
        settings = Cluster(engine, threads, None, False).settings("out/", False)
        assert settings is not None
        return settings.workers

    count = processors()
    for engine in ("local", "dask"):
        assert (workers(engine, None), workers(engine, count + 1)) == (count, count + 1)


def test_rows_with_and_without_a_header_are_not_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    same = ("x", save(), "-o", "out/", *SMALL)
    interrupted(monkeypatch, *same, "--no-keep")
    assert "the format or the header of the output has changed" in run_map(*same, "-q", "--resume").err
    well(run_map(*same, "--no-keep", "--resume"))


def test_a_changed_input_and_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    path = save()
    interrupted(monkeypatch, "x", path, "-o", "out/", *SMALL)
    with monkeypatch.context() as patch:
        patch.setattr(job, "__version__", "9.9")
        assert "the version of autodiff has changed" in run_map("x", path, "-o", "out/", *SMALL, "--resume").err
    os.utime(path, ns=(0, 0))
    refused(5, "d.csv' has changed", "x", path, "-o", "out/", *SMALL, "--resume")
    os.unlink(path)
    assert "cannot read 'd.csv'" in run_map("x", path, "-o", "out/", *SMALL, "--resume").err
    assert os.path.exists(f"out/{STATE}")


def test_an_unfinished_run_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    path = save()
    interrupted(monkeypatch, "x", path, "-o", "out/", *SMALL)
    before = parts("out")
    done = run_map("x", path, "-o", "out/", *SMALL)
    assert (done.code, parts("out")) == (5, before)
    assert "'out/' contains the files of an unfinished run\n  hint: use --resume to continue it, or remove" in done.err
    well(run_map("y", path, "-o", "out/*.ndjson", *SMALL))  # other names


def test_a_missing_file_is_noticed_before_the_first_part() -> None:
    done = run_map("x", save(), "none.csv", "-o", "out/")
    assert (done.code, done.err) == (5, "error: cannot read 'none.csv': No such file or directory\n")
    assert os.listdir() == ["d.csv"]


def test_columns_without_a_header_and_formats_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("d.csv").write_text("".join(f"{i},{i * i}\n" for i in range(60)))
    same = ("x", "d.csv", "-o", "out/", *SMALL, "--partition-bytes", 60)
    interrupted(monkeypatch, *same, "--columns", "x,y")
    assert "--columns has changed" in run_map(*same, "--columns", "y,x", "--resume").err
    assert "--input-format has changed" in run_map(*same, "--columns", "x,y", "--delimiter", ";", "--resume").err
    well(run_map(*same, "--columns", "x,y", "--resume"))


def test_a_part_that_was_removed_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    path = save()
    well(run_map("x", path, "-o", "right/", *SMALL))
    interrupted(monkeypatch, "x", path, "-o", "out/", *SMALL)
    os.unlink("out/part-00000.csv")
    well(run_map("x", path, "-o", "out/", *SMALL, "--resume"))
    assert parts("out") == parts("right")


@pytest.mark.parametrize("before", ["nothing", "a folder", "an interrupted run"])
def test_a_bad_row_leaves_no_part(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    path = save()
    with open(path, "a") as file:
        file.write("oops,1\n")
    if before == "an interrupted run":
        interrupted(monkeypatch, "x", path, "-o", "out/", *SMALL)
    elif before == "a folder":
        os.mkdir("out")
        Path("out/notes.csv").touch()
    done = run_map("x", path, "-o", "out/", *SMALL, *(("--resume",) if before == "an interrupted run" else ()))
    assert (done.code, "line 62: column 'x' contains 'oops'" in done.err) == (5, True)
    assert "--resume" not in done.err
    assert (os.listdir("out") if os.path.exists("out") else None) == {"nothing": None, "a folder": ["notes.csv"]}.get(before, [])


def test_a_full_disk_can_be_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    path = save()
    well(run_map("x", path, "-o", "right/", *SMALL))
    with monkeypatch.context() as patch:
        replaced = os.replace

        def full(old: str, new: str) -> None:
            if new.endswith("part-00002.csv"):
                raise OSError(28, "No space left on device")
            replaced(old, new)

        patch.setattr(os, "replace", full)
        done = run_map("x", path, "-o", "out/", *SMALL)
    assert (done.code, "part-00002.csv': No space left on device\n  hint: continue the run with --resume" in done.err) == (5, True)
    well(run_map("x", path, "-o", "out/", *SMALL, "--resume"))
    assert parts("out") == parts("right")


def test_a_record_of_another_job_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of a run that was given up may write its record after the folder was removed."""
    path = save()
    well(run_map("x**2", path, "-o", "right/", *SMALL))
    interrupted(monkeypatch, "x", path, "-o", "out/", *SMALL)
    late = {name: Path(f"out/{STATE}/{name}").read_bytes() for name in os.listdir(f"out/{STATE}") if name.endswith(".done")}
    completed(["rm", "-r", "out"])

    def work(text: str, partition: Input, path: str) -> job.Part:
        for name, data in late.items():
            Path(f"out/{STATE}", name).write_bytes(data)
            Path("out", name[:14]).write_text("late")
        late.clear()
        return job.work(text, partition, path)

    assert len(late) == 2
    monkeypatch.setattr(coordinator, "work", work)
    well(run_map("x**2", path, "-o", "out/", *SMALL))
    assert parts("out") == parts("right")


def test_given_arrays_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    path = save()
    arguments = ("x*a + sum(w)", path, "--at", "a=0.1", "--const", "w=[[1, 2], [nan, inf]]", *SMALL)
    well_but_odd = run_map(*arguments, "-o", "right/")
    interrupted(monkeypatch, *arguments, "-o", "out/")
    assert run_map(*arguments, "-o", "out/", "--resume").err == well_but_odd.err
    assert parts("out") == parts("right")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("d.csv", "--resume"), "--resume continues an output of many files"),
        (("d.csv", "-o", "o.csv", "--resume"), "--resume continues an output of many files"),
        (("-", "-o", "out/"), "reads files, but standard input is not a file"),
        (("d.csv", "-o", "out/", "--unbuffered"), "--unbuffered is for a stream, but -o FOLDER reads files"),
        (("d.csv", "-o", "out/", "--sum"), "is a folder, but a sum is one table"),
        (("d.csv", "-o", "out/", "--format", "table"), "cannot write the format table"),
    ],
)
def test_what_it_refuses(arguments: tuple[str, ...], message: str) -> None:
    save(3)
    done = run_map("x", *arguments, stdin=b"x\n1\n")
    assert (done.code, message in done.err, os.listdir()) == (2, True, ["d.csv"])


# Killed runs


def run_of(*arguments: str) -> AbstractContextManager[subprocess.Popen[str]]:
    command = [*MAP, SLOW, "d.csv", *arguments]
    return started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("engine", "name"),
    [("local", "SIGKILL"), ("local", "SIGINT"), pytest.param("dask", "SIGKILL", marks=pytest.mark.extras), ("local", "SIGTERM")],
)
def test_a_killed_run_is_continued(engine: str, name: str) -> None:
    save(2000)
    arguments = ("--partition-bytes", "1800", "--engine", engine, *(("--threads", "2") if engine == "dask" else ()))
    assert run_map(SLOW, "d.csv", "--partition-bytes", 1_800, "-o", "right/").code == 0
    with run_of("-o", "out/", *arguments) as process:
        until(lambda: os.path.exists("out/part-00003.csv") or process.poll() is not None)
        os.kill(process.pid, getattr(signal, name))
        process.communicate(timeout=LIMIT)
    assert process.returncode == (-9 if name == "SIGKILL" else 128 + getattr(signal, name))
    there = parts("out")
    assert 0 < len([part for part in there if not part.startswith(".")]) < len(parts("right"))
    done = completed([*MAP, SLOW, "d.csv", "-o", "out/", *arguments, "--resume"], env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert parts("out") == parts("right")
    assert sorted(os.listdir("out")) == sorted(parts("right"))


@pytest.mark.exhaustive
def test_two_runs_do_not_write_to_one_folder() -> None:
    save(2000)
    with run_of("-o", "out/", "--partition-bytes", "1800") as process:
        until(lambda: os.path.exists("out/part-00001.csv") or process.poll() is not None)
        for more in ((), ("--resume",)):
            refused(5, "another run is writing to 'out/'", SLOW, "d.csv", "-o", "out/", "--partition-bytes", 1_800, *more)
        assert process.wait(LIMIT) == 0
    assert len(os.listdir("out")) == len(parts("out")) > 30


@pytest.fixture
def writing() -> Iterator[subprocess.Popen[str]]:
    """A run that writes to ``o.csv`` until it is ended."""
    save(3)
    with started([*MAP, "x", "--unbuffered", "-o", "o.csv"], stdin=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        process.stdin.write("x\n1\n")
        process.stdin.flush()
        until(lambda: any(unfinished(process)))
        yield process


def test_a_killed_run_leaves_nothing(writing: subprocess.Popen[str]) -> None:
    writing.kill()
    writing.wait(LIMIT)
    assert os.listdir() == ["d.csv"]


def test_a_file_system_without_nameless_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    save(3)
    well(run_map("x", "d.csv", "-o", "o.csv"))
    with open("d.csv", "a") as file:
        file.write("oops,1\n")
    before = Path("o.csv").read_bytes()
    assert run_map("x", "d.csv", "-o", "o.csv").code == 5
    assert (sorted(os.listdir()), Path("o.csv").read_bytes()) == (["d.csv", "o.csv"], before)


def test_a_run_that_goes_on_is_left_alone(writing: subprocess.Popen[str]) -> None:
    well(run_map("x", "d.csv", "-o", "o.csv"))
    writing.stdin.close()
    assert writing.wait(LIMIT) == 0
    assert np.loadtxt("o.csv", delimiter=",", skiprows=1).tolist() == [1.0, 1.0, 1.0]
    assert sorted(os.listdir()) == ["d.csv", "o.csv"]
