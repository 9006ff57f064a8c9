"""``autodiff map`` as a process: pipes that stay open, readers that stop, signals at any moment."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.processes import LIMIT, completed, started, unfinished, until

MAP = [sys.executable, "-m", "autodiff_cli", "map"]
WIDE = b"1.5".ljust(99, b"0") + b"\n"
"""A row that fills a piece of text with little to compute."""
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("AUTODIFF_FORMAT", "PYTHONUNBUFFERED")}


def test_a_row_comes_out_when_it_comes_in() -> None:
    with started(
        [*MAP, "x**2", "--unbuffered"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=ENVIRONMENT
    ) as process:
        process.stdin.write("x,name\n")
        assert process.stdout.readline() == "x,name,value,d_x\n"
        process.stdin.write("3,a\n")
        assert process.stdout.readline() == "3,a,9.0,6.0\n"
        process.stdin.write('4,"b\nc"\n5,d\n')
        assert [process.stdout.readline() for _ in range(3)] == ['4,"b\n', 'c",16.0,8.0\n', "5,d,25.0,10.0\n"]
        process.stdin.close()
        assert process.wait(LIMIT) == 0


def test_the_reader_went_away() -> None:
    command = f"yes 1.5 | {' '.join(MAP)} 'x**2' --columns x | head -n 2; exit ${{PIPESTATUS[1]}}"
    done = completed(["bash", "-c", command], env=ENVIRONMENT)
    assert (done.stdout, done.stderr, done.returncode) == ("x,value,d_x\n1.5,2.25,3.0\n", "", 141)


def test_pyarrow_that_cannot_be_imported(tmp_path: Path) -> None:
    """Several threads try to, and it takes a while until each of them knows."""
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow" / "__init__.py").write_text("import time; time.sleep(0.1); raise ImportError('no library')")
    rows = "".join(f"{i}.5\n" for i in range(150_000))
    for part in range(2):
        (tmp_path / f"{part}.csv").write_text("x\n" + rows)
    script = (
        "from autodiff_cli.data.readers import lines; from autodiff_cli.cli.main import main; lines.CHUNK = 1 << 19; exit(main())"
    )
    path = os.pathsep.join([str(tmp_path), os.getcwd(), ENVIRONMENT.get("PYTHONPATH", "")])
    done = completed(
        [sys.executable, "-c", script, "map", "2*x", "0.csv", "1.csv", "--no-keep", "-q", "--threads", "4"],
        cwd=tmp_path,
        env={**ENVIRONMENT, "PYTHONPATH": path},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"{2 * i + 1}.0,2.0" for i in range(150_000)] * 2


def test_standard_output_that_is_the_input(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text("x\n1\n")
    command = f"{' '.join(MAP)} x {file} >> {file}"
    done = completed(["bash", "-c", command], env=ENVIRONMENT)
    assert done.returncode == 2
    assert "standard output is both the input and the output" in done.stderr
    assert file.read_text() == "x\n1\n"


@pytest.mark.exhaustive
def test_a_full_disk_and_a_closed_stream(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text("x\n" + "1\n" * 100_000)
    for redirection, message in (("> /dev/full", "No space left on device"), (">&-", "standard output is closed")):
        command = f"{' '.join(MAP)} x {file} {redirection}"
        done = completed(["bash", "-c", command], env=ENVIRONMENT)
        assert (done.returncode, done.stderr.count("\n")) == (5, 1)
        assert message in done.stderr
    closed = completed(["bash", "-c", f"{' '.join(MAP)} x <&-"], env=ENVIRONMENT)
    assert (closed.returncode, closed.stderr) == (5, "error: cannot read standard input: it is closed\n")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("style", "name", "pieces"),
    [
        *(("csv", name, 3) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGKILL")),
        *((style, name, 3) for style in ("npz", "parquet") for name in ("SIGTERM", "SIGKILL")),
        ("csv", "SIGTERM", 0),
    ],
)
def test_a_process_that_is_ended_leaves_no_half_file(style: str, name: str, pieces: int, tmp_path: Path) -> None:
    number = signal.Signals[name]
    target = tmp_path / f"out.{style}"
    target.write_bytes(b"what was there")
    with started([*MAP, "x**2", "--columns", "x", "-o", target], stdin=subprocess.PIPE, env=ENVIRONMENT) as process:
        written = 0

        def feed() -> None:
            nonlocal written
            with contextlib.suppress(BrokenPipeError):
                while True:
                    process.stdin.write(WIDE * 10_000)  # 1 MB
                    written += 1

        feeder = threading.Thread(target=feed)
        feeder.start()
        until(lambda: written > 4 * pieces and any(unfinished(process)))
        process.send_signal(number)
        process.wait(LIMIT)
        feeder.join(LIMIT)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    assert target.read_bytes() == b"what was there"
    left = sorted(set(os.listdir(tmp_path)) - {target.name})
    if number == signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert process.returncode == 128 + number
    assert left == []


def test_the_bar(tmp_path: Path) -> None:
    """In a terminal and after two seconds only, and gone at the end."""
    import pty

    leader, follower = pty.openpty()
    script = (
        "from types import SimpleNamespace; from autodiff_cli.report import progress\n"
        "seconds = iter([0.0, 1.9, 2.1]); progress.time = SimpleNamespace(monotonic=lambda: next(seconds))\n"
        "with progress.progress() as tick:\n"
        "    tick(10, 0.1); tick(123456, 0.5)"
    )
    with started([sys.executable, "-c", script], stderr=follower, env={**ENVIRONMENT, "TERM": "xterm"}) as process:
        os.close(follower)
        shown = b""
        try:
            while piece := os.read(leader, 4096):
                shown += piece
        except OSError:
            pass
        assert process.wait(LIMIT) == 0
    os.close(leader)
    assert b"10 rows" not in shown
    assert b"123,456 rows" in shown
    assert b"left" in shown
    assert "\u2578" in shown.decode() or "\u257a" in shown.decode()  # the end of the part that is done
    done = completed([sys.executable, "-c", script], env=ENVIRONMENT)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
