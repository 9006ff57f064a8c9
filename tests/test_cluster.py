"""``map --engine dask`` without Dask: partitions, parts and their order, on a simulated cluster that runs tasks in reverse."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autodiff_cli.data.inputs import named, reader
from autodiff_cli.data.parts import coordinator, job, scheduler
from autodiff_cli.data.parts.partitions import BYTES, split
from autodiff_cli.data.row_blocks import Input, OutputStyle, ReadRequest
from autodiff_cli.data.writers.arrow import ArrowWriter
from autodiff_cli.errors import AutodiffError, ClusterError, DataError, MissingPackage, MissingValue, NotPrecise, setting
from autodiff_cli.formats import FORMATS
from tests.mapping import refused, run_map, well

EXPRESSION = "sin(x)*exp(-y**2)"
STYLES = ["csv", "tsv", "ndjson", "npy", "npz", "parquet", "arrow", "feather"]
ARROW = ("parquet", "arrow", "feather")
SMALL = ("--engine", "dask", "--partition-bytes", 300)


def backwards(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """The results of a cluster that is this process, and has the last result first."""
    results = [_result(function, *one) for one in reversed(arguments)]
    for result in reversed(results):
        if isinstance(result, AutodiffError):
            raise result
        yield result


def _result(function: Callable[..., Any], *arguments: Any) -> Any:
    """What comes back from another process: the result or the error."""
    try:
        return pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(arguments)))))
    except AutodiffError as error:
        return pickle.loads(pickle.dumps(error))


@contextmanager
def here(*_: Any) -> Iterator[Any]:
    yield backwards


@pytest.fixture(autouse=True)
def _no_dask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AUTODIFF_FORMAT", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(scheduler, "connected", here)


def save(style: str, name: str, rows: int, seed: int = 0) -> str:
    """A file of numbers and, where the format has a place for it, text."""
    path = f"{name}.{style}"
    numbers = np.random.default_rng(seed)
    columns: dict[str, Any] = {"id": np.arange(rows), "x": numbers.uniform(-3, 3, rows), "y": numbers.normal(size=rows)}
    words = [("plain", 'say "a, b"', "", "\N{SNOWMAN}")[i % 4] for i in range(rows)]
    if style == "npy":
        table = np.empty(rows, [(key, array.dtype) for key, array in columns.items()])
        for key, array in columns.items():
            table[key] = array
        np.save(path, table)
    elif style == "npz":
        np.savez(path, **columns)
    elif style == "ndjson":
        lists = {**{key: array.tolist() for key, array in columns.items()}, "word": words}
        lines = [json.dumps(dict(zip(lists, row, strict=True))) for row in zip(*lists.values(), strict=True)]
        Path(path).write_text("\n".join(lines) + "\n")
    elif style in ARROW:
        import pyarrow as pa

        table = pa.table({**columns, "word": words})
        if style == "parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, path, row_group_size=5)
        else:
            with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as out:
                out.write_table(table)
    else:
        sign = {"csv": ",", "tsv": "\t"}[style]
        quoted = ['"' + word.replace('"', '""') + '"' if '"' in word else word for word in words]
        lists = [*(map(repr, array.tolist()) for array in columns.values()), quoted]
        lines = [sign.join((*columns, "word")), *map(sign.join, zip(*lists, strict=True))]
        Path(path).write_text("\n".join(lines) + "\n")
    return path


def content(path: str) -> Any:
    """A file as bytes, or what it holds if two files of the same may differ."""
    style = path.rpartition(".")[2]
    if style == "parquet":
        import pyarrow.parquet

        return pyarrow.parquet.read_table(path)
    if style in ARROW:
        import pyarrow as pa

        return pa.ipc.open_file(path).read_all()
    if style == "npz":
        with np.load(path) as arrays:
            return {name: (array.dtype, array.tobytes()) for name, array in arrays.items()}
    return Path(path).read_bytes()


def left_behind() -> list[str]:
    return [name for name in os.listdir() if name.startswith(".")]


# The same answer


WRITTEN = [*STYLES, "json"]
PAIRS = [(read, WRITTEN[(i + k) % len(WRITTEN)]) for i, read in enumerate(STYLES) for k in (0, 1, 3, 6)]
"""Each format that is read with four that are written, its own among them; each that is written comes three times or more."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("read", "written"), PAIRS)
def test_the_same_as_on_one_machine(read: str, written: str) -> None:
    files = [save(read, name, rows, seed) for seed, (name, rows) in enumerate([("a", 40), ("b", 3), ("c", 21)])]
    switches = ["--order", 2] if written not in ("npy", "npz") or read in ("npy", "npz") else ["--no-keep"]
    assert run_map(EXPRESSION, *files, "-o", f"local.{written}", *switches).code == 0
    well(run_map(EXPRESSION, *files, "-o", f"spread.{written}", *switches, *SMALL))
    assert content(f"spread.{written}") == content(f"local.{written}")
    assert left_behind() == []


