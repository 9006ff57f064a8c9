"""The data model of ``autodiff explain``: a forward pass and a backward pass."""

from __future__ import annotations

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
        name, value: the name of the tensor, and its value, which is ``None`` if it is unknown.
        operation: the operation as an expression of earlier tensors; for a leaf, its name.
        node: the node of the tensor; ``None`` for leaves and for operations that are not recorded.
        expression: the text in the program; empty for an operation inside a function.
        call: the outermost call of a function of the program that contains the operation; ``None`` outside calls.
    """

    name: str
    operation: Syntax
    value: Array | None
    node: Node | None
    expression: str = ""
    call: Call | None = None

    @property
    def shape(self) -> str:
        """The shape of the value as text, ``2 x 3``; empty for a number and an unknown value."""
        return "" if self.value is None else " x ".join(map(str, np.shape(self.value)))

    def to_dict(self) -> dict[str, object]:
        """Return the line for JSON; a node is its name in PyTorch."""
        return {
            "name": self.name,
            "operation": unparse(self.operation),
            "expression": self.expression or None,
            "value": plain(self.value),
            "shape": None if self.value is None else list(np.shape(self.value)),
            "grad_fn": None if self.node is None else type(self.node).__name__,
        }


@dataclass(slots=True, eq=False)
class CotangentContribution:
    """The contribution of one node to the gradient of one of its inputs.

    Attributes:
        to: the name of the input.
        place: the position among the arguments that are the same tensor, from 1; ``None`` if no other argument is this tensor.
        part, value: the result of the VJP rule, in the shape of the output if the input was broadcast, and in that of the input.
        before: the gradient accumulated at the input so far; ``None`` for the first contribution.
        formula: the local derivative; or the VJP rule itself, in which ``%gradient`` is the upstream gradient.
        words: the VJP rule in words if it does not have a formula, or the convention at a kink; names are between backticks.
        is_convention: whether the words are a convention at this point.
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
    is_convention: bool = True
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
        new = len(shape) - len(target)  # the number of dimensions that the input does not have
        return tuple(d for d in range(len(shape)) if d < new or shape[d] != target[d - new])

    def to_dict(self) -> dict[str, object]:
        """Return the contribution for JSON, with the dimensions of a broadcast; ``untaken`` is ``masked``."""
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
        names, gradients: the names of the outputs that receive a gradient, and their upstream gradients.
        operation: the operation as an expression of its inputs.
        grad_fn: the name of the node in PyTorch.
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
        """Return the step for JSON; name and gradient are lists if the node has several outputs."""
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
    """The gradient of one variable.

    Attributes:
        name, value: the variable and its gradient.
        parts: the contributions whose sum is the gradient, each with the name of its source tensor.
        chain: the gradient as one formula, in which the local derivatives are multiplied out; ``None`` if a rule has no formula.
    """

    name: str
    parts: list[tuple[str, Array]]
    value: Array
    chain: Syntax | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the gradient for JSON, each part with the name of its source."""
        return {
            "name": self.name,
            "parts": [{"from": name, "value": plain(value)} for name, value in self.parts],
            "value": plain(self.value),
            "chain": None if self.chain is None else unparse(self.chain),
        }


@dataclass(slots=True, eq=False)
class Sweep:
    """The backward pass.

    Attributes:
        target, start: the symbol of the result in derivatives, ``z`` in ``dz/dx``, and the initial gradient.
        steps: the nodes, in the order of the backward pass.
        accumulated: the gradient of each variable.
    """

    target: str
    start: Array
    steps: list[ExplainedStep] = field(default_factory=list)
    accumulated: list[AccumulatedGradient] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class Explanation(DerivativeResult):
    """The explanation of an evaluation and its derivatives.

    Attributes:
        value, output: the result and its name.
        symbol: the symbol of the result in derivatives.
        given: the values of the variables and constants.
        forward: the lines of the forward pass.
        sweep: the backward pass; ``None`` if the result does not depend on any variable.
        grad: the gradient with respect to each variable.
    """

    command = "explain"
    tables = "autodiff_cli.explanation.terminal:pages"

    expression: str
    dtype: str
    value: Array
    output: str
    symbol: str
    given: dict[str, Array] = field(default_factory=dict)
    forward: list[ForwardLine] = field(default_factory=list)
    sweep: Sweep | None = None
    grad: dict[str, Array] = field(default_factory=dict)

    def numbers(self) -> list[tuple[str, Array]]:
        """Return the value and every derivative, each with its description."""
        return [
            ("the value", self.value),
            *((f"the derivative with respect to {name}", value) for name, value in self.grad.items()),
        ]

    def content(self) -> Record:
        """Return the forward pass, the backward pass and the gradients for JSON."""
        sweep = self.sweep
        return {
            "expression": self.expression,
            "dtype": self.dtype,
            "value": plain(self.value),
            "output": self.output,
            "symbol": self.symbol,
            "forward": [line.to_dict() for line in self.forward],
            "start": None if sweep is None else plain(sweep.start),
            "steps": [] if sweep is None else [step.to_dict() for step in sweep.steps],
            "ends": [] if sweep is None else [gradient.to_dict() for gradient in sweep.accumulated],
            "grad": {name: plain(value) for name, value in self.grad.items()},
            "notes": self.notes,
        }

    def bare(self) -> list[Array]:
        """Return the gradients alone."""
        return [value for _, value in self.numbers()[1:]]

    def records(self) -> list[dict[str, object]]:
        """Return one record for each contribution, in the order of the backward pass."""
        records: list[dict[str, object]] = []
        for k, step in enumerate([] if self.sweep is None else self.sweep.steps, 1):
            columns = {**step.to_dict(), "name": ", ".join(step.names)}
            del columns["contributions"]
            for contribution in step.contributions:
                numbers = contribution.to_dict()
                del numbers["broadcast"], numbers["untaken"]
                records.append({"of": self.symbol, "step": k, **columns, **numbers})
        return records
