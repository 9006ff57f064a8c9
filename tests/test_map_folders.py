"""``map`` of folders: the files in them, and the columns that the names of folders such as ``year=2024`` contain."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.mapping import refused, run_map

pytestmark = pytest.mark.usefixtures("elsewhere")


def save(partitions: Sequence[Mapping[str, str]], style: str, root: str = "ds", rows: str = "x,t\n1.50,u\n2,v\n") -> None:
    """Write the same rows into a folder for each partition."""
    for partition in partitions:
        folder = Path(root, *(f"{key}={quote(value)}" for key, value in partition.items()))
        folder.mkdir(parents=True)
        path = folder / f"part.{style}"
        if style == "csv":
            path.write_text(rows)
        else:
            assert run_map("x2 = x; x2,", "--order", 0, "-o", path, stdin=rows.encode()).code == 0


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


PARTITIONS = [{"year": year, "m": m} for year in ("2023", "2024") for m in ("a b", "c,d")]


@pytest.mark.parametrize("style", ["csv", "ndjson", "parquet", "arrow"])
def test_partition_columns_are_those_of_arrow(style: str) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    save(PARTITIONS, "parquet", "truth")
    truth = dataset.dataset("truth", partitioning="hive").to_table(columns=["year", "m", "x"]).to_pylist()
    save(PARTITIONS, style)
    done = run_map("x**2*year", "ds", "--keep-columns", "year,m,x", "--format", "ndjson")
    found = [json.loads(line) for line in done.text.splitlines()]
    for row, true in zip(found, truth, strict=True):
        assert (row["year"], row["m"], row["x"]) == (true["year"], true["m"], true["x"])
        assert (row["value"], row["d_x"], row["d_year"]) == (
            true["x"] ** 2 * true["year"],
            2 * true["x"] * true["year"],
            true["x"] ** 2,
        )
    assert run_map("x", "ds", "-o", "o.parquet").code == 0
    schema = dataset.dataset("o.parquet").schema
    assert [str(schema.field(name).type) for name in ("year", "m")] == ["int32", "string"]


@pytest.mark.parametrize(
    "values",
    [["1", "2"], ["1", "3000000000"], ["01", "-2"], ["0.5", "1"], ["1", "__HIVE_DEFAULT_PARTITION__"], ["x=y", "z"], ["é%", ""]],
    ids=str,
)
def test_types_are_those_of_arrow(values: list[str]) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    save([{"k": value} for value in values], "parquet")
    truth = dataset.dataset("ds", partitioning="hive").to_table(columns=["k"])
    assert run_map("x", "ds", "--keep-columns", "k", "-o", "o.parquet").code == 0
    found = dataset.dataset("o.parquet").to_table(columns=["k"])
    assert found.schema.field("k").type == truth.schema.field("k").type
    assert sorted(map(str, found["k"].to_pylist())) == sorted(map(str, truth["k"].to_pylist()))


@pytest.mark.parametrize("rows", [2, 60_000])
def test_text_of_cells_stays(rows: int) -> None:
    save([{"k": "a"}, {"k": 'b,"'}], "csv", rows="x,t\n" + '1.50,"u"\n' * rows)
    found = run_map("x", "ds").text.splitlines()
    assert found[:2] == ["x,t,k,value,d_x", '1.50,"u",a,1.5,1.0']
    assert found[-1] == '1.50,"u","b,""",1.5,1.0'
    assert len(found) == 2 * rows + 1
    line = '{"x": 1.50, "t":"u" }' if rows == 2 else '{"x": 1.50, "t":"uuuuuuuuuuu"}'
    for value in ("1", "2"):
        Path("nd", f"k={value}").mkdir(parents=True)
        Path("nd", f"k={value}", "p.ndjson").write_text(f"{line}\n" * rows)
    found = run_map("x*k", "nd", "--format", "ndjson").text.splitlines()
    assert found[0] == f'{line[:-1].rstrip()}, "k": 1, "value": 1.5, "d_x": 1.0, "d_k": 1.5}}'
    assert found[-1] == f'{line[:-1].rstrip()}, "k": 2, "value": 3.0, "d_x": 2.0, "d_k": 1.5}}'


def test_a_dictionary_of_a_file_stays_one() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"x": [1.0, 2.0], "kind": pa.array(["u", "v"]).dictionary_encode()})
    Path("ds/k=1").mkdir(parents=True)
    with pa.ipc.new_file("ds/k=1/part.arrow", table.schema) as file:
        file.write_table(table)
    assert run_map("x*k", "ds", "-o", "o.arrow").code == 0
    found = pa.ipc.open_file("o.arrow").read_all()
    assert found.schema.field("kind").type == table.schema.field("kind").type
    assert found["kind"].to_pylist() == ["u", "v"]


