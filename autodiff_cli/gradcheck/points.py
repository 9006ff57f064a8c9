"""Several points in one ``--at``: lists of values, and ranges that are sampled, with the places where a program switches."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError, UsageError
from autodiff_cli.evaluation.bindings import constant, from_file, named
from autodiff_cli.evaluation.evaluation import leaves
from autodiff_cli.evaluation.expression import Evaluator
from autodiff_cli.evaluation.ranges import COLON, ranges
from autodiff_cli.evaluation.trace import Step
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, pieces
from autodiff_cli.limits import check_count

MOST_POINTS = 10_000
MOST_SWITCHES = 20
"""Places where a program switches that are looked for in one range."""
_HALVINGS = 120
_COMMA = re.compile(",")

Point = dict[str, Any]


class At:
    """What ``--at`` of ``gradcheck`` says: ``x=1``, ``x=1,2,3`` or ``x=-2:2``, or a name that is given several times.

    Attributes:
        values: for each variable the values it takes.
        ranges: for each variable that is sampled its ends.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.values: dict[str, list[Any]] = {}
        self.ranges: dict[str, tuple[float, float]] = {}
        for text in texts:
            for name, given in named(text, "--at"):
                if not given:
                    raise UsageError(f"--at gives '{name}' no value", hint=f"write --at {name}=1")
                file = given.startswith("@")
                if not file and len(pieces(given, COLON)) > 1:
                    if name in self.ranges or name in self.values:
                        raise UsageError(f"'{name}' is given twice with --at", hint="give each variable one range, or values")
                    (found,) = ranges([f"{name}={given}"], "--at")
                    self.ranges[name] = found.low, found.high
                    continue
                if name in self.ranges:
                    raise UsageError(f"'{name}' is given twice with --at", hint="give each variable one range, or values")
                self.values.setdefault(name, []).extend(_value(part, name) for part in ([given] if file else pieces(given, _COMMA)))

    def points(self, expression: str, const: Mapping[str, Any], samples: int, seed: int = 0) -> list[Point]:
        """Every combination of the values; with ranges, ``samples`` points of each, their ends, and around each switch.

        Args:
            expression: the program, in which switches are looked for.
            const: its constants.
            samples: how many points there are at least in ranges.
            seed: of the samples.

        Raises:
            LimitError: for more than 10,000 points.
        """
        count = int(np.prod([len(listed) for listed in self.values.values()], dtype=np.int64)) * (samples if self.ranges else 1)
        check_count(count, MOST_POINTS, "gradcheck would look at {} points, more than the limit of {}")
        fixed = [dict(zip(self.values, chosen, strict=True)) for chosen in itertools.product(*self.values.values())]
        if not self.ranges:
            return fixed
        drawn = self._drawn(samples, seed)
        found = []
        for point in fixed:
            sampled = [{**point, **dict(zip(self.ranges, place, strict=True))} for place in drawn.tolist()]
            found += [*sampled, *_around_switches(expression, const, sampled, list(self.ranges))]
        return found

    def _drawn(self, samples: int, seed: int) -> Any:
        """Both ends, and one number from each part of each range, in the order of the first one: (samples, ranges)."""
        generator = np.random.default_rng(seed)
        columns = []
        for i, (low, high) in enumerate(self.ranges.values()):
            parts = np.arange(samples - 2) if i == 0 else generator.permutation(samples - 2)
            inner = low + (parts + generator.random(samples - 2)) / max(samples - 2, 1) * (high - low)
            columns.append(np.concatenate([[low], inner, [high]]))
        return np.array(columns).T


def _value(text: str, name: str) -> Any:
    return from_file(text[1:]) if text.startswith("@") else constant(text, "--at", name)


class _Tracer(Evaluator):
    """Evaluates a program with all its branches in the trace, those of derivatives by hand too."""

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
    """What a program chose at a point: equal where no comparison, sign or step came out differently."""
    evaluator = _Tracer(expression, leaves(point, const, "float64"), np.dtype(np.float64), tree)
    evaluator.tensors.steps = []
    with no_grad(), np.errstate(all="ignore"):
        try:
            evaluator.run()
        except AutodiffError:
            return None
    return tuple(_choice(step) for step in evaluator.tensors.steps)


def _choice(step: Step) -> Any:
    op, given, keywords, result, _ = step
    if op is None:
        return None
    parts = result if isinstance(result, tuple) else (result,)
    arrays = [np.asarray(getattr(part, "_data", part)) for part in parts]
    chosen: list[Any] = [array.tobytes() for array in arrays if array.dtype.kind in "bi"]
    primitive = PRIMITIVES.get(op.function)
    if primitive is not None and primitive.series == "fixed":
        chosen += [array.tobytes() for array in arrays]
    elif op.kink is not None or op.second_kink is not None:
        values = [getattr(value, "_data", value) for value in (*given, *keywords.values())]
        numbers = [np.asarray(value) for value in values if np.asarray(value).dtype.kind in "bif"]
        chosen += [np.sign(number).tobytes() for number in numbers]
        with contextlib.suppress(ValueError):  # shapes that do not fit together are not compared
            chosen += [np.sign(a - b).tobytes() for a, b in itertools.combinations([n.astype(float) for n in numbers], 2)]
    return (op.name, *chosen)


def _around_switches(expression: str, const: Mapping[str, Any], sampled: Sequence[Point], names: Sequence[str]) -> list[Point]:
    """Both sides of each place between neighbouring samples where the program switches, and the middle between such places."""
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
        if above != at_end:  # there is one more before the end
            work.insert(0, (high, end, above, at_end))
        found.append(between(high, end))
    return found
