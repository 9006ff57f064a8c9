"""``autodiff map``: its numbers, its column names, and its messages about irregular files."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.data.readers import delimited, lines
from autodiff_cli.data.row_blocks import Input
from tests.mapping import Done, refused, run_map

pytestmark = pytest.mark.usefixtures("elsewhere")

EXPRESSION = "sin(x)*exp(-y**2) + log(x**2 + y**2 + 1)"
EXPRESSIONS = [
    EXPRESSION,
    "x",
    "2*x - y",
    "x*y if x > 0 else y**2",
    "where(x > y, sqrt(abs(x)), 0)",
    "f(a, b) = a**b with grad (b*a**(b-1), a**b*log(a)); f(abs(x) + 1, y)",
    "max(x, y) + hypot(x, y)",
    "t = tanh(x); t*t + 1/y",
    "det([[x, 1], [y, 3]])",
    "prod([x, y, 2])",
]
POINTS = [(1.0, 2.0), (0.5, -1.25), (-3e-5, 7.0), (1e10, 0.125), (2.0, 2.0)]


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def rows_of(done: Done) -> list[dict[str, str]]:
    assert done.code == 0, done.err
    return list(csv.DictReader(io.StringIO(done.text)))


def points() -> str:
    return "x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in POINTS)


# Numbers


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_row_is_what_evaluate_says(expression: str, dtype: str) -> None:
    rows = rows_of(run_map(expression, write("d.csv", points()), "--order", 2, "--dtype", dtype))
    names = [name for name in ("x", "y") if f"d_{name}" in rows[0]]
    assert names[0] == "x"
    tolerance = {"rel": 1e-12 if dtype == "float64" else 1e-4, "abs": 1e-300 if dtype == "float64" else 1e-6, "nan_ok": True}
    for row, point in zip(rows, POINTS, strict=True):
        at = {name: value for name, value in zip("xy", point, strict=True) if name in names}
        expected = ad.evaluate(expression, at=at, order=2, dtype=dtype)
        assert float(row["value"]) == pytest.approx(float(expected.value), **tolerance)
        for name in names:
            assert float(row[f"d_{name}"]) == pytest.approx(float(expected.grad[name]), **tolerance)
        for index, value in expected.derivatives.items():
            assert float(row["_".join(["d", *index])]) == pytest.approx(float(value), **tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_are_the_shortest_that_read_back(dtype: Any) -> None:
    values = np.array([0.1, 1e-5, 1e16, 123456789012.5, 1 / 3, -0.0, 5e-30, 1e22], dtype)
    cells = "".join(f"{float(value)!r}\n" for value in values)
    out = run_map("1*x", "--columns", "x", "--no-keep", "--wrt", "x", "--dtype", np.dtype(dtype).name, stdin=cells.encode())
    found = [row["value"] for row in rows_of(out)]
    assert found == [repr(float(str(value))) for value in values]
    assert [dtype(text) for text in found] == values.tolist()


def test_numbers_that_are_not_finite_are_numbers() -> None:
    refused(4, "standard input, line 3: value is inf", "1/x", "--strict", stdin=b"x\n1\n0\n")
    rows = rows_of(run_map("2*x", stdin=b"x\nnan\ninf\n-inf\nNaN\nInfinity\n 1.5 \n+2\n1e400\n"))
    assert [row["value"] for row in rows] == ["nan", "inf", "-inf", "nan", "inf", "3.0", "4.0", "inf"]
    assert [row["x"] for row in rows][:2] == ["nan", "inf"]
    lines_ = run_map("2*x", "--format", "ndjson", stdin=b"x\nnan\n-inf\n").text.splitlines()
    assert lines_ == ['{"x": "nan", "value": "nan", "d_x": 2.0}', '{"x": "-inf", "value": "-inf", "d_x": 2.0}']


@pytest.mark.parametrize("threads", ["1", "3"])
def test_results_that_are_not_finite_have_one_note(threads: str) -> None:
    done = run_map("log(x)*k", "--at", "k=2", "--threads", threads, stdin=b"x\n1\nnan\n-1\n0\n")
    reason = "line 4: value is nan (log(-1.0) is nan: log is defined for x > 0)"
    assert done.err == f"note: 2 rows with results that are not finite; the first is standard input, {reason}\n"
    assert run_map("log(x)", stdin=b"x\n1\nnan\n").err == ""


@pytest.mark.parametrize(
    ("expression", "call"),
    [
        ("x - mean(x)", "mean(x)"),
        ("sum(x)", "sum(x)"),
        ("x.sum()", "x.sum()"),
        ("1 + sum(x*k, dim=0)", "sum(x*k, dim=0)"),
        ("cumsum(x, 0)", "cumsum(x, 0)"),
        ("softmax(x, 0)", "softmax(x, 0)"),
        ("(x - 1)/std(x)", "std(x)"),
        ("max(x)", "max(x)"),
        ("sort(x).values", "sort(x)"),
        ("norm(x)", "norm(x)"),
        ("logsumexp(x)", "logsumexp(x)"),
        ("quantile(x, 0.5)", "quantile(x, 0.5)"),
        ("any(x > 0)", "any(x > 0)"),
        ("f(t) = t/sum(t); f(x)", "sum(t)"),
        ("x if x > 0 else mean(x)", "mean(x)"),
        ("det([[x, 1], [2, k]]) + mean(x)", "mean(x)"),
    ],
)
def test_a_function_of_a_column_is_refused(expression: str, call: str) -> None:
    name = call.partition("(")[0].removeprefix("x.")
    done = refused(2, f"'{name}' takes an array", expression, "--at", "k=2", stdin=b"x\n1\n3\n")
    source, caret = done.err.splitlines()[1:3]
    assert source.strip() == expression
    assert source[caret.index("^") : caret.rindex("^") + 1] == call
    assert "give the result as a constant: --const m=2.5" in done.err


def test_functions_of_several_numbers_of_a_row() -> None:
    expression = "sum([x, y]) + max(x, y) + x.max(y) + sum(i=1..2, x**i) + mse_loss(x, y) + sum(w) + mean(k)"
    truth = [x + y + 2 * max(x, y) + x + x**2 + (x - y) ** 2 + 6 + 4 for x, y in ((1.0, 2.0), (3.0, -1.0))]
    done = run_map(expression, "--const", "w=[1, 2, 3]", "--const", "k=4", "--no-keep", stdin=b"x,y\n1,2\n3,-1\n")
    assert [float(row["value"]) for row in rows_of(done)] == truth
    assert done.err == ""


def test_huge_integers() -> None:
    rows = rows_of(run_map("x", stdin=f"x\n{10**30}\n{'9' * 400}\n{2**53 + 1}\n".encode()))
    assert [row["value"] for row in rows] == ["1e+30", "inf", "9007199254740992.0"]
    assert rows[0]["x"] == str(10**30)
    lines_ = run_map("x", "--input-format", "ndjson", "--format", "csv", stdin=f'{{"x": {10**400}}}\n'.encode()).text
    assert lines_.splitlines()[1].endswith(",inf,1.0")


# Columns and names


def test_names_and_order_of_columns() -> None:
    def header(*options: Any) -> str:
        return run_map("x**2*y", *options, stdin=b"id,y,x\n7,2,3\n").text

    assert header() == "id,y,x,value,d_x,d_y\n7,2,3,18.0,12.0,9.0\n"
    assert header("--wrt", "y", "--wrt", "x", "--order", 2).splitlines()[0] == "id,y,x,value,d_y,d_x,d_y_y,d_y_x,d_x_x"
    assert header("--order", 0) == "id,y,x,value\n7,2,3,18.0\n"
    assert header("--no-keep", "--wrt", "x") == "value,d_x\n18.0,12.0\n"
    assert run_map("f = x**2*y; f,", stdin=b"id,y,x\n7,2,3\n").text.splitlines()[0] == "id,y,x,f,d_f_x,d_f_y"
    assert header("-q") == "18.0,12.0,9.0\n"
    assert header("-q", "--format", "tsv") == "18.0\t12.0\t9.0\n"


def test_variables_that_are_no_columns() -> None:
    data = b"x,Radius (mm)\n2,3\n"
    assert run_map("x*r", "--let", "r=Radius (mm)", "-q", stdin=data).text == "6.0,3.0,2.0\n"
    assert run_map("x*k", "--at", "k=5", "-q", stdin=data).text == "10.0,5.0,2.0\n"
    assert run_map("x*k", "--const", "k=5", "-q", stdin=data).text == "10.0,5.0\n"
    assert run_map("sum(x*w)", "--const", "w=[1, 2, 3]", "-q", stdin=data).text == "12.0,6.0\n"
    assert run_map("x*y", "-q", stdin=b"x, y\n2, 3\n").text == "6.0,3.0,2.0\n"
    assert run_map("k**2", "--at", "k=5", "-q", stdin=data).text == "25.0,10.0\n"
    assert run_map("1 + 1", "-q", stdin=data).text == "2.0\n"
    assert run_map("x", "--at", "k=5", stdin=data).err == "note: 'k' does not occur in the expression\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-"], "standard input cannot be both the expression and the data"),
        (["x", "-", "-"], "standard input can be read only once"),
        (["x", "--treads", "2", "f.csv"], "did you mean '--threads'?"),
        (["d.csv", "x"], "the expression must precede the files"),
    ],
)
def test_mistakes_on_the_command_line(arguments: list[str], message: str) -> None:
    write("d.csv", "x\n1\n")
    refused(2, message, *arguments, stdin=b"id,x,value2\n1,2,3\n")


def test_a_name_twice() -> None:
    data = b"x,a,a\n1,2,3\n"
    assert run_map("x", stdin=data).text == "x,a,a,value,d_x\n1,2,3,1.0,1.0\n"
    refused(2, "more than one column 'a'", "x", "-o", "out.npz", stdin=data)
    refused(2, "more than one column 'a'", "x", "--keep-columns", "a", stdin=data)
    refused(2, "more than one column 'a'", "a", "--no-keep", stdin=data)
    assert run_map("x", "--no-keep", stdin=data).text == "value,d_x\n1.0,1.0\n"


def test_hints_for_beginners() -> None:
    data = b"x,y\n1,2\n"
    refused(5, "hint: remove --columns, because the first line is a header", "x*y", "--columns", "x,y", stdin=data)
    assert "--columns away" not in run_map("x*y", "--columns", "x,y", stdin=b"1,2\nx,y\n").err
    refused(2, "--columns names a column 'c1' twice", "c1", "--columns", "c1,c2,c1", stdin=b"1,2,3\n")
    refused(2, "its delimiter seems to be ';'; use --delimiter ';'", "x*y", stdin=b"x;y\n1;2\n")
    refused(2, "its delimiter seems to be '\\t'; use --input-format tsv", "x*y", stdin=b"x\ty\n1\t2\n")
    refused(2, "its delimiter seems to be ','; use --input-format csv", "x*y", "--input-format", "tsv", stdin=data)
    refused(2, "the name of an input file is empty", "x", "")


@pytest.mark.parametrize("style", ["csv", "ndjson"])
def test_files_that_are_no_text(style: str) -> None:
    for start, found in (
        (b"PAR1\x15\x04\x15", "parquet"),
        (b"ARROW1\0\0", "arrow"),
        (b"\xff\xff\xff\xff\x10\0", "arrow"),
        (b"PK\x03\x04\x14", "npz"),
        (b"\x93NUMPY\x01", "npy"),
    ):
        done = refused(5, f" {found} file, not text", "x", "--input-format", style, stdin=start + b"...\n")
        assert f"--input-format {found}" in done.err
    assert run_map("PAR1", "-q", stdin="PAR1,größe\n2,3\n".encode()).text == "2.0,1.0\n"


# Text that is passed through


def test_cells_are_passed_as_they_are() -> None:
    rows = '  a ,1.50,"b, c"\n"say ""hi""",+2e0,\n"two\nlines",007,\N{SNOWMAN}\n'
    text = run_map("x*2", stdin=f"name,x,note\n{rows}".encode()).text
    assert text == (
        'name,x,note,value,d_x\n  a ,1.50,"b, c",3.0,2.0\n"say ""hi""",+2e0,,4.0,2.0\n"two\nlines",007,\N{SNOWMAN},14.0,2.0\n'
    )
    parsed = list(
        csv.reader(io.StringIO(run_map("x*2", "--format", "tsv", stdin=f"name,x,note\n{rows}".encode()).text), "excel-tab")
    )
    given = list(csv.reader(io.StringIO(rows)))
    assert [row[:3] for row in parsed[1:]] == given


