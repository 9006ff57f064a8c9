"""The data model of ``autodiff explain``: a forward pass, a backward pass and, for order 2, one backward pass for each element of
the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.autograd.node import Node
from autodiff_cli.command_result import Record, plain
from autodiff_cli.derivatives.lazy_notes import DerivativeResult
from autodiff_cli.evaluation.tensor_log import Call
from autodiff_cli.language.tree import Syntax, unparse


@dataclass(slots=True, eq=False)
class ForwardLine:
    """One line of a forward pass.

    Attributes:
        name: the name of the tensor.
        operation: the operation as an expression of earlier tensors; for a leaf, its name.
        value: the value of the tensor; ``None`` if it is unknown.
        node: the node of the tensor; ``None`` for leaves and for operations that are not recorded.
        expression: the text in the program; empty for an operation inside a function.
        meaning: the name of the tensor whose gradient this line computes; ``None`` outside a recorded backward pass.
        call: the outermost call of a function of the program that contains the operation; ``None`` outside calls.
    """

    name: str
    operation: Syntax
    value: Array | None
    node: Node | None
    expression: str = ""
    meaning: str | None = None
    call: Call | None = None

    def to_dict(self) -> dict[str, object]:
        record: dict[str, object] = {
            "name": self.name,
            "operation": unparse(self.operation),
            "expression": self.expression or None,
            "value": plain(self.value),
            "shape": None if self.value is None else list(np.shape(self.value)),
            "grad_fn": None if self.node is None else type(self.node).__name__,
        }
        if self.meaning is not None:
            record["gradient_of"] = self.meaning
        return record


@dataclass(slots=True, eq=False)
class CotangentContribution:
    """The contribution of one node to the gradient of one of its inputs.

    Attributes:
        to: the name of the input.
        place: the position among the arguments that are the same tensor, from 1; ``None`` if no other argument is this tensor.
        part: the result of the VJP rule; it has the shape of the output if the input was broadcast.
        value: the result of the VJP rule, summed to the shape of the input.
        before: the gradient accumulated at the input so far; ``None`` for the first contribution.
        formula: the local derivative; or the VJP rule itself, in which ``%gradient`` is the upstream gradient.
        words: the VJP rule in words if it does not have a formula, or the convention at a kink; names are between backticks.
        local: the local derivative as numbers if the VJP rule multiplies by it, else ``None``.
        masked: whether some elements are not selected; they contribute 0 even if their derivative is inf or nan.
        to_leaf: whether the input is a leaf.
    """

    to: str
    place: int | None
    part: Array
    value: Array
    before: Array | None
    formula: Syntax | None = None
    words: str | None = None
    local: Array | None = None
    masked: bool = False
    to_leaf: bool = False

    @property
    def total(self) -> Array:
        """The gradient accumulated at the input so far, with this contribution."""
        total: Array = self.value if self.before is None else self.before + self.value
        return total

    @property
    def is_broadcast(self) -> bool:
        """Whether the input was broadcast to the shape of the output."""
        return np.shape(self.part) != np.shape(self.value)

    @property
    def summed(self) -> tuple[int, ...]:
        """The dimensions over which ``part`` is summed to get the shape of the input."""
        shape, target = np.shape(self.part), np.shape(self.value)
        new = len(shape) - len(target)
        return tuple(d for d in range(len(shape)) if d < new or shape[d] != target[d - new])

    def to_dict(self) -> dict[str, object]:
        broadcast = {"from": list(np.shape(self.value)), "to": list(np.shape(self.part)), "summed": list(self.summed)}
        return {
            "to": self.to,
            "formula": None if self.formula is None else unparse(self.formula),
            "rule": None if self.words is None else self.words.replace("`", ""),
            "local": plain(self.local),
            "contribution": plain(self.value),
            "broadcast": broadcast if self.is_broadcast else None,
            "untaken": self.masked,
        }


@dataclass(slots=True, eq=False)
class ExplainedStep:
    """One node of a backward pass.

    Attributes:
        names: the names of the outputs that receive a gradient.
        operation: the operation as an expression of its inputs.
        grad_fn: the name of the node in PyTorch.
        gradients: the upstream gradients, in the order of ``names``.
        contributions: the contributions to the gradients of the inputs.
        selects: whether the operation selects some of its inputs, so that the others contribute 0.
    """

    names: list[str]
    operation: Syntax
    grad_fn: str
    gradients: list[Array]
    contributions: list[CotangentContribution] = field(default_factory=list)
    selects: bool = False

    def to_dict(self) -> dict[str, object]:
        several = len(self.names) > 1
        return {
            "name": self.names if several else self.names[0],
            "operation": unparse(self.operation),
            "grad_fn": self.grad_fn,
            "gradient": [plain(g) for g in self.gradients] if several else plain(self.gradients[0]),
            "contributions": [contribution.to_dict() for contribution in self.contributions],
        }


@dataclass(slots=True, eq=False)
class AccumulatedGradient:
    """The gradient of one variable: the sum of ``parts``, each with the name of its source tensor."""

    name: str
    parts: list[tuple[str, Array]]
    value: Array

    def to_dict(self) -> dict[str, object]:
        return {"name": self.name, "parts": [{"from": n, "value": plain(v)} for n, v in self.parts], "value": plain(self.value)}


@dataclass(slots=True, eq=False)
class Sweep:
    """A backward pass from one tensor to the variables.

    Attributes:
        symbol: the symbol of the tensor in derivatives: ``z`` in ``dz/dx``.
        start: the initial gradient.
        element: the index of the differentiated element of the tensor for order 2; ``()`` for order 1 and for a number.
        steps: the nodes, in the order of the backward pass.
        accumulated: the gradient of each variable.
    """

    symbol: str
    start: Array
    element: tuple[int, ...] = ()
    steps: list[ExplainedStep] = field(default_factory=list)
    accumulated: list[AccumulatedGradient] = field(default_factory=list)

    @property
    def target(self) -> str:
        """The symbol with the index of the element: ``g_x[0]``."""
        return f"{self.symbol}[{', '.join(map(str, self.element))}]" if self.element else self.symbol

    def to_dict(self) -> dict[str, object]:
        return {
            "element": list(self.element),
            "start": plain(self.start),
            "steps": [step.to_dict() for step in self.steps],
            "ends": [gradient.to_dict() for gradient in self.accumulated],
        }


@dataclass(slots=True, eq=False)
class SecondDerivatives:
    """The derivatives of one first derivative with respect to each variable.

    Attributes:
        variable: the variable of the first derivative.
        symbol: the symbol of the first derivative.
        value: the first derivative.
        lines: the operations of the first derivative that no earlier table contains.
        sweeps: one backward pass for each element of the first derivative; empty if the first derivative is constant.
    """

    variable: str
    symbol: str
    value: Array
    lines: list[ForwardLine] = field(default_factory=list)
    sweeps: list[Sweep] = field(default_factory=list)

    def to_dict(self) -> dict[str, object]:
        return {
            "variable": self.variable,
            "symbol": self.symbol,
            "value": plain(self.value),
            "forward": [line.to_dict() for line in self.lines],
            "sweeps": [sweep.to_dict() for sweep in self.sweeps],
        }


@dataclass(slots=True, eq=False, repr=False)
class Explanation(DerivativeResult):
    """The explanation of an evaluation and its derivatives.

    Attributes:
        value: the result.
        output: the name of the result.
        symbol: the symbol of the result in derivatives.
        given: the values of the variables and constants.
        forward: the lines of the forward pass.
        sweep: the backward pass; ``None`` if the result does not depend on any variable.
        grad: the gradient with respect to each variable.
        seconds: the steps of the second derivatives, one item for each variable; empty for order 1.
        hessian: the second derivatives as arrays; empty for order 1.
    """

    command = "explain"
    tables = "autodiff_cli.explanation.terminal:pages"

    expression: str
    dtype: str
    order: int
    value: Array
    output: str
    symbol: str
    given: dict[str, Array]
    forward: list[ForwardLine]
    sweep: Sweep | None = None
    grad: dict[str, Array] = field(default_factory=dict)
    seconds: list[SecondDerivatives] = field(default_factory=list)
    hessian: dict[str, dict[str, Array]] = field(default_factory=dict)

    def numbers(self) -> list[tuple[str, Array]]:
        """Return the value and every derivative, each with its description."""
        first = [("the value", self.value)]
        first += [(f"the derivative with respect to {name}", value) for name, value in self.grad.items()]
        return first + [
            (f"the derivative with respect to {a}, {b}", value) for a, row in self.hessian.items() for b, value in row.items()
        ]

    def content(self) -> Record:
        sweep = {"start": None, "steps": [], "ends": []} if self.sweep is None else self.sweep.to_dict()
        result: Record = {
            "expression": self.expression,
            "dtype": self.dtype,
            "order": self.order,
            "value": plain(self.value),
            "output": self.output,
            "symbol": self.symbol,
            "forward": [line.to_dict() for line in self.forward],
            **{key: sweep[key] for key in ("start", "steps", "ends")},
            "grad": {name: plain(value) for name, value in self.grad.items()},
        }
        if self.order == 2:
            result["second"] = [second.to_dict() for second in self.seconds]
            result["hessian"] = {a: {b: plain(value) for b, value in row.items()} for a, row in self.hessian.items()}
        result["notes"] = self.notes
        return result

    def bare(self) -> list[Array]:
        return [value for _, value in self.numbers()[1:]]

    def records(self) -> list[dict[str, object]]:
        """Return one record for each contribution, in the order of the backward passes."""
        sweeps: Sequence[Sweep] = [] if self.sweep is None else [self.sweep]
        return [
            {
                "of": sweep.target,
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
