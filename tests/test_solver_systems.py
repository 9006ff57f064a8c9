"""The ground of the solvers: equations, and systems with their derivatives, traced and eager."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from autodiff_cli.errors import ParseError, UsageError
from autodiff_cli.language.tree import unparse
from autodiff_cli.solvers.bounds import intervals
from autodiff_cli.solvers.equations import equations
from autodiff_cli.solvers.system import System


def _system(source: str, **at: object) -> System:
    found = equations(source, at)
    return System(source, [found.program(each.residual) for each in found.equations], at)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("cos(x) = x", ["cos(x) - x"]),
        ("x = cos(x)", ["x - cos(x)"]),
        ("x**2 + y**2 = 4; x*y = 1", ["x**2 + y**2 - 4", "x*y - 1"]),
        ("k = 2*pi; f(a) = a**2; sin(k*x) = f(y); x = y", ["sin(k*x) - f(y)", "x - y"]),
        ("f(a) = a**2; f(x) = 3", ["f(x) - 3"]),
        ("sum(x, dim=0) = 3\nx[0] == 1", ["sum(x, dim=0) - 3", "x[0] == 1"]),
        ("z = 3", ["z - 3"]),
    ],
)
def test_statements_are_equations_or_definitions(source: str, expected: list[str]) -> None:
    found = equations(source, ["x", "y"])
    assert [unparse(each.residual) for each in found.equations] == expected


@pytest.mark.parametrize(
    ("source", "span", "words"),
    [
        ("x = y = z", (6, 7), "one equals sign"),
        ("= 3", (0, 1), "missing"),
        ("x**2 =", (5, 6), "missing"),
        ("f(x) = x**2", (0, 11), "states no equation"),
        ("  ", (0, 2), "empty"),
    ],
)
def test_statements_that_are_not_equations(source: str, span: tuple[int, int], words: str) -> None:
    with pytest.raises(ParseError, match=words) as caught:
        equations(source, ["x"])
    assert caught.value.span == span


def test_a_span_refers_to_the_whole_program() -> None:
    source = "k = 2; x**2 = lgo(k)"
    found = equations(source, ["x"])
    assert found.text(found.equations[0]) == "x**2 = lgo(k)"
    with pytest.raises(UsageError) as caught:
        System(source, [found.program(found.equations[0].residual)], {"x": 1.0})
    assert caught.value.span == (14, 17)


@pytest.mark.parametrize("traced", [True, False])
def test_derivatives_of_a_system(traced: bool) -> None:
    system = _system("x*exp(y) = 1; [x*v[0]**3, v[1]*y**2]", x=0.5, y=-0.25, v=np.array([1.5, -2.0]))
    if not traced:
        system.tape = None
    x, y, v, w = system.start
    assert system.labels == ["x", "y", "v[0]", "v[1]"]
    assert system.values(system.start) == pytest.approx([x * np.exp(y) - 1, x * v**3, w * y**2], rel=1e-15)
    jacobian = [[np.exp(y), x * np.exp(y), 0, 0], [v**3, 0, 3 * x * v**2, 0], [0, 2 * w * y, 0, y**2]]
    assert system.jacobian(system.start) == pytest.approx(np.array(jacobian), rel=1e-15)
    first = np.array([[0, np.exp(y), 0, 0], [np.exp(y), x * np.exp(y), 0, 0], [0] * 4, [0] * 4])
    second = np.array([[0, 0, 3 * v**2, 0], [0] * 4, [3 * v**2, 0, 6 * x * v, 0], [0] * 4])
    third = np.array([[0] * 4, [0, 2 * w, 0, 2 * y], [0] * 4, [0, 2 * y, 0, 0]])
    weights, direction = np.array([2.0, -1.0, 0.5]), np.array([1.0, -0.5, 0.25, 2.0])
    hessian = 2 * first - second + third / 2
    assert system.hessian(system.start, weights) == pytest.approx(hessian, rel=1e-15)
    assert system.product(system.start, direction, weights) == pytest.approx(hessian @ direction, rel=1e-14)
    third = np.zeros((3, 4, 4, 4))
    for i, place, value in ((0, (0, 1, 1), np.exp(y)), (0, (1, 1, 1), x * np.exp(y)), (2, (1, 1, 3), 2)):
        for each in permutations(place):
            third[i, *each] = value
    for place, value in (((0, 2, 2), 6 * v), ((2, 2, 2), 6 * x)):
        for each in permutations(place):
            third[1, *each] = value
    assert system.third(system.start, direction) == pytest.approx(third @ direction @ direction, rel=1e-14)
    points = system.start[:, None] + np.array([0.0, 0.25, -1.0])
    assert system.columns(points) == pytest.approx(np.stack([system.values(point) for point in points.T], axis=1))


def test_a_system_that_cannot_be_traced() -> None:
    system = _system("solve([[2, v[0]], [1, 3]], v)", v=np.array([1.0, 1.0]))
    assert system.tape is None
    assert system.values(system.start) == pytest.approx([0.4, 0.2])
    assert np.isnan(system.values(np.array([6.0, 1.0]))).all()  # singular


def test_intervals() -> None:
    assert intervals(["a=0:10,b=:2*pi", "c=-1:"], "bounds") == {"a": (0, 10), "b": (-np.inf, 2 * np.pi), "c": (-1, np.inf)}
    for text in ("a=3", "a=2:1", "a=1:nan", "a=[1,2]:3"):
        with pytest.raises(UsageError):
            intervals([text], "bounds")