def test_line_ends_marks_and_blank_lines() -> None:
    assert run_map("x", stdin=b"\xef\xbb\xbfx,y\r\n1,a\r\n\r\n2,b").text == "x,y,value,d_x\n1,a,1.0,1.0\n2,b,2.0,1.0\n"
    assert run_map("x", stdin=b'x,y\r\n1,"a\r\nb"\r\n').text == 'x,y,value,d_x\n1,"a\r\nb",1.0,1.0\n'
    assert run_map("x", stdin=b"\n\nx\n\n1\n\n").text == "x,value,d_x\n1,1.0,1.0\n"


def test_json_lines_are_passed_as_they_are() -> None:
    data = b' {"x": 1.50, "y": [1, {"a": null}]} \n\n{"y": "\\u00e9", "x":2, "more": true}\n'
    assert run_map("x*2", "--input-format", "ndjson", "--format", "ndjson", stdin=data).text == (
        '{"x": 1.50, "y": [1, {"a": null}], "value": 3.0, "d_x": 2.0}\n'
        '{"y": "\\u00e9", "x":2, "more": true, "value": 4.0, "d_x": 2.0}\n'
    )


@pytest.mark.parametrize("chunk", [7, 23, 64, 1 << 20])
def test_any_chunks_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    draw = random.Random(5)
    cells = ['"a,b"', '"x\ny"', "plain", '"q""q"', "", 'inner"quote', "\N{GREEK SMALL LETTER ALPHA}"]
    data = "name,x\n" + "".join(f"{draw.choice(cells)},{draw.uniform(-9, 9)!r}\n" for _ in range(60))
    whole = run_map("x**3", stdin=data.encode())
    monkeypatch.setattr(lines, "CHUNK", chunk)
    parts = run_map("x**3", stdin=data.encode())
    assert (parts.code, parts.out, parts.err) == (0, whole.out, "")
    assert run_map("x**3", "--unbuffered", stdin=data.encode()).out == whole.out
    table = list(csv.reader(io.StringIO(whole.text, newline="")))
    assert len(table) == 61
    assert all(float(row[2]) == pytest.approx(float(row[1]) ** 3) for row in table[1:])


