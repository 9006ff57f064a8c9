"""The vector functions of the compiled engine: at most 1 ulp from mpmath, right at all edges, each lane on its own."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

pytest.importorskip("llvmlite")
import autodiff_cli as ad
from autodiff_cli.compiler.llvm.elementary import FUNCTIONS
from tests.vector_functions import compiled, widths

EDGES = np.array(
    [
        *(
            0.0,
            5e-324,
            1e-310,
            2.0**-1022,
            1e-300,
            1e-16,
            2.0**-53,
            0.5,
            1.0,
            2.0,
            10.0,
            1000.0,
            1e16,
            2.0**36,
            1e22,
            1e300,
            sys.float_info.max,
        ),
        *(709.78, 709.79, 708.4, 745.13, 745.14, 1023.0, 1024.0, 1074.5, 1076.0, math.pi, math.pi / 2, math.pi / 4, math.inf),
    ]
)
EDGES = np.concatenate([EDGES, -EDGES, [math.nan, np.nextafter(1, 0), np.nextafter(1, 2), np.nextafter(-1, 0)]])


def arguments(count: int) -> np.ndarray:
    """Numbers of all sizes, near 0, near 1, and near multiples of pi/2."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**64, count, np.uint64).view(np.float64)
    sizes = np.exp(random.uniform(-50, 20, count)) * random.choice([-1, 1], count)
    near_one = 1 + np.exp(random.uniform(-36, 0, count)) * random.choice([-1, 1], count)
    quarters = random.integers(-(2**20), 2**20, count) * (math.pi / 2)
    return np.concatenate([bits, sizes, near_one, quarters, random.uniform(-40, 40, count), random.uniform(-760, 760, count)])


def truth(name: str) -> Callable[..., mpmath.mpf]:
    """The function in enough digits."""
    other = {"ndtr": lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, "log1p": lambda x: mpmath.log(1 + x)}
    return other.get(name) or getattr(mpmath, name)


def by_numpy(name: str) -> Callable[..., np.ndarray]:
    """The function of the NumPy engine."""
    program = ad.compile(f"{name}(x)", order=0, engine="numpy")
    return lambda x: program(x=x)["value"]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_unit_in_the_last_place(name: str) -> None:
    x = arguments(200 if name in ("erf", "erfc", "ndtr") else 1_000)
    x = x[np.isfinite(by_numpy(name)(x)) & ((np.abs(x) < 40) | (name not in ("erf", "erfc", "ndtr")))]
    for number, argument in zip(compiled(name, widths()[-1])(x).tolist(), x.tolist(), strict=True):
        with mpmath.workdps(60 if 1e-15 <= abs(argument) <= 1e15 else 400):
            right = truth(name)(mpmath.mpf(argument))
            assert abs(mpmath.mpf(number) - right) <= math.ulp(float(right)), argument


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_huge_arguments(name: str) -> None:
    random = np.random.default_rng(3)
    x = np.exp(random.uniform(math.log(2.0**36), 700, 2000)) * random.choice([-1, 1], 2000)
    for number, argument in zip(compiled(name, widths()[-1])(x).tolist(), x.tolist(), strict=True):
        with mpmath.workdps(400):
            right = truth(name)(argument)
            assert abs(number - right) <= math.ulp(float(right)), argument


@pytest.mark.parametrize("name", FUNCTIONS)
def test_edges(name: str) -> None:
    right = by_numpy(name)(EDGES)
    found = compiled(name, widths()[-1])(EDGES)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(right))
    numbers = ~np.isnan(right)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(right[numbers]))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(right))
    finite = np.isfinite(right)
    assert np.all(np.abs(found[finite] - right[finite]) <= 4 * np.spacing(np.abs(right[finite])))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_lane_depends_on_its_own_argument(name: str) -> None:
    """Not on its neighbours, whose argument may need the slow path, nor on the number of lanes."""
    x = np.random.default_rng(1).permutation(np.concatenate([arguments(40), EDGES]))
    right = compiled(name, widths()[-1])(x)
    for width in widths():
        np.testing.assert_array_equal(compiled(name, width)(x), right)
    np.testing.assert_array_equal(compiled(name, widths()[-1])(x[::-1]), right[::-1])
    np.testing.assert_array_equal(compiled(name, widths()[-1], inline=False)(x), right)
