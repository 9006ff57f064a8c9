"""Random expressions by every way to their derivatives: the numbers of all of them are the same.

The ways share the rules of derivatives, which other tests compare with mpmath.  What each has of its own is tested here:
sweeps over tensors, operations that are recorded and replayed, formulas that are printed and read, code in other languages.
"""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import autodiff_cli as ad
from autodiff_cli.code_generation.export import NotInTarget, export
from autodiff_cli.compiler.program import Program
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.language.parser import parse
from autodiff_cli.symbolic.differentiate import diff
from tests import javascript
from tests.expressions import ELEMENTS, EXPRESSIONS, VALUES
from tests.javascript import needs_node
from tests.processes import completed

Numbers = dict[tuple[str, ...], float]
"""The value by ``()``, first derivatives by ``(name,)``, second ones by ``(name, name)``."""


class Case:
    """An expression over numbers, with what ``evaluate`` says of it at a point.

    Attributes:
        text: of ``x``, ``y`` and ``v1``, ``v2``, ``v3``.
        at: the variables that occur.
        truth: all numbers of order 2 and less.
        tolerance: for each of them, what rounding may do.
    """

    def __init__(self, expression: str, values: Sequence[float]) -> None:
        self.whole = expression
        self.text = f"v = [{', '.join(ELEMENTS)}]; {expression}" if "v" in free_names(parse(expression)) else expression
        point = dict(zip(("x", "y", *ELEMENTS), values, strict=True))
        self.at = {name: point[name] for name in free_names(parse(self.text))}
        self.truth = by_evaluate(self.text, self.at)
        self.tolerance = self._tolerance()

    def __repr__(self) -> str:
        return f"{self.text!r} at {self.at}"

    def _tolerance(self) -> Numbers:
        """The error in float32, brought to float64, is what this expression does with rounding errors.

        It may be small by chance, so that numbers a few roundings away are looked at as well, and all of an order together.
        """
        found: Numbers = {}
        for shift in (0.0, 3e-7, -5e-7):
            at = {name: float(np.float32(value * (1 + shift))) for name, value in self.at.items()}
            single, double = by_evaluate(self.text, at, "float32"), by_evaluate(self.text, at)
            for term, number in double.items():
                found[term] = max(found.get(term, 0.0), abs(single[term] - number), abs(number) * 2.0**-23)
        largest = [max((v for term, v in found.items() if len(term) <= order), default=0.0) for order in range(3)]
        return {term: 16 * largest[len(term)] * 2.0**-29 for term in found}

    def compare(self, way: str, found: Numbers, digits: float = 0.0) -> None:
        """``digits``: the error that functions of another library have, relative to the largest number."""
        assert found.keys() == self.truth.keys(), (way, self)
        largest = max(map(abs, self.truth.values()))
        for term, number in self.truth.items():
            allowed = max(self.tolerance[term], digits * largest)
            assert abs(found[term] - number) <= allowed, (way, term, found[term], number, allowed, self)


def by_evaluate(text: str, at: dict[str, float], dtype: str = "float64") -> Numbers:
    result = ad.evaluate(text, at, order=2, dtype=dtype)
    return numbers(list(at), result.value, result.grad.get, lambda a, b: result.hessian[a][b])


def numbers(names: Sequence[str], value: Any, gradient: Callable[[str], Any], hessian: Callable[[str, str], Any]) -> Numbers:
    found: Numbers = {(): float(value)}
    for i, a in enumerate(names):
        found[a,] = float(gradient(a))
        for b in names[i:]:
            found[a, b] = float(hessian(a, b))
    return found


def by_vector(case: Case) -> Numbers:
    """``evaluate`` with ``v`` as one variable."""
    at = {name: value for name, value in case.at.items() if name not in ELEMENTS}
    vector = [case.at[name] for name in ELEMENTS if name in case.at]
    result = ad.evaluate(case.whole, at | ({"v": vector} if vector else {}), order=2)

    def place(name: str) -> tuple[str, tuple[int, ...]]:
        return ("v", (ELEMENTS.index(name),)) if name in ELEMENTS else (name, ())

    def gradient(name: str) -> Any:
        variable, key = place(name)
        return np.asarray(result.grad[variable])[key]

    def hessian(a: str, b: str) -> Any:
        (one, key), (other, more) = place(a), place(b)
        return np.asarray(result.hessian[one][other])[(*key, *more)]

    return numbers(list(case.at), result.value, gradient, hessian)


def by_program(case: Case) -> Numbers:
    program = ad.compile(case.text, list(case.at), order=2)
    assert isinstance(program, Program), (case, program.reason)
    columns = {name: np.array([value, 0.5 * value, value]) for name, value in case.at.items()}
    found = program(**columns)
    return numbers(list(case.at), found["value"][2], lambda a: found[f"d_{a}"][2], lambda a, b: found[f"d_{a}_{b}"][0])


