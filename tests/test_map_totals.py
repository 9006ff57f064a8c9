"""``map --sum``, ``--mean`` and ``--by``: exact sums over rows and groups."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autodiff_cli.data.readers import lines
from autodiff_cli.data.totals import ExactSums
from tests.mapping import Done, refused, run_map

pytestmark = pytest.mark.usefixtures("elsewhere")

ROWS = b'g, h,x,y\np,1,1.5,2\n"q, r",1,-0.25,3\np,1.0,4,0.5\np,1,1e16,1\n"q, r",1,2,-1\np,1,-1e16,1\n'


def table(done: Done) -> list[list[str]]:
    assert done.code == 0, done.err
    return list(csv.reader(io.StringIO(done.text)))


# Exact sums


FLOATS = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30)


@given(FLOATS)
@example([])
@example([5e-324, sys.float_info.max, -sys.float_info.max, 5e-324])
@example([sys.float_info.max, sys.float_info.max, -sys.float_info.max])
@example([1e16, 1.0, 1.0, -1e16, -(2.0**-1074)])
@example([2.0**53, 1.0, 2.0**-60])
@example([sys.float_info.max] * 3)
def test_sums_and_means_are_rounded_once(values: list[float]) -> None:
    sums = ExactSums(1)
    sums.add(np.array(values), np.zeros(len(values), np.intp))
    exact = sum(map(Fraction, values), Fraction(0))
    for divisor in (1, len(values)):
        try:
            expected = float(exact / divisor) if divisor else math.nan
        except OverflowError:
            expected = math.inf if exact > 0 else -math.inf
        (found,) = sums.rounded(np.array([divisor])).tolist()
        assert repr(found) == repr(expected)


@given(FLOATS, st.randoms())
def test_parts_are_added_in_any_order(values: list[float], order: random.Random) -> None:
    parts = [ExactSums(2) for _ in range(4)]
    places = [(order.randrange(4), order.randrange(2)) for _ in values]
    for value, (part, group) in zip(values, places, strict=True):
        parts[part].add(np.array([value]), np.array([group]))
    order.shuffle(parts)
    total = ExactSums(0)
    for part in parts:
        total.merge(part, np.array([2, 0]), 3)
    found = total.rounded(np.array([1 << 60, 1, 1 << 60])).tolist()
    for group, number in ((1, found[0]), (0, found[2])):
        assert number == float(
            sum((Fraction(v) for v, (_, g) in zip(values, places, strict=True) if g == group), Fraction(0)) / 2**60
        )
    assert found[1] == 0


def test_many_sums_of_numbers_of_all_sizes_are_exact() -> None:
    """Sums stay exact when later numbers have lower digits than all numbers before."""
    values = [sys.float_info.max / 4, -1.0, -(2.0**-1074), 3.7e200, -sys.float_info.max / 8] * 50
    sums = ExactSums(1)
    for value in values:
        sums.add(np.array([value]), np.array([0]))
    exact = sum(map(Fraction, values))
    assert sums.rounded(np.array([len(values)]))[0] == float(exact / len(values))


def test_many_rows_are_summed_like_fsum() -> None:
    numbers = np.random.default_rng(4)
    values = numbers.normal(size=100_000) * np.exp2(numbers.integers(-300, 300, 100_000))
    codes = numbers.integers(0, 50_000, 100_000)
    sums = ExactSums(50_000)
    sums.add(values, codes)
    found = sums.rounded(np.ones(50_000, np.int64))
    for group in range(0, 50_000, 97):
        assert found[group] == math.fsum(values[codes == group])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 1e308, 1e308], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([1.0, math.nan], math.nan),
    ],
)
def test_numbers_that_are_not_finite(values: list[float], expected: float) -> None:
    sums = ExactSums(2)
    sums.add(np.array([*values, 2.0]), np.array([0] * len(values) + [1]))
    np.testing.assert_array_equal(sums.rounded(np.array([1, 1])), [expected, 2.0])


# Sums and means over rows


def test_the_gradient_of_a_loss_over_a_file() -> None:
    done = run_map("(y - a*x - b)**2", "--at", "a=2,b=-1", "--wrt", "a,b", "--mean", stdin=ROWS)
    x, y = (list(map(Fraction, column)) for column in ([1.5, -0.25, 4, 1e16, 2, -1e16], [2.0, 3.0, 0.5, 1.0, -1.0, 1.0]))
    losses = [(v - 2 * u + 1) ** 2 for u, v in zip(x, y, strict=True)]
    slopes = [-2 * u * (v - 2 * u + 1) for u, v in zip(x, y, strict=True)]
    names, (loss, slope, _) = table(done)
    assert names == ["value", "d_a", "d_b"]
    assert float(loss) == pytest.approx(float(sum(losses) / 6))
    assert float(slope) == pytest.approx(float(sum(slopes) / 6))


def test_gradients_are_those_of_pytorch() -> None:
    """The mean squared error of a line at 7 points, recorded with PyTorch 2.13."""
    data = "x,y\n" + "".join(f"{i / 4},{(i * 37 % 11) / 8}\n" for i in range(7))
    found = table(run_map("(y - sin(a*x) - b)**2", "--at", "a=1.25,b=0.5", "--wrt", "a,b", "--mean", stdin=data.encode()))
    assert list(map(float, found[1])) == pytest.approx(RECORDED, rel=1e-14)


RECORDED = [0.5737264261788332, 0.10130945831870541, 1.2790436806928756]


def test_terms_that_cancel() -> None:
    assert run_map("x", "--sum", "-q", stdin=ROWS).text == "7.25,6.0\n"
    assert run_map("x", "--mean", stdin=ROWS).text == f"value,d_x\n{7.25 / 6!r},1.0\n"


def test_every_output_and_order() -> None:
    done = run_map("u = x*y; u, y", "--wrt", "x", "--order", 2, "--sum", "--where", "abs(x) < 10", stdin=ROWS)
    assert done.text == "u,d_u_x,d_u_x_x,y,d_y_x,d_y_x_x\n2.25,4.5,0.0,4.5,0.0,0.0\n"


def test_no_rows() -> None:
    assert run_map("x", "--sum", "--where", "x > 1e17", stdin=ROWS).text == "value,d_x\n0.0,0.0\n"
    assert run_map("x", "--mean", "--where", "x > 1e17", stdin=ROWS).text == "value,d_x\nnan,nan\n"
    assert run_map("x", "--mean", "--by", "g", "--where", "x > 1e17", stdin=ROWS).text == "g,value,d_x\n"
    refused(4, "the mean of value is nan", "x", "--mean", "--strict", "--where", "x > 1e17", stdin=ROWS)


def test_bad_cells_and_results_that_are_not_finite() -> None:
    data = b"x\n1\nN/A\n-1\n4\n"
    assert run_map("x", "--sum", stdin=data).code == 5
    done = run_map("x", "--mean", "-q", "--on-error", "skip", stdin=data)
    assert done.text == f"{4 / 3!r},1.0\n"
    assert "1 row with non-numeric cells was skipped" in done.err
    done = run_map("log(x)", "--sum", "-q", "--on-error", "skip", stdin=data)
    assert done.text == "nan,0.25\n"
    assert "1 row with results that are not finite; the first is standard input, line 4" in done.err
    assert run_map("log(x)", "--sum", "--on-error", "skip", "--strict", stdin=data).code == 4
    refused(4, "the sum of value is inf", "x", "--sum", "--strict", stdin=b"x\n1e308\n1e308\n")


def test_single_precision_rows_have_double_precision_totals() -> None:
    data = b"x\n" + b"0.1\n" * 10
    (_, found) = table(run_map("x", "--sum", "--dtype", "float32", stdin=data))
    assert float(found[0]) == 10 * Fraction(float(np.float32(0.1)))


# Groups


def test_groups_in_order_of_their_first_row() -> None:
    done = run_map("x*y", "--wrt", "x", "--sum", "--by", "g", stdin=ROWS)
    assert done.text == 'g,value,d_x\np,5.0,4.5\n"q, r",-2.75,2.0\n'
    assert run_map("x*y", "--wrt", "x", "--sum", "--by", "g", "-q", stdin=ROWS).text == "5.0,4.5\n-2.75,2.0\n"
    assert run_map("x*y", "--wrt", "x", "--sum", "--by", "g", "--no-keep", stdin=ROWS).text.startswith("value,d_x\n5.0,4.5\n")


def test_groups_of_several_columns_by_their_text() -> None:
    """A header may have a blank; 1 and 1.0 are different texts, even if the column is also a number."""
    done = run_map("h", "--sum", "--by", "h,g", stdin=ROWS)
    assert done.text == ' h,g,value,d_h\n1,p,3.0,3.0\n1,"q, r",2.0,2.0\n1.0,p,1.0,1.0\n'


def test_json() -> None:
    data = json.loads(run_map("x*y", "--wrt", "x", "--mean", "--by", "g", "--json", stdin=ROWS).text)
    assert (data["total"], data["by"], data["columns"]) == ("mean", ["g"], ["g", "value", "d_x"])
    assert data["rows"] == [{"g": "p", "value": 1.25, "d_x": 1.125}, {"g": "q, r", "value": -1.375, "d_x": 1.0}]


def test_values_of_json_lines_as_groups() -> None:
    """Equal numbers are one group; true, text and missing values are others."""
    values = [1, 1.0, True, "1", "true", None, {"a": 1}, {"a": 1}, "nan", [1], "null"]
    data = "".join(json.dumps({"x": 2, "g": value}) + "\n" for value in values) + '{"x": 2}\n'
    done = run_map("x", "--order", 0, "--sum", "--by", "g", "--input-format", "ndjson", "--format", "ndjson", stdin=data.encode())
    found = [json.loads(line) for line in done.text.splitlines()]
    assert [(row["g"], row["value"]) for row in found] == [
        (1, 4),
        (True, 2),
        ("1", 2),
        ("true", 2),
        (None, 4),
        ({"a": 1}, 4),
        ("nan", 2),
        ([1], 2),
        ("null", 2),
    ]


def test_groups_keep_the_types_of_parquet() -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    groups = {
        "text": pa.array(["b", None, "a", "b"]),
        "day": pa.array([3, None, 1, 3], pa.date32()),
        "when": pa.array([3, None, 1, 3], pa.timestamp("us", "UTC")),
        "sort": pa.array(["b", None, "a", "b"]).dictionary_encode(),
        "view": pa.array(["b", None, "a", "b"], pa.string_view()),
        "number": pa.array([math.nan, 0.5, -0.0, math.nan]),
        "small": pa.array([0.1, None, 1, 0.1], pa.float32()),
        "pair": pa.array([{"a": [1]}, None, {"a": []}, {"a": [1]}]),
        "exact": pa.array([3, None, 1, 3], pa.decimal128(20, 2)),
        "raw": pa.array([b"b", None, b"a", b"b"], pa.binary()),
        "flag": pa.array([True, None, False, True]),
        "none": pa.array([None, None, None, None], pa.null()),
    }
    whole = pa.table({"x": [1.0, 2.0, 4.0, 8.0], **groups})
    parquet.write_table(whole, "in.parquet")
    for name in groups:
        done = run_map("x", "in.parquet", "--sum", "--by", name, "-o", "out.parquet")
        assert done.code == 0, done.err
        found = parquet.read_table("out.parquet")
        expected = whole.select([name]).slice(0, 1 if name == "none" else 3)
        assert found.schema.field(name).type == whole.schema.field(name).type, name
        assert str(found.column(name).to_pylist()) == str(expected.column(name).to_pylist())
        assert found.column("value").to_pylist() == ([15.0] if name == "none" else [9.0, 2.0, 4.0]), name


@pytest.mark.parametrize("style", ["npy", "npz"])
def test_groups_of_arrays(style: str) -> None:
    columns = {"x": np.arange(6.0), "g": np.array([2, 1, 2, 3, 1, 2], np.int16)}
    if style == "npy":
        rows = np.empty(6, [("x", "f8"), ("g", "i2")])
        rows["x"], rows["g"] = columns["x"], columns["g"]
        np.save("d.npy", rows)
    else:
        np.savez("d.npz", **columns)
    assert run_map("x", f"d.{style}", "--sum", "--by", "g", "-o", f"out.{style}").code == 0
    found = np.load(f"out.{style}")
    assert (found["g"].tolist(), found["g"].dtype) == ([2, 1, 3], np.int16)
    assert found["value"].tolist() == [7.0, 5.0, 3.0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("switches", [[], ["--threads", 1], ["--engine", "dask"]])
@pytest.mark.parametrize("by", [[], ["--by", "g"], ["--by", "w,g"]])
def test_totals_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch, switches: list[Any], by: list[str]) -> None:
    """A file in one block, in many small blocks, and in two files: the same bytes, which are those of math.fsum."""
    if "dask" in switches:
        from autodiff_cli.data.parts import scheduler
        from tests.test_cluster import here

        monkeypatch.setattr(scheduler, "connected", here)
        switches = [*switches, "--partition-bytes", 6_600]
    numbers = random.Random(3)
    rows = [
        (f"g{numbers.randrange(40)}", numbers.choice("ab"), repr(numbers.gauss(0, 1) * 2.0 ** numbers.randint(-80, 80)))
        for _ in range(3000)
    ]
    text = [f"{g},{w},{x}\n" for g, w, x in rows]
    Path("all.csv").write_text("g,w,x\n" + "".join(text))
    Path("a.csv").write_text("g,w,x\n" + "".join(text[:1100]))
    Path("b.csv").write_text("g,w,x\n" + "".join(text[1100:]))
    arguments = ["x**2", "--sum", *by]
    whole = run_map(*arguments, "all.csv")
    assert run_map(*arguments, "a.csv", "b.csv", *switches).out == whole.out
    monkeypatch.setattr(lines, "CHUNK", 997)
    assert run_map(*arguments, "all.csv", *switches).out == whole.out
    keys = [tuple({"g": g, "w": w}[name] for name in by[1].split(",")) if by else () for g, w, _ in rows]
    for row in table(whole)[1:]:
        own = [float(x) for key, (*_, x) in zip(keys, rows, strict=True) if key == tuple(row[:-2])]
        assert list(map(float, row[-2:])) == [math.fsum(x * x for x in own), math.fsum(2 * x for x in own)]
    assert [tuple(row[:-2]) for row in table(whole)[1:]] == list(dict.fromkeys(keys))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("by", ["g", "s", "g,s"])
def test_totals_of_parquet_on_a_cluster(monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    from autodiff_cli.data.parts import scheduler
    from tests.test_cluster import here

    monkeypatch.setattr(scheduler, "connected", here)
    sorts = pa.array([("a", None, "b")[i % 3] for i in range(50)]).dictionary_encode()
    whole = pa.table({"g": pa.array([i * i % 7 for i in range(50)], pa.int8()), "s": sorts, "x": np.arange(50) / 7})
    parquet.write_table(whole, "d.parquet", row_group_size=8)
    for style in ("parquet", "arrow", "csv", "ndjson"):
        arguments = ["x**2", "d.parquet", "--mean", "--by", by]
        assert run_map(*arguments, "-o", f"one.{style}").code == 0
        done = run_map(*arguments, "-o", f"many.{style}", "--engine", "dask", "--partition-bytes", 176)
        assert done.code == 0, done.err
        if style == "parquet":
            assert parquet.read_table("one.parquet").equals(parquet.read_table("many.parquet"))
        elif style != "arrow":
            assert Path(f"one.{style}").read_bytes() == Path(f"many.{style}").read_bytes()
        else:
            one, many = (pa.ipc.open_file(f"{name}.arrow").read_all() for name in ("one", "many"))
            assert one.equals(many)


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "g"], "--by groups the rows of a sum or mean\n  hint: add --sum or --mean"),
        (["--sum", "--mean"], "--sum and --mean exclude each other"),
        (["--sum", "--keep-columns", "g"], "--sum and --keep-columns exclude each other"),
        (["--sum", "--unbuffered"], "--sum and --unbuffered exclude each other"),
        (["--sum", "--by", "gg"], "has no column 'gg', which --by names\n  hint: did you mean 'g'?"),
        (["--sum", "--by", "g,"], "a name is missing"),
    ],
)
def test_mistakes(arguments: list[str], message: str) -> None:
    done = run_map("x*y", *arguments, stdin=ROWS)
    assert message in done.err
    assert (done.code, done.out) == (2, b"")


def test_outputs_that_are_not_one_table() -> None:
    Path("d.csv").write_bytes(ROWS)
    done = run_map("x", "d.csv", "--mean", "-o", "d.csv")
    assert "hint: write to another file" in done.err
