"""Programs: the numbers of an evaluation of each row, for all block sizes, threads and types."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.compiler import schedule
from autodiff_cli.compiler.program import Program
from autodiff_cli.compiler.simplify import EXACT, Pattern, Replacement
from autodiff_cli.compiler.tracer import takes_array
from autodiff_cli.errors import AutodiffError, DtypeError, ParseError, ShapeError, UnknownName, UsageError
from autodiff_cli.evaluation.compile import RowByRowProgram
from tests.accuracy.explained import call_of
from tests.expressions import FORMULAS, Formula
from tests.points import edges_of, samples_of
from tests.test_golden import RECORDS

MAIN = "sin(x)*exp(-y**2) + log(x**2 + y**2 + 1)"


def by_rows(expression: str, columns: dict[str, Any], order: int, wrt: list[str] | None = None) -> dict[str, Any]:
    """What ``evaluate`` says of each row, by the names of a program's outputs."""
    rows = []
    for values in zip(*columns.values(), strict=True):
        result = ad.evaluate(expression, dict(zip(columns, values, strict=True)), order=max(order, 1), wrt=wrt)
        row = {"value": result.value, **{f"d_{name}": slope for name, slope in result.grad.items()}}
        if order == 2:
            row |= {f"d_{a}_{b}": result.hessian[a][b] for a in result.grad for b in result.grad}
        rows.append(row)
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def assert_same(
    expression: str, columns: dict[str, Any], order: int, rtol: float = 1e-11, strict: bool = True
) -> Program | RowByRowProgram:
    """Compare both engines with ``evaluate``.

    ``strict``: nan is not inf.  Equal operations are one here, and ``(a + b)*c`` is not ``a*c + b*c`` at infinity.
    """
    truth = by_rows(expression, columns, order)
    exists = np.isfinite(truth["value"])
    for engine in ("llvm", "numpy"):
        program = ad.compile(expression, list(columns), order, engine=engine)
        got = program(**{name: np.asarray(column, float) for name, column in columns.items()})
        for name in program.outputs:
            found, right = got[name], truth[name]
            if not strict:
                found, right = (np.where(np.isinf(v[exists]), np.nan, v[exists]) for v in (found, right))
            size = 1 + np.max(np.abs(right), initial=0, where=np.isfinite(right))
            message = f"{expression}: {name} of {engine}"
            np.testing.assert_allclose(found, right, rtol=rtol, atol=1e-13 * size, err_msg=message)
    return program


# The same numbers as an evaluation


SCALARS = [r for r in RECORDS if all(isinstance(value, (int, float)) for value in r["at"].values())]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("record", SCALARS, ids=lambda record: f"{record['expr']} at {record['at']}")
def test_recorded_expressions(record: dict[str, Any]) -> None:
    """Those of PyTorch, kinks among them."""
    program = assert_same(record["expr"], {name: [float(value)] * 3 for name, value in record["at"].items()}, 2)
    assert isinstance(program, Program), program.reason


