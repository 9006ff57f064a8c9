"""``root``: where equations hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import optional
from autodiff_cli.autograd.primitives.interface_kinds import EXPRESSION, NAMES, VALUES, VALUES_OR_TEXTS, checks
from autodiff_cli.command_result import Named, Record, plain
from autodiff_cli.errors import UsageError, setting
from autodiff_cli.evaluation.evaluation import evaluated_inputs
from autodiff_cli.evaluation.note_phrases import note
from autodiff_cli.solvers.bounds import Interval, check_names, intervals
from autodiff_cli.solvers.roots.all_roots import Roots, roots_over
from autodiff_cli.solvers.roots.newton import SearchResult, search
from autodiff_cli.solvers.roots.problem import RootProblem, norm, sensitivities
from autodiff_cli.solvers.roots.verification import PROVEN, Verification
from autodiff_cli.solvers.solution import Solution, plain_values
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Vector
    from autodiff_cli.data.columns import Data
    from autodiff_cli.evaluation.evaluation import Value


_MOST_PLACES = 5
"""The maximum number of places that a note lists."""
_MANY_DIGITS = 14
"""The number of certain digits from which rounding at a multiple root is not worth a note."""


class Root(Solution):
    """The result of ``root`` from a start.

    Attributes:
        solution: the value of each unknown.
        residual: the residuals: the left side minus the right side of each equation.
        last_step: the length of the Newton step at the solution.
        condition: the condition number of the Jacobian with scaled rows and columns.
        convergence_order: the order in which the steps decreased; ``None`` if there were too few.
        multiplicity: the multiplicity of the root; 1 for a simple root, and 0 for a root that is not isolated.
        digits: the number of certain digits.
        error_bound: a bound of the error of each unknown.
        proof: how the root was verified.
        sensitivity: the derivative of each unknown with respect to constants.
        trace: the steps.
        roots: all roots in the range, if they were requested.
        others: the number of other roots in the range.
        complete: whether it is proven that the range has no other roots; ``None`` without a range.
    """

    command = "root"
    tables = "autodiff_cli.solvers.roots.tables:root_tables"

    def __init__(self, problem: RootProblem, search: SearchResult) -> None:
        super().__init__(expression=problem.expression)
        check = search.check
        self.problem = problem
        self.labels = problem.labels
        self.solution = problem.system.named(check.point.x)
        self.residual = check.point.f
        self.noise = check.noise
        self.last_step = norm(check.step)
        self.condition = check.condition
        self.multiplicity = check.multiplicity
        self.digits = check.digits if check.converged else 0
        self.proof = check.proof
        self.error_bound = problem.system.named(check.error)
        self.sensitivity: dict[str, dict[str, Vector]] = {}
        self.traced = False
        self.starts = search.starts
        self.reached = not np.isnan(check.point.x).any()
        self.converged = check.converged
        self.verdict = check.verdict
        self.steps = max(len(search.steps) - 1, 0)
        self.evaluations = problem.system.evaluations
        self.convergence_order = _order([step["length"] for step in search.steps], check)
        self.trace = search.steps
        self.notes = [note("unused", f"'{name}' does not occur in the expression") for name in problem.unused]
        self.roots: list[Root] | None = None
        self.complete: bool | None = None
        self.others = 0
        self._explain(search)

    def _explain(self, search: SearchResult) -> None:
        """Set the reason of a failure, and add notes about the root."""
        check = search.check
        place = ", ".join(f"{label} = {value:.6g}" for label, value in zip(self.labels, search.check.point.x, strict=True))
        place = place if len(self.labels) <= 3 else "the point that was reached"
        size = f"{float(np.max(np.abs(self.residual), initial=0.0)):.3g}"
        again = f"use another start with {setting('at')}" + (
            "" if len(self.labels) > 3 else f", or search a range with {setting('over')}"
        )
        if self.verdict == "minimum_of_norm":
            nearest = "the equations come" if len(self.residual) > 1 else "the equation comes"
            sides = f"their sides differ by up to {size}" if len(self.residual) > 1 else f"its sides differ by {size}"
            self.reason = f"no real root found near the start: {nearest} closest at {place}, where {sides}"
            self.advice = f"there may be no real root; {again}"
        elif self.verdict == "flat":
            self.reason = f"no root found: at {place} and far beyond it, the residuals are smaller than their rounding errors"
            self.advice = f"the residuals may tend to 0 without a root; {again}"
        elif check.broken is not None:
            self.reason = f"no root found: {check.broken.sentence}, where the residuals come close to 0"
            self.advice = f"the equations may have no root there; {again}"
        elif self.verdict == "not_converged":
            self.reason = f"no root found: the largest residual at {place} is {size}"
            self.advice = again
        elif self.verdict == "multiple_root":
            left = f", so rounding leaves {self.digits} certain digits" if self.digits < _MANY_DIGITS else ""
            self.notes.append(note("multiple", f"the root has multiplicity {self.multiplicity}{left}"))
        if self.converged and self.multiplicity == 0:
            self.notes.append(note("not_isolated", "the root is not isolated: the equations also hold on both sides of it"))
        if self.converged and search.starts > 1:
            self.notes.append(note("start", "the given start led to a minimum of the norm; the root was found from another start"))

    def answer(self) -> Record:
        values = plain_values(self.solution)
        return {
            "solution": values if self.converged else None,
            **({"point": values} if self.reached and not self.converged else {}),
            "residual": plain(self.residual) if self.reached else None,
            "last_step": self.last_step if self.reached else None,
            "condition": self.condition if self.reached else None,
            "convergence_order": self.convergence_order,
            "multiplicity": self.multiplicity if self.converged else None,
            "digits": self.digits,
            "error_bound": plain_values(self.error_bound) if self.converged else None,
            "proof": self.proof or None,
            **({"sensitivity": plain_values(self.sensitivity)} if self.sensitivity else {}),
            **({} if self.complete is None else {"complete": self.complete}),
            **({} if self.roots is None else {"roots": [root.record() for root in self.roots]}),
            **({"trace": self.trace} if self.traced else {}),
        }

    def record(self) -> Record:
        """Return the root as an entry of a list of roots."""
        return {
            **plain_values(self.solution),
            "error_bound": max(float(np.max(error)) for error in self.error_bound.values()),
            "multiplicity": self.multiplicity,
            "digits": self.digits,
            "proof": self.proof,
        }

    @property
    def is_proven(self) -> bool:
        """Whether it is proven that the roots in the range exist, and that it does not contain others."""
        return bool(self.complete) and all(root.proof in PROVEN for root in self.roots or (self,))

    def numbers(self) -> list[Named]:
        return list(self.solution.items())

    def bare(self) -> list[object]:
        if not self.converged:
            return []
        if self.roots is not None:
            return [value for root in self.roots for value in root.solution.values()]
        rows = [value for row in self.sensitivity.values() for value in row.values()]
        return [*self.solution.values(), *rows]

    def records(self) -> list[Record]:
        if self.traced:
            return self.trace
        if self.roots is not None:
            return [root.record() for root in self.roots]
        result = []
        for name, value in self.solution.items():
            slopes = {a: plain(slope) for a, slope in self.sensitivity.get(name, {}).items()}
            row: Record = {"name": name, "value": plain(value), "error_bound": plain(self.error_bound[name])}
            result.append({**row, **{f"d_{a}": slope for a, slope in slopes.items()}, "verdict": self.verdict})
        return result


def _order(lengths: list[float], check: Verification) -> float | None:
    """Return the order of convergence of the last full steps above rounding; ``None`` if there are fewer than three."""
    size = norm(check.point.x) or 1.0
    steps = [length for length in lengths if length > 1e-14 * size]
    if check.multiplicity > 1:
        return 1.0
    while len(steps) >= 3:
        first, middle, last = steps[-3:]
        if middle < 0.5 * first and last < 0.5 * middle:
            return round(float(np.log(last / middle) / np.log(middle / first)), 1)
        steps.pop()
    return None


@overload
def root(
    expression: str,
    at: Mapping[str, Value] | None = None,
    *,
    data: Data,
    const: Mapping[str, Value] | None = None,
) -> dict[str, Vector | Mask]: ...


@overload
def root(
    expression: str,
    at: Mapping[str, Value] | None = None,
    *,
    data: None = None,
    const: Mapping[str, Value] | None = None,
    over: Mapping[str, str | Interval] | Sequence[str] | str = (),
    all: bool = False,
    sensitivity: Sequence[str] | str = (),
    trace: bool = False,
) -> Root: ...


@checks(expression=EXPRESSION, at=optional(VALUES), const=optional(VALUES), over=VALUES_OR_TEXTS, sensitivity=NAMES)
def root(
    expression: str,
    at: Mapping[str, Value] | None = None,
    *,
    data: Data | None = None,
    const: Mapping[str, Value] | None = None,
    over: Mapping[str, str | Interval] | Sequence[str] | str = (),
    all: bool = False,
    sensitivity: Sequence[str] | str = (),
    trace: bool = False,
) -> Root | dict[str, Vector | Mask]:
    """Find where equations hold, and verify it.

    Args:
        expression: equations such as ``"x**2 + y**2 = 4; x*y = 1"``; an expression without ``=`` is to be 0.
        at: the unknowns with their starting values, as numbers, arrays or texts.
        data: columns of constants, by name or as files; the equations are then solved for every row.
        const: the values of constants.
        over: the range of each unknown, such as ``{"x": (-10, 10)}`` or ``"x=-10:10"``, instead of ``at``.
        all: whether to return all roots in the range, as ``roots``, instead of the one that is nearest to its middle.
        sensitivity: the constants with respect to which the root is differentiated.
        trace: whether the JSON object contains the steps.

    Returns:
        The result; ``converged`` is true only if the root was verified, and ``require()`` raises an error otherwise.  With
        ``data``, a dictionary of arrays: the unknowns, their derivatives such as ``d_x_a``, ``residual`` and ``converged``.

    Raises:
        AutodiffError: if the equations are invalid, or cannot be evaluated at the start.
    """
    ranges = intervals([over] if isinstance(over, str) else over, "over")
    if all and not ranges:
        raise UsageError(f"{setting('all')} needs a range", hint=f"add {setting('over', 'x=-10:10')}")
    values, constants = evaluated_inputs(at, const, "float64")
    names = [name.strip() for name in sensitivity.split(",")] if isinstance(sensitivity, str) else list(sensitivity)
    if data is not None:
        from autodiff_cli.solvers.roots.rows import root_columns

        return root_columns(expression, data, values, constants, names)
    check_names(names, constants, "sensitivity", "constant")
    if ranges:
        result = _over(expression, values, constants, ranges, all)
    else:
        problem = RootProblem(expression, values, constants)
        problem.check_finite(problem.start)
        result = Root(problem, search(problem, problem.start))
    result.traced = trace
    if names:
        for solution in {id(solution): solution for solution in (result, *(result.roots or ())) if solution.converged}.values():
            solution.sensitivity = sensitivities(solution.problem, solution.problem.system.flat(solution.solution), names)
    return result


def _over(
    expression: str,
    values: Mapping[str, Value],
    constants: Mapping[str, Value],
    ranges: Mapping[str, Interval],
    all: bool,
) -> Root:
    """Return the root in a range that is nearest to its middle, with all others if they are wanted."""
    if values:
        name = next(iter(values))
        hint = f"use {setting('const', f'{name}=...')} for a constant, or {setting('over', f'{name}=-10:10')} for an unknown"
        raise UsageError(f"'{name}' has a start, but the unknowns have ranges", hint=hint)
    for name, (low, high) in ranges.items():
        if not np.isfinite(high - low):
            raise UsageError(
                f"the range of '{name}' in {setting('over')} is not finite", hint=f"write {setting('over', f'{name}=-1e6:1e6')}"
            )
    middle = {name: low + (high - low) / 2 for name, (low, high) in ranges.items()}
    problem = RootProblem(expression, middle, constants)
    n, m = len(problem.start), problem.system.count
    if m < n:
        raise UsageError(
            f"{plural(m, 'equation')} in {plural(n, 'unknown')}: the roots are not isolated",
            hint=f"add equations, or find one root with {setting('at')}",
        )
    lows, highs = np.array([ranges[name] for name in problem.system.names]).T
    search = roots_over(problem, lows, highs)
    roots = [Root(problem, SearchResult(check, [], 1)) for check in search.checks]
    if roots:
        result = min(
            zip(roots, search.checks, strict=True), key=lambda pair: norm((pair[1].point.x - (lows + highs) / 2) / (highs - lows))
        )[0]
    else:
        nothing = np.full(n, np.nan)
        verdict = "no_root" if search.complete else "not_converged"
        absent = Verification(problem.at(nothing), verdict, "", nothing, nothing, np.nan, nothing)
        result = Root(problem, SearchResult(absent, [], 1))
        where = ", ".join(f"{name}={low:g}:{high:g}" for name, (low, high) in ranges.items())
        proven = "{} does not contain a root, which is proven with interval arithmetic"
        result.reason = (proven if search.complete else "no root was found in {}, but roots may exist there").format(where)
        result.advice = f"search a wider range with {setting('over')}" if search.complete else f"use a start with {setting('at')}"
    result.complete = search.complete
    result.others = max(len(roots) - 1, 0)
    result.notes += _remarks(problem, search)
    if all:
        result.roots = roots
        result.notes += [remark for other in roots if other is not result for remark in other.notes if remark["kind"] == "multiple"]
    elif len(roots) > 1:
        result.notes.append(note("others", f"{plural(len(roots) - 1, 'other root')} in the range"))
    return result


def _remarks(problem: RootProblem, roots: Roots) -> list[Record]:
    """Return the notes on places that are not roots, and on places where a root is neither proven nor excluded."""

    def places(points: Sequence[Vector]) -> str:
        named = (zip(problem.labels, x, strict=True) for x in points)
        texts = list(dict.fromkeys(", ".join(f"{label} = {value:.6g}" for label, value in point) for point in named))
        more = len(texts) - _MOST_PLACES
        return "; ".join(texts[:_MOST_PLACES]) + (f" and {more} more" if more > 0 else "")

    notes = [note(gap.kind, f"{gap.sentence}, which is not taken for a root") for gap in dict.fromkeys(roots.broken)]
    if roots.undefined:
        notes.append(note("undefined", f"not defined or not continuous, and not a root: {places(roots.undefined)}"))
    if roots.unresolved:
        notes.append(note("unresolved", f"it is not decided whether there is a root at {places(roots.unresolved)}"))
    elif roots.complete and not all(check.is_proven for check in roots.checks):
        rest = "outside of the errors of the roots found, it is proven that the range does not contain any"
        notes.append(note("unproven", f"a root without a proof may be a place where the equation only comes close to 0; {rest}"))
    elif not roots.complete:
        notes.append(note("incomplete", "it is not proven that the range has no other roots"))
    return notes