def test_which_folders_name_columns() -> None:
    save(PARTITIONS, "csv")
    for name in ("ds", "ds/", "ds/*/*/*.csv", "ds/year=2023/*/*.csv", "ds/year=2023", str(Path("ds").resolve()), "ds/**/*.csv"):
        assert records(run_map("x", name).text)[0]["year"] == "2023", name
    assert records(run_map("x", "ds/year=2024").text)[0]["year"] == "2024"
    assert "year" not in records(run_map("x", "ds/year=2023/m=a%20b/part.csv").text)[0]


def test_files_of_a_folder() -> None:
    Path("d/_temporary").mkdir(parents=True)
    Path("d/.hidden").mkdir()
    for name in ("b.csv", "a.CSV", "_SUCCESS", "_temporary/c.csv", ".hidden/c.csv", "readme.md", "c.dat"):
        Path("d", name).write_text(f"x,name\n1,{name}\n")
    assert [row["name"] for row in records(run_map("x", "d").text)] == ["a.CSV", "b.csv"]
    assert [row["name"] for row in records(run_map("x", "d", "--input-format", "csv").text)] == [
        "a.CSV",
        "b.csv",
        "c.dat",
        "readme.md",
    ]
    Path("empty").mkdir()
    refused(5, "error: the folder 'empty' does not contain files of rows\n", "x", "empty")


def test_compressed_files_of_a_folder() -> None:
    Path("d").mkdir()
    Path("d", "a.csv.gz").write_bytes(gzip.compress(b"x\n1\n"))
    Path("d", "b.csv").write_text("x\n2\n")
    Path("d", "c.ndjson.XZ").write_bytes(lzma.compress(b'{"x": 3}\n'))
    Path("d", "d.txt.gz").write_bytes(gzip.compress(b"x\n4\n"))
    assert run_map("x*2", "d", "-q").text == "2.0,2.0\n4.0,2.0\n6.0,2.0\n"
    Path("d", "e.npy.gz").write_bytes(b"")
    refused(2, "error: 'd/e.npy.gz': npy files are not compressed as a whole\n", "x", "d")


def test_a_column_of_the_file_comes_first() -> None:
    save([{"k": "7"}], "csv", rows="x,k\n1,2\n")
    assert run_map("x*k", "ds").text == "x,k,value,d_x,d_k\n1,2,2.0,2.0,1.0\n"


def test_partition_values_that_are_not_numbers() -> None:
    save([{"k": "1"}, {"k": "__HIVE_DEFAULT_PARTITION__"}], "csv", rows="x\n1\nno\n")
    done = run_map("k", "ds", "--order", 0)
    assert (done.code, done.err.count("error: ")) == (5, 1)
    assert "line 2: column 'k' is empty" in done.err
    skipped = run_map("x*k", "ds", "--order", 0, "--on-error", "skip")
    assert skipped.text == "x,k,value\n1,1,1.0\n"
    assert skipped.err.startswith("note: 3 rows with non-numeric cells were skipped")
    found = run_map("x*k", "ds", "--order", 0, "--on-error", "nan")
    assert found.text == "x,k,value\n1,1,1.0\nno,1,nan\n1,,nan\nno,,nan\n"
    assert found.err.startswith("note: 3 rows")


def test_folders_with_different_columns() -> None:
    save([{"a": "1"}, {"b": "1"}], "csv")
    refused(2, "have different columns: 'a' is missing, 'b' is new", "x", "ds")


@pytest.mark.extras
@pytest.mark.parametrize("style", ["csv", "parquet"])
def test_a_cluster_gives_the_same_rows(style: str) -> None:
    save(PARTITIONS, style)
    local = run_map("x*year", "ds", "--format", "csv")
    done = run_map("x*year", "ds", "--format", "csv", "--engine", "dask", "--threads", 1, "--partition-bytes", 4)
    assert (done.code, done.err, done.out) == (0, "", local.out)


def test_groups_of_a_fit() -> None:
    from autodiff_cli.data.inputs import named
    from autodiff_cli.solvers.fitting.fit import fit

    save([{"run": "1"}, {"run": "2"}], "csv", rows="x,y\n0,1\n1,3\n2,5\n")
    found: Any = fit("y = a*x + b", named(["ds"]), by="run")
    assert found.labels == [1, 2]