def test_short_lines_are_handed_on_in_bounds() -> None:
    """A few megabytes of them are millions of rows, and head waits for the first ones."""
    data = b"x\n" + b"1\n" * 1_000_000
    chunks = list(lines.TextReader(Input("f", "csv"), io.BytesIO(data), soon=True).chunks())
    assert b"".join(chunks) == data
    assert len(chunks[0]) <= lines.FIRST
    assert max(map(len, chunks)) < 2 * lines.CHUNK


def test_a_quote_that_is_never_closed_in_any_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "CHUNK", 8)
    refused(5, "line 3: a quote that opens here is never closed", "x", stdin=b'x,n\n1,a\n2,"b\n' + b"3,c\n" * 20)
    assert run_map("x", "-q", stdin=b'x,n\n1,a\n2,"b\n' + b"3,c\n" * 20 + b'"\n4,d\n').text == "1.0,1.0\n2.0,1.0\n4.0,1.0\n"


def test_lines_are_counted_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "CHUNK", 16)
    rows = ['"a\nb",1'] * 20 + ["c,1"] * 20 + ["", "d,oops"]
    refused_ = run_map("x", stdin=("n,x\n" + "\n".join(rows) + "\n").encode())
    assert "standard input, line 63: column 'x' contains 'oops'" in refused_.err


