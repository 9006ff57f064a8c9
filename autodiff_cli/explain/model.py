"""What ``autodiff explain`` has to say, as data: a forward pass, a sweep back through it, and for order 2 the sweeps after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.derivatives.pending import LazyNotes
from autodiff_cli.evaluation.evaluation import plain
from autodiff_cli.explain.names import Line
from autodiff_cli.language.tree import Syntax, unparse


class Contribution:
    """What one input of a node receives.

    Attributes:
        to: the name of the input.
        place: which of several arguments it is, where one tensor stands for more than one; from 1.
        formula: the local derivative, or with the gradient (the name ``%gradient``) in it the rule itself.
        words: what the rule does, where no formula says it, or the convention at a kink; names stand between backticks.
        local: the local derivative as numbers, where the rule is a product with it; else ``None``.
        part: what the rule made; of the shape of the output where the input was broadcast.
        value: the same in the shape of the input.
        summed: the dimensions that were summed for that.
        before: what had arrived at the input already, ``None`` if this is the first.
        untaken: whether some elements were not taken, and contribute nothing whatever their derivative is.
    """

    __slots__ = ("before", "formula", "local", "part", "place", "summed", "to", "untaken", "value", "words")

    def __init__(self, to: str, place: int | None, part: Any, value: Any, before: Any) -> None:
        self.to = to
        self.place = place
        self.part = part
        self.value = value
        self.summed = _summed(np.shape(part), np.shape(value))
        self.before = before
        self.formula: Syntax | None = None
        self.words: str | None = None
        self.local: Any = None
        self.untaken = False

    @property
    def is_broadcast(self) -> bool:
        """Whether the input was broadcast to the output."""
        return bool(np.shape(self.part) != np.shape(self.value))

    def to_dict(self) -> dict[str, Any]:
        broadcast = {"from": list(np.shape(self.value)), "to": list(np.shape(self.part)), "summed": list(self.summed)}
        return {
            "to": self.to,
            "formula": None if self.formula is None else unparse(self.formula),
            "rule": None if self.words is None else self.words.replace("`", ""),
            "local": plain(self.local),
            "contribution": plain(self.value),
            "broadcast": broadcast if self.is_broadcast else None,
            "untaken": self.untaken,
        }


def _summed(given: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """The dimensions that a gradient is summed over to come back to a shape."""
    new = len(given) - len(shape)
    return (*range(max(new, 0)), *(new + d for d, length in enumerate(shape) if new + d >= 0 and length != given[new + d]))


class Step:
    """One node of a sweep.

    Attributes:
        names: of its outputs that a gradient arrived at, with these ``gradients``.
        operation: in terms of its inputs.
        grad_fn: PyTorch's name of the node.
    """

    __slots__ = ("contributions", "grad_fn", "gradients", "names", "operation")

    def __init__(self, names: list[str], operation: Syntax, grad_fn: str, gradients: list[Any]) -> None:
        self.names = names
        self.operation = operation
        self.grad_fn = grad_fn
        self.gradients = gradients
        self.contributions: list[Contribution] = []

    def to_dict(self) -> dict[str, Any]:
        several = len(self.names) > 1
        return {
            "name": self.names if several else self.names[0],
            "operation": unparse(self.operation),
            "grad_fn": self.grad_fn,
            "gradient": [plain(g) for g in self.gradients] if several else plain(self.gradients[0]),
            "contributions": [contribution.to_dict() for contribution in self.contributions],
        }


class End:
    """What a sweep leaves at one variable: the contributions, each with the name of the tensor it came from, and their sum."""

    __slots__ = ("name", "parts", "value")

    def __init__(self, name: str, parts: list[tuple[str, Any]], value: Any) -> None:
        self.name = name
        self.parts = parts
        self.value = value

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "parts": [{"from": n, "value": plain(v)} for n, v in self.parts], "value": plain(self.value)}


class Sweep:
    """A sweep from one tensor to the variables.

    Attributes:
        symbol: what derivatives are written of: ``z`` in ``dz/dx``.
        start: the gradient it starts from.
        element: for order 2 which element of the gradient; ``()`` for a number.
    """

    __slots__ = ("element", "ends", "start", "steps", "symbol")

    def __init__(self, symbol: str, start: Any, element: tuple[int, ...] = ()) -> None:
        self.symbol = symbol
        self.start = start
        self.element = element
        self.steps: list[Step] = []
        self.ends: list[End] = []

    @property
    def of(self) -> str:
        """The symbol with the element: ``g_x[0]``."""
        return f"{self.symbol}[{', '.join(map(str, self.element))}]" if self.element else self.symbol

    def to_dict(self) -> dict[str, Any]:
        return {
            "element": list(self.element),
            "start": plain(self.start),
            "steps": [step.to_dict() for step in self.steps],
            "ends": [end.to_dict() for end in self.ends],
        }


class Second:
    """The second derivatives that begin with one variable.

    Attributes:
        variable: the first of the two.
        symbol: what its derivative is called, and ``value`` what it is.
        lines: the operations that computed it, as far as no other derivative showed them.
        sweeps: one for each element; none if it depends on no variable.
    """

    __slots__ = ("lines", "sweeps", "symbol", "value", "variable")

    def __init__(self, variable: str, symbol: str, value: Any) -> None:
        self.variable = variable
        self.symbol = symbol
        self.value = value
        self.lines: list[Line] = []
        self.sweeps: list[Sweep] = []

    def to_dict(self) -> dict[str, Any]:
        return {
            "variable": self.variable,
            "symbol": self.symbol,
            "value": plain(self.value),
            "forward": [_line(line, None) for line in self.lines],
            "sweeps": [sweep.to_dict() for sweep in self.sweeps],
        }


def _line(line: Line, conditions: Mapping[str, Any] | None) -> dict[str, Any]:
    record = {
        "name": line.name,
        "operation": unparse(line.operation),
        "expression": line.expression or None,
        "value": plain(line.value),
        "shape": None if line.value is None else list(np.shape(line.value)),
        "grad_fn": None if line.node is None else line.node.name(),
    }
    if line.meaning is not None:
        record["gradient_of"] = line.meaning
    if conditions is not None:
        record["condition"] = plain(conditions.get(line.name))
    return record


class Explanation:
    """What ``autodiff explain`` shows.

    Attributes:
        value: the result; ``output`` is its name, and ``symbol`` what derivatives are written of.
        given: the values of the variables and constants.
        forward: the lines of the forward pass.
        conditions: the condition number of each line by its name, if they were asked for.
        sweep: the backward pass; ``None`` if there is nothing to differentiate.
        grad: the gradient by each variable.
        seconds: for order 2 one for each variable; ``hessian`` is what comes of them.
    """

    def __init__(self, expression: str, dtype: str, order: int) -> None:
        self.expression = expression
        self.dtype = dtype
        self.order = order
        self.value: Any = None
        self.output = ""
        self.symbol = ""
        self.given: dict[str, Any] = {}
        self.forward: list[Line] = []
        self.conditions: dict[str, Any] | None = None
        self.sweep: Sweep | None = None
        self.grad: dict[str, Any] = {}
        self.seconds: list[Second] = []
        self.hessian: dict[str, dict[str, Any]] = {}
        self.noted: LazyNotes | None = None

    @property
    def notes(self) -> list[dict[str, Any]]:
        return [] if self.noted is None else self.noted.read()

    def numbers(self) -> list[tuple[str, Any]]:
        """Every derivative with what it is called."""
        first = [(f"the derivative by {name}", value) for name, value in self.grad.items()]
        return first + [(f"the derivative by {a}, {b}", value) for a, row in self.hessian.items() for b, value in row.items()]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        sweep = {"start": None, "steps": [], "ends": []} if self.sweep is None else self.sweep.to_dict()
        result: dict[str, Any] = {
            "schema": 1,
            "command": "explain",
            "expression": self.expression,
            "dtype": self.dtype,
            "order": self.order,
            "value": plain(self.value),
            "output": self.output,
            "symbol": self.symbol,
            "forward": [_line(line, self.conditions) for line in self.forward],
            **{key: sweep[key] for key in ("start", "steps", "ends")},
            "grad": {name: plain(value) for name, value in self.grad.items()},
        }
        if self.order == 2:
            result["second"] = [second.to_dict() for second in self.seconds]
            result["hessian"] = {a: {b: plain(value) for b, value in row.items()} for a, row in self.hessian.items()}
        result["notes"] = self.notes
        return result

    def records(self) -> list[dict[str, Any]]:
        """One record for each contribution, in the order of the sweeps."""
        sweeps = [] if self.sweep is None else [self.sweep]
        return [
            {
                "of": sweep.of,
                "step": k,
                "name": ", ".join(step.names),
                "operation": unparse(step.operation),
                "grad_fn": step.grad_fn,
                "gradient": plain(step.gradients[0]) if len(step.gradients) == 1 else [plain(g) for g in step.gradients],
                **{key: value for key, value in contribution.to_dict().items() if key not in ("broadcast", "untaken")},
            }
            for sweep in [*sweeps, *(sweep for second in self.seconds for sweep in second.sweeps)]
            for k, step in enumerate(sweep.steps, 1)
            for contribution in step.contributions
        ]