@pytest.mark.parametrize(
    "switches",
    [
        ("--no-keep",),
        ("-q",),
        ("--let", "y=id"),
        ("--at", "y=2"),
        ("--dtype", "float32"),
        ("--where", "x > y"),
        ("--keep-columns", "word,y"),
    ],
)
def test_the_same_with_switches(switches: tuple[str, ...]) -> None:
    files = [save("csv", name, 50) for name in "ab"]
    expression = "x**2 + x*z" if "--at" in switches else EXPRESSION
    switches = ("--at", "z=2.5", "--const", "w=[1, 2]", "--no-keep") if "--at" in switches else switches
    expression = "x**2*z + sum(w)" if "--at" in switches else EXPRESSION
    local = run_map(expression, *files, *switches)
    assert local.code == 0
    assert well(run_map(expression, *files, *switches, *SMALL)).out == local.out


def test_columns_of_files_without_names() -> None:
    Path("d.csv").write_text("".join(f"{i},{i / 7}\n" for i in range(60)))
    np.save("d.npy", np.arange(120.0).reshape(60, 2))
    np.save("f.npy", np.asfortranarray(np.arange(120.0).reshape(60, 2)))
    for path in ("d.csv", "d.npy", "f.npy"):
        local = run_map("x*y", path, "--columns", "x,y")
        assert local.code == 0
        assert well(run_map("x*y", path, "--columns", "x,y", *SMALL)).out == local.out


