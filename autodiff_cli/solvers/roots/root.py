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


_MOST_PLACES = 5  # the maximum number of places that a note lists
_MANY_DIGITS = 14  # the number of certain digits from which rounding at a multiple root is not worth a note


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
        trace: the steps, which the result shows if it is ``traced``.
        reached: whether there is a point, be it a root or not.
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
        self.reached = not np.isnan(check.point.x).any()
        self.converged = check.converged
        self.verdict = check.verdict
        self.steps = max(len(search.steps) - 1, 0)
        self.evaluations = problem.system.evaluations
        self.convergence_order = _convergence_order([step["length"] for step in search.steps], check)
        self.trace = search.steps
        self.roots: list[Root] | None = None
        self.complete: bool | None = None
        self.others = 0
        self.reason, self.advice = _failure(problem, check)
        unused = [note("unused", f"'{name}' does not occur in the expression") for name in problem.unused]
        self.notes = unused + (_root_notes(search) if check.converged else [])

    def answer(self) -> Record:
        """Return the entries for JSON: those of a root are null without one, as those of a point that was not reached."""
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
        """Return the values of all roots of the range; of one root, its values and then its derivatives."""
        if not self.converged:
            return []
        if self.roots is not None:
            return [value for root in self.roots for value in root.solution.values()]
        rows = [value for row in self.sensitivity.values() for value in row.values()]
        return [*self.solution.values(), *rows]

    def records(self) -> list[Record]:
        """Return the steps if they are traced, else all roots of the range, else one record for each unknown."""
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


def _failure(problem: RootProblem, check: Verification) -> tuple[str, str | None]:
    """Return the reason why a point is not a root, and an advice; an empty text and ``None`` for a root."""
    if check.converged:
        return "", None
    place, again = "the point that was reached", f"use another start with {setting('at')}"
    if len(problem.system.labels) <= 3:  # few enough to be listed, and for the search of a range
        place = problem.place(check.point.x)
        again += f", or search a range with {setting('over')}"
    size = f"{float(np.max(np.abs(check.point.f), initial=0.0)):.3g}"
    if check.verdict == "minimum_of_norm":
        is_system = len(check.point.f) > 1
        nearest = "the equations come" if is_system else "the equation comes"
        sides = f"their sides differ by up to {size}" if is_system else f"its sides differ by {size}"
        reason = f"no real root found near the start: {nearest} closest at {place}, where {sides}"
        return reason, f"there may be no real root; {again}"
    if check.verdict == "flat":
        reason = f"no root found: at {place} and far beyond it, the residuals are smaller than their rounding errors"
        return reason, f"the residuals may tend to 0 without a root; {again}"
    if check.broken is not None:
        reason = f"no root found: {check.broken.sentence}, where the residuals come close to 0"
        return reason, f"the equations may have no root there; {again}"
    return f"no root found: the largest residual at {place} is {size}", again


def _root_notes(search: SearchResult) -> list[Record]:
    """Return the notes on a root that is multiple, not isolated, or found from another start."""
    check, notes = search.check, []
    if check.verdict == "multiple_root":
        left = f", so rounding leaves {check.digits} certain digits" if check.digits < _MANY_DIGITS else ""
        notes.append(note("multiple", f"the root has multiplicity {check.multiplicity}{left}"))
    if check.multiplicity == 0:
        notes.append(note("not_isolated", "the root is not isolated: the equations also hold on both sides of it"))
    if search.starts > 1:
        notes.append(note("start", "the given start led to a minimum of the norm; the root was found from another start"))
    return notes


def _convergence_order(lengths: list[float], check: Verification) -> float | None:
    """Return the order log(c/b)/log(b/a) of the last three steps a, b, c above rounding that shrink fast; ``None`` without such."""
    if check.multiplicity > 1:  # there Newton's method converges linearly
        return 1.0
    rounding = 1e-14 * (norm(check.point.x) or 1.0)
    steps = [length for length in lengths if length > rounding]
    for a, b, c in zip(steps[-3::-1], steps[-2::-1], steps[::-1], strict=False):  # from the last ones back
        if b < 0.5 * a and c < 0.5 * b:
            return round(float(np.log(c / b) / np.log(b / a)), 1)
    return None