@given(FORMULAS, st.lists(st.tuples(st.integers(-12, 12), st.integers(-12, 12)), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_random_expressions(formula: Formula, points: list[tuple[int, int]]) -> None:
    assert_same(f"({formula.text}) + 0*x*y", {"x": [x / 8 for x, _ in points], "y": [y / 8 for _, y in points]}, 2)


PIECES = [
    "x",
    "y",
    "(x - y)",
    "0.5",
    "abs(x)",
    "max(x, y)",
    "min(x, 1)",
    "relu(y)",
    "clamp(x, -1, 1)",
    "sqrt(y)",
    "log(x)",
    "x*y",
    "floor(x)",
]
CHOICES = [
    "where({0} > {1}, {2}, {3})",
    "({2} if {0} <= {1} else {3})",
    "max({0}*{1}, {2}) + {3}",
    "{0}*({1} > {2}) + floor({3})",
    "sqrt(abs({0}*{1})) + {2}/(1 + {3}**2)",
]


@given(st.lists(st.sampled_from(PIECES), min_size=4, max_size=4), st.sampled_from(CHOICES), st.sampled_from(CHOICES))
@settings(max_examples=20, deadline=None)
def test_kinks_and_branches(pieces: list[str], one: str, other: str) -> None:
    """On a grid that hits every kink."""
    inner = one.format(*pieces)
    expression = f"{other.format(inner, *pieces[1:])} + 0*x + 0*y"
    grid = [-1.0, 0.0, 0.5, 1.0]
    assert_same(expression, {"x": grid * 4, "y": [y for y in grid for _ in grid]}, 2, strict=False)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("power", [2, 3, 4, 0.5, -1, -2])
def test_powers_of_what_is_not_needed_afterwards(power: float, order: int) -> None:
    """The result may take the place of the base in memory, unless the power still reads the base."""
    columns = {"x": [1.0, 2.0, 0.25], "y": [0.5, 3.0, 1.0]}
    assert_same(f"2*(x + y)**{power}", columns, order)


def test_a_division_by_minus_zero_is_not_one_by_zero() -> None:
    assert_same("where(x > 0, x/0.0, x/(-0.0))", {"x": [1.0, -1.0]}, 0)


def test_functions_of_numbers_are_traced() -> None:
    traced, others = set(), set()
    for op in {op.name: op for op in FUNCTIONS.values()}.values():
        for sample in samples_of(op)[:2]:
            expression, at = call_of(op, sample)
            if at and all(isinstance(value, (int, float)) for value in at.values()):
                (others if ad.compile(expression).engine == "rows" else traced).add(op.name)
    assert len(traced) > 150
    assert others == {"binary_cross_entropy", "stack"}


def scalar_cases() -> dict[str, list[tuple[float, ...]]]:
    cases: dict[str, list[tuple[float, ...]]] = {}
    for op in {op.name: op for op in FUNCTIONS.values()}.values():
        for sample in (*samples_of(op), *edges_of(op)):
            numbers = [v for v in sample if isinstance(v, (int, float)) and not isinstance(v, bool)]
            if len(numbers) == len(sample) == len(op.tensors) and not op.variadic and not takes_array(op):
                cases.setdefault(op.name, []).append(sample)
    return cases


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("name", "samples"), scalar_cases().items(), ids=scalar_cases())
def test_every_function(name: str, samples: list[tuple[float, ...]]) -> None:
    """All that take numbers, at their samples and at their edges."""
    for sample in samples:
        columns = {f"x{i}": [float(value)] * 2 for i, value in enumerate(sample)}
        assert_same(f"{name}({', '.join(columns)})", columns, 2, rtol=1e-9)


@pytest.mark.parametrize(
    "expression",
    [
        "sum([x, y, x*y]**2)",
        "dot([x, y, 1], [y, x, 2])",
        "v = [x, y, x + y]; v[0]*v[2] + v[-1]",
        "v = [x, y, x + y]; sum(v[1:]*v[:2])",
        "A = [[x, 1], [2, y]]; sum(A @ [x, y])",
        "A = [[x, 1], [2, y]]; trace(A @ A.T)",
        "mean(exp([x, y]*[[1, 2], [3, 4]]))",
        "prod([x, y, x])",
        "cumsum([x, y, x])[1]**2",
        "sum(where([x, y] > 0, [x, y], 0)**2)",
        "cross([x, y, 1], [1, x, y])[2]",
        "stack([x, y]).flip(0)[0]**3",
        "sum(cat([[x], [y]])*linspace(0, 1, 2))",
        "det([[x, 1], [2, y]])",
        "norm([x, y])",
        "logsumexp([x, y])",
        "max([x, y, 0.3])",
    ],
)
def test_small_vectors_inside_a_row(expression: str) -> None:
    assert_same(expression, {"x": [0.4, -1.5, 2.0], "y": [1.1, 0.7, -0.2]}, 2)


def test_functions_of_the_program_and_derivatives_by_hand() -> None:
    columns = {"x": [0.5, 2.0], "y": [1.5, -1.0]}
    assert_same("f(a, b) = a**2*b; f(x, y) + f(y, x)", columns, 2)
    by_hand = "f(a, b) = a**2*b with grad (10*a*b, 7*a); sin(f(x, x*y))"
    program = ad.compile(by_hand, ["x", "y"])
    got = program(**{name: np.array(column) for name, column in columns.items()})
    truth = by_rows(by_hand, columns, 1)
    np.testing.assert_allclose(got["d_x"], truth["d_x"])
    assert isinstance(program, Program)


def test_a_function_that_calls_itself_is_done_row_by_row() -> None:
    program = assert_same("f(n) = 1 if n < 1 else n*f(n - 1); f(x)", {"x": [3.0, 5.0, 0.5]}, 1)
    assert isinstance(program, RowByRowProgram)


# One result for every way of computing it


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rows", [1, 2, 7, 1000, 4097, 10_001])
def test_blocks_and_threads_do_not_matter(rows: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(rows)
    x, y = rng.normal(size=(2, rows)).astype(dtype)
    expression = f"{MAIN} + where(x > y, tanh(x)**3, sqrt(abs(y))) + sigmoid(x*y) + x**1.5"
    results = []
    for threads, smallest, largest in ((1, 4096, 32768), (1, 1, 13), (3, 1, 64), (2, 512, 512)):
        monkeypatch.setattr(schedule, "SMALLEST", smallest)
        monkeypatch.setattr(schedule, "LARGEST", largest)
        results.append(ad.compile(expression, order=2, dtype=dtype, threads=threads)(x=x, y=y))
    for one, other in pairwise(results):
        for name in one:
            assert one[name].dtype == np.dtype(dtype)
            np.testing.assert_array_equal(one[name], other[name])


def test_numbers_stay_numbers() -> None:
    program = ad.compile("a*x**2 + exp(a*b)", order=2)
    x = np.linspace(-1, 1, 5)
    got = program(a=2.0, b=0.5, x=x)
    full = program(a=np.full(5, 2.0), b=np.full(5, 0.5), x=x)
    for name in program.outputs:
        np.testing.assert_allclose(got[name], full[name], rtol=1e-15)
    numbers = program(a=2.0, b=0.5, x=3.0)
    assert np.shape(numbers["value"]) == ()
    assert numbers["d_x"] == 12.0


def test_columns_of_any_layout_and_type() -> None:
    program = ad.compile(MAIN)
    x, y = np.random.default_rng(0).normal(size=(2, 60, 4))
    whole = program(x=x, y=y)
    assert whole["d_x"].shape == (60, 4)
    strided = program(x=x[:, 1], y=y[::-1, 2])
    np.testing.assert_array_equal(strided["value"], program(x=x[:, 1].copy(), y=y[::-1, 2].copy())["value"])
    integers = program(x=np.arange(5), y=np.arange(5, dtype=np.int8))
    np.testing.assert_array_equal(integers["d_y"], program(x=np.arange(5.0), y=np.arange(5.0))["d_y"])
    assert program(x=np.empty(0), y=np.empty(0))["value"].shape == (0,)


def test_outputs_that_are_variables_constants_or_each_other() -> None:
    x = np.array([1.0, 2.0, 3.0])
    assert ad.compile("x")(x=x)["d_x"].tolist() == [1.0, 1.0, 1.0]
    assert ad.compile("x")(x=x)["value"].tolist() == x.tolist()
    got = ad.compile("exp(x)", order=2)(x=x)
    assert got["value"].tolist() == got["d_x"].tolist() == got["d_x_x"].tolist() == np.exp(x).tolist()
    assert ad.compile("2*pi")() == {"value": 2 * np.pi}
    assert ad.compile("x*y", wrt=["y"])(x=x, y=2.0)["d_y"].tolist() == x.tolist()


def test_results_are_written_into_arrays_that_are_there() -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 10_000))
    program = ad.compile(MAIN)
    out = [np.full(10_000, np.nan) for _ in program.outputs]
    program.run({"x": x, "y": y}, out)
    for array, name in zip(out, program.outputs, strict=True):
        np.testing.assert_array_equal(array, program(x=x, y=y)[name])


