"""``autodiff map`` from every format to every other, and large pieces through Arrow to identical bytes."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import random
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from autodiff_cli import formats
from autodiff_cli.data import column_values, native_text, row_texts
from autodiff_cli.data.readers import delimited, lines, ndjson
from tests.mapping import Done, refused, run_map

pytestmark = pytest.mark.usefixtures("elsewhere")

X = [1.5, -0.25, 3e-7, 1e17, 0.1]
Y = [2.0, 8.0, -1.0, 1 / 3, 5e-324]
PLAIN = ["csv", "tsv", "ndjson", "npy", "npz"]
ARROW = ["parquet", "arrow", "feather"]
IN_TEXT = ("csv", "tsv")
EXPRESSION = "x**2*y"


def save(style: str, columns: dict[str, Any], name: str = "in") -> str:
    """A file with these columns, written without this package."""
    path = f"{name}.{style}"
    rows = list(zip(*columns.values(), strict=True))
    if style in IN_TEXT:
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, delimiter="," if style == "csv" else "\t")
            writer.writerows([columns, *rows])
    elif style == "ndjson":
        Path(path).write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))
    elif style == "npy":
        arrays = {key: np.asarray(value) for key, value in columns.items()}
        table = np.empty(len(rows), [(key, array.dtype) for key, array in arrays.items()])
        for key, array in arrays.items():
            table[key] = array
        np.save(path, table)
    elif style == "npz":
        np.savez_compressed(path, **columns)
    else:
        import pyarrow as pa

        table = pa.table(columns)
        if style == "parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, path, row_group_size=2)
        elif style == "feather":
            import pyarrow.feather

            pyarrow.feather.write_feather(table, path)
        else:
            with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
                file.write_table(table, 3)
    return path


def load(path: str) -> dict[str, list[Any]]:
    """The columns of a file, read without this package."""
    style = path.rpartition(".")[2]
    if style in IN_TEXT:
        with open(path, newline="") as file:
            head, *rows = csv.reader(file, delimiter="," if style == "csv" else "\t")
        return {key: [float(row[i]) for row in rows] for i, key in enumerate(head)}
    if style in ("ndjson", "json"):
        content = Path(path).read_text()
        found = json.loads(content)["rows"] if style == "json" else list(map(json.loads, content.splitlines()))
        return {key: [row[key] for row in found] for key in found[0]}
    if style == "npy":
        table = np.load(path, allow_pickle=False)
        return {key: table[key].tolist() for key in table.dtype.names}
    if style == "npz":
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key].tolist() for key in archive.files}
    import pyarrow as pa

    if style == "parquet":
        import pyarrow.parquet

        return pyarrow.parquet.read_table(path).to_pydict()  # type: ignore[no-any-return]
    with pa.OSFile(path) as source:
        return pa.ipc.open_file(source).read_all().to_pydict()  # type: ignore[no-any-return]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("into", [*PLAIN, "json", *ARROW])
@pytest.mark.parametrize("out_of", [*PLAIN, *ARROW])
def test_every_pair_of_formats(out_of: str, into: str) -> None:
    source = save(out_of, {"x": X, "y": Y})
    done = run_map(EXPRESSION, source, "-o", f"out.{into}")
    assert (done.code, done.err) == (0, "")
    x, y = np.array(X), np.array(Y)
    expected = {"x": x, "y": y, "value": np.square(x) * y, "d_x": 2 * x * y, "d_y": np.square(x)}
    found = load(f"out.{into}")
    assert list(found) == list(expected)
    for key, column in expected.items():
        np.testing.assert_allclose(found[key], column, rtol=1e-15, atol=0)
    assert found["x"] == X  # bit by bit
    # Standard streams carry the same bytes.
    with open(source, "rb") as file:
        piped = run_map(EXPRESSION, "--input-format", out_of, "--format", into, stdin=file.read())
    assert piped.code == 0, piped.err
    Path(f"piped.{into}").write_bytes(piped.out)
    assert load(f"piped.{into}") == found


@pytest.mark.parametrize("style", ["csv", "npy", "npz", *ARROW])
def test_standard_input_in_a_binary_format_is_recognized(style: str) -> None:
    with open(save(style, {"x": np.array(X), "y": np.array(Y)}), "rb") as file:
        done = run_map(EXPRESSION, "-q", "-", stdin=file.read())
    assert (done.code, done.err) == (0, "")
    assert [float(line.split(",")[0]) for line in done.text.splitlines()] == pytest.approx(list(np.square(X) * Y))


@pytest.mark.parametrize("style", [*PLAIN, *ARROW])
def test_no_rows_and_many(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if style != "ndjson":  # which has no columns without rows
        source = save(style, {"x": np.array([]), "y": np.array([])}, "none")
        assert run_map(EXPRESSION, source, "-o", f"out.{style}").code == 0
        assert load(f"out.{style}") == {"x": [], "y": [], "value": [], "d_x": [], "d_y": []}
    for module in ("npy", "arrow"):
        if style in ARROW or module == "npy":
            monkeypatch.setattr(f"autodiff_cli.data.readers.{module}.BLOCK_ROWS", 10)
    monkeypatch.setattr(lines, "CHUNK", 100)
    if style in ARROW:
        monkeypatch.setattr("autodiff_cli.data.writers.arrow.GROUP_ROWS", 25)
    values = np.random.default_rng(3).normal(size=(2, 95))
    source = save(style, {"x": values[0].tolist(), "y": values[1].tolist()})
    for threads in (1, 3):
        assert run_map(EXPRESSION, source, "-o", f"out.{style}", "--threads", threads).code == 0
        found = load(f"out.{style}")
        assert found["x"] == values[0].tolist()
        np.testing.assert_allclose(found["value"], values[0] ** 2 * values[1], rtol=1e-14)


# NumPy


def test_an_array_without_names() -> None:
    np.save("a.npy", np.array([[1.0, 2], [3, 4]]))
    assert run_map("x*y", "a.npy", "--columns", "x,y", "-q").text == "2.0,2.0,1.0\n12.0,4.0,3.0\n"
    np.save("f.npy", np.asfortranarray([[1.0, 2], [3, 4]]))
    assert run_map("x*y", "f.npy", "--columns", "x,y", "-q").text == "2.0,2.0,1.0\n12.0,4.0,3.0\n"
    np.save("i.npy", np.array([1, 2], ">i4"))
    assert run_map("x", "i.npy", "--columns", "x").text == "x,value,d_x\n1,1.0,1.0\n2,2.0,1.0\n"
    for name, message in (("a.npy", "does not name its columns"), ("i.npy", "name its 1 column with --columns")):
        refused(5, message, "x", name)
    assert "has 2 columns, but --columns names 1" in run_map("x", "a.npy", "--columns", "x").err


def test_arrays_that_are_no_tables() -> None:
    np.save("o.npy", np.array([{}]), allow_pickle=True)
    np.save("s.npy", np.float64(1))
    np.save("c.npy", np.zeros((2, 2, 2)))
    np.save("t.npy", np.array([("a",)], [("x", "U3")]))
    Path("cut.npy").write_bytes(Path("c.npy").read_bytes()[:-8])
    np.save("rows.npy", np.zeros(9, [("x", float)]))
    Path("short.npy").write_bytes(Path("rows.npy").read_bytes()[:-8])
    Path("no.npy").write_bytes(b"no")
    Path("header.npy").write_bytes(b"\x93NUMPY\x01\x00\x06\x00{'a':}")
    np.savez("ragged.npz", x=np.zeros(2), y=np.zeros(3))
    np.savez("two.npz", x=np.zeros((2, 2)))
    np.savez("empty.npz")
    Path("no.npz").write_bytes(b"no")
    for name, message in (
        ("o.npy", "Python objects"),
        ("s.npy", "contains one number"),
        ("c.npy", "contains an array of shape [2, 2, 2]"),
        ("t.npy", "column 'x' contains text, not numbers"),
        ("cut.npy", "is not a whole .npy file"),
        ("short.npy", "is not a whole .npy file"),
        ("no.npy", "is not a .npy file"),
        ("header.npy", "is not a whole .npy file"),
        ("ragged.npz", "not a table: its columns have shapes x [2], y [3]"),
        ("two.npz", "not a table"),
        ("empty.npz", "not a table"),
        ("no.npz", "is not a .npz file"),
    ):
        done = run_map("x", name, "-o", "out.csv")
        assert message in done.err, name
        assert (done.code, os.path.exists("out.csv")) == (5, False)


def test_columns_of_text_have_no_place_in_npy() -> None:
    data = b"x,n,t\n1,7,a\n2,8,b\n"
    refused(5, "column 't' contains 'a' in row 2", "x", "-o", "out.npy", stdin=data)
    assert os.listdir() == []
    assert run_map("x", "-o", "out.npy", "--no-keep", stdin=data).code == 0
    assert load("out.npy") == {"value": [1.0, 2.0], "d_x": [1.0, 1.0]}
    assert run_map("x", "-o", "out.npz", stdin=b"x,n\n1,7\n").code == 0
    assert load("out.npz")["n"] == [7.0]


# Arrow


def test_columns_keep_their_types_in_parquet() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "when": pa.array([0, 10**18], pa.timestamp("ns")),
        "word": pa.array(["a", None]),
        "kind": pa.array(["u", "v"]).dictionary_encode(),
        "list": pa.array([[1], None]),
        "x": pa.array([2, 3], pa.int32()),
        "price": pa.array([1, 2], pa.int64()).cast(pa.decimal128(20, 0)),
        "f": pa.array([0.1, None], pa.float32()),
        "yes": pa.array([True, False]),
    }
    table = pa.table(columns).replace_schema_metadata({"who": "me"})
    pq.write_table(table, "in.parquet")
    assert run_map("x*price", "in.parquet", "-o", "out.parquet").code == 0
    found = pq.read_table("out.parquet")
    assert found.select(table.column_names).equals(table)
    assert found.schema.metadata[b"who"] == b"me"
    assert found["value"].to_pylist() == [2.0, 6.0]
    assert run_map("x*price", "in.parquet", "-o", "out.arrow").code == 0
    lines_ = run_map("x*price", "in.parquet", "--wrt", "x").text.splitlines()
    assert lines_ == [
        "when,word,kind,list,x,price,f,yes,value,d_x",
        "1970-01-01 00:00:00.000000000,a,u,[1],2,1,0.1,true,2.0,1.0",
        "2001-09-09 01:46:40.000000000,,v,,3,2,,false,6.0,2.0",
    ]
    objects = [json.loads(line) for line in run_map("x", "in.parquet", "--format", "ndjson").text.splitlines()]
    assert [row["f"] for row in objects] == [0.1, None]
    assert [row["yes"] for row in objects] == [True, False]


@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
@pytest.mark.parametrize("style", ARROW)
def test_strings_and_dictionaries_keep_their_types(style: str, strings: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    def words(*values: str | None) -> Any:
        return pa.array(values, pa.string()).cast(strings)

    kinds = pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1], pa.uint32()), words("b", "a"), ordered=True)
    table = pa.table({"x": [1.0, 2.0, None, 4.0], "kind": kinds, "word": words("u", None, "w", "x")})
    with pa.OSFile("in.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as sink:
        sink.write_table(table)
    monkeypatch.setattr("autodiff_cli.data.readers.arrow.BLOCK_ROWS", 2)
    for threads in (1, 3):
        done = run_map("x**2", "in.arrow", "-o", f"out.{style}", "--on-error", "skip", "--threads", threads)
        assert done.code == 0, done.err
        found = load(f"out.{style}")
        assert found["kind"] == ["a", "b", "a"]
        assert found["word"] == ["u", None, "x"]
        assert found["value"] == [1.0, 4.0, 16.0]
    if style == "arrow":
        assert pa.ipc.open_file("out.arrow").schema.field("kind") == table.schema.field("kind")
        assert pa.ipc.open_file("out.arrow").schema.field("word") == table.schema.field("word")
    if style == "parquet":
        import pyarrow.parquet as pq

        assert pa.types.is_dictionary(pq.read_schema("out.parquet").field("kind").type)
    assert run_map("x", "in.arrow", "--on-error", "nan").text.splitlines()[1:] == [
        "1.0,a,u,1.0,1.0",
        "2.0,b,,2.0,1.0",
        ",,w,nan,1.0",
        "4.0,a,x,4.0,1.0",
    ]


def test_dictionaries_of_several_files_become_one() -> None:
    import pyarrow as pa

    for name, words in (("a", ["u", "v"]), ("b", ["w", "v"]), ("c", ["u"])):
        table = pa.table({"x": [1.0] * len(words), "kind": pa.array(words).dictionary_encode()})
        with pa.OSFile(f"{name}.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as sink:
            sink.write_table(table)
    for style in ("arrow", "parquet"):
        assert run_map("x", "a.arrow", "b.arrow", "c.arrow", "-o", f"out.{style}").code == 0
        assert load(f"out.{style}")["kind"] == ["u", "v", "w", "v", "u"]


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_parquet_keeps_its_codec_and_row_groups(codec: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    x = np.arange(100.0)
    table = pa.table({"x": x, "word": ["a"] * 100, "list": [[1]] * 100})
    pq.write_table(table, "in.parquet", row_group_size=30, compression=codec, use_dictionary=["word"])
    assert run_map("x**2", "in.parquet", "-o", "out.parquet").code == 0
    given, found = pq.ParquetFile("in.parquet").metadata, pq.ParquetFile("out.parquet").metadata
    assert [found.row_group(i).num_rows for i in range(4)] == [30, 30, 30, 10]
    columns = [found.row_group(1).column(i) for i in range(found.num_columns)]
    assert {column.compression for column in columns} == {given.row_group(0).column(0).compression}
    assert {c.path_in_schema for c in columns if c.has_dictionary_page} == {"word"}
    pq.write_table(table, "in.parquet", compression={"x": "zstd", "word": "gzip", "list.list.element": "zstd"})
    assert run_map("x**2", "in.parquet", "-o", "out.parquet").code == 0
    group = pq.ParquetFile("out.parquet").metadata.row_group(0)
    assert [group.column(i).compression for i in range(5)] == ["ZSTD", "GZIP", "ZSTD", "ZSTD", "ZSTD"]


def test_nested_values_become_json() -> None:
    import datetime

    import pyarrow as pa
    import pyarrow.parquet as pq

    day = datetime.date(2024, 2, 29)
    columns = {
        "x": [1.0, 2.0],
        "s": [{"a": 1, "b": [day]}, None],
        "m": pa.array([[("k", 1.5)], []], pa.map_(pa.string(), pa.float64())),
        "b": pa.array([b"\x00\xff", b"ab"]),
        "y": [True, None],
    }
    pq.write_table(pa.table(columns), "in.parquet")
    rows = [json.loads(line) for line in run_map("x", "in.parquet", "--format", "ndjson", "--order", 0).text.splitlines()]
    assert rows == [
        {"x": 1.0, "s": {"a": 1, "b": ["2024-02-29"]}, "m": {"k": 1.5}, "b": "AP8=", "y": True, "value": 1.0},
        {"x": 2.0, "s": None, "m": {}, "b": "YWI=", "y": None, "value": 2.0},
    ]
    table = list(csv.reader(io.StringIO(run_map("x", "in.parquet", "--order", 0).text)))
    assert table[1] == ["1.0", '{"a": 1, "b": ["2024-02-29"]}', '{"k": 1.5}', "AP8=", "true", "1.0"]


MISSING = {
    "csv": b"x,w\n1,a\n,b\nN/A,\nnan,d\n",
    "ndjson": b'{"x": 1, "w": "a"}\n{"w": "b"}\n{"x": "N/A", "w": null}\n{"x": "nan", "w": "d"}\n',
}


@pytest.mark.parametrize("given", ["csv", "ndjson", "parquet"])
@pytest.mark.parametrize("style", [*PLAIN, "json", *ARROW])
def test_missing_numbers_stay_missing(given: str, style: str) -> None:
    """A number that is missing is null in the formats that have it, and so are its results; other cells become nan."""
    if given == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"x": [1.0, None, math.nan, math.nan], "w": ["a", "b", None, "d"]}), "in.parquet")
    else:
        Path(f"in.{given}").write_bytes(MISSING[given])
    done = run_map("2*x**2", f"in.{given}", "--on-error", "nan", "-o", f"out.{style}", "--no-keep")
    assert done.code == 0, done.err
    null = style in ("ndjson", "json", *ARROW)
    for found in load(f"out.{style}").values():
        assert found[0] in (2, 4)
        assert (found[1] is None) if null else math.isnan(found[1])
    assert all(math.isnan(float(number)) for number in load(f"out.{style}")["value"][2:])


def test_which_results_are_missing() -> None:
    """Results are null where a number of their row is missing, whatever its other cells are."""
    Path("in.csv").write_text("x,y\nN/A,\nnan,1\n,2\n")
    Path("in.ndjson").write_text('{"x": "N/A", "y": null}\n{"x": "nan", "y": 1}\n{"y": 2}\n')
    for source in ("in.csv", "in.ndjson"):
        for style in ("ndjson", "parquet"):
            out = ["--on-error", "nan", "--no-keep", "--dtype", "float32", "-o", f"out.{style}"]
            assert run_map("x*y", source, *out).code == 0
            first, second, third = load(f"out.{style}")["value"]
            assert (first, math.isnan(float(second)), third) == (None, True, None)
            assert load(f"out.{style}")["d_x"][1:] == [1, 2]
    assert run_map("x*y", "in.csv", "--on-error", "nan", "-o", "out.npz").code == 0
    assert np.isnan(load("out.npz")["x"]).all()


@pytest.mark.exhaustive
def test_missing_numbers_of_long_files() -> None:
    """Whole blocks are converted in another way than few rows."""
    cells = ["" if i % 3 == 0 else str(i / 4) for i in range(70_000)]
    Path("in.csv").write_text("x,k\n" + "".join(f"{cell},2\n" for cell in cells))
    for style in ("ndjson", "parquet"):
        assert run_map("k*x", "in.csv", "--on-error", "nan", "-o", f"out.{style}").code == 0
        found = load(f"out.{style}")
        assert found["value"] == [None if cell == "" else 2 * float(cell) for cell in cells]
        assert found["x"] == [None if cell == "" else float(cell) for cell in cells]
        assert found["d_x"] == [2.0] * len(cells)  # which is known in every row
    assert run_map("v = k*x; v,", "out.parquet", "--on-error", "skip", "--order", 0, "-o", "again.parquet").code == 0
    assert None not in load("again.parquet")["v"]


def test_nothing_and_nan_in_parquet() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1.0, None, float("nan")], "t": ["a", "b", "c"]}), "in.parquet")
    refused(5, "error: 'in.parquet', row 2: column 'x' is empty\n", "x", "in.parquet", "-o", "out.parquet")
    assert run_map("x", "in.parquet", "--on-error", "skip").text == "x,t,value,d_x\n1.0,a,1.0,1.0\nnan,c,nan,1.0\n"
    assert run_map("x", "in.parquet", "--on-error", "nan", "-q").text == "1.0,1.0\nnan,1.0\nnan,1.0\n"
    refused(5, "error: 'in.parquet': column 't' contains string, not numbers\n", "t", "in.parquet")
    Path("no.parquet").write_bytes(b"PAR1 no")
    assert "'no.parquet' is not in Parquet format" in run_map("x", "no.parquet").err
    Path("cut.parquet").write_bytes(Path("in.parquet").read_bytes()[:-20])
    assert run_map("x", "cut.parquet").code == 5


def test_a_parquet_file_is_never_whole_in_memory() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from autodiff_cli.data.inputs import reader
    from autodiff_cli.data.row_blocks import Input

    columns = {"x": np.random.default_rng(0).normal(size=400_000)}
    pq.write_table(pa.table(columns), "in.parquet", row_group_size=20_000)
    source = reader(Input("in.parquet", "parquet"))
    before = pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() - before for _ in source.pieces())
    source.close()
    assert source.done == 400_000
    assert most < 2_000_000  # of 3,200,000


def test_text_files_to_parquet() -> None:
    import pyarrow.parquet as pq

    assert run_map("x", "-o", "out.parquet", stdin=b"id,x,note\n007,1.5,\n008,2,b\n").code == 0
    assert pq.read_table("out.parquet").to_pydict() == {
        "id": ["007", "008"],
        "x": [1.5, 2.0],
        "note": ["", "b"],
        "value": [1.5, 2.0],
        "d_x": [1.0, 1.0],
    }
    data = b'{"x": 1, "id": 7, "a": null}\n{"x": 2.5, "id": 8, "a": null}\n'
    assert run_map("x", "-o", "out.parquet", "--input-format", "ndjson", stdin=data).code == 0
    assert pq.read_table("out.parquet").to_pydict()["id"] == [7, 8]
    done = run_map("x", "-o", "o.parquet", "--input-format", "ndjson", stdin=b'{"x": 1, "id": 7}\n{"x": 2, "id": "a"}\n')
    assert (done.code, "column 'id'" in done.err, os.path.exists("o.parquet")) == (5, True, False)


def test_a_parquet_that_failed_has_no_end() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    x = [1.0] * 100 + [None]
    pq.write_table(pa.table({"x": x}), "in.parquet")
    with mock.patch("autodiff_cli.data.readers.arrow.BLOCK_ROWS", 10), mock.patch("autodiff_cli.data.writers.arrow.GROUP_ROWS", 20):
        done = run_map("x", "in.parquet", "--format", "parquet")
    assert done.code == 5
    assert done.out.startswith(b"PAR1")
    assert not done.out.endswith(b"PAR1")


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for arguments in (["in.parquet"], ["-o", "out.arrow"]):
        Path("in.parquet").write_bytes(b"PAR1")
        done = run_map("x", *arguments, stdin=b"x\n1\n")
        assert "needs pyarrow, which is not installed" in done.err
        assert "hint: pip install pyarrow, or use csv" in done.err
        assert done.code != 0
    assert run_map("x", stdin=b"x\n1\n").text == "x,value,d_x\n1,1.0,1.0\n"


# Machine code for text: on large pieces only, and never to be seen


def cell(draw: random.Random) -> str:
    kind = draw.randrange(12)
    if kind == 0:
        return draw.choice(["nan", "inf", "-inf", "NaN", "-0", " 2", "3 ", ".5", "5.", "1E5", "007"])
    if kind == 1:
        return str(draw.randint(-(10**25), 10**25))
    if kind == 2:
        return f"{draw.randint(-999, 999)}"
    return repr(draw.uniform(-1, 1) * 10.0 ** draw.randint(-30, 30))


ODD = ["", "N/A", "1_0", "0x1p3", "nan(1)", "1e5e", "1.2.3", "\N{ARABIC-INDIC DIGIT THREE}", "1,2", '"1"', "1\r", "1\n"]
ROWS = ['"a,b",1,2', '"q""q",1,"2"', '5" pipe,1,2', '"two\nlines",1,2']
ROWS += ['"a"b,1,2', '"",1,2', '"""a""",1,2', '"a,1,2', 'a,"1,2"']
ROWS += [
    '"1",2,3\r',
    '"a\r\nb",1,2',
    "a,1,2\r",
    'a,1,"2"\r\nb,"3",4\r',
    "",
    "a,1",
    "a,1,2,3",
    '"a""b"c"",d",1,2',
    'a"",1,2',
    '""a"",1,2',
]
ODD += ["\xa01", "+1.5", "1e400", "1e-400", "-nan", "9" * 400, "infinity", "Infinity"]


OPTIONS = [["--format", "tsv"], ["--no-keep"], ["--format", "ndjson"], ["--on-error", "skip"]]
SEEN = [(None, options) for options in OPTIONS]
SEEN += [(odd, OPTIONS[(i + k) % 4]) for i, odd in enumerate([*[f"a,1,{cell}" for cell in ODD], *ROWS]) for k in (0, 1)]
"""Each odd cell and row with two of the options, beside none."""


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("odd", "options"), [*[(odd, []) for odd in dict.fromkeys(odd for odd, _ in SEEN)], *SEEN])
def test_machine_code_is_never_to_be_seen(odd: str | None, options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(f"{odd}")
    words = ["a", "b c", "", "e\N{COMBINING ACUTE ACCENT}"]
    rows = [f"{draw.choice(words)},{cell(draw)},{cell(draw)}\n" for _ in range(80)]
    if odd is not None:
        rows[60] = f"{odd}\n"
    data = ("name,x,y\n" + "".join(rows)).encode()
    plain = run_map("x*y", *options, stdin=data)
    monkeypatch.setattr(native_text, "FAST_FROM", 1)
    monkeypatch.setattr(native_text, "FAST_FROM_THEN", 1)
    parsed = []
    wrapped = delimited.read_cells
    monkeypatch.setattr(delimited, "read_cells", lambda *arguments: parsed.append(wrapped(*arguments)) or parsed[-1])
    fast = run_map("x*y", *options, stdin=data)
    assert (fast.code, fast.out, fast.err) == (plain.code, plain.out, plain.err)
    if odd is None:
        assert parsed[0] is not None
    monkeypatch.setattr(lines, "CHUNK", 500)
    chunks = run_map("x*y", *options, "--threads", 2, stdin=data)
    assert (chunks.code, chunks.reason) == (plain.code, plain.reason)
    assert any(block is not None for block in parsed)
    if plain.code == 0:
        assert chunks.out == plain.out


_CELLS = ("1e400", "-0", "NaN", "-NaN", "Inf", "-Infinity", "true", '"nan"', '"1"', "null", "1" + "0" * 400)
_CELLS += ("01", "[1]", "1.", "+1", "-0.0", "1}}", "12345678901234567891")
_VALUES = ("Inf", "NaN", "1e999", r'"\ud800"', '"a\tb"', r'"\q"', '{"x": 9}')
ODD_LINES = [f'{{"x": {cell}, "y": 2}}' for cell in _CELLS] + [f'{{"x": 1, "y": 2, "a": {value}}}' for value in _VALUES]
ODD_LINES += ['{"x": 1, "y": 2 }', ' {"x": 1, "y": 2}', '{"x": 1, "y": 2}\r', "", "{}", "3", "not JSON", '{"x": 1}', "[{}]"]
ODD_LINES += ['{"x": 1, "y": 2}{"x": 3, "y": 4}', '{"x": 1, "y": 2, "x": 3}', r'{"\u0078": 1, "y": 2}', '{"x": 1,\n"y": 2}']
ODD_LINES += ['{"x": 1, "y": 2, "value": 3}', r'{"x": 1, "y": 2, "v\u0061lue": null}', '{"x": 1, "y": 2, "s": "\udcff"}']


def mapped_alike(monkeypatch: pytest.MonkeyPatch, *arguments: str, stdin: bytes) -> Done:
    """Run ``map`` on NDJSON without and with machine code, check that both write the same, and return the second run."""
    with mock.patch.object(ndjson, "read_members", return_value=None):
        plain = run_map(*arguments, stdin=stdin)
    monkeypatch.setattr(native_text, "FAST_FROM", 1)
    monkeypatch.setattr(native_text, "FAST_FROM_THEN", 1)
    found = run_map(*arguments, stdin=stdin)
    assert (found.code, found.out, found.err) == (plain.code, plain.out, plain.err)
    return found


@pytest.mark.sampled(18)
@pytest.mark.parametrize("options", [[], ["--no-keep"], ["--on-error", "skip"], ["--on-error", "nan"]])
@pytest.mark.parametrize("odd", [None, *ODD_LINES])
def test_machine_code_for_ndjson_is_never_to_be_seen(odd: str | None, options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(7)
    given = [
        json.dumps({"id": i, "x": draw.uniform(-2, 2) * 10 ** draw.randint(-12, 12), "y": draw.randint(0, 3)}) for i in range(80)
    ]
    if odd is not None:
        given[60] = odd
    data = "".join(f"{line}\n" for line in given).encode("utf-8", "surrogateescape")
    arguments = ["x/y", "--input-format", "ndjson", "--format", "ndjson", *options]
    monkeypatch.setattr(lines, "CHUNK", 500)
    with mock.patch.object(ndjson, "read_members", side_effect=ndjson.read_members) as fast:
        found = mapped_alike(monkeypatch, *arguments, stdin=data)
    assert fast.called
    for line, source in zip(found.text.splitlines(), given, strict=False) if odd is None and not options else ():
        assert line.startswith(source[:-1] + ", ")
        assert json.loads(line)["id"] == json.loads(source)["id"]


_KINDS: dict[str, list[object]] = {
    "strings": ["a", "b c", "", "\u00e9"],
    "numbers": [0, -1.5, 2e-300],
    "words": [True, False, None],
}
_CELLS += (
    ".5",
    "1.e5",
    "1E5",
    "1e+05",
    "-",
    "-01",
    "0",
    "-0",
    "0x1",
    "1_0",
    "1 2",
    "nan",
    "infinity",
    '"a, b"',
    '"{"',
    '"}"',
    '"a',
)
_CELLS += (
    '""',
    '"',
    "[1, 2]",
    "[]",
    '"\x01"',
    '"\\\\"',
    '"\\""',
    '"x" "y"',
    "tru",
    "foo",
    "",
    " 1",
    "1 ",
    '0, "z": 1',
    '"é"',
    "\udcff",
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("odd", "kind", "place"),  # each odd cell in each place and beside each kind
    [
        (odd, kind, ("x", "s", "id")[(i + j) % 3])
        for i, odd in enumerate([None, *_CELLS, *_VALUES])
        for j, kind in enumerate(_KINDS)
    ],
)
def test_ndjson_with_the_same_keys_is_read_as_ever(odd: str | None, kind: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(3)
    given = [
        {
            "id": repr(draw.uniform(-2, 2)),
            "x": json.dumps(draw.choice([0, -3, 0.25, 1e-9, 1e300])),
            "s": json.dumps(draw.choice(_KINDS[kind]), ensure_ascii=False),
        }
        for _ in range(40)
    ]
    if odd is not None:
        given[25][place] = odd
    rows = [", ".join(f'"{key}": {cell}' for key, cell in row.items()) for row in given]
    data = "".join(f"{{{row}}}\n" for row in rows).encode("utf-8", "surrogateescape")
    arguments = ["x**2", "--input-format", "ndjson", "--format", "ndjson"]
    blocks: list[object] = []
    read = ndjson.read_members
    monkeypatch.setattr(ndjson, "read_members", lambda *arguments: blocks.append(read(*arguments)) or blocks[-1])
    mapped_alike(monkeypatch, *arguments, stdin=data)
    assert odd is not None or None not in blocks


@pytest.mark.parametrize(
    ("data", "regular"),
    [
        (b'a,"b"\n', True),
        (b'"a""b",1\n', True),
        (b'a,"b', False),
        (b'a\n"', False),
        (b'a,b"c"\n', False),
        (b'a,"b"c\n', False),
        (b'"a\nb",1\n', False),
    ],
)
def test_where_quotes_are_regular(data: bytes, regular: bool) -> None:
    assert delimited.is_regular(data, ",") is regular


@pytest.mark.parametrize(
    "words", [["a", "b c"], ["a", "b,c"], ["a", 'b"c'], ["a\nb", "c\rd"], ["a", None], [1.5, float("nan")], [1, None]]
)
def test_typed_columns_are_written_as_python_does(words: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"w": words, "x": [0.1, 1e300], "i": [7, -8], "f": np.array([0.1, 1e10], np.float32), "b": [True, False]}
    for names in (list(columns), ["w", "x"], ["x", "f", "i"]):
        pq.write_table(pa.table({name: columns[name] for name in names}), "in.parquet")
        with mock.patch("autodiff_cli.data.writers.text.as_writable", return_value=None):
            plain = run_map("x", "in.parquet")
        monkeypatch.setattr(native_text, "FAST_FROM", 1)
        monkeypatch.setattr(native_text, "FAST_FROM_THEN", 1)
        assert run_map("x", "in.parquet").text == plain.text
        assert len(list(csv.reader(io.StringIO(plain.text, newline="")))) == 3
    np.savez("in.npz", x=np.array([0.1, 2.0]), i=np.array([1, 2], np.uint8))
    assert run_map("x", "in.npz").text == "x,i,value,d_x\n0.1,1,0.1,1.0\n2.0,2,2.0,1.0\n"


def test_machine_code_writes_numbers_as_python_does() -> None:
    draw = np.random.default_rng(7)
    for dtype in (np.float64, np.float32):
        values = np.concatenate(
            [
                draw.integers(0, 2**63, 20_000).view(np.float64),
                draw.normal(size=20_000) * 10.0 ** draw.integers(-12, 20, 20_000),
                np.round(draw.normal(size=2000), 2),
                draw.integers(-(10**6), 10**6, 2000) * 1.0,
                [0.0, -0.0, np.nan, np.inf, -np.inf, 1e9, 999999999.5, 1e-4, 9.999e-5, 5e-324],
                10.0 ** np.arange(-320, 309),
            ]
        )
        with np.errstate(over="ignore"):
            values = values.astype(dtype)
        reprs = list(map(repr, column_values.python_values(values)))
        rows = native_text.write_rows(len(values), [(";", values)], "\n")
        assert bytes(rows).decode().splitlines() == [f";{text}" for text in reprs]
        quoted = [text if np.isfinite(float(text)) else f'"{text}"' for text in reprs]
        rows = native_text.write_rows(len(values), [(", x: ", values)], "\n", json=True)
        assert bytes(rows).decode().splitlines() == [f", x: {text}" for text in quoted]


def test_pyarrow_is_imported_for_large_files_only() -> None:
    from tests.test_architecture import _loaded

    Path("d.csv").write_text("x\n1\n")
    loaded = _loaded("from autodiff_cli.cli.main import main\nmain(['map', 'x', 'd.csv'])")
    assert "autodiff_cli.data.readers.delimited" in loaded
    assert not any(name.split(".")[0] in ("pyarrow", "rich", "lark", "scipy", "concurrent") for name in loaded)


def test_formats_are_all_known() -> None:
    assert set(formats.READ) == {*PLAIN, *ARROW}
    assert set(formats.READ) < set(formats.WRITTEN) < set(formats.FORMATS)


@pytest.mark.parametrize("style", ["npy", "npz"])
def test_a_whole_number_beyond_floats_is_infinite_in_files_of_numpy(style: str) -> None:
    Path("d.ndjson").write_text(f'{{"x": 1{"0" * 400}, "y": 2}}\n{{"x": -1{"0" * 400}, "y": 3}}\n')
    result = run_map("y**2", "d.ndjson", "-o", f"o.{style}")
    assert (result.code, result.err) == (0, "")
    found = np.load(f"o.{style}")
    assert [*found["x"], *found["value"]] == [np.inf, -np.inf, 4.0, 9.0]


def test_the_shortest_texts_of_arrays_are_those_of_python() -> None:
    draw = np.random.default_rng(11)
    powers = 2.0 ** np.arange(-20, 60)
    values = np.concatenate(
        [
            draw.normal(size=40_000) * 10.0 ** draw.integers(-6, 18, 40_000),
            draw.integers(0, 2**63, 5000).view(np.float64),
            *(np.round(draw.uniform(-1000, 1000, 3000), digits) for digits in range(6)),
            *(np.nextafter(powers, side) for side in (0, np.inf)),
            powers,
            10.0 ** np.arange(-20, 20),
            np.nextafter(10.0 ** np.arange(-8, 18), 0),
            [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1e-4, 9.999999999999999e15, 9007199254740993.0, 2.0**53 + 2],
        ]
    )
    expected = list(map(repr, values.tolist()))
    assert row_texts.row_texts([values], ",") == expected
    assert row_texts.row_texts([values, -values[::-1]], "\t") == [
        f"{a}\t{b!r}" for a, b in zip(expected, (-values[::-1]).tolist(), strict=True)
    ]
    assert row_texts.row_texts([values[:0]], ",") == []


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "..\\evil"])
def test_an_archive_does_not_name_files_of_other_folders(name: str) -> None:
    Path("d.csv").write_text(f"x,{name}\n1,2\n")
    done = run_map("x", "d.csv", "-o", "d.npz")
    assert (done.code, os.listdir()) == (5, ["d.csv"])
    assert "whose name is a path to another folder" in done.err
    assert run_map("x", "d.csv", "-o", "d.npz", "--no-keep").code == 0


def test_markdown_does_not_contain_html() -> None:
    Path("d.csv").write_text("x,<b>\n1,<script>alert(1)</script>\n")
    done = run_map("x", "d.csv", "--format", "markdown")
    assert "<" not in done.out.decode()
    assert "&lt;script>alert(1)&lt;/script>" in done.out.decode()


def test_messages_on_unreadable_files_are_in_plain_words() -> None:
    Path("deep.ndjson").write_text('{"x":1,"y":' + "[" * 100_000 + "]" * 100_000 + "}\n")
    Path("w.csv.gz").write_bytes(b"x\n1\n")
    Path("w.csv.xz").write_bytes(b"\x1f\x8b\x08")
    said = [run_map("y" if "deep" in name else "x", name).err for name in ("deep.ndjson", "w.csv.gz", "w.csv.xz")]
    assert "a value is nested too deeply to be read" in said[0]
    assert "it begins with 'x'" in said[1]
    assert "it begins with the bytes 1f 8b 08" in said[2]


def test_an_empty_name_of_a_format_is_unknown() -> None:
    Path("d.csv").write_text("x\n1\n")
    for option in ("--input-format", "--format"):
        refused(2, f"{option}: unknown format ''", "x", "d.csv", option, "")