@overload
def root(
    expression: str, at: Mapping[str, Value] | None = None, *, data: Data, const: Mapping[str, Value] | None = None
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
        _check_ranges(ranges, values)
        result = _root_in_range(_range_problem(expression, constants, ranges), ranges, all)
    else:
        problem = RootProblem(expression, values, constants)
        problem.check_finite(problem.start)
        result = Root(problem, search(problem, problem.start))
    result.traced = trace
    if names:
        for solution in result.roots or [result]:
            if solution.converged:
                solution.sensitivity = sensitivities(solution.problem, solution.problem.system.flat(solution.solution), names)
    return result


def _check_ranges(ranges: Mapping[str, Interval], starts: Mapping[str, Value]) -> None:
    """Raise an error if a range of an unknown is infinite, or if a name has a start, which unknowns with ranges do not take."""
    if starts:
        name = next(iter(starts))
        hint = f"use {setting('const', f'{name}=...')} for a constant, or {setting('over', f'{name}=-10:10')} for an unknown"
        raise UsageError(f"'{name}' has a start, but the unknowns have ranges", hint=hint)
    for name, (low, high) in ranges.items():
        if not np.isfinite(high - low):
            hint = f"write {setting('over', f'{name}=-1e6:1e6')}"
            raise UsageError(f"the range of '{name}' in {setting('over')} is not finite", hint=hint)


def _range_problem(expression: str, constants: Mapping[str, Value], ranges: Mapping[str, Interval]) -> RootProblem:
    """Return equations with the middles of ranges as the start; fewer equations than unknowns are an error."""
    middle = {name: low + (high - low) / 2 for name, (low, high) in ranges.items()}
    problem = RootProblem(expression, middle, constants)
    n, m = len(problem.start), problem.system.count
    if m < n:
        raise UsageError(
            f"{plural(m, 'equation')} in {plural(n, 'unknown')}: the roots are not isolated",
            hint=f"add equations, or find one root with {setting('at')}",
        )
    return problem


def _root_in_range(problem: RootProblem, ranges: Mapping[str, Interval], with_all: bool) -> Root:
    """Return the root in ranges that is nearest to their middle; ``with_all`` also lists all roots, and else a note counts them."""
    low, high = np.array([ranges[name] for name in problem.system.names]).T
    search = roots_over(problem, low, high)
    roots = [Root(problem, SearchResult(check, [], 1)) for check in search.checks]
    if roots:
        distances = [norm((check.point.x - (low + high) / 2) / (high - low)) for check in search.checks]
        result = roots[int(np.argmin(distances))]
    else:
        result = _without_root(problem, ranges, search.complete)
    others = [root for root in roots if root is not result]
    result.complete, result.others = search.complete, len(others)
    result.notes += _range_notes(problem, search)
    if with_all:
        result.roots = roots
        result.notes += [remark for root in others for remark in root.notes if remark["kind"] == "multiple"]
    elif others:
        result.notes.append(note("others", f"{plural(len(others), 'other root')} in the range"))
    return result


def _without_root(problem: RootProblem, ranges: Mapping[str, Interval], is_proven: bool) -> Root:
    """Return the result for ranges in which no root was found, or in which it is proven that none exists."""
    nothing = np.full(len(problem.start), np.nan)
    verdict = "no_root" if is_proven else "not_converged"
    absent = Verification(problem.at(nothing), verdict, "", nothing, nothing, np.nan, nothing)
    result = Root(problem, SearchResult(absent, [], 1))
    where = ", ".join(f"{name}={low:g}:{high:g}" for name, (low, high) in ranges.items())
    if is_proven:
        result.reason = f"{where} does not contain a root, which is proven with interval arithmetic"
        result.advice = f"search a wider range with {setting('over')}"
    else:
        result.reason = f"no root was found in {where}, but roots may exist there"
        result.advice = f"use a start with {setting('at')}"
    return result


def _range_notes(problem: RootProblem, roots: Roots) -> list[Record]:
    """Return the notes on places that are not roots, on places where a root is neither proven nor excluded, and on proofs."""
    notes = [note(gap.kind, f"{gap.sentence}, which is not taken for a root") for gap in dict.fromkeys(roots.broken)]
    if roots.undefined:
        where = _listed_places(problem, roots.undefined)
        notes.append(note("undefined", f"not defined or not continuous, and not a root: {where}"))
    if roots.unresolved:
        where = _listed_places(problem, roots.unresolved)
        notes.append(note("unresolved", f"it is not decided whether there is a root at {where}"))
    elif roots.complete and any(check.proof not in PROVEN for check in roots.checks):
        rest = "outside of the errors of the roots found, it is proven that the range does not contain any"
        notes.append(note("unproven", f"a root without a proof may be a place where the equation only comes close to 0; {rest}"))
    elif not roots.complete:
        notes.append(note("incomplete", "it is not proven that the range has no other roots"))
    return notes


def _listed_places(problem: RootProblem, points: Sequence[Vector]) -> str:
    """Return the first places in words, such as ``x = 1, y = 2; x = 3, y = 4 and 5 more``."""
    texts = list(dict.fromkeys(map(problem.place, points)))
    more = len(texts) - _MOST_PLACES
    return "; ".join(texts[:_MOST_PLACES]) + (f" and {more} more" if more > 0 else "")
