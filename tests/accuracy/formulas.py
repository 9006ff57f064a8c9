"""Formulas against numbers: what ``diff`` prints and ``export`` writes, far out, near 0 and between.

``python -m tests.accuracy.formulas`` takes every function of numbers at each magnitude from 1e-300 to 1e300, of both signs, and
prints the worst relative error of its value and derivatives to order 2 for each way to write them down, against the engine, whose
own numbers are right there (``tests/test_special.py`` compares it with mpmath).
"""

from __future__ import annotations

import ctypes
import itertools
import math
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.code_generation.export import export
from autodiff_cli.errors import AutodiffError
from autodiff_cli.symbolic.differentiate import diff
from tests import javascript
from tests.points import edges_of, samples_of
from tests.processes import completed

MAGNITUDES = (
    *(1e-300, 1e-200, 1e-160, 1e-100, 1e-30, 1e-16, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.3, 0.7),
    *(1.0, 1.3, 2.2, 2.9, 3.1, 4.7, 7.1, 8.9, 12.3, 19.9, 20.1, 29.0, 36.9, 41.0, 90.0, 360.0, 701.0, 714.0),
    *(1e3, 1e4, 1e5, 1e6, 1e8, 1e12, 1e16, 1e30, 1e100, 1e160, 1e200, 1e300),
)
FEW = (1e-300, 1e-160, 1e-30, 1e-8, 1e-3, 0.3, 1.0, 2.3, 19.9, 50.5, 714.0, 1e5, 1e12, 1e16, 1e100, 1e160, 1e300)
LEAST = 1e-290
"""Below, numbers have fewer digits: errors are taken relative to this."""
WAYS = ("diff", "python", "numpy", "torch", "jax", "c", "javascript")


@dataclass(frozen=True)
class Call:
    """A function of numbers, and points to look at.

    Attributes:
        expression: a call to it, with variables ``x`` and ``y``.
        columns: the points, one array for each variable.
    """

    expression: str
    columns: Mapping[str, Any]

    @property
    def terms(self) -> list[tuple[str, ...]]:
        names = list(self.columns)
        return [(), *((n,) for n in names), *itertools.combinations_with_replacement(names, 2)]


def both_signs(sizes: Iterable[float]) -> Any:
    return np.array(sorted({0.0, *sizes, *(-size for size in sizes)}))


def calls(magnitudes: Sequence[float] = MAGNITUDES, few: Sequence[float] = FEW) -> list[Call]:
    """All functions of one or two numbers, those with further arguments as in the samples of their declarations."""
    found: dict[str, Call] = {}
    for op in {op.name: op for op in FUNCTIONS.complete().values()}.values():
        for sample in samples_of(op) if op.section in SECTIONS and op.name not in ONLY_IN_RULES else ():
            if not all(type(value) in (int, float, str) for value in sample):
                continue
            names = [name for name in op.parameters[: len(sample)] if name in op.tensors]
            if 1 <= len(names) <= 2:
                shown = dict(zip(names, "xy", strict=False))
                given = [shown.get(name) or repr(value) for name, value in zip(op.parameters, sample, strict=False)]
                expression = f"{op.name}({', '.join(given)})"
                found.setdefault(expression, Call(expression, _points(op, names, sample, magnitudes, few)))
    return list(found.values())


SECTIONS = ("elementary", "activation", "special", "bessel", "factorials", "log_probabilities")
"""Where the functions of numbers are declared."""
ONLY_IN_RULES = (
    "hazard",
    "mills_fraction",
    "bessel_scaled",
    "polygamma_gap",
    "sinc_slope",
    "zeta_slope",
    "erfcx_slope",
    "dawsn_slope",
    *("jv", "yv", "iv", "kv", "bessel_partial", "zeta"),
    *("airy_ai", "airy_ai_prime", "airy_bi", "airy_bi_prime"),
)
"""Functions that are there for the derivatives of others, and are measured with those; and functions of real order, zeta and Airy
functions, which most targets do not have."""


def _points(
    op: FunctionInfo, names: Sequence[str], sample: Sequence[Any], magnitudes: Sequence[float], few: Sequence[float]
) -> dict[str, Any]:
    """Points in the domain, away from where the engine has no digits itself."""
    grid = both_signs(magnitudes if len(names) == 1 else few)
    columns = [column.ravel() for column in np.meshgrid(*[grid] * len(names))]
    if len(names) == 1:
        edges = [edge[op.parameters.index(names[0])] for edge in (*samples_of(op), *edges_of(op)) if len(edge) == len(sample)]
        more = [edge for edge in edges if isinstance(edge, float) and math.isfinite(edge)]
        columns = [np.concatenate([columns[0], more, INSIDE.get(op.name, [])])]
    kept = np.ones(columns[0].shape, bool)
    if op.inside is not None:
        given = dict(zip(op.parameters, sample, strict=False)) | dict(zip(names, columns, strict=True))
        with np.errstate(all="ignore"):
            kept &= np.broadcast_to(op.mask(op.inside, (), given), kept.shape)
    least, most = LIMITS.get(op.name, (0.0, math.inf))
    for column in columns:
        kept &= (column == 0) | ((np.abs(column) >= least) & (np.abs(column) <= most))
    if len(names) == 2:
        kept &= (columns[0] != 0) | (columns[1] != 0)
    if op.name.startswith("xlog"):
        kept &= columns[0] != 0
    columns = [column[kept] for column in columns]
    if op.name == "beta":
        columns = [np.concatenate([column, more]) for column, more in zip(columns, NEGATIVE, strict=True)]
    return dict(zip("xy", columns, strict=False))


