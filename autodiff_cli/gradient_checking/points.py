"""Points for ``gradcheck``: lists of values, and samples of ranges with the points at which a program switches branches."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError, UsageError, setting
from autodiff_cli.evaluation.bindings import constant, from_file, named
from autodiff_cli.evaluation.evaluation import leaves
from autodiff_cli.evaluation.expression import Evaluator
from autodiff_cli.evaluation.ranges import COLON, ranges
from autodiff_cli.evaluation.trace import Step, raw
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, pieces
from autodiff_cli.limits import check_count

MOST_POINTS = 10_000
MOST_SWITCHES = 20
"""The largest number of branch switches located in one range."""
_HALVINGS = 120
_COMMA = re.compile(",")
_AT = setting("at")

Point = dict[str, Any]


class At:
    """The values of variables, parsed from ``x=1``, ``x=1,2,3`` or ``x=-2:2``; several texts may add values of one variable.

    Attributes:
        values: the list of values of each variable.
        ranges: the lower and the upper end of the range of each sampled variable.

    Raises:
        UsageError: if a variable does not have a value, or has more than one range or both a range and values.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.values: dict[str, list[Any]] = {}
        self.ranges: dict[str, tuple[float, float]] = {}
        for text in texts:
            for name, given in named(text, "at"):
                if not given:
                    raise UsageError(f"the value of '{name}' in {_AT} is empty", hint=f"write {setting('at', f'{name}=1')}")
                file = given.startswith("@")
                is_range = not file and len(pieces(given, COLON)) > 1
                if name in self.ranges or (is_range and name in self.values):
                    raise UsageError(f"'{name}' is given twice with {_AT}", hint="give each variable either one range or values")
                if is_range:
                    (found,) = ranges([f"{name}={given}"], "at")
                    self.ranges[name] = found.low, found.high
                else:
                    parts = [from_file(given[1:])] if file else [constant(part, "at", name) for part in pieces(given, _COMMA)]
                    self.values.setdefault(name, []).extend(parts)

    def points(self, expression: str, const: Mapping[str, Any], samples: int, seed: int = 0) -> list[Point]:
        """Return every combination of values, each with ``samples`` points of the ranges and both sides of each branch switch.

        Args:
            expression: the program whose branch switches are located.
            const: the constants of the program.
            samples: the number of sampled points in the ranges, including both ends.
            seed: the seed of the random samples.

        Raises:
            LimitError: if there are more than 10,000 points.
        """
        count = math.prod(map(len, self.values.values())) * (samples if self.ranges else 1)
        check_count(count, MOST_POINTS, "gradcheck would check {} points, more than the limit of {}")
        fixed = [dict(zip(self.values, chosen, strict=True)) for chosen in itertools.product(*self.values.values())]
        if not self.ranges:
            return fixed
        drawn = self._drawn(samples, seed)
        found = []
        for point in fixed:
            sampled = [{**point, **dict(zip(self.ranges, place, strict=True))} for place in drawn.tolist()]
            found += [*sampled, *_around_switches(expression, const, sampled, list(self.ranges))]
        return found

    def _drawn(self, samples: int, seed: int) -> NDArray[np.float64]:
        """Draw a stratified sample of the ranges, sorted by the first range, with both ends; the shape is (samples, ranges)."""
        generator = np.random.default_rng(seed)
        columns = []
        for i, (low, high) in enumerate(self.ranges.values()):
            parts = np.arange(samples - 2) if i == 0 else generator.permutation(samples - 2)
            inner = low + (parts + generator.random(samples - 2)) / max(samples - 2, 1) * (high - low)
            columns.append(np.concatenate([[low], inner, [high]]))
        return np.array(columns).T


class _BranchEvaluator(Evaluator):
    """An evaluator that traces the bodies of functions, including their user-written derivatives."""

    def within(self, function: UserFunction, body: Syntax, arguments: Iterable[Any]) -> Tensor:
        before, self._scope = self._scope, dict(zip(function.parameters, arguments, strict=True))
        try:
            return self.tensors.of(self.evaluate(body))
        finally:
            self._scope = before

    def with_own_vjp(self, function: UserFunction, given: list[Any], node: Syntax) -> Any:
        arguments = [self.tensors.of(value) for value in given]
        for partial in function.partials or ():
            self.within(function, partial, arguments)
        return self.within(function, function.body, arguments)


def _signature(expression: str, const: Mapping[str, Any], tree: Syntax, point: Point) -> Any:
    """Return the branches that a program takes at a point, or ``None`` if the evaluation fails.

    The results for two points differ if a comparison, a sign or a piecewise constant function differs.
    """
    evaluator = _BranchEvaluator(expression, leaves(point, const, "float64"), np.dtype(np.float64), tree)
    evaluator.tensors.steps = []
    with no_grad(), np.errstate(all="ignore"):
        try:
            evaluator.run()
        except AutodiffError:
            return None
    return tuple(_choice(step) for step in evaluator.tensors.steps)


def _choice(step: Step) -> Any:
    op = step.op
    if op is None:
        return None
    parts = step.result if isinstance(step.result, tuple) else (step.result,)
    arrays = [np.asarray(raw(part)) for part in parts]
    chosen: list[Any] = [array.tobytes() for array in arrays if array.dtype.kind in "bi"]
    primitive = PRIMITIVES.get(op.function)
    if primitive is not None and primitive.series == "fixed":
        chosen += [array.tobytes() for array in arrays]
    elif op.kink is not None or op.second_kink is not None:
        given = [np.asarray(raw(value)) for value in step.given]
        numbers = [number for number in given if number.dtype.kind in "bif"]
        chosen += [np.sign(number).tobytes() for number in numbers]
        with contextlib.suppress(ValueError):  # arrays whose shapes cannot be broadcast are not compared
            chosen += [np.sign(a - b).tobytes() for a, b in itertools.combinations([n.astype(float) for n in numbers], 2)]
    return (op.name, *chosen)


def _around_switches(expression: str, const: Mapping[str, Any], sampled: Sequence[Point], names: Sequence[str]) -> list[Point]:
    """Return both sides of each branch switch between neighbouring samples, and the midpoints between switches."""
    tree = parse(expression)

    def signature(point: Point) -> Any:
        return _signature(expression, const, tree, point)

    def between(low: Point, high: Point) -> Point:
        return {**low, **{name: low[name] + (high[name] - low[name]) / 2 for name in names}}

    found: list[Point] = []
    known = [signature(point) for point in sampled]
    work = [(one, other, a, b) for one, other, a, b in zip(sampled, sampled[1:], known, known[1:], strict=False) if a != b]
    switches = 0
    while work and switches < MOST_SWITCHES:
        low, high, below, above = work.pop(0)
        end, at_end = high, above
        for _ in range(_HALVINGS):
            middle = between(low, high)
            if all(middle[name] in (low[name], high[name]) for name in names):
                break
            here = signature(middle)
            if here == below:
                low = middle
            else:
                high, above = middle, here
        switches += 1
        found += [low, high]
        if above != at_end:  # the program switches again between high and end
            work.insert(0, (high, end, above, at_end))
        found.append(between(high, end))
    return found
