"""What happens in a program, as the events of its lesson."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from autodiff_cli.arrays import Array
from autodiff_cli.errors import Span
from autodiff_cli.evaluation.evaluation import TensorRow
from autodiff_cli.explanation.model import CotangentContribution, ExplainedStep
from autodiff_cli.language.tree import Syntax


@dataclass(slots=True, eq=False)
class TensorLine:
    """A tensor of a program.

    Attributes:
        name: its name, which no other tensor of the lesson has: ``x₂`` for the second tensor called ``x``.
        label: the name in the program; empty for an intermediate result.
        operation: what computed the tensor.
        value: its value when it was made; ``None`` if it is unknown.
        requires_grad: whether it required grad when it was made.
        grad_fn: the name of its node.
        inputs: the names of the tensors that it was computed from.
        traced: whether an operation of the language computed it, and not a function of autograd such as ``detach``.
        requires: whether one of the inputs requires grad.
        recording: whether operations were recorded when it was made.
        saved: what its node saved for the backward pass, as text.
        span: the place of the operation in the program.
    """

    name: str
    label: str
    operation: Syntax
    value: Array | None
    requires_grad: bool
    grad_fn: str | None
    inputs: list[str]
    traced: bool
    requires: bool
    recording: bool
    saved: str
    span: Span


class PassStart(NamedTuple):
    """The start of a backward pass: its first tensor, and the gradient of the pass with respect to this tensor."""

    root: str
    gradient: Array


class HookChange(NamedTuple):
    """A hook that changed the gradient of a tensor in a backward pass."""

    name: str
    before: Array
    after: Array


class Contribution(NamedTuple):
    """A contribution of a node to the gradient of one of its inputs."""

    step: ExplainedStep
    part: CotangentContribution


class StoredGradient(NamedTuple):
    """A gradient that a backward pass stored in the ``.grad`` of a tensor.

    Attributes:
        name: the name of the tensor in the lesson; the program may have given its name to another tensor.
        leaf: whether the tensor is a leaf, and not one that keeps its gradient.
        before, after: the gradient before and after the statement.
    """

    name: str
    leaf: bool
    before: Array | None
    after: Array


@dataclass(slots=True, eq=False)
class StatementEnd:
    """The end of a statement.

    Attributes:
        tree: the statement.
        before, after: the state of each name.
        called: the name in the lesson of the tensor that each name refers to.
        same: the names that refer to the same tensor as before.
        aliases: the names that refer to a tensor of another name since this statement.
        parts: the contributions that reached each tensor in the backward passes of the statement.
        freed: the names of the tensors whose nodes the backward passes freed.
        kept: whether the backward passes kept the saved values of a node.
        output: what the statement printed, as text.
        failed: whether an error ended the statement.
        turn: the passes of the loops around the statement, outermost first: ``i = 0, j = 1``.
        recording: whether operations are recorded.
        stored: the gradients that the backward passes of the statement stored.
        quiet: whether a lesson leaves the statement out if it has no effect.
        caught: the message of an error that ended the statement, and that the program handled.
    """

    tree: Syntax
    before: Mapping[str, TensorRow]
    after: Mapping[str, TensorRow]
    called: Mapping[str, str]
    same: set[str]
    aliases: set[str]
    parts: Mapping[str, list[Array]] = field(default_factory=dict)
    freed: list[str] = field(default_factory=list)
    kept: bool = False
    output: str = ""
    failed: bool = False
    turn: str = ""
    recording: bool = True
    stored: list[StoredGradient] = field(default_factory=list)
    quiet: bool = False
    caught: str = ""


Event = TensorLine | PassStart | HookChange | Contribution | StatementEnd