def test_types_are_those_of_the_first_rows_of_all() -> None:
    rows = [{"x": 1.0, "n": None, "m": 0.5}] * 8 + [{"x": 2.0, "n": None, "m": 1}] * 20
    Path("d.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run_map("x", "d.ndjson", "-o", "local.parquet").code == 0
    well(run_map("x", "d.ndjson", "-o", "spread.parquet", *SMALL))
    assert content("spread.parquet").schema == content("local.parquet").schema
    assert content("spread.parquet") == content("local.parquet")


def test_empty_files() -> None:
    Path("e.csv").write_text("x\n")
    for more in ((), ("e.csv",)):
        assert well(run_map("x", "e.csv", *more, *SMALL)).text == "x,value,d_x\n"


# Partitions


def rows_and_lines(parts: Sequence[Input]) -> tuple[list[Any], list[int]]:
    rows, lines = [], []
    for part in parts:
        source = reader(part)
        for piece in source.pieces():
            block = source.block(piece, ReadRequest(copies=source.columns, text=True))
            columns = [list(map(str, block.columns[name])) for name in source.columns]
            rows += list(zip(*columns, strict=True))
            lines += block.lines
        source.close()
    return rows, lines


def planned(path: str, most: int) -> list[Input]:
    return split(named([path])[0], most)


CELLS = st.sampled_from(["1", "\ufeff1", "-2.5e3", "", "two words", '"a, b"', '"say ""hi"""', '"two\nlines"', 'five" pipe', '""'])


@given(
    rows=st.lists(st.tuples(CELLS, CELLS), max_size=30),
    step=st.integers(1, 60),
    end=st.sampled_from(["\n", "\r\n"]),
    blank=st.integers(0, 3),
    closed=st.booleans(),
)
@example(rows=[("\ufeff1", "2")] * 20, step=8, end="\n", blank=0, closed=True)
@example(rows=[('"a\n,b"', '""')] * 20, step=3, end="\n", blank=0, closed=True)
def test_text_is_cut_between_rows(rows: list[tuple[str, str]], step: int, end: str, blank: int, closed: bool) -> None:
    lines = ["x,y", *(",".join(row) for row in rows)]
    text = end * blank + (end * (1 + blank)).join(lines) + (end if closed else "")
    Path("t.csv").write_bytes(b"\xef\xbb\xbf" * (step % 2) + text.encode())
    try:
        whole = rows_and_lines(named(["t.csv"]))
    except AutodiffError as error:
        with pytest.raises(type(error), match=r"'t\.csv'"):
            rows_and_lines(planned("t.csv", step))
        return
    assert rows_and_lines(planned("t.csv", step)) == whole


@pytest.mark.parametrize("style", STYLES)
def test_every_row_is_in_one_partition(style: str) -> None:
    path = save(style, "d", 83)
    whole = rows_and_lines(named([path]))
    assert len(whole[0]) == 83
    divisible = style in ("csv", "tsv", "ndjson", "npy", "parquet")
    for most in (1, 300, 1_000, 100_000):
        parts = planned(path, most)
        assert rows_and_lines(parts) == whole
        assert (len(parts) > 1) == (divisible and most < 100_000)
    assert planned(path, BYTES) == [Input(path, style, size=os.path.getsize(path))]


def test_cells_with_newlines_are_not_cut() -> None:
    Path("n.csv").write_text('x,y\n1,"a\nb"\n2,c\n')
    assert len(planned("n.csv", 4)) == 1
    Path("q.csv").write_text('x,y\n1,"a,b"\n2,c\n')
    assert len(planned("q.csv", 4)) > 1


# A folder of files


@pytest.mark.parametrize("target", ["out/", "out/*.ndjson", "there/*.csv", "there/"])
def test_a_file_for_each_partition(target: str) -> None:
    os.mkdir("there")
    files = [save("csv", name, 30, seed) for seed, name in enumerate("ab")]
    well(run_map(EXPRESSION, *files, "-o", target, *SMALL))
    folder = target.partition("/")[0]
    names = sorted(os.listdir(folder))
    assert len(names) > 4
    assert names[0] == ("part-00000.csv" if target.endswith("/") else target.partition("/")[2].replace("*", "00000"))
    style = names[0].rpartition(".")[2]
    local = run_map(EXPRESSION, *files, "--format", style).out
    parts = [Path(folder, name).read_bytes() for name in names]
    header = len(local) - len(local.partition(b"\n")[2]) if style == "csv" else 0
    assert local[:header] + b"".join(part[header:] for part in parts) == local
    assert left_behind() == []


def test_a_folder_of_parquet_has_one_schema() -> None:
    import pyarrow.parquet

    rows = [{"x": 1.0, "n": 1.5}] * 8 + [{"x": 2.0, "n": 1}] * 20
    Path("d.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    well(run_map("x", "d.ndjson", "-o", "out/*.parquet", *SMALL, "--partition-bytes", 150))
    schemas = [pyarrow.parquet.read_schema(path) for path in Path("out").iterdir()]
    assert len(schemas) > 2
    assert all(schema == schemas[0] for schema in schemas)
    assert pyarrow.parquet.read_table("out").num_rows == len(rows)


def test_files_of_an_earlier_run_stay() -> None:
    path = save("csv", "d", 30)
    os.mkdir("out")
    Path("out/part-00099.csv").write_text("old")
    refused(5, "already has files, such as 'part-00099.csv'", "x", path, "-o", "out/", *SMALL)
    assert os.listdir("out") == ["part-00099.csv"]


@pytest.mark.parametrize("target", ["out/", "there/*.csv", "o.csv"])
def test_after_an_error_there_is_nothing(target: str) -> None:
    os.mkdir("there")
    path = save("csv", "d", 30)
    with open(path, "a") as file:
        file.write("30,oops,1,\n")
    refused(5, "line 32: column 'x' contains 'oops', which is not a number", "x", path, "-o", target, *SMALL)
    assert sorted(os.listdir()) == ["d.csv", "there"]
    assert os.listdir("there") == []


# Errors


@pytest.mark.sampled(3)
@pytest.mark.parametrize("style", ["csv", "ndjson", "parquet"])
@pytest.mark.parametrize("switches", ["", "--on-error nan", "--on-error skip", "--on-error nan --strict"])
def test_the_first_error_in_the_order_of_rows(style: str, switches: str) -> None:
    numbers = random.Random(0)
    files = []
    for name in "abc":
        cells: list[Any] = [i / 3 for i in range(40)]
        for i in numbers.sample(range(5, 35), 6) if name != "a" else ():
            cells[i] = None if style == "parquet" else "no"
        files.append(f"{name}.{style}")
        if style == "csv":
            Path(files[-1]).write_text("x\n" + "".join(f"{cell}\n" for cell in cells))
        elif style == "ndjson":
            Path(files[-1]).write_text("".join(json.dumps({"x": cell}) + "\n" for cell in cells))
        else:
            import pyarrow as pa
            import pyarrow.parquet

            pyarrow.parquet.write_table(pa.table({"x": cells}), files[-1], row_group_size=4)
    local = run_map("x", *files, *switches.split())
    spread = run_map("x", *files, *switches.split(), *SMALL)
    assert (spread.code, spread.reason) == (local.code, local.reason)
    assert "'b." in local.err
    if not local.code:
        assert spread.out == local.out


def test_errors_of_later_files_come_in_their_place() -> None:
    save("csv", "a", 30)
    Path("b.csv").write_text("x\n1\n")
    Path("u.csv").write_bytes("x,y\n1,2\n".encode("utf-16"))
    save("csv", "late", 1)
    Path("late.csv").write_text("id,x,y,word\n" + "1,2,3,\n" * 20 + "1,no,3,\n")
    for names in ("a b late", "a late b", "a missing", "a u", "missing"):
        files = [f"{name}.csv" for name in names.split()]
        local = run_map("x", *files, "-o", "o.csv")
        spread = run_map("x", *files, "-o", "o.csv", *SMALL)
        assert local.code
        assert (spread.code, spread.err.partition("\n  hint: workers")[0].strip()) == (local.code, local.err.strip())
    assert not os.path.exists("o.csv")


def test_an_error_in_the_expression_keeps_its_place() -> None:
    path = save("csv", "d", 30)
    for expression in ("x*lgo(y)", "x*z", "x +"):
        local = run_map(expression, path)
        spread = run_map(expression, path, *SMALL)
        assert local.code == 2
        assert (spread.code, spread.err) == (local.code, local.err)
    # One that only the rows meet.
    local, spread = (run_map("inv([[x - x, 0], [0, 1]])[0, 0]", path, *more) for more in ((), SMALL))
    assert local.code == 3
    assert (spread.code, spread.err) == (local.code, local.err)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("-",), 2, "--engine dask reads files, but standard input is not a file on disk"),
        (("d.csv", "--unbuffered"), 2, "--unbuffered is for a stream"),
        (("d.csv", "--format", "table"), 2, "cannot write the format table"),
        (("d.csv", "--engine", "tcp://h:1", "-o", "o.csv", "--threads", "2"), 2, "--threads is for this machine"),
        (("d.csv", "--engine", "spark"), 2, "unknown engine 'spark'"),
        (("d.csv", "--partition-bytes", "x"), 2, "'x' is not a size such as 64M"),
        (("d.csv", "-o", "*/o.csv"), 2, "must contain one * in the file name"),
        (("d.csv", "-o", "nowhere/o.csv"), 5, "does not exist"),
        (("d.csv", "-o", "nowhere/deeper/"), 5, "does not exist"),
        (("d.csv", "-o", "d.csv"), 2, "is both the input and the output"),
    ],
)
def test_what_it_refuses(arguments: tuple[str, ...], code: int, message: str) -> None:
    save("csv", "d", 3)
    done = run_map("x", "--engine", "dask", *arguments, stdin=b"x\n1\n")
    assert (done.code, done.out) == (code, b"")
    assert message in done.err
    assert os.listdir() == ["d.csv"]


