"""The problem of a minimization: the objective, the constraints and the bounds, as one system of functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.errors import AutodiffError, NotSolved, ParseError, ShapeError, UsageError, setting
from autodiff_cli.evaluation.evaluation import evaluated_inputs
from autodiff_cli.language.tree import Syntax
from autodiff_cli.notes import notes_on
from autodiff_cli.solvers.bounds import Interval, check_names
from autodiff_cli.solvers.equations import Equation, Equations, equations, names_in
from autodiff_cli.solvers.system import System

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.evaluation.evaluation import Value

_GREATER = {">=": 1, ">": 1, "<=": -1, "<": -1}  # the sign with which left minus right is not negative, for each inequality


class OutOfTime(Exception):
    """The end of a search whose evaluations took too long."""


class Constraint(NamedTuple):
    """A function that is 0, or at least 0, at every point that is allowed.

    Attributes:
        text: the constraint as given; with the number of the element if it has several.
        function: the tree of the function.
        equality: whether the function must be 0.
    """

    text: str
    function: Syntax
    equality: bool

    def elements(self, size: int) -> list[Constraint]:
        """Return one constraint for each element of the function, which has a number of them."""
        return [self] if size == 1 else [self._replace(text=f"{self.text} [{i}]") for i in range(size)]


class MinimumProblem:
    """Minimize f(x) subject to c(x) = 0 or c(x) >= 0 and to bounds of x.

    Args:
        expression: the objective, after definitions of names and functions.
        at: the variables with their values at the start.
        const: the values of constants.
        subject: the constraints, each a text with ``==``, ``=``, ``<=`` or ``>=``.
        bounds: the interval of each variable that has one.
        maximize: whether to find a maximum; f is then minus the objective.

    Attributes:
        system: the objective and the constraints as one system of the variables that occur in them.
        unused: the given names that do not occur in the functions.
        sign: -1 for a maximum, else 1: the sign of the objective in f.
        constraints, equality: the constraints, one for each element, and the mask of those that are equations.
        low, high: the bounds, of length n; infinite where a variable has none.
        start: the start, moved into the bounds.
        rows: the number of the program of each value: of the objective, then of each constraint.
        seconds: the time for evaluations, without a limit at first; after it, the next one raises ``OutOfTime``.

    Raises:
        AutodiffError: if a text is invalid, the objective is not a scalar, or the start is not in the domain.
    """

    def __init__(
        self,
        expression: str,
        at: Mapping[str, Value],
        const: Mapping[str, Value] | None = None,
        subject: Sequence[str] = (),
        bounds: Mapping[str, Interval] | None = None,
        maximize: bool = False,
    ) -> None:
        self.expression = expression
        self.subject = list(subject)
        self.sign = -1.0 if maximize else 1.0
        source = "\n".join([expression, *subject])
        starts, constants = evaluated_inputs(at, const, "float64")
        try:
            objective, parsed = _statements(expression, source, subject, {*at, *(const or {})})
            programs = [objective, *(constraint.function for constraint in parsed)]
            used = names_in(*programs)
            self.unused = [name for name in (*starts, *constants) if name not in used]
            self._unchanged = {name: np.asarray(value, float)[()] for name, value in starts.items() if name not in used}
            self._names = tuple(starts)
            variables = {name: value for name, value in starts.items() if name in used}
            self.system = System(source, programs, variables, constants, by_formula=True)
        except AutodiffError as error:
            raise self.local(error) from None
        count, *sizes = (math.prod(shape) for shape in self.system.result_shapes)
        if count != 1:
            message = f"the expression has {count} values, but a minimum is defined for one"
            hint = "reduce it to a number, for example with sum(...)"
            raise ShapeError(message, span=objective.span, source=expression, hint=hint)
        self.constraints = [part for constraint, size in zip(parsed, sizes, strict=True) for part in constraint.elements(size)]
        self.rows = [0, *(i for i, size in enumerate(sizes, 1) for _ in range(size))]
        self.equality = np.array([constraint.equality for constraint in self.constraints], bool)
        check_names(bounds or {}, self._names, "bounds", "variable")
        self.low, self.high = self._bounds(bounds or {})
        self.start = np.clip(self.system.start, self.low, self.high)
        if not self.size:
            raise UsageError("the variables are not given", hint=f"give the start of each variable: {setting('at', 'x=1,y=2')}")
        self.seconds = np.inf
        self._last: dict[str, tuple[bytes, Vector]] = {}

    def _bounds(self, bounds: Mapping[str, Interval]) -> tuple[Vector, Vector]:
        """Return the low and the high bound of each of the n variables; infinite for a name without an interval."""
        low, high = (
            {name: np.full(shape, bounds.get(name, (-np.inf, np.inf))[side]) for name, shape in self.system.shapes.items()}
            for side in (0, 1)
        )
        return self.system.flat(low), self.system.flat(high)

    def local(self, error: AutodiffError) -> AutodiffError:
        """Change the place of an error in the joined text to that in the expression or in one constraint, and return the error."""
        texts = [self.expression, *self.subject]
        if error.span is None or error.source != "\n".join(texts):
            return error
        first, last = error.span
        for text in texts:
            if first <= len(text):
                break
            first, last = first - len(text) - 1, last - len(text) - 1  # less the text and its newline
        error.span, error.source = (first, min(last, len(text))), text
        return error

    def named(self, x: Vector) -> dict[str, Vector]:
        """Return a point as values by name, with the variables that do not occur in the functions at their starts."""
        values = {**self._unchanged, **self.system.named(x)}
        return {name: values[name] for name in self._names}

    @property
    def size(self) -> int:
        """The number n of variables."""
        return len(self.start)

    def values(self, x: Vector) -> tuple[float, Vector]:
        """Return f and c at a point."""
        result = self._at("values", x)
        return self.sign * float(result[0]), result[1:]

    def slopes(self, x: Vector) -> tuple[Vector, Matrix]:
        """Return the gradient of f, of length n, and the Jacobian matrix of c, of shape (m, n)."""
        result = self._at("jacobian", x)
        return self.sign * result[0], result[1:]

    def value(self, x: Vector) -> float:
        """Return f at a point."""
        return self.values(x)[0]

    def gradient(self, x: Vector) -> Vector:
        """Return the gradient of f, of length n."""
        return self.slopes(x)[0]

    def hessian(self, x: Vector, multipliers: Vector | None = None) -> Matrix:
        """Return the Hessian matrix of the Lagrangian f - multipliers @ c; the multipliers are 0 by default."""
        self._check_time()
        return self.system.hessian(x, self.weights(multipliers))

    def product(self, x: Vector, direction: Vector) -> Vector:
        """Return the Hessian matrix of f times a direction."""
        self._check_time()
        return self.system.product(x, direction, self.weights(None))

    def _at(self, kind: str, x: Vector) -> Vector:
        """Return the values or the Jacobian matrix at a point; the last ones are kept."""
        place, result = self._last.get(kind, (b"", np.zeros(0)))
        if place != x.tobytes():
            self._check_time()
            result = self.system.values(x) if kind == "values" else self.system.jacobian(x)
            self._last[kind] = (x.tobytes(), result)
        return result

    def _check_time(self) -> None:
        """Raise ``OutOfTime`` if the evaluations took longer than allowed."""
        if self.system.seconds > self.seconds:
            raise OutOfTime

    def weights(self, multipliers: Vector | None) -> Vector:
        """Return the weights of the functions of the system in the Lagrangian f - multipliers @ c."""
        return np.concatenate([[self.sign], np.zeros(len(self.constraints)) if multipliers is None else -multipliers])


def _statements(expression: str, source: str, subject: Sequence[str], known: set[str]) -> tuple[Syntax, list[Constraint]]:
    """Return the program of the objective, and the constraints with its definitions; their spans refer to the joined source."""
    objective = equations(expression, known)
    if len(objective.equations) > 1 or objective.equations[0].right is not None:
        wrong = objective.equations[-1]
        raise ParseError(
            "minimize takes one expression, not an equation",
            span=wrong.span,
            source=expression,
            hint="state an equation as a constraint: " + setting("subject", f'"{objective.text(wrong)}"'),
        )
    constraints: list[Constraint] = []
    start = len(expression) + 1
    for text in subject:
        # The constraint is parsed at its place in the joined source, after blanks, so that its spans refer to that source.
        padded = " " * start + text
        try:
            parsed = equations(padded, known)
            program = Equations(source, [*objective.definitions, *parsed.definitions], []).program
            for constraint in (part for equation in parsed.equations for part in _constraints(parsed, equation)):
                constraints.append(constraint._replace(function=program(constraint.function)))
        except AutodiffError as error:
            error.source = source
            raise
        start += len(text) + 1
    return objective.program(objective.equations[0].left), constraints


def _constraints(parsed: Equations, equation: Equation) -> list[Constraint]:
    """Return the functions of a constraint; ``0 <= x <= 1`` has two."""
    if equation.right is not None:
        return [Constraint(parsed.text(equation), equation.residual, True)]
    parts = equation.left.children
    sides, signs = parts[::2], [part.text for part in parts[1::2]]
    if equation.left.kind != "comparison" or not all(sign == "==" or sign in _GREATER for sign in signs):
        raise ParseError(
            "a constraint is an equation or an inequality",
            span=equation.span,
            source=parsed.source,
            hint="write it as in " + " or ".join(setting("subject", text) for text in ('"x + y == 1"', '"x*y >= 2"')),
        )
    result = []
    for left, sign, right in zip(sides[:-1], signs, sides[1:], strict=True):
        greater, less = (right, left) if _GREATER.get(sign, 1) < 0 else (left, right)
        span = left.span[0], right.span[1]
        text = parsed.source[slice(*span)] if len(signs) > 1 else parsed.text(equation)
        result.append(Constraint(" ".join(text.split()), Syntax("sub", [greater, less], "", span), sign == "=="))
    return result


def check_start(problem: MinimumProblem) -> None:
    """Raise ``NotSolved``, with the place where it arises, if a function or its gradient is not finite at the start."""
    value, c = problem.values(problem.start)
    gradient, jacobian = problem.slopes(problem.start)
    functions = np.column_stack([[value, *c], np.vstack([gradient, jacobian])])  # a row is a value and then its gradient
    wrong = np.flatnonzero(~np.isfinite(functions).all(axis=1))
    if len(wrong):
        raise problem.local(_start_error(problem, int(wrong[0]), functions[wrong[0]]))


def _start_error(problem: MinimumProblem, i: int, numbers: Vector) -> NotSolved:
    """Return the error for function i, of which a number, the value or a derivative, is not finite at the start."""
    value, *slopes = numbers
    name = "the expression" if i == 0 else f"the constraint {problem.constraints[i - 1].text}"
    what = f"the gradient of {name}" if np.isfinite(value) else name
    first = numbers[np.argmin(np.isfinite(numbers))]
    message, advice = f"{what} is {first} at the start", f"change the start with {setting('at')}"
    evaluation = problem.system.evaluation(problem.rows[i], problem.start)
    pairs = zip(problem.system.labels, slopes, strict=True)
    gradients = [(f"the derivative with respect to {label}", slope) for label, slope in pairs]
    notes = [remark for remark in notes_on(evaluation, gradients, 1) if remark["kind"] in ("domain", "nonfinite")]
    if not notes:
        return NotSolved(message, hint=advice)
    span = notes[0]["span"] and tuple(notes[0]["span"])
    return NotSolved(message, span=span, source=problem.system.source, hint=f"{notes[0]['message']}; {advice}")