_NEAR_1 = np.array([1 - 2.0**-k for k in (1, 2, 3, 5, 8, 13, 20, 30, 40, 50, 53)])
INSIDE = {
    **dict.fromkeys(("erfinv", "asin", "acos", "atanh"), np.concatenate([_NEAR_1, -_NEAR_1])),
    **dict.fromkeys(("ndtri", "logit", "lgamma", "digamma", "log", "log1p"), np.concatenate([_NEAR_1, 2 - _NEAR_1])),
    **dict.fromkeys(("acosh", "gamma"), np.concatenate([2 - _NEAR_1, 3 - _NEAR_1])),
}
"""Points besides: close to the ends of a domain, or to a zero."""
NEGATIVE = ((-0.5, -2.3, 1.7, -0.3, 0.4), (1.2, 0.6, -1.4, -0.9, -3.7))
LIMITS = {
    **dict.fromkeys(("j0", "j1", "y0", "y1", "bessel_j"), (0.0, 1e6)),  # SciPy's lose digits further out
    **dict.fromkeys(("wofz_real", "wofz_imag"), (0.0, 15.0)),  # parts cancel far below the real axis and on the diagonals
    "ellipe": (0.0, 1e150),  # whose formula has powers that overflow
    "beta": (0.1, math.inf),  # whose second derivatives cancel closer to 0
    "poisson_logpmf": (1e-4, 1e6),
    **dict.fromkeys(("gelu", "normal_logpdf"), (0.0, 1e150)),
    **dict.fromkeys(("atan2", "hypot", "xlogy", "xlog1py"), (1e-70, 1e70)),  # of whose squares and cubes formulas are made
}


Answers = dict[tuple[str, ...], Any]
"""Values by which derivative they are of."""


def exactly(call: Call) -> Answers:
    """The numbers of the engine."""
    found = ad.compile(call.expression, list(call.columns), order=2)(**call.columns)
    return {term: np.asarray(found["_".join(("d", *term)) if term else "value"]) for term in call.terms}


def by_diff(call: Call) -> Answers:
    """Of the formulas that ``diff`` prints."""
    answers: Answers = {}
    for order in (1, 2):
        for term, text in diff(call.expression, wrt=list(call.columns), order=order, stable=True).texts.items():
            before, separator, last = text.rpartition("; ")
            program = ad.compile(f"{before}{separator}({last}) + 0*({' + '.join(call.columns)})", [], order=0)
            answers[term] = np.asarray(program(**call.columns)["value"])
    return answers


def _defined(call: Call, to: str) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(compile(export(call.expression, to, order=2), "exported", "exec"), names)
    function: Callable[..., Any] = names["f"]
    return function


def _named(call: Call, value: Any, gradient: Any, hessian: Any) -> Answers:
    names = list(call.columns)
    answers: Answers = {(): np.asarray(value, float)}
    for i, name in enumerate(names):
        answers[(name,)] = np.asarray(gradient[i], float)
        for j in range(i, len(names)):
            answers[name, names[j]] = np.asarray(hessian[i][j], float)
    return answers


def by_python(call: Call) -> Answers:
    """Of the exported function, called for one point after the other; nan where it raises what Python's functions do."""
    function, count = _defined(call, "python"), len(call.columns)
    rows = []
    for at in zip(*(column.tolist() for column in call.columns.values()), strict=True):
        try:
            value, gradient, hessian = function(*at)
            rows.append([value, *gradient, *(entry for row in hessian for entry in row)])
        except (ArithmeticError, ValueError):
            rows.append([RAISED] * (1 + count + count * count))
    found = np.array(rows, float).T
    return _named(call, found[0], found[1 : 1 + count], found[1 + count :].reshape(count, count, -1))


RAISED = math.nan


def by_arrays(call: Call, to: str, convert: Callable[[Any], Any] = np.asarray) -> Answers:
    """Of the exported function of arrays or tensors."""
    with np.errstate(all="ignore"):
        return _named(call, *_defined(call, to)(*map(convert, call.columns.values())))


def by_torch(call: Call) -> Answers:
    """The same with PyTorch."""
    import torch

    return by_arrays(call, "torch", torch.tensor)


def by_jax(call: Call) -> Answers:
    """The same with JAX in double precision."""
    import jax

    jax.config.update("jax_enable_x64", True)
    return by_arrays(call, "jax", jax.numpy.asarray)


def compiler() -> str | None:
    """The C compiler."""
    return shutil.which("gcc") or shutil.which("cc")