def by_diff(case: Case) -> Numbers:
    found: Numbers = {(): case.truth[()]}
    for order in (1, 2):
        for term, text in diff(case.text, wrt=list(case.at), order=order).texts.items():
            found[term] = float(ad.evaluate(text, case.at).value)
    return found


def by_python(case: Case) -> Numbers:
    value, gradient, hessian = defined(case, "python")(**case.at)
    return by_position(case, value, gradient, hessian)


def by_numpy(case: Case) -> Numbers:
    value, gradient, hessian = defined(case, "numpy")(**{name: np.array([0.3, number]) for name, number in case.at.items()})
    # The derivatives of a constant are numbers, whatever the shape of the variables.
    last = [part[..., 1] if np.ndim(part) > n else part for n, part in enumerate((value, gradient, hessian))]
    return by_position(case, *last)


def by_position(case: Case, value: Any, gradient: Any, hessian: Any) -> Numbers:
    place = {name: i for i, name in enumerate(case.at)}
    return numbers(list(case.at), value, lambda a: gradient[place[a]], lambda a, b: hessian[place[a]][place[b]])


def defined(case: Case, to: str) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(compile(export(case.text, to, wrt=list(case.at), order=2), "exported", "exec"), names)
    function: Callable[..., Any] = names["f"]
    return function


CASES = st.builds(Case, EXPRESSIONS.filter(lambda text: free_names(parse(text))), st.tuples(*[VALUES] * 5))


def smooth(case: Case) -> None:
    """Leave out places where the value or a derivative does not exist."""
    assume(all(np.isfinite(number) for number in case.truth.values()))


@given(CASES)
@settings(max_examples=12)
def test_all_ways_agree(case: Case) -> None:
    smooth(case)
    for way in (by_vector, by_program, by_diff):
        case.compare(way.__name__, way(case))
    for way in (by_python, by_numpy):
        try:
            found = way(case)
        except NotInTarget:
            continue
        case.compare(way.__name__, found)


@pytest.fixture(scope="module")
def compiler() -> str:
    found = shutil.which("cc") or shutil.which("gcc")
    if found is None:
        pytest.skip("no C compiler")
    return found


@pytest.mark.exhaustive
@given(case=CASES)
@settings(max_examples=10)
def test_c_agrees(case: Case, compiler: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    smooth(case)
    try:
        source = export(case.text, "c", wrt=list(case.at), order=2)
    except NotInTarget:
        assume(False)
    path = tmp_path_factory.mktemp("c") / "f.c"
    path.write_text(source)
    completed([compiler, "-shared", "-fPIC", str(path), "-o", str(path.with_suffix(".so")), "-lm"], check=True)
    function = ctypes.CDLL(str(path.with_suffix(".so"))).f
    function.restype = ctypes.c_double
    count = len(case.at)
    gradient, hessian = (ctypes.c_double * count)(), (ctypes.c_double * count**2)()
    arguments = [ctypes.c_double(case.at[name]) for name in free_names(parse(case.text))]
    value = function(*arguments, gradient, hessian)
    case.compare("C", by_position(case, value, gradient, np.reshape(hessian, (count, count))))


@pytest.mark.exhaustive
@needs_node
@given(case=CASES)
@settings(max_examples=10)
def test_javascript_agrees(case: Case) -> None:
    smooth(case)
    try:
        source = export(case.text, "javascript", wrt=list(case.at), order=2)
    except NotInTarget:
        assume(False)
    ((row,),) = javascript.computed([source], [[[case.at[name] for name in free_names(parse(case.text))]]])
    count = len(case.at)
    case.compare("JavaScript", by_position(case, row[0], row[1 : 1 + count], row[1 + count :].reshape(count, count)), 1e-12)


@pytest.mark.peers
@given(CASES)
@settings(max_examples=60)
def test_torch_agrees(case: Case) -> None:
    import torch

    smooth(case)
    try:
        function = defined(case, "torch")
    except NotInTarget:
        assume(False)
    found = function(**{name: torch.tensor(value, dtype=torch.float64) for name, value in case.at.items()})
    case.compare("torch", by_position(case, *found), 1e-8)


@pytest.mark.peers
@given(CASES)
@settings(max_examples=60)
def test_jax_agrees(case: Case) -> None:
    import jax

    jax.config.update("jax_enable_x64", True)
    smooth(case)
    try:
        function = defined(case, "jax")
    except NotInTarget:
        assume(False)
    case.compare("JAX", by_position(case, *function(**case.at)), 1e-8)