# Data that is not as it should be


def test_an_error_says_how_many_rows_are_written() -> None:
    data = ("x\n" + "1\n" * 300_000 + "abc\n").encode()
    failed = run_map("x**2", stdin=data)
    written = failed.text.count("\n") - 1
    assert written > 0
    assert f"not a number; the results of {written:,} rows are already on standard output\n" in failed.err
    assert "standard output" not in run_map("x**2", "--sum", stdin=data).err
    assert "standard output" not in run_map("x**2", stdin=b"x\nabc\n").err


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "standard input is empty"),
        (b"\n\n", "standard input is empty"),
        (b"x,y\n1,2\n3,N/A\n", "standard input, line 3: column 'y' contains 'N/A', which is not a number"),
        (b"x,y\n1,2\n3,\n", "line 3: column 'y' is empty"),
        (b"x,y\n1,2\n3,1_000\n", "line 3: column 'y' contains '1_000', which is not a number"),
        (b"x,y\n1,2\n3,1.5.2\n", "line 3: column 'y' contains '1.5.2'"),
        (b"x,y\n1,2\n3,0x10\n", "line 3: column 'y' contains '0x10'"),
        (b'x,y\n1,"2\n"\n3,"1,5"\n', "line 4: column 'y' contains '1,5'"),
        (b"x,y\n1,2\n3\n", "line 3: 1 cell, but there are 2 columns"),
        (b"x,y\n1,2\n3,4,5\n6\n", "line 3: 3 cells, but there are 2 columns"),
        (b"x,y\n1,2\n3,4\n\xff,1\n", "line 4: this is not UTF-8 text"),
        (b"\xff\xfex\x00,\x00y\x00", "standard input is UTF-16"),
        (b'x,y\n1,2\n3,"4\n5,6\n', "line 3: a quote that opens here is never closed"),
        (b'"x,y\n1,2\n', "line 1: a quote in the header"),
        (b"x,y\n1,2\r3,4\n", "line 2: the line contains a carriage return"),
        (
            b"x,y\r1,2\r3,4\r",
            "line 1: the header contains a carriage return\n  hint: end lines with a newline, or convert lines that end ",
        ),
    ],
)
@pytest.mark.parametrize("arrow", [True, False])
def test_bad_data(data: bytes, message: str, arrow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused(5, message, "x*y", stdin=data)
    refused(5, message.replace("standard input", "'d.csv'"), "x*y", write("d.csv", data), "-o", "out.csv")
    assert sorted(os.listdir()) == ["d.csv"]


def test_no_header() -> None:
    refused(2, "if it does not have a header, name the columns with --columns x,y", "x*y", stdin=b"1,2\n3,4\n")
    assert run_map("x*y", "--columns", "x,y", "-q", stdin=b"1,2\n3,4\n").text == "2.0,2.0,1.0\n12.0,4.0,3.0\n"
    refused(5, "line 1: 2 cells, but there are 3 columns", "x*y", "--columns", "x,y,z", stdin=b"1,2\n3,4\n")
    assert "hint: name a file, or write a header line, even for an empty table" in run_map("x*y", stdin=b"").err
    assert run_map("x*y", "--columns", "x,y", stdin=b"").text == "x,y,value,d_x,d_y\n"


@pytest.mark.parametrize("style", ["csv", "tsv", "json", "markdown", "table", "npy", "npz"])
def test_a_header_only(style: str) -> None:
    done = run_map("x", "--format", style, stdin=b"x\n")
    assert (done.code, done.err) == (0, "")
    if style == "csv":
        assert done.text == "x,value,d_x\n"
    elif style == "json":
        assert json.loads(done.text)["rows"] == []


def test_rows_with_errors_in_the_columns_of_the_expression_are_counted() -> None:
    assert run_map("x", stdin=b"x,y\n1,N/A\n").text == "x,y,value,d_x\n1,N/A,1.0,1.0\n"
    data = b"x,y\n1,2\nN/A,4\n5\n6,oops\n7,8\n"
    done = run_map("x*y", "--on-error", "skip", stdin=data)
    assert done.text == "x,y,value,d_x,d_y\n1,2,2.0,2.0,1.0\n7,8,56.0,8.0,7.0\n"
    first = "the first is standard input, line 3: column 'x' contains 'N/A', which is not a number\n"
    assert done.err == f"note: 3 rows with non-numeric cells were skipped; {first}"
    done = run_map("x*y", "--on-error", "nan", stdin=data)
    assert done.text.splitlines()[2:5] == ["N/A,4,nan,4.0,nan", "5,,nan,nan,5.0", "6,oops,nan,nan,6.0"]
    assert "3 rows with non-numeric cells were set to nan" in done.err
    refused(5, "3 cells, but there are 2", "x*y", "--on-error", "nan", stdin=b"x,y\n1,2,3\n")
    assert run_map("x*y", "--on-error", "skip", "-q", stdin=b"x,y\n1,2,3\n4,5\n").text == "20.0,5.0,4.0\n"


def test_rows_without_a_value() -> None:
    """Where each row is evaluated by itself, one of them can fail."""
    inverse = "inverse([[x,0],[0,y]])[0,0]"
    data = b"x,y\n2,1\n3,0\nN/A,0\n4,5\n"
    done = refused(5, "line 4: column 'x' contains 'N/A'", inverse, stdin=data)
    data = data.replace(b"N/A", b"7")
    done = refused(3, "standard input, line 3: ", inverse, stdin=data)
    assert "singular" in done.err
    assert inverse in done.err
    data = data.replace(b"7", b"N/A")
    done = run_map(inverse, "--on-error", "skip", stdin=data)
    assert done.text == "x,y,value,d_x,d_y\n2,1,0.5,-0.25,-0.0\n4,5,0.25,-0.0625,-0.0\n"
    assert "note: 2 rows without a value were skipped; one is standard input, line " in done.err
    done = run_map(inverse, "--on-error", "nan", stdin=data)
    assert done.text.splitlines()[2:4] == ["3,0,nan,nan,nan", "N/A,0,nan,nan,nan"]
    assert "note: 2 rows without a value were set to nan" in done.err
    for choice in ("stop", "nan", "skip"):
        assert "line" not in refused(3, "expected one number", "2*[x, y]", "--on-error", choice, stdin=b"x,y\n1,2\n").err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{}", "line 2: column 'x' is empty"),
        ('{"x": null}', "line 2: column 'x' is empty"),
        ('{"x": "1.5"}', "line 2: column 'x' contains '1.5', which is not a number"),
        ('{"x": "true"}', "line 2: column 'x' contains 'true', which is not a number"),
        ('{"x": [1]}', "line 2: column 'x' contains [1], which is not a number"),
        ("[1]", "line 2: not a JSON object"),
        ('{"x": 1', "line 2: not JSON ("),
        ("[" * 100_000, "line 2: a value is nested too deeply"),
    ],
)
def test_bad_json_lines(line: str, message: str) -> None:
    data = f'{{"x": 1}}\n{line}\n{{"x": 3}}\n'.encode()
    refused(5, message, "x", "--input-format", "ndjson", stdin=data)
    skipped = run_map("x", "--input-format", "ndjson", "--on-error", "skip", "-q", stdin=data)
    assert skipped.text == "1.0,1.0\n3.0,1.0\n"
    assert "1 row " in skipped.err


