"""An expression evaluated once, ready to be differentiated: the part that all commands share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.node import Node
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ShapeError, UnknownName, UsageError
from autodiff_cli.evaluation.bindings import constant, variables
from autodiff_cli.evaluation.expression import Evaluator
from autodiff_cli.evaluation.phrasing import note
from autodiff_cli.evaluation.trace import Trace
from autodiff_cli.language.tree import walk
from autodiff_cli.limits import check_printed, places
from autodiff_cli.suggest import suggestion

Array = NDArray[Any]


class TensorRow(NamedTuple):
    """The state of one tensor after backward.

    Attributes:
        next_functions: the names of the nodes that its node leads to.
        value, grad: arrays; ``grad`` is ``None`` where there is none.
    """

    name: str
    expression: str
    value: Array
    shape: list[int]
    requires_grad: bool
    is_leaf: bool
    retains_grad: bool
    grad_fn: str | None
    next_functions: list[str | None]
    grad: Array | None

    @classmethod
    def of(cls, tensor: Tensor, name: str, expression: str) -> TensorRow:
        """Read the state of a tensor."""
        node, extra = tensor.grad_fn, tensor._extra
        return cls(
            name,
            expression,
            tensor._data,
            list(np.shape(tensor._data)),
            tensor.requires_grad,
            tensor.is_leaf,
            tensor.retains_grad,
            None if node is None else node.name(),
            [] if node is None else next_names(node),
            None if extra is None or extra.grad is None else extra.grad._data,
        )

    def record(self) -> dict[str, Any]:
        """Return the row by column, with arrays for numbers."""
        return self._asdict()


def next_names(node: Node) -> list[str | None]:
    """The names of the nodes that a node leads to; ``None`` where no gradient flows."""
    return [None if following is None else following.name() for following, _ in node.next_functions]


def plain(value: Any) -> Any:
    """Arrays and scalars as Python numbers and nested lists.

    Raises:
        LimitError: for more numbers than an output may have.
    """
    if isinstance(value, np.ndarray):
        check_printed(places(value.shape))
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def plain_records(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Records with plain numbers in the place of arrays.

    Raises:
        LimitError: if that is more numbers than an output may have.
    """
    kept = list(rows)
    check_printed(sum(places(value.shape) for row in kept for value in row.values() if isinstance(value, np.ndarray)))
    return [{column: plain(value) for column, value in row.items()} for row in kept]