def test_options_of_a_cluster_need_one() -> None:
    save("csv", "d", 3)
    refused(2, "hint: add --engine dask", "x", "d.csv", "--partition-bytes", "2")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(MissingPackage) as caught, scheduler.connected("dask", 1, print):
        pass
    assert caught.value.hint == 'pip install "dask[distributed]"'


# A job


def test_a_job_is_text_and_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = save("csv", "d", 30)
    kept: list[job.Job] = []
    monkeypatch.setattr(coordinator, "work", lambda *given: kept.append(job.from_text(given[0])) or job.work(*given))
    values = ["--at", "z=0.1", "--const", "w=[[1, 2], [3, 4]]", "--no-keep"]
    with monkeypatch.context() as patch:
        patch.setattr(f"{__name__}._result", lambda function, *given: function(*given))
        well(run_map("x*z + sum(w) + n", path, *values, "--const", "n=3", *SMALL))
    task = kept[0].task
    assert task.at["z"] == 0.1
    assert np.array_equal(task.const["w"], [[1, 2], [3, 4]])
    assert (kept[0].columns, kept[0].first, len(kept) > 2) == (["id", "x", "y", "word"], "'d.csv'", True)


def test_a_part_that_is_done_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    path = save("csv", "d", 30)
    computed = []
    first = job.reader
    monkeypatch.setattr(job, "reader", lambda part: computed.append(part) or first(part))
    monkeypatch.setattr(coordinator, "work", lambda *given: (job.work(*given), job.work(*given))[1])
    well(run_map("x", path, "-o", "out/", *SMALL))
    assert len(computed) == len(os.listdir("out")) > 2