@pytest.mark.parametrize("style", ["csv", "json", "markdown", "table", "ndjson"])
def test_half_a_character_in_json(style: str) -> None:
    first = b'{"s": "\\ud83d\\ude00", "x": 1}\n'
    data = first + b'{"s": [{"a": "\\uD800"}], "x": 2}\n'
    arguments = ["x", "--input-format", "ndjson", "--format", style]
    if style == "ndjson":
        assert b'"\\uD800"}], "x": 2, "value": 2.0' in run_map(*arguments, stdin=data).out
    else:
        done = run_map(*arguments, stdin=data)
        assert (done.code, done.out, "standard input, line 2: one half of a pair of surrogates" in done.err) == (5, b"", True)
        assert run_map(*arguments, stdin=first).code == 0
        assert "1 row " in run_map(*arguments, "--on-error", "skip", stdin=data).err
    assert run_map(*arguments, "--no-keep", stdin=data).code == 0
    assert "line 1: one half of a pair" in run_map(*arguments, stdin=b'{"x": 1, "\\udc00": 2}\n').err


def test_json_keys_that_come_later() -> None:
    data = b'{"x": 1}\n{"x": 2, "z": 1}\n'
    refused(5, "line 2: the key 'z'", "x", "--input-format", "ndjson", "--format", "csv", stdin=data)
    assert run_map("x", "--input-format", "ndjson", "-q", stdin=data).text == "1.0,1.0\n2.0,1.0\n"
    data = b'{"x": 1}\n{"x": 2, "value": 1}\n'
    done = run_map("x", "--input-format", "ndjson", "--format", "ndjson", stdin=data)
    assert (done.code, done.out, "line 2: the key 'value' already exists" in done.err) == (5, b"", True)


