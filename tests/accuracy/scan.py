"""Every scalar function of the language on a grid of magnitudes, against mpmath and against itself.

``python -m tests.accuracy.scan`` prints the cells that are off by more than 1e-12:

- ``truth``: ``ad.evaluate`` to order 2 against mpmath;
- ``compiled``: ``ad.compile`` against ``ad.evaluate``, for a number, a column of one row and a column of all rows, as NumPy takes
  another way for each; at the edges too, with the signs of zeros;
- ``series``: ``taylor`` against the sweeps.

``--only NAME`` takes the expressions that have NAME in them, ``--cache FILE`` keeps the truths, ``--show N`` prints so many cells
of each expression.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import autodiff_cli as ad
from autodiff_cli.derivatives.taylor import expand
from autodiff_cli.evaluation.evaluation import Evaluation
from tests.accuracy.truth import ONE, TWO, Index, Outside, indices, truths

Points = tuple[Sequence[tuple[float, ...]], Sequence[tuple[float, ...]]]
TINY = 5e-324
TOLERANCE = 1e-12

_SIZES = (
    *(TINY, 1e-320, 1e-310, 2.3e-308, 1e-300, 1e-200, 1e-160, 1e-100, 1e-50, 1e-20, 1e-10, 1e-8, 1e-5, 1e-3, 0.01),
    *(0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-9, 1 - 2**-53, 1.0, 1 + 2**-52, 1 + 1e-9, 1.1, 1.5, 2 - 1e-9, 2.0, 2 + 1e-6, 2.5, 3.0),
    *(3.7, 5.0, 7.3, 10.0, 13.2, 19.9, 20.3, 25.0, 30.0, 37.5, 50.0, 100.0, 150.3, 500.0, 700.0, 709.5, 745.0, 800.0),
    *(1e3, 1e4, 1.23e5, 1e6, 1e8, 1e10, 1e12, 1e15, 1e16, 1e18, 1e20, 1e50, 1e100, 1e150, 1e160, 1e200, 1e300, 1.7e308),
)
POINTS = (*_SIZES, *(-x for x in _SIZES), -1 + 1e-12, -0.999999999, -2 - 1e-7, -3 + 1e-4, -10.000001, -1000.5, -1e5 - 0.25)
EDGES = (0.0, -0.0, math.inf, -math.inf, math.nan)

_PAIR_SIZES = (TINY, 1e-310, 1e-200, 1e-20, 1e-3, 0.5, 1.0, 1 + 1e-9, 2.5, 3.0, 30.0, 1e3, 1e8, 1e16, 1e100, 1e200, 1e305)
_SIGNED = (*_PAIR_SIZES, *(-x for x in (1e-310, 1e-20, 0.5, 2.5, 3.0, 1e3, 1e16, 1e200)))
PAIRS = tuple(itertools.product(_SIGNED, repeat=2))
_ORDINARY = {1.5, -2.0, 3.0}
PAIR_EDGES = tuple(p for p in itertools.product((*EDGES, *_ORDINARY), repeat=2) if not _ORDINARY.issuperset(p))


FEW = (1e-310, -1e-20, 1e-8, -1e-6, 1e-4, 0.7, -0.999999999, 2.0, -2.5, 20.3, -37.5, 1e12, -1e160, 1e300)
FEW_PAIRS = tuple(itertools.product((1e-310, -1e-20, 0.7, 3.0, 1e16, -1e200), repeat=2))
SAMPLE = Path(__file__).parents[1] / "golden" / "accuracy.json"
"""What mpmath says at those: ``--record`` writes it, and the tests read it."""


class Cell(NamedTuple):
    """A number that is not what it should be."""

    expression: str
    kind: str
    point: tuple[float, ...]
    index: Index
    found: float
    wanted: float
    error: float


def error(found: float, wanted: float) -> float:
    """The relative error; of what has few digits because it is subnormal, as if it had all."""
    if math.isnan(found) or math.isnan(wanted):
        return 0.0 if math.isnan(found) and math.isnan(wanted) else math.inf
    if math.isinf(found) or math.isinf(wanted):
        if found == wanted or (abs(wanted) > 1.79e308 and found == math.copysign(1.7976931348623157e308, wanted)):
            return 0.0
        return 0.0 if math.isinf(found) and abs(wanted) > 1.797693134862e308 and (found > 0) == (wanted > 0) else math.inf
    gap = abs(found - wanted)
    return 0.0 if gap <= 8 * TINY else gap / max(abs(wanted), 2.3e-308)


def sample_of(expression: str) -> Points:
    """A few points, and edges, for the tests."""
    if expression in ONE:
        return [(x,) for x in FEW], [(x,) for x in EDGES]
    return FEW_PAIRS, [(0.0, -0.0), (math.inf, 2.0), (1.5, -math.inf), (math.nan, 1.0)]


def names_of(count: int) -> tuple[str, ...]:
    return ("x", "y")[:count]


def eager(expression: str, point: Sequence[float], order: int = 2) -> dict[Index, float]:
    """Value and derivatives by sweeps."""
    names = names_of(len(point))
    result = ad.evaluate(expression, dict(zip(names, point, strict=True)), order=order)
    found: dict[Index, float] = {(0,) * len(point): float(result.value)}
    for i, name in enumerate(names):
        found[tuple(int(i == k) for k in range(len(names)))] = float(result.grad[name])
        for j, other in enumerate(names):
            if order > 1 and j >= i:
                found[tuple((i == k) + (j == k) for k in range(len(names)))] = float(result.hessian[name][other])
    return found


def asymmetric(expression: str, point: Sequence[float]) -> bool:
    """Whether the two mixed second derivatives differ."""
    result = ad.evaluate(expression, {"x": point[0], "y": point[1]}, order=2)
    return error(float(result.hessian["x"]["y"]), float(result.hessian["y"]["x"])) > TOLERANCE


def _columns(index: Index) -> str:
    return "_".join(("d", *(name for name, k in zip("xy", index, strict=False) for _ in range(k)))) if any(index) else "value"


def compiled(expression: str, points: Sequence[Sequence[float]]) -> Iterator[tuple[str, list[dict[Index, float]]]]:
    """What a Program says at the points: of numbers, of columns of one row, of columns of all rows."""
    count = len(points[0])
    program = ad.compile(expression, order=2, wrt=names_of(count))

    def read(out: Any, i: Any) -> dict[Index, float]:
        return {index: float(out[_columns(index)][i]) for index in indices(count)}

    names = names_of(count)
    yield "number", [read(program(**dict(zip(names, p, strict=True))), ()) for p in points]
    yield "row", [read(program(**{n: np.array([v]) for n, v in zip(names, p, strict=True)}), 0) for p in points]
    out = program(**{n: np.array([p[i] for p in points]) for i, n in enumerate(names)})
    yield "column", [read(out, i) for i in range(len(points))]


def series(expression: str, x: float) -> dict[Index, float]:
    """Value and derivatives by a power series."""
    found = expand(Evaluation(expression, {"x": x}), 2).derivatives
    return {(k,): float(found[k]) for k in range(3)}


def points_of(expression: str) -> Points:
    """The grid of an expression, and its edges."""
    if expression in ONE:
        return [(x,) for x in POINTS], [(x,) for x in EDGES]
    return list(PAIRS), list(PAIR_EDGES)


def scan(expression: str, cache: dict[str, Any], points: Points | None = None) -> Iterator[Cell]:
    """All cells of an expression that are wrong, on the whole grid or at some of its points and edges."""
    function = ONE.get(expression) or TWO[expression]
    ordinary, edges = points or points_of(expression)
    swept = [eager(expression, p) for p in (*ordinary, *edges)]
    known = cache.setdefault(expression, {})
    for point, here in zip(ordinary, swept, strict=False):
        key = repr(point)
        if key not in known:
            try:
                known[key] = [[list(index), value] for index, value in truths(function, point).items()]
            except Outside:
                known[key] = None
        if known[key] is None:
            continue
        for index, wanted in known[key]:
            off = error(here[tuple(index)], wanted)
            if off > TOLERANCE:
                yield Cell(expression, "truth", point, tuple(index), here[tuple(index)], wanted, off)
    for way, rows in compiled(expression, [*ordinary, *edges]):
        for point, here, row in zip((*ordinary, *edges), swept, rows, strict=True):
            for index, wanted in here.items():
                off = error(row[index], wanted)
                if row[index] == wanted == 0 and math.copysign(1, row[index]) != math.copysign(1, wanted) and not any(index):
                    off = math.inf  # the sign of a zero value decides what 1/value is
                if off > TOLERANCE:
                    yield Cell(expression, f"compiled {way}", point, index, row[index], wanted, off)
    if expression in ONE:
        for point, here in zip((*ordinary, *edges), swept, strict=True):
            if not (math.isfinite(point[0]) and math.isfinite(here[0,])):
                continue  # infinity times 0 is for each way to decide
            for index, value in series(expression, point[0]).items():
                off = 0.0 if math.isnan(here[index]) else error(value, here[index])
                if off > TOLERANCE:
                    yield Cell(expression, "series", point, index, value, here[index], off)
    else:
        for point in (*ordinary, *edges):
            if asymmetric(expression, point):
                yield Cell(expression, "symmetry", point, (1, 1), math.nan, math.nan, math.inf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--show", type=int, default=8)
    parser.add_argument("--part", choices=("one", "two"), help="only the functions of so many arguments")
    parser.add_argument("--record", action="store_true", help="write the truths that the tests read")
    options = parser.parse_args()
    if options.record:
        sample: dict[str, Any] = json.loads(SAMPLE.read_text())
        for expression in (*ONE, *TWO):
            print(expression, len(list(scan(expression, sample, sample_of(expression)))), flush=True)
        lines = [f"{json.dumps(name)}: {json.dumps(known, separators=(',', ':'))}" for name, known in sample.items()]
        SAMPLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return
    cache = json.loads(options.cache.read_text()) if options.cache and options.cache.exists() else {}
    totals: dict[str, int] = {}
    for expression in {"one": [*ONE], "two": [*TWO], None: [*ONE, *TWO]}[options.part]:
        if options.only not in expression:
            continue
        by_kind: dict[str, list[Cell]] = {}
        for cell in scan(expression, cache):
            by_kind.setdefault(cell.kind, []).append(cell)
        for kind, cells in by_kind.items():
            totals[kind] = totals.get(kind, 0) + len(cells)
            print(f"{expression}: {kind}: {len(cells)} cells", flush=True)
            for cell in cells[: options.show]:
                print(f"    {cell.point} {cell.index}: {cell.found!r} for {cell.wanted!r} ({cell.error:.1e})")
        if options.cache:
            options.cache.write_text(json.dumps(cache))
    print(totals)


if __name__ == "__main__":
    main()