class Evaluation:
    """One evaluation of an expression.

    Args:
        expression: a program of the language.
        at: variables, as numbers, arrays or texts of the language.
        const: the same for what is not differentiated by.
        wrt: which variables to differentiate by; all of ``at`` if left out.
        dtype: ``float64`` or ``float32``.
        no_grad: evaluate without recording.
        gradient: what backward starts from, for an output that is no scalar: numbers, an array or a text.

    Raises:
        AutodiffError: of any kind, with its place in the expression.
    """

    def __init__(
        self,
        expression: str,
        at: Mapping[str, Any] | None = None,
        const: Mapping[str, Any] | None = None,
        wrt: Sequence[str] | None = None,
        dtype: str = "float64",
        no_grad: bool = False,
        gradient: Any = None,
    ) -> None:
        self.expression = expression
        self.dtype = dtype
        self.no_grad = no_grad
        values, constants = given_values(at, const, dtype)
        self.wrt = list(values) if wrt is None else list(wrt)
        if len(set(self.wrt)) < len(self.wrt):
            raise UsageError(f"--wrt names a variable twice: {', '.join(self.wrt)}", hint="write each name once")
        for name in self.wrt:
            if name not in values:
                hint = "it is a --const" if name in constants else suggestion(name, values) or "give it a value with --at"
                hint = "write names with commas between them: x,y" if " " in name else hint
                raise UnknownName(f"--wrt names '{name}', which is not a variable of --at", hint=hint)
        kind = np.dtype(dtype)
        self.leaves = variables({**values, **constants}, kind, self.wrt)
        self.variables = {name: self.leaves[name] for name in self.wrt}
        self.evaluator = Evaluator(expression, self.leaves, kind)
        self.trace: Trace = []
        self.evaluator.tensors.steps = self.trace
        with np.errstate(all="ignore"), set_grad_enabled(not no_grad):
            self.output = self.evaluator.as_tensor(self.evaluator.run())
        self.gradient = self._gradient(gradient)

    def _gradient(self, given: Any) -> Tensor | None:
        if given is None:
            return None
        value = constant(given, "--gradient") if isinstance(given, str) else given
        tensor = variables({"gradient": value}, np.dtype(self.dtype), ())["gradient"]
        if tensor.shape != self.output.shape:
            raise ShapeError(
                f"the gradient has shape {list(tensor.shape)}, but the output has shape {list(self.output.shape)}",
                hint="--gradient needs one number for each element of the output",
            )
        return tensor

    @property
    def differentiable(self) -> bool:
        """Whether the output depends on a variable through recorded operations."""
        return self.output.requires_grad

    def require_scalar(self, constant: bool = False) -> None:
        """Say what to do about an output that is not a scalar and has no gradient to start from.

        Args:
            constant: whether an output that depends on no variable is refused too.
        """
        if (self.differentiable or constant) and self.gradient is None and self.output.numel() != 1:
            raise ShapeError(
                "grad can be implicitly created only for scalar outputs",
                span=self.evaluator.tree.children[-1].span,
                source=self.expression,
                hint=f"the output has shape {list(self.output.shape)}: sum it, or hand in a gradient with "
                f'--gradient "ones({", ".join(map(str, self.output.shape))})"',
            )

    def find(self, name: str, option: str) -> Tensor:
        """The tensor of a name in the program, for options that name one.

        Raises:
            UnknownName: if the program has no tensor of that name.
        """
        tensor = self.evaluator.names.get(name)
        if not isinstance(tensor, Tensor):
            known = [n for n, t in self.evaluator.names.items() if isinstance(t, Tensor)]
            raise UnknownName(
                f"{option} names '{name}', which is no tensor of the program",
                hint=suggestion(name, known) or f"its tensors are {', '.join(known)}; name a step with 'y = ...'",
            )
        if not tensor.requires_grad:
            raise UsageError(
                f"{option} names '{name}', which requires no grad", hint="a variable of --at does, and what is computed from one"
            )
        return tensor

    def follow_up(self, formula: str, extra: Mapping[str, Tensor]) -> Tensor:
        """Another expression over the names and functions of this one, which are constants there."""
        named = {n: t.detach() for n, t in self.evaluator.names.items() if isinstance(t, Tensor)}
        evaluator = Evaluator(formula.strip(), {**named, **extra}, np.dtype(self.dtype))
        evaluator.functions.update(self.evaluator.functions)
        return evaluator.as_tensor(evaluator.run())

    def rows(self) -> list[TensorRow]:
        """Every tensor: variables first, then what the program made, in the order of evaluation."""
        return [TensorRow.of(tensor, name, expression) for tensor, name, expression in self.evaluator.named()]

    def gradient_rows(self) -> list[TensorRow]:
        """The gradients of the variables as tensors of their own, with the ``grad_fn`` that ``create_graph`` gave them."""
        gradients = [(name, leaf.grad) for name, leaf in self.variables.items()]
        return [TensorRow.of(gradient, f"{name}.grad", f"{name}.grad") for name, gradient in gradients if gradient is not None]

    def again(self, leaves: Mapping[str, Tensor] | None = None) -> Evaluator:
        """An evaluator of the same program, with other leaves in the place of some; it keeps no list of tensors."""
        given = {**self.leaves, **(leaves or {})}
        evaluator = Evaluator(self.expression, given, np.dtype(self.dtype), self.evaluator.tree)
        evaluator.tensors.listing = False
        return evaluator

    def recomputed(self, leaves: Mapping[str, Tensor] | None = None) -> Tensor:
        """Return the output of another run of the program, with other leaves in the place of some."""
        evaluator = self.again(leaves)
        return evaluator.as_tensor(evaluator.run())

    def notes(self) -> list[dict[str, Any]]:
        """What a person should know before anything was differentiated."""
        used = {node.text for node in walk(self.evaluator.tree) if node.kind == "NAME"}
        notes = [note("unused", f"'{name}' does not occur in the expression") for name in self.leaves if name not in used]
        if self.wrt and not self.differentiable and not self.no_grad:
            notes.append(
                note("constant", "the output does not depend on a variable through recorded operations: nothing to differentiate")
            )
        return notes


def given_values(
    at: Mapping[str, Any] | None, const: Mapping[str, Any] | None, dtype: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of variables and of constants, with texts evaluated.

    Raises:
        UsageError: for a name that is both, and for an unknown ``dtype``.
    """
    if dtype not in ("float64", "float32"):
        raise UsageError(f"unknown dtype '{dtype}'", hint="use float64 or float32")
    values, constants = (
        {n: constant(v, "--at", n) if isinstance(v, str) else v for n, v in (given or {}).items()} for given in (at, const)
    )
    both = set(values) & set(constants)
    if both:
        raise UsageError(f"'{min(both)}' is given both as a variable and as a constant", hint="use --at or --const, not both")
    return values, constants


def leaves(at: Mapping[str, Any], const: Mapping[str, Any], dtype: str) -> dict[str, Tensor]:
    """A leaf for each value; those of ``at`` require grad."""
    values, constants = given_values(at, const, dtype)
    return variables({**values, **constants}, np.dtype(dtype), values)