# Files


def test_several_files_are_one_table() -> None:
    write("a1.csv", "x,y\n1,a\n")
    write("a2.csv", "y,x\nb,2\n")
    write("a3.csv", "x,y\n")
    write("other.csv", "x,z\n3,c\n")
    expected = "x,y,value,d_x\n1,a,1.0,1.0\n2,b,2.0,1.0\n"
    assert run_map("x", "a1.csv", "a2.csv", "a3.csv").text == expected
    assert run_map("x", "a[123].csv").text == expected
    assert run_map("x", "a1.csv", "-", stdin=b"x,y\n9,z\n").text == "x,y,value,d_x\n1,a,1.0,1.0\n9,z,9.0,1.0\n"
    done = run_map("x", "a1.csv", "other.csv", "-o", "out.csv")
    assert (done.code, os.path.exists("out.csv")) == (2, False)
    assert "'other.csv' and 'a1.csv' have different columns: 'y' is missing, 'z' is new" in done.err
    assert run_map("x", "a1.csv", "other.csv").out == b""  # also not the rows of the first file
    refused(5, "no file matches 'b*.csv'", "x", "b*.csv")


def test_files_that_cannot_be_read() -> None:
    refused(5, "cannot read 'none.csv': No such file or directory", "x", "none.csv")
    os.mkdir("folder")
    refused(5, "the folder 'folder' does not contain files of rows", "x", "folder")
    separated = "csv, tsv, npy, npz, parquet, arrow, feather; set --delimiter for cells that commas do not separate"
    refused(
        2,
        f"'data.dat' does not determine a format\n  hint: set --input-format to one of ndjson, {separated}",
        "x",
        write("data.dat", "x\n1\n"),
    )
    refused(2, "'t.XLSX' does not determine a format\n  hint: save the sheet as CSV", "x", write("t.XLSX", ""))
    refused(5, "is not in gzip format", "x", write("data.csv.gz", "x\n1\n"))
    refused(2, "parquet files are not compressed as a whole", "x", write("data.parquet.gz", "x"))
    assert run_map("x", "data.dat", "--input-format", "csv", "-q").text == "1.0,1.0\n"