def test_arrays_as_constants() -> None:
    program = ad.compile("dot(w, [x, y, 1])", const={"w": [1.0, 2.0, 3.0]})
    assert program.variables == ("x", "y")
    assert program(x=np.array([1.0]), y=np.array([2.0])) == {"value": [8.0], "d_x": [1.0], "d_y": [2.0]}


# What is shared, and what is not written down


def test_equal_operations_are_one_and_dead_ones_none() -> None:
    names = [operation.primitive.name for operation in ad.compile("exp(x*y) + exp(y*x)*2").instructions if operation.primitive]
    assert names.count("exp") == 1
    assert ad.compile("unused = sin(x); x**2", order=0).instructions[-1].is_("pow")
    assert not any(operation.is_("sin") for operation in ad.compile("unused = sin(x); x**2").instructions)
    assert not any(operation.is_("log") for operation in ad.compile("x**3").instructions)
    assert ad.compile("x + 2*3*4", order=0).instructions[-1].operands[1] == 24


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("x**1", []),
        ("where(x > 0, where(x > 0, x, y), y)", ["gt", "where"]),
        ("where(x > 0, x, where(x > 0, x, y))", ["gt", "where"]),
        ("where(not x > 0, y, x)", ["gt", "where"]),
    ],
)
def test_what_changes_nothing_is_left_away(expression: str, names: list[str]) -> None:
    found = [operation.primitive.name for operation in ad.compile(expression, order=0).instructions if operation.primitive]
    assert [name for name in found if name != "logical_not"] == names


FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, -3.7, 5e-324, 1e308, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize(("name", "row"), [(name, row) for name, rows in EXACT.items() for row in rows.items()])
def test_an_identity_gives_the_same_float(name: str, row: tuple[tuple[Pattern, ...], Replacement]) -> None:
    patterns, replacement = row

    def computed(part: Replacement, letters: dict[str, float]) -> float:
        if isinstance(part, tuple):
            return float(FUNCTIONS[part[0]].function(*[np.float64(computed(one, letters)) for one in part[1:]]))
        return letters[part] if isinstance(part, str) else part

    with np.errstate(all="ignore"):
        for x in FLOATS:
            for y in FLOATS:
                letters = {"x": x, "y": y, "-x": -x, "-y": -y}
                long, short = computed((name, *patterns), letters), computed(replacement, letters)
                assert repr(long) == repr(short), (x, y)


@pytest.mark.parametrize("expression", ["where(1, x, y)", "where(0, x, y)", "(x > 0 and 1)*x", "(x if 2 else y)*x", "(not 1)*x"])
def test_conditions_that_are_known(expression: str) -> None:
    assert_same(f"{expression} + 0*y", {"x": [1.0, -2.0], "y": [3.0, 4.0]}, 1)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.float32, bool])
def test_columns_of_other_types(dtype: Any) -> None:
    column = np.array([1, 1, 0], dtype) if dtype is bool else np.array([1, 100, 3], dtype)
    found = ad.compile("x**3/7 + x**2*x")(x=column)
    exactly = ad.compile("x**3/7 + x**2*x")(x=column.astype(float))
    for name, values in exactly.items():
        assert found[name].dtype == np.float64
        assert np.array_equal(found[name], values)


@pytest.mark.exhaustive
def test_a_long_chain() -> None:
    depth = 2_000
    chain = ad.compile("; ".join(["y = x", *["y = y*1.0001 + 0.5"] * depth, "y"]))
    assert chain(x=np.array([1.0]))["d_x"][0] == pytest.approx(1.0001**depth)


# Errors


@pytest.mark.parametrize(
    ("expression", "keywords", "kind", "message"),
    [
        ("x +", {}, ParseError, "the expression is incomplete"),
        ("lgo(x)", {}, UnknownName, "unknown function 'lgo'"),
        ("x", {"wrt": ["y"]}, UnknownName, "no variable 'y'"),
        ("x", {"wrt": ["x", "x"]}, UsageError, "named twice"),
        ("x", {"order": 3}, UsageError, "0, 1 or 2"),
        ("x", {"dtype": "int8"}, UsageError, "unknown dtype"),
    ],
)
def test_errors_when_compiling(expression: str, keywords: dict[str, Any], kind: type[AutodiffError], message: str) -> None:
    with pytest.raises(kind, match=message):
        ad.compile(expression, **keywords)


def test_a_row_is_one_number() -> None:
    with pytest.raises(ShapeError, match=r"expected one number, but the expression has shape \[2\]"):
        ad.compile("2*[x, y]")(x=np.ones(2), y=np.ones(2))


def test_errors_of_a_call() -> None:
    program = ad.compile("x*y")
    with pytest.raises(UnknownName, match="no values for 'y'"):
        program(x=np.ones(2))
    with pytest.raises(UnknownName, match="no variable 'z'"):
        program(x=np.ones(2), y=np.ones(2), z=1)
    with pytest.raises(ShapeError, match="different shapes"):
        program(x=np.ones(2), y=np.ones(3))


@pytest.mark.parametrize("column", [[1j, 2], ["a", "b"], [[1], [2, 3]], [10**400, 1], np.ma.masked_array([1, 2], [True, False])])
def test_columns_that_are_no_numbers(column: Any) -> None:
    with pytest.raises(DtypeError, match="column 'x'"):
        ad.compile("x*y")(x=column, y=1.0)


