"""The evaluation of an expression at given values, from which all commands compute derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.command_result import plain
from autodiff_cli.errors import ShapeError, UnknownName, UsageError, setting
from autodiff_cli.evaluation.bindings import constant_value, new_leaves
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.evaluation.names import cut_names
from autodiff_cli.evaluation.trace import Trace
from autodiff_cli.language.tree import Syntax, walk
from autodiff_cli.limits import check_printed, places
from autodiff_cli.structs import Struct
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    Value = ArrayLike | Tensor | str
    """The value of a variable: numbers, or an expression as text."""

COLUMNS = ("name", "expression", "value", "requires_grad", "is_leaf", "retains_grad", "grad_fn", "grad")
"""The columns of the tensor table."""

_ROUNDING = 1e-13
"""The relative error of an integral up to which it is as exact as rounding allows."""


def name_list(names: Sequence[str]) -> list[str]:
    """Return a list of names; a text is one name."""
    return [names] if isinstance(names, str) else list(names)


class TensorRow(Struct):
    """The state of one tensor after the backward pass; ``grad`` is ``None`` if it does not have a gradient.

    ``next_functions`` are the names of the next nodes of the tensor's node.
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
    def from_tensor(cls, tensor: Tensor, name: str, expression: str) -> TensorRow:
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
            None if node is None else type(node).__name__,
            [] if node is None else [None if n is None else type(n).__name__ for n, _ in node.next_functions],
            None if extra is None or extra.grad is None else extra.grad._data,
        )