def test_the_output_appears_whole_or_not_at_all() -> None:
    write("good.csv", "x\n1\n")
    write("bad.csv", "x\n1\n2\nno\n")
    before = write("out.csv", "what was there\n")
    assert run_map("x", "bad.csv", "-o", "out.csv").code == 5
    assert Path(before).read_text() == "what was there\n"
    assert run_map("x", "good.csv", "-o", "out.csv").code == 0
    assert Path("out.csv").read_text() == "x,value,d_x\n1,1.0,1.0\n"
    assert sorted(os.listdir()) == ["bad.csv", "good.csv", "out.csv"]


def test_outputs_that_cannot_be_written() -> None:
    write("d.csv", "x\n1\n")
    os.symlink("far/out.csv", "link.csv")
    for target, message in (
        ("none/out.csv", "the folder 'none' does not exist\n  hint: mkdir -p none\n"),
        ("link.csv", f"the folder '{os.path.realpath('far')}' does not exist"),
        ("/dev/full", "cannot write '/dev/full': No space left on device"),
    ):
        refused(5, message, "x", "d.csv", "-o", target, "--format", "csv")
    refused(2, "does not determine a format", "x", "d.csv", "-o", "out.dat")
    assert run_map("x", "d.csv", "-o", "out.dat", "--format", "csv").code == 0
    if os.getuid():
        os.chmod("d.csv", 0o444)
        refused(5, "Permission denied", "x", "-", "-o", "d.csv")


def test_the_output_keeps_its_permissions_and_links() -> None:
    write("d.csv", "x\n1\n")
    write("real.csv", "")
    os.chmod("real.csv", 0o640)
    os.symlink("real.csv", "link.csv")
    assert run_map("x", "d.csv", "-o", "link.csv").code == 0
    assert os.path.islink("link.csv")
    assert os.stat("real.csv").st_mode & 0o777 == 0o640
    assert Path("real.csv").read_text().startswith("x,value")


def test_the_input_is_never_the_output() -> None:
    write("d.csv", "x\n1\n")
    os.symlink("d.csv", "soft.csv")
    os.link("d.csv", "hard.csv")
    for target in ("d.csv", "./d.csv", "soft.csv", "hard.csv"):
        refused(2, f"'{target}' is both the input and the output", "x", "d.csv", "-o", target)
    assert Path("d.csv").read_text() == "x\n1\n"
    refused(2, "unknown option '--in-place'", "x", "d.csv", "--in-place")