@pytest.mark.parametrize("expression", ["x/0", "x*0/0", "x - x/0", "x**2/(1 - 1)", "x/c", "0/x", "log(0*x)", "x**(1/0)"])
def test_division_by_a_constant_0(expression: str) -> None:
    assert_same(f"c = 0; {expression}", {"x": [1.0, -2.0]}, 2)


def test_a_variable_hides_a_constant_of_the_language() -> None:
    assert ad.compile("e*x")(x=1.0)["value"] == np.e
    assert ad.compile("e*x", variables=["e"])(x=2.0, e=3.0) == {"value": 6.0, "d_e": 2.0, "d_x": 3.0}
    assert ad.compile("e*x", wrt="e")(x=2.0, e=3.0) == {"value": 6.0, "d_e": 2.0}
    assert ad.compile("e*x", const={"e": 3.0})(x=2.0) == {"value": 6.0, "d_x": 3.0}


def test_other_ways_of_saying_the_same() -> None:
    x, y = np.array([1.0, 2.0], np.float32), np.array([3.0, 4.0], np.float32)
    program = ad.compile("x*y", "y, x", dtype=np.float32)
    assert program.outputs == ("value", "d_y", "d_x")
    assert program(x=x, y=y)["value"].dtype == np.float32
    with pytest.raises(UsageError, match="1 or more"):
        ad.compile("x", threads=0)


@pytest.mark.parametrize(
    "source", ["cos(x > 0)", "exp(isclose(x, x))", "sqrt(x > 0)*x", "atan2(x > 0, x)", "cos(1 > 0)*x", "hypot(x > 0, x < 2)"]
)
def test_functions_of_conditions_have_all_digits(source: str) -> None:
    """NumPy computes them in half precision."""
    program, columns = ad.compile(source), {"x": np.array([1.5, -1.0])}
    for i, x in enumerate(columns["x"]):
        expected = ad.evaluate(source, {"x": x})
        found = program(**columns)
        assert found["value"][i] == pytest.approx(expected.value, rel=1e-15)
        assert found["d_x"][i] == pytest.approx(expected.grad["x"], rel=1e-15)


@pytest.mark.parametrize("expression", ["x - mean(x)", "softmax(x, 0)", "inv([[x, 1], [1, 3]]).sum() + x.cumsum(0)"])
def test_a_function_of_a_column_is_refused(expression: str) -> None:
    with pytest.raises(UsageError, match="takes an array") as caught:
        ad.compile(expression)
    assert caught.value.span is not None
    assert caught.value.hint is not None
    assert "const={'m': 2.5}" in caught.value.hint


@pytest.mark.parametrize(("expression", "workers"), [("sin(x)*exp(x)", 2), ("+".join(f"(x - {i})**2*x" for i in range(20)), 1)])
def test_numpy_takes_the_threads_that_it_gains_from(expression: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads with short calls wait for each other, because each call needs the interpreter's lock."""
    taken: list[int] = []

    def one_after_the_other(work: Callable[[], None], workers: int) -> None:
        taken.append(workers)
        work()

    monkeypatch.setattr("autodiff_cli.compiler.schedule.in_threads", one_after_the_other)
    ad.compile(expression, threads=2, engine="numpy")(x=np.ones(200_000))
    assert taken == [workers]


def test_a_comparison_with_a_gradient_by_hand_is_constant() -> None:
    """As in PyTorch, the result of a function is not differentiable if it is not a floating-point number."""
    program = "f(a) = a < 1 with grad (3*a); f(x)*x"
    found = ad.compile(program, ["x"])(x=np.array([0.5, 2.0]))
    assert found["d_x"].tolist() == [ad.evaluate(program, at={"x": x}).grad["x"] for x in (0.5, 2.0)] == [1, 0]


@pytest.mark.parametrize("condition", ["x > 0, 1 > 2", "1 > 2, x > 0", "x > 0, 2 > 1", "x < 0, 2 > 1", "2 > 1, x > 0"])
def test_a_condition_and_a_constant(condition: str) -> None:
    expression = f"where(bitwise_and({condition}), x, 2*x)"
    found = ad.compile(expression)(x=3.0)
    wanted = ad.evaluate(expression, {"x": 3.0})
    assert (found["value"], found["d_x"]) == (wanted.value, wanted.grad["x"])