def plain_records(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return records with plain numbers in place of arrays; more numbers than an output may have are an error."""
    records = list(rows)
    check_printed(sum(places(value.shape) for row in records for value in row.values() if isinstance(value, np.ndarray)))
    return [{column: plain(value) for column, value in row.items()} for row in records]


class Evaluation:
    """One evaluation of an expression.

    Args:
        expression: a program of the language.
        at: the values of the variables, as numbers, arrays or texts of the language.
        const: the values of constants, in the same form as ``at``.
        wrt: the variables to differentiate with respect to; all of ``at`` by default.
        dtype: ``float64`` or ``float32``.
        no_grad: whether to evaluate without recording operations.
        gradient: the initial cotangent of the backward pass for an output that is not a scalar: numbers, an array or a text.
        tree: the tree of the program, if it is already parsed.

    Raises:
        AutodiffError: if the expression is invalid or cannot be evaluated; the error has the position in the expression.
    """

    def __init__(
        self,
        expression: str,
        at: Mapping[str, Value] | None = None,
        const: Mapping[str, Value] | None = None,
        wrt: Sequence[str] | None = None,
        dtype: str = "float64",
        no_grad: bool = False,
        gradient: Value | None = None,
        tree: Syntax | None = None,
    ) -> None:
        self.expression = expression
        self.dtype = dtype
        self.no_grad = no_grad
        values, constants = evaluated_inputs(at, const, dtype)
        self.wrt = list(values) if wrt is None else name_list(wrt)
        _check_wrt(self.wrt, values, constants)
        kind = np.dtype(dtype)
        self.leaves = new_leaves({**values, **constants}, kind, self.wrt)
        self.variables = {name: self.leaves[name] for name in self.wrt}
        self.evaluator = Evaluator(expression, self.leaves, kind, tree)
        self.trace: Trace = []
        self.evaluator.tensors.steps = self.trace
        with np.errstate(all="ignore"), set_grad_enabled(not no_grad):
            self.output = self.evaluator.as_tensor(self.evaluator.run())
        self.gradient = None if gradient is None else self._gradient_tensor(gradient)

    def _gradient_tensor(self, gradient: Value) -> Tensor:
        """Return the initial cotangent as a tensor, which must have the shape of the output."""
        value = constant_value(gradient, "gradient") if isinstance(gradient, str) else gradient
        tensor = new_leaves({"gradient": value}, np.dtype(self.dtype), ())["gradient"]
        if tensor.shape != self.output.shape:
            message = f"the gradient has shape {list(tensor.shape)}, but the output has shape {list(self.output.shape)}"
            raise ShapeError(message, hint=f"give {setting('gradient')} one number for each element of the output")
        return tensor

    @property
    def differentiable(self) -> bool:
        """Whether recorded operations connect the output to a variable."""
        return self.output.requires_grad

    def require_scalar(self) -> None:
        """Raise an error if the output is not a scalar and ``gradient`` is not given."""
        if self.gradient is None and self.output.numel() != 1:
            ones = f'"ones({", ".join(map(str, self.output.shape))})"'
            hint = f"the output has shape {list(self.output.shape)}: sum it, pass {setting('gradient', ones)}, or use jacobian"
            message = "grad can be implicitly created only for scalar outputs"  # as in PyTorch
            span = self.evaluator.tree.children[-1].span
            raise ShapeError(message, span=span, source=self.expression, hint=hint)

    def find(self, name: str, purpose: str) -> Tensor:
        """Return the tensor with a name in the program; ``purpose`` is the setting that contains the name, such as ``retain_grad``.

        A name of no tensor, and a tensor that does not require grad, are errors.
        """
        tensor = self.evaluator.names.get(name)
        if not isinstance(tensor, Tensor):
            known = [n for n, t in self.evaluator.names.items() if isinstance(t, Tensor)]
            hint = suggestion(name, known) or f"use one of its tensors ({', '.join(known)}), or name a step with 'y = ...'"
            raise UnknownName(f"{setting(purpose)} names '{name}', which is not a tensor of the program", hint=hint)
        if not tensor.requires_grad:
            hint = f"use a variable of {setting('at')}, or a tensor computed from one"
            raise UsageError(f"{setting(purpose)} names '{name}', which does not require grad", hint=hint)
        return tensor

    def evaluate_formula(self, formula: str, extra: Mapping[str, Tensor]) -> Tensor:
        """Evaluate another expression with the names and functions of this program; the named tensors are constants in it."""
        named = {n: t.detach() for n, t in self.evaluator.names.items() if isinstance(t, Tensor)}
        evaluator = Evaluator(formula.strip(), {**named, **extra}, np.dtype(self.dtype))
        evaluator.functions.update(self.evaluator.functions)
        return evaluator.as_tensor(evaluator.run())

    def rows(self) -> list[TensorRow]:
        """Return a row for every tensor: first the variables, then the tensors of the program in order of evaluation."""
        return [TensorRow.from_tensor(tensor, name, expression) for tensor, name, expression in self.evaluator.named()]

    def gradient_rows(self) -> list[TensorRow]:
        """Return the gradients, of variables that have one, as tensors with the ``grad_fn`` that ``create_graph`` recorded."""
        gradients = {f"{name}.grad": leaf.grad for name, leaf in self.variables.items()}
        return [TensorRow.from_tensor(gradient, name, name) for name, gradient in gradients.items() if gradient is not None]

    def again(self, leaves: Mapping[str, Tensor] | None = None) -> Evaluator:
        """Return an evaluator of the same program with some leaves replaced; it does not list tensors."""
        values = {**self.leaves, **(leaves or {})}
        evaluator = Evaluator(self.expression, values, np.dtype(self.dtype), self.evaluator.tree)
        evaluator.tensors.listing = False
        return evaluator

    def recomputed(self, leaves: Mapping[str, Tensor] | None = None, constants: dict[Any, Any] | None = None) -> Tensor:
        """Run the program again with some leaves replaced, and return its output; see ``Evaluator`` for ``constants``."""
        evaluator = self.again(leaves)
        evaluator.constants = constants
        return evaluator.as_tensor(evaluator.run())

    def notes(self) -> list[dict[str, Any]]:
        """Return the notes on variables that do not occur, or do not change the value, and on inexact integrals."""
        used = {node.text for node in walk(self.evaluator.tree) if node.kind == "NAME"}
        unused = [name for name in self.leaves if name not in used]
        # The arguments of ``note``, whose module is imported only if there are notes.
        notes: list[tuple[Any, ...]] = [("unused", f"'{name}' does not occur in the expression") for name in unused]
        cut = cut_names(self.evaluator.tree, self.evaluator.functions) if self.differentiable else {}
        for name in self.wrt:
            if name in cut:
                function, span = cut[name]
                message = f"the derivative with respect to {name} is 0, because '{name}' occurs only inside {function}(...)"
                notes.append(("constant", message, span))
        if self.wrt and not self.differentiable and not self.no_grad:
            notes.append(("constant", "the output does not depend on a variable through recorded operations"))
        for integral in self.evaluator.tensors.integrals:
            error = np.max(integral["error"] / np.maximum(np.abs(integral["value"]), 1e-300))
            if error > _ROUNDING:
                notes.append(("integral", f"the integral has a relative error of up to {error:.1g}", integral["span"], 0))
        if not notes:
            return []
        from autodiff_cli.evaluation.note_phrases import note

        return [note(*arguments) for arguments in notes]


def _check_wrt(wrt: Sequence[str], values: Mapping[str, Any], constants: Mapping[str, Any]) -> None:
    """Raise an error unless each name in ``wrt`` is one of the variables in ``values``, and occurs once."""
    if len(set(wrt)) < len(wrt):
        raise UsageError(f"{setting('wrt')} names a variable twice: {', '.join(wrt)}", hint="write each name once")
    for name in wrt:
        if name not in values:
            if " " in name:
                hint = "write names with commas between them: x,y"
            elif name in constants:
                hint = f"move '{name}' from {setting('const')} to {setting('at')}"
            else:
                hint = suggestion(name, values) or f"give it a value with {setting('at')}"
            raise UnknownName(f"{setting('wrt')} names '{name}', which is not a variable of {setting('at')}", hint=hint)


def evaluated_inputs(
    at: Mapping[str, Value] | None, const: Mapping[str, Value] | None, dtype: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of variables and of constants, with texts evaluated; ``None`` stands for an empty mapping.

    A name that is both a variable and a constant, and an unknown ``dtype`` are errors.
    """
    if dtype not in ("float64", "float32"):
        raise UsageError(f"unknown dtype '{dtype}'", hint="use float64 or float32")
    values = {name: _evaluated(name, value) for name, value in (at or {}).items()}
    constants = {name: _evaluated(name, value) for name, value in (const or {}).items()}
    both = set(values) & set(constants)
    if both:
        hint = f"use {setting('at')} or {setting('const')}, not both"
        raise UsageError(f"'{min(both)}' is given both as a variable and as a constant", hint=hint)
    return values, constants


def _evaluated(name: str, value: Value) -> Any:
    """Return the value of a name; a text is an expression."""
    return constant_value(value, "at", name) if isinstance(value, str) else value


def input_leaves(at: Mapping[str, Value], const: Mapping[str, Value], dtype: str) -> dict[str, Tensor]:
    """Return a leaf for each value; the leaves in ``at`` require grad."""
    values, constants = evaluated_inputs(at, const, dtype)
    return new_leaves({**values, **constants}, np.dtype(dtype), values)