def test_the_results_are_never_the_input_of_the_next_run() -> None:
    os.mkdir("d")
    write("d/a.csv", "x\n1\n")
    for source, target in (("d", "d/"), ("d/", "d"), ("d", "d/out/"), ("d/*.csv", "d/*.csv"), ("d/**", "d/")):
        refused(2, f"the results in '{target}' would be input files of '{source}' in the next run", "x", source, "-o", target)
    assert os.listdir("d") == ["a.csv"]
    for source, target in (("d", "out/"), ("d/*.csv", "d/*.ndjson"), ("d/a.csv", "d/")):
        assert run_map("x", source, "-o", target).code == 0


def test_names_of_files_cannot_look_like_messages() -> None:
    write("new\nnote: done.csv", "x\n1\n")
    done = run_map("q", "new\nnote: done.csv")
    assert done.err.splitlines()[0] == "error: 'new\\nnote: done.csv' has no column 'q'; it has x"
    assert not any(line.startswith("note") for line in done.err.splitlines())


def test_the_columns_of_a_wide_file_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"x{i}" for i in range(2000)]
    write("wide.csv", f"{','.join(names)}\n{','.join('1' * 2000)}\n")
    compared = 0

    class Name(str):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str(self) == other

        __hash__ = str.__hash__

    header = delimited.DelimitedReader._header
    monkeypatch.setattr(delimited.DelimitedReader, "_header", lambda self: [*map(Name, header(self))])
    assert run_map("x0*2", "wide.csv", "--keep-columns", "x0,x8").code == 0
    assert compared < 100 * len(names), "a search in a list of columns for each column compares 2,000,000 names"


def test_the_format_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTODIFF_FORMAT", "ndjson")
    assert run_map("x", stdin=b"x\n1\n").text == '{"x": 1.0, "value": 1.0, "d_x": 1.0}\n'
    assert run_map("x", "-o", "out.csv", stdin=b"x\n1\n").code == 0
    assert Path("out.csv").read_text() == "x,value,d_x\n1,1.0,1.0\n"
    monkeypatch.setenv("AUTODIFF_FORMAT", "table")
    assert run_map("x", stdin=b"x\n1\n").text == "x,value,d_x\n1,1.0,1.0\n"


def test_json_says_what_was_computed() -> None:
    document = json.loads(run_map("x**2", "--json", stdin=b"n,x\na,3\nb,inf\n").text)
    assert document == {
        "schema": 1,
        "command": "map",
        "expression": "x**2",
        "dtype": "float64",
        "order": 1,
        "columns": ["n", "x", "value", "d_x"],
        "rows": [{"n": "a", "x": 3.0, "value": 9.0, "d_x": 6.0}, {"n": "b", "x": "inf", "value": "inf", "d_x": "inf"}],
    }


def test_a_long_table_shows_both_ends() -> None:
    data = "x\n" + "".join(f"{i}\n" for i in range(1000))
    shown = run_map("x", "--format", "table", stdin=data.encode()).text.splitlines()
    assert len(shown) == 63
    assert "940 more" in shown[32]
    assert [line.split()[0] for line in (shown[2], shown[31], shown[33], shown[-1])] == ["0", "29", "970", "999"]


def test_rows_that_are_evaluated_one_by_one_are_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n" + "0.5,1.5\n" * 1_000)
    done = run_map("norm([x, y])", "a.csv")
    assert len(done.out.splitlines()) == 1_001
    assert done.err.startswith("note: every row was evaluated separately, which is slow: 'linalg_vector_norm' has no")


def test_a_column_with_the_name_of_a_constant(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("e,x\n2,3\n")
    refused(2, "'e' is a column of 'a.csv' and a constant of the language", "e*x", "a.csv")
    assert run_map("e*x", "a.csv", "--let", "e=e", "-q").text == "6.0,3.0,2.0\n"
    assert run_map("e*x", "a.csv", "--wrt", "e", "-q").text == "6.0,3.0\n"
    assert run_map("2*x", "a.csv", "-q").text == "6.0,2.0\n"
    assert run_map("pi*x", "a.csv", "--at", "pi=1", "-q").text == "3.0,3.0,1.0\n"