def test_another_version_on_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    path = save("csv", "d", 30)

    def later(*given: Any) -> Any:
        monkeypatch.setattr(job, "__version__", "9.9")
        return job.work(*given)

    monkeypatch.setattr(coordinator, "work", later)
    done = run_map("x", path, "-o", "o.csv", *SMALL)
    assert (done.code, os.listdir()) == (5, ["d.csv"])
    assert done.err.startswith("error: a worker has autodiff 9.9, but this machine has ")
    assert "hint: install the same version on all machines" in done.err


def test_a_worker_that_does_not_see_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(text: str, partition: Input, path: str) -> Any:
        return job.work(text, partition, path.replace(os.getcwd(), "/nowhere/at/all"))

    monkeypatch.setattr(coordinator, "work", elsewhere)
    refused(5, "the folder '/nowhere/at/all/out' does not exist", "x", save("csv", "d", 30), "-o", "out/", *SMALL)


def test_a_job_that_was_given_up_writes_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    path = save("csv", "d", 30)

    def gone(text: str, *given: Any) -> Any:
        folder = job.from_text(text).folder
        assert folder is not None
        os.unlink(folder.running)
        with pytest.raises(ClusterError) as caught:
            job.work(text, *given)
        assert [name for name in os.listdir("out") if not name.startswith(".part-")] == []
        raise caught.value

    monkeypatch.setattr(coordinator, "work", gone)
    assert "the job was canceled" in run_map("x", path, "-o", "out/", *SMALL, "--partition-bytes", 100_000).err


def test_compressed_files_are_compressed_by_the_client() -> None:
    path = save("csv", "d", 60)
    well(run_map("x", path, "-o", "spread.csv.gz", *SMALL))
    well(run_map("x", path, "-o", "local.csv.gz"))
    assert gzip.decompress(Path("spread.csv.gz").read_bytes()) == gzip.decompress(Path("local.csv.gz").read_bytes())


def test_parts_do_not_hold_the_buffers_that_they_are_slices_of() -> None:
    import pyarrow as pa

    out = ArrowWriter(OutputStyle(FORMATS["arrow"]))
    sent = [pa.array(np.arange(100_000.0)).slice(7, 2), pa.array(["word"] * 100_000).dictionary_encode().slice(7, 2), ["text"]]
    columns, _ = pickle.loads(pickle.dumps(out.without_slices((sent, []))))
    assert columns == sent
    assert len(pickle.dumps(out.without_slices((sent, [])), 5)) < 1_000


def test_errors_travel_whole() -> None:
    for error in (DataError("m", span=(1, 2), hint=f"use {setting('resume')}", source="s"), NotPrecise("f"), MissingValue("m")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), vars(again), str(again)) == (type(error), vars(error), str(error))
