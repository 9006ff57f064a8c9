"""``--where`` of ``map``, ``fit``, ``root`` and ``propagate``, ``--keep-columns``, and fields inside columns."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.data.readers import lines
from tests import mapping
from tests.mapping import Done, run_map
from tests.shell import run

pytestmark = pytest.mark.usefixtures("elsewhere")

ROWS = b'id,x,y, g\na,1.50,2,p\n"b,""q",-0.25,3,q\nc,4,0.5,p\nd,nan,1,p\n'


def refused(message: str, *arguments: Any, stdin: bytes = ROWS) -> Done:
    return mapping.refused(2, message, *arguments, stdin=stdin)


# Columns


def test_columns_to_copy_in_their_order() -> None:
    assert run_map("x*y", "--wrt", "x", "--keep-columns", "g,id", stdin=ROWS).text.splitlines()[:3] == [
        " g,id,value,d_x",
        "p,a,3.0,2.0",
        'q,"b,""q",-0.75,3.0',
    ]


def test_columns_to_leave_out() -> None:
    found = run_map("x*y", "--wrt", "x", "--keep-columns", "id,x", stdin=ROWS).text.splitlines()
    assert found[:2] == ["id,x,value,d_x", "a,1.50,3.0,2.0"]
    data = b"value,x\n7,2\n"
    assert run_map("x", "--keep-columns", "x", stdin=data).text == "x,value,d_x\n2,2.0,1.0\n"
    assert run_map("x", "--keep-columns", "x", stdin=b"x,a,a\n1,2,3\n").text == "x,value,d_x\n1,1.0,1.0\n"


def test_other_keys_of_json_lines_are_left_out() -> None:
    data = b'{"x": 1.5, "b": "s"}\n{"x": 2, "b": "t", "more": [1]}\n'
    done = run_map("2*x", "--keep-columns", "b", "--format", "ndjson", "--input-format", "ndjson", stdin=data)
    assert done.text == '{"b": "s", "value": 3.0, "d_x": 2.0}\n{"b": "t", "value": 4.0, "d_x": 2.0}\n'


def test_parquet_reads_and_keeps_only_the_columns_that_are_needed() -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"x": [1.0, 2.0], "day": pa.array([1, 2], pa.date32()), "s": ["a", "b"], "a.y": [3, 4]})
    parquet.write_table(table, "in.parquet")
    assert run_map("x", "in.parquet", "--keep-columns", "a.y,day", "-o", "out.parquet").code == 0
    found = parquet.read_table("out.parquet")
    assert found.schema.names == ["a.y", "day", "value", "d_x"]
    assert found.select(["a.y", "day"]).equals(table.select(["a.y", "day"]))


def test_files_may_differ_in_columns_that_are_not_copied() -> None:
    Path("a.csv").write_text("x,one\n1,2\n")
    Path("b.csv").write_text("other,x\n3,4\n")
    assert run_map("x", "a.csv", "b.csv", "--keep-columns", "x").text == "x,value,d_x\n1,1.0,1.0\n4,4.0,1.0\n"
    done = run_map("x", "a.csv", "b.csv", "--keep-columns", "one", "-o", "out.csv")
    assert (done.code, Path("out.csv").exists()) == (2, False)
    assert "'one' is missing" in done.err


# Rows


def test_rows_that_satisfy_a_condition() -> None:
    """The cells of the other rows are copied unchanged."""
    assert run_map("x*y", "--wrt", "x", "--where", "x > 0", stdin=ROWS).text == (
        "id,x,y, g,value,d_x\na,1.50,2,p,3.0,2.0\nc,4,0.5,p,2.0,0.5\n"
    )
    found = run_map("x*y", "-q", "--where", "not (x > 0) and y > k or x > m", "--at", "k=2", "--const", "m=3", stdin=ROWS)
    assert [line.split(",")[0] for line in found.text.splitlines()] == ["-0.75", "2.0"]
    assert found.err == ""


def test_nan_and_no_row() -> None:
    rows = run_map("y", "-q", "--where", "x", stdin=ROWS).text.splitlines()
    assert len(rows) == 3
    assert run_map("y", "--where", "x > 100", stdin=ROWS).text == "id,x,y, g,value,d_y\n"
    assert run_map("x", "--where", "y > 1", "--json", stdin=ROWS).text.count('"id"') == 3  # in the columns and in two rows
    assert run_map("log(x)", "--where", "x > 0", stdin=ROWS).err == ""


def test_a_large_file_is_filtered_like_a_small_one() -> None:
    """Rows of large pieces are bytes, of others lists; some cells are quoted."""
    numbers = random.Random(5)
    lines = [f"{i},{numbers.uniform(-1, 1)!r},{'plain' if i % 7 else chr(34) + 'a, b' + chr(34)}" for i in range(60_000)]
    Path("d.csv").write_text("id,x,word\n" + "\n".join(lines) + "\n")
    assert Path("d.csv").stat().st_size > 1 << 20
    done = run_map("2*x", "d.csv", "--where", "x > 0.25", "--threads", 2)
    expected = [line for line in lines if float(line.split(",")[1]) > 0.25]
    assert [line.rpartition(",")[0].rpartition(",")[0] for line in done.text.splitlines()[1:]] == expected
    parsed = list(csv.reader(io.StringIO(done.text)))[1:]
    assert all(float(row[3]) == 2 * float(row[1]) for row in parsed)


@pytest.mark.parametrize("style", ["csv", "ndjson"])
def test_a_large_file_without_selected_rows_has_no_lines(style: str) -> None:
    row = '{"x": 1.25, "y": 2.5}\n' if style == "ndjson" else "1.25,2.5\n"
    Path(f"d.{style}").write_text("x,y\n" * (style == "csv") + row * 120_000)
    done = run_map("x*y", f"d.{style}", "--where", "x > 2", "--format", style)
    assert (done.code, done.text) == (0, "x,y,value,d_x,d_y\n" * (style == "csv"))


@pytest.mark.parametrize("style", ["parquet", "npy", "npz", "ndjson"])
def test_every_format_is_filtered(style: str) -> None:
    if style == "parquet":
        pytest.importorskip("pyarrow")
    Path("d.csv").write_text("id,x\n" + "".join(f"{i},{i % 5}\n" for i in range(30)))
    assert run_map("id2 = x; id2,", "d.csv", "-o", f"d.{style}", "--order", 0, "--keep-columns", "x").code == 0
    rows = run_map("10*x", f"d.{style}", "--where", "x >= 3", "--format", "csv").text.splitlines()[1:]
    assert len(rows) == 12
    assert all(float(row.split(",")[0]) >= 3 for row in rows)


@pytest.mark.parametrize(
    ("condition", "chosen"),
    [
        ("id == 'a'", "a"),
        ("'b' < id", "bcd"),
        ("id >= 'b' and not (id == 'd' or y == 0.5)", "b"),
        ("id != 'b,\"q' and x > 0", "ac"),
        ("x == '1.50'", "a"),
        ("g == 'p' and x == 4", "c"),
    ],
)
def test_conditions_on_text(condition: str, chosen: str) -> None:
    rows = list(csv.reader(io.StringIO(run_map("y", "--where", condition, stdin=ROWS).text)))[1:]
    assert "".join(row[0][0] for row in rows) == chosen
    assert {len(row) for row in rows} == {6}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("style", ["csv", "ndjson", "parquet", "arrow", "npy"])
@pytest.mark.parametrize("rows", [8, 60_000])
def test_text_of_every_format(style: str, rows: int) -> None:
    """The text of a missing value is empty; a column that is only compared need not be copied."""
    pa = pytest.importorskip("pyarrow")
    words = ["soft", "", "größer", None, "soft", "a b", 'q"', "soft"] * (rows // 8)
    table = pa.table({"x": [float(i) for i in range(rows)], "word": [word or "" for word in words] if style == "npy" else words})
    if style == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, "d.parquet")
    elif style == "arrow":
        table = table.set_column(1, "word", table["word"].dictionary_encode())
        with pa.ipc.new_file("d.arrow", table.schema) as file:
            file.write_table(table, max(5, rows // 12))
    elif style == "npy":
        made = np.array(list(zip(table["x"].to_pylist(), table["word"].to_pylist(), strict=True)), [("x", float), ("word", "U9")])
        np.save("d.npy", made)
    elif style == "csv":
        with open("d.csv", "w", newline="") as file:
            csv.writer(file).writerows([("x", "word"), *zip(range(rows), words, strict=True)])
    else:
        lines = [json.dumps({"x": i, "word": word}) + "\n" for i, word in enumerate(words)]
        Path("d.ndjson").write_text("".join(lines))
    for condition, count in (
        ("word == 'soft'", 3),
        ("word == ''", 2),
        ("word < 'b' and word != ''", 1),
        ("word != '' and x < 1", 0),
    ):
        for kept in ("--no-keep", "--keep"):
            done = run_map("2*x", f"d.{style}", "--where", condition, kept, "--format", "csv")
            assert done.err == ""
            assert done.text.count("\n") == 1 + (count * rows // 8 or 1)


def test_text_of_fields_and_of_renamed_columns() -> None:
    data = b'{"a": {"b": "u"}, "x": 1}\n{"a": {"b": 2}, "x": 2}\n{"a": null, "x": 3}\n'
    style = ("--input-format", "ndjson", "-q")
    for text, value in (("u", "1.0"), ("2", "2.0"), ("", "3.0")):
        done = run_map("x", *style, "--let", "n=a.b", "--where", f"n == '{text}'", stdin=data)
        assert (done.text, done.err) == (f"{value},1.0\n", "")


def test_text_of_folders(tmp_path: Path) -> None:
    for kind in ("one", "two"):
        (tmp_path / f"kind={kind}").mkdir()
        (tmp_path / f"kind={kind}" / "d.csv").write_text("x\n1\n")
    assert run_map("x", str(tmp_path), "--where", "kind == 'two'").text == "x,kind,value,d_x\n1,two,1.0,1.0\n"


def test_bad_cells_come_before_the_condition() -> None:
    data = b"ok,x\n1,2\n0,N/A\n1,3\n1,?\n"
    done = run_map("x", "--where", "ok == 1", stdin=data)
    assert (done.code, done.out) == (5, b"")
    assert "line 3: column 'x' contains 'N/A'" in done.err
    done = run_map("x", "--where", "ok == 1", "--on-error", "nan", "-q", stdin=data)
    assert [float(line.split(",")[0]) for line in done.text.splitlines()[:2]] == [2, 3]
    assert math.isnan(float(done.text.splitlines()[2].split(",")[0]))
    assert "1 row with non-numeric cells was set to nan; the first is standard input, line 5: column 'x' contains '?'" in done.err
    done = run_map("x", "--where", "ok == 1", "--on-error", "skip", "-q", stdin=data)
    assert done.text == "2.0,1.0\n3.0,1.0\n"


def test_names_with_commas_are_quoted() -> None:
    data = b'x,"a,b","q""r",c\n1,2,3,4\n'
    assert run_map("x", "--keep-columns", 'c, "a,b"', stdin=data).text == 'c,"a,b",value,d_x\n4,2,1.0,1.0\n'
    assert run_map("x", "--sum", "--by", '"a,b"', stdin=data).text == '"a,b",value,d_x\n2,1.0,1.0\n'
    assert run_map("x", "--columns", 'x,"a,b",c', "-q", stdin=b"1,2,3\n").text == "1.0,1.0\n"
    refused('its columns: x, "a,b", q"r, c', "x", "--keep-columns", "nothing", stdin=data)


@pytest.mark.parametrize(("arguments", "message"), [(["--keep-columns", "x\ny"], "is not a list of names")])
def test_mistakes(arguments: list[str], message: str) -> None:
    refused(message, "x*y", *arguments)


def test_a_condition_that_fails_for_a_row_shows_it() -> None:
    done = run_map("x", "--where", "inv([[x, 1], [4, y]]).sum() > 0", stdin=b"x,y\n1,2\n2,2\n")
    assert done.code == 3
    assert "standard input, line 3: --where: linalg.inv" in done.err


# Fields inside columns


NESTED = [
    {"id": 1, "a": {"x": 1.5, "b": {"c": 2}}, "a.y": 7, "a.b.c": -1},
    {"id": 2, "a": {"x": -2, "b": {"c": 3}}, "a.y": 8, "a.b.c": -2},
]
LETS = ["--let", "u=a.x", "--let", "v=a.y", "--let", "w=a.b.c"]


def nested(style: str, rows: list[dict[str, Any]]) -> str:
    if style == "ndjson":
        Path("n.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        table = pa.Table.from_pylist(rows)
        if style == "parquet":
            parquet.write_table(table, "n.parquet")
        else:
            with pa.OSFile("n.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as out:
                out.write_table(table)
    return f"n.{style}"


@pytest.mark.parametrize("style", ["ndjson", "parquet", "arrow"])
@pytest.mark.parametrize("switches", [["--no-keep"], ["--keep-columns", "id"], []])
def test_fields_are_variables(style: str, switches: list[str]) -> None:
    """A column whose own name has a dot comes first."""
    path = nested(style, NESTED)
    rows = [json.loads(line) for line in run_map("u*v + w", path, *LETS, *switches, "--format", "ndjson").text.splitlines()]
    assert [row["value"] for row in rows] == [1.5 * 7 - 1, -2 * 8 - 2]
    assert [row["d_v"] for row in rows] == [1.5, -2]
    plain = nested(style, [{"a": row["a"]} for row in NESTED])
    assert run_map("w", plain, "--let", "w=a.b.c", "-q", "--format", "csv").text == "2.0,1.0\n3.0,1.0\n"
    assert (
        run_map("w", plain, "--let", "w=a.b.c", "--let", "u=a.x", "--where", "u < 0", "-q", "--format", "csv").text == "3.0,1.0\n"
    )


@pytest.mark.parametrize("style", ["ndjson", "parquet", "arrow"])
def test_missing_fields(style: str) -> None:
    path = nested(style, [{"a": {"x": 1.0}, "t": "s"}, {"a": None, "t": "s"}])
    done = run_map("u", path, "--let", "u=a.x", "-q", "--format", "csv", "--on-error", "skip")
    assert done.text == "1.0,1.0\n"
    assert "column 'a.x' is empty" in done.err
    for name in ("a.z", "t.x"):
        done = run_map("u", path, "--let", f"u={name}", "-q", "--format", "csv")
        assert (done.code, done.out) == (5, b"")
        assert f"'{name}'" in done.err


def test_cells_of_text_have_no_fields() -> None:
    assert "only columns of NDJSON, Parquet and Arrow have fields" in refused("no column 'x.z'", "u", "--let", "u=x.z").err
    refused("has no column 'b.z'", "u", "--let", "u=b.z")


@pytest.mark.parametrize("rows", [3, 20_000])
@pytest.mark.parametrize("style", ["csv", "ndjson", "npz", "parquet"])
def test_columns_of_truths(style: str, rows: int) -> None:
    """They are read as 1 and 0: small files by Python, large ones by Arrow."""
    x, flag = np.arange(rows) + 0.5, np.arange(rows) % 3 == 0
    if style == "csv":
        Path("in.csv").write_text("x,flag\n" + "".join(f"{a},{str(b).lower()}\n" for a, b in zip(x, flag, strict=True)))
    elif style == "ndjson":
        Path("in.ndjson").write_text("".join(json.dumps({"x": a, "flag": bool(b)}) + "\n" for a, b in zip(x, flag, strict=True)))
    elif style == "npz":
        np.savez("in.npz", x=x, flag=flag)
    else:
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.table({"x": x, "flag": flag}), "in.parquet")
    done = run_map("where(flag, x**2, -x)", f"in.{style}", "--wrt", "x", "--format", "csv", "--no-keep")
    assert done.code == 0, done.err
    value, slope = np.loadtxt(done.out.splitlines(), delimiter=",", skiprows=1).T
    assert np.array_equal(value, np.where(flag, x**2, -x))
    assert np.array_equal(slope, np.where(flag, 2 * x, -1))
    done = run_map("x", f"in.{style}", "--where", "flag", "--format", "csv", "--no-keep")
    assert np.array_equal(np.loadtxt(done.out.splitlines(), delimiter=",", skiprows=1, ndmin=2)[:, 0], x[flag])


def test_words_that_are_read_as_truths() -> None:
    done = run_map("x", stdin=b"x\nTrue\n FALSE\n2\nfalse\n")
    assert [line.split(b",")[1] for line in done.out.splitlines()[1:]] == [b"1.0", b"0.0", b"2.0", b"0.0"]
    assert "contains 'yes', which is not a number" in run_map("x", stdin=b"x\ntrue\nyes\n").err


# Other commands

TABLE: dict[str, list[Any]] = {
    "g": ["a", "a", "b", "b", "c"],
    "x": [1, 2, 3, 4, 5],
    "y": [2.1, 3.9, 6.2, 7.9, 99],
    "u_x": [0.1, 0.1, 0.2, 0.2, 0.2],
    "w": [1, 2, math.nan, 2, 1],
}


def save_table(path: str) -> None:
    """Write ``TABLE`` to a file."""
    rows = [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)]
    if path.endswith(".parquet"):
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(TABLE), path)
    elif path.endswith(".ndjson"):
        Path(path).write_text(
            "".join(json.dumps({key: "nan" if str(v) == "nan" else v for key, v in row.items()}) + "\n" for row in rows)
        )
    else:
        Path(path).write_text("\n".join([",".join(TABLE), *(",".join(map(str, row.values())) for row in rows), ""]))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("condition", ["x < 5 and y > k", "g == 'b' and x > 2 or 'a' >= g", "not (u_x < w/10)", "x >= w and w"])
@pytest.mark.parametrize("style", ["csv", "ndjson", "parquet"])
@pytest.mark.parametrize(
    "command",
    [
        "fit 'y = m*x'",
        "fit 'y = m*x' --by g",
        "fit 'y = m*x' --sigma u_x",
        "root 'z**2 = x' --at z=1 --no-keep",
        "propagate 2*x --keep-columns x",
    ],
)
def test_the_rows_of_other_commands(command: str, style: str, condition: str) -> None:
    """They are those that ``map --where`` writes."""
    save_table(f"d.{style}")
    assert run_map("x", f"d.{style}", "--const", "k=3", "--where", condition, "-o", f"chosen.{style}", "--order", 0).code == 0
    const = "--const k=3" if "k" in condition else ""
    columns = "" if "root" in command or "fit" in command else " --keep-columns x"
    expected = run(f"autodiff {command}{columns} --format csv chosen.{style}")
    assert run(f'autodiff {command} --format csv d.{style} {const} --where "{condition}"') == expected
    assert "error: " not in expected


def test_the_rows_of_a_fit_of_arrays() -> None:
    found = ad.fit("y = m*x", TABLE, where='g == "b" and w > 0 or x < 2')
    assert found.values == ad.fit("y = m*x", {"x": [1, 4], "y": [2.1, 7.9]}).values
    grouped = ad.fit("y = m*x", TABLE, by="g", where="x < t", const={"t": 5}).to_dict()
    assert [group["g"] for group in grouped["groups"]] == ["a", "b"]  # type: ignore[union-attr]
    assert ad.fit("y = m*x", TABLE, where="e < 2", let={"e": "x", "x": "u_x"}).values == {"m": pytest.approx(21)}


@pytest.mark.parametrize("command", ["map m*x --at m=1", "fit 'y = m*x'", "root 'z**2 = x' --at z=1", "propagate 2*x"])
def test_conditions_that_every_command_refuses(command: str) -> None:
    save_table("d.csv")
    said = [
        run(f"autodiff {command} d.csv --where {condition}") for condition in ("'q > 1'", "'x == g == \"a\"'", "'x = 1'", "'g > 1'")
    ]
    assert all(len(re.findall("^error: ", text, re.MULTILINE)) == 1 for text in said)
    assert "error: 'd.csv' has no column 'q'" in said[0]
    assert "error: --where: a text is compared with a column" in said[1]
    assert "hint: write == to compare numbers" in said[2]
    assert "error: 'd.csv', line 2: column 'g' contains 'a', which is not a number" in said[3]
    Path("d.csv").write_text("x,y,u_x,e\n1,2,0.1,3\n2,4,0.1,2\n")
    assert "'e' is a column of 'd.csv' and a constant of the language" in run(f"autodiff {command} d.csv --where 'e > 2.9'")
    assert "error: " not in run(f"autodiff {command} d.csv --let e=e --where 'e > 1.9'")
    assert "does not occur" not in run(f"autodiff {command} d.csv --let e=e --where 'e > 1.9'")


def test_a_condition_needs_rows() -> None:
    for command in ("root 'z**2 = x' --at z=1 --const x=2", "propagate 2*x --at 'x=1(1)'"):
        assert "error: --where selects rows of files\n" in run(f"autodiff {command} --where 'x > 1'")
    save_table("d.csv")
    assert "the data have no rows" in run("autodiff fit 'y = m*x' d.csv --where 'x > 100'")
    assert run("autodiff propagate 2*x d.csv --where 'u_x > 100' --no-keep") == "value,u,share_x\n"


def test_the_first_rows_of_the_output_determine_the_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a block of the input without rows that satisfy the condition."""
    from pyarrow import parquet

    monkeypatch.setattr(lines, "CHUNK", 200)
    Path("d.ndjson").write_text("".join(f'{{"x": {i}, "w": "a"}}\n' for i in range(100)))
    for target, path in (("one.parquet", "one.parquet"), ("out/*.parquet", "out/00000.parquet")):
        assert run_map("x", "d.ndjson", "--where", "x > 50", "-o", target).code == 0
        assert parquet.read_table(path, columns=["x", "w"]).to_pylist() == [{"x": i, "w": "a"} for i in range(51, 100)]