def in_c(given: Sequence[Call]) -> dict[str, Answers | AutodiffError]:
    """Of all functions in one library."""
    found: dict[str, Answers | AutodiffError] = {}
    with tempfile.TemporaryDirectory() as name:
        path, able, sources = Path(name) / "all.c", [], []
        for i, call in enumerate(given):
            try:
                source = export(call.expression, "c", f"f{i}", order=2)
            except AutodiffError as error:
                found[call.expression] = error
                continue
            for helper in re.findall(r"^static double (\w+)\(", source, re.MULTILINE):
                source = re.sub(rf"\b{helper}\(", f"{helper}_of_{i}(", source)
            sources.append(source)
            able.append((i, call))
        path.write_text("\n".join(sources))
        flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O0", "-shared", "-fPIC"]
        completed([compiler() or "cc", *flags, str(path), "-o", str(path.with_suffix(".so")), "-lm"], check=True)
        library = ctypes.CDLL(str(path.with_suffix(".so")))
        for i, call in able:
            function, count = getattr(library, f"f{i}"), len(call.columns)
            function.restype = ctypes.c_double
            function.argtypes = [ctypes.c_double] * count + [ctypes.c_void_p] * 2
            table = np.empty((len(next(iter(call.columns.values()))), 1 + count + count * count))
            for row, at in zip(table, zip(*call.columns.values(), strict=True), strict=True):
                row[0] = function(*at, row[1:].ctypes.data, row[1 + count :].ctypes.data)
            columns = table.T
            found[call.expression] = _named(
                call, columns[0], columns[1 : 1 + count], columns[1 + count :].reshape(count, count, -1)
            )
    return found


def in_javascript(given: Sequence[Call]) -> dict[str, Answers | AutodiffError]:
    """Of all functions, by one run of Node.js."""
    found: dict[str, Answers | AutodiffError] = {}
    able, sources = [], []
    for call in given:
        try:
            sources.append(export(call.expression, "javascript", order=2))
            able.append(call)
        except AutodiffError as error:
            found[call.expression] = error
    points = [list(zip(*(column.tolist() for column in call.columns.values()), strict=True)) for call in able]
    for call, rows in zip(able, javascript.computed(sources, points), strict=True):
        columns, count = rows.T, len(call.columns)
        found[call.expression] = _named(call, columns[0], columns[1 : 1 + count], columns[1 + count :].reshape(count, count, -1))
    return found


def answers(way: str, given: Sequence[Call]) -> dict[str, Answers | AutodiffError]:
    """What one way answers for each function, or why it does not."""
    if way == "c":
        return in_c(given)
    if way == "javascript":
        return in_javascript(given)
    of: dict[str, Callable[[Call], Answers]] = {
        "diff": by_diff,
        "python": by_python,
        "numpy": lambda call: by_arrays(call, "numpy"),
        "torch": by_torch,
        "jax": by_jax,
    }
    found: dict[str, Answers | AutodiffError] = {}
    for call in given:
        try:
            found[call.expression] = of[way](call)
        except AutodiffError as error:
            found[call.expression] = error
    return found


def errors(found: Answers, true: Answers, only_finite: bool = False) -> dict[tuple[str, ...], Any]:
    """Relative errors, point by point; 0 where nothing is to be compared, inf where one is finite and the other is not.

    Args:
        found: what is judged.
        true: what is right.
        only_finite: whether what is nan in the judged is left out: Python raises where a function is not defined.
    """
    result: dict[tuple[str, ...], Any] = {}
    for term, numbers in found.items():
        one, other = np.asarray(numbers, float), true[term]
        with np.errstate(all="ignore"):
            error = np.abs(one - other) / np.maximum(np.abs(other), LEAST)
        error = np.where(np.isfinite(one) & np.isfinite(other), error, np.where(one == other, 0.0, math.inf))
        error = np.where(np.isnan(other), 0.0, error)
        result[term] = np.where(np.isnan(one), 0.0, error) if only_finite else error
    return result


def main(arguments: Sequence[str]) -> None:
    """Print the table; the arguments are ways, all but the peers without."""
    ways = list(arguments) or [way for way in WAYS if way not in ("torch", "jax")]
    given = calls()
    true = {call.expression: exactly(call) for call in given}
    found = {way: answers(way, given) for way in ways}
    print(f"{'':34}", *(f"{way:>24}" for way in ways))
    for call in given:
        cells = []
        for way in ways:
            one = found[way][call.expression]
            if isinstance(one, AutodiffError):
                cells.append("refused")
                continue
            wrong = errors(one, true[call.expression], way == "python")
            by_order = [
                max(float(np.max(wrong[term])) for term in wrong if len(term) == order) if order or () in wrong else 0.0
                for order in (0, 1, 2)
            ]
            cells.append(" ".join(f"{error:7.0e}" for error in by_order))
        print(f"{call.expression[:34]:34}", *(f"{cell:>24}" for cell in cells))


if __name__ == "__main__":
    main(sys.argv[1:])
