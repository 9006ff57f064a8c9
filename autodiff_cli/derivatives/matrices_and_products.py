"""Jacobians, Hessians and their products with vectors, for inputs and outputs of any shape."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.higher_order import MOST_PARTIALS
from autodiff_cli.autograd.jacobians import hessian_vector, jacobian_by_columns, jacobian_of, jacobian_vector
from autodiff_cli.autograd.primitives.argument_kinds import optional
from autodiff_cli.autograd.primitives.interface_kinds import VALUES, at_a_point, checks
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.command_result import Record, plain
from autodiff_cli.derivatives.lazy_notes import DerivativeResult, all_notes
from autodiff_cli.errors import MissingValue, ShapeError, UnknownName, setting
from autodiff_cli.evaluation.bindings import new_leaves
from autodiff_cli.evaluation.coercion import variable_hint
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.evaluation.names import no_variable_error
from autodiff_cli.language.tree import names_in
from autodiff_cli.lazy import named
from autodiff_cli.limits import check_count

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Value

LEAST_BY_FORMULA = 50_000_000
"""The least number of elements of all values, times those of the variables, for which finding a formula (30 ms) pays."""


class Product(DerivativeResult):
    """A Jacobian, a Hessian, or the product of a Jacobian or a Hessian with a vector.

    Attributes:
        command: ``jacobian``, ``hessian``, ``jvp``, ``vjp`` or ``hvp``.
        value: the output of the expression.
        shapes: the shape of each variable.
        derivatives: the blocks by variable; for ``hessian``, by pair of variables; for ``jvp``, a single array.
    """

    kinds = ("hessian",)
    tables = "autodiff_cli.report.result_tables:product_tables"

    def __init__(self, command: str, evaluation: Evaluation, derivatives: Any) -> None:
        self.command = command
        self.latex = f"autodiff_cli.report.latex_equations:{command}"
        self.expression = evaluation.expression
        self.dtype = evaluation.dtype
        self.value = evaluation.output._data
        self.shapes = {name: leaf.shape for name, leaf in evaluation.variables.items()}
        self.derivatives = derivatives
        order = 2 if command in ("hessian", "hvp") else 1
        self.compute_notes = partial(
            all_notes, evaluation, evaluation.notes(), partial(_named_blocks, command, derivatives), order, shows_value=False
        )

    def content(self) -> Record:
        """Return the JSON object, in which the blocks have the command as their key."""
        content = {
            "expression": self.expression,
            "dtype": self.dtype,
            "value": plain(self.value),
            self.command: _plain_blocks(self.derivatives),
        }
        return self.completed(content)

    def numbers(self) -> list[tuple[str, Any]]:
        """Return every block with its name."""
        return _named_blocks(self.command, self.derivatives)

    def bare(self) -> list[Any]:
        """Return the numbers of a Jacobian row by row, with one row for each output element, and other results block by block."""
        return [self.jacobian_matrix()] if self.command == "jacobian" else super().bare()

    def jacobian_matrix(self) -> Any:
        """Return a Jacobian as a matrix, with a row for each output element and a column for each element of the variables."""
        rows = np.size(self.value)
        return np.hstack([np.reshape(block, (rows, math.prod(self.shapes[name]))) for name, block in self.derivatives.items()])


def _named_blocks(command: str, derivatives: Any) -> list[tuple[str, Any]]:
    """Return the blocks of ``Product.derivatives`` in one list: ``d_x``, ``d_x_y`` for a pair, or a single array named ``jvp``."""
    if not isinstance(derivatives, dict):
        return [(command, derivatives)]
    named_blocks = []
    for name, value in derivatives.items():
        if isinstance(value, dict):
            named_blocks += [(f"d_{name}_{other}", block) for other, block in value.items()]
        else:
            named_blocks.append((f"d_{name}", value))
    return named_blocks


def _plain_blocks(derivatives: Any) -> Any:
    """Return the blocks of ``Product.derivatives`` with nested lists in place of arrays."""
    return (
        {name: _plain_blocks(value) for name, value in derivatives.items()} if isinstance(derivatives, dict) else plain(derivatives)
    )


@checks(**at_a_point("autograd.functional.jacobian"))
def jacobian(
    expression: str,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    wrt: Sequence[str] | None = None,
    dtype: str = "float64",
) -> Product:
    """Compute the Jacobian matrix of an expression: the derivative of every output element with respect to every input element.

    Args:
        expression: a program of the language.
        at: the values of the variables.
        const: the values of constants, which are not differentiated.
        wrt: the variables to differentiate with respect to; by default, all variables in ``at``.
        dtype: ``float64`` or ``float32``.

    Returns:
        A result whose attribute ``derivatives`` has a block for each variable, in the shape of the output followed by that of the
        variable.

    Raises:
        AutodiffError: see ``product``.
    """
    return product("jacobian", Evaluation(expression, at, const, wrt, dtype), {})


@checks(**at_a_point("autograd.functional.hessian"))
def hessian(
    expression: str,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    wrt: Sequence[str] | None = None,
    dtype: str = "float64",
    *,
    verify: bool = False,
    digits: int | None = None,
) -> Product:
    """Compute the Hessian matrix of an expression: the second derivatives with respect to every pair of input elements.

    Args:
        expression, at, const, wrt, dtype: the arguments of ``jacobian``, whose errors this function raises as well.
        verify: whether to recompute all numbers with 50 digits and count the correct digits.
        digits: the number of digits to which the numbers are computed; ``None`` for floats.

    Returns:
        A result whose attribute ``derivatives`` has a block for each pair of variables: ``derivatives["x"]["y"]``.
    """
    evaluation = Evaluation(expression, at, const, wrt, dtype)
    result = product("hessian", evaluation, {})
    if verify or digits is not None:
        from autodiff_cli.precise.right_digits import verified

        numbers: dict[tuple[str, ...], Any] = {("value",): result.value}
        numbers |= {("hessian", a, b): value for a, row in result.derivatives.items() for b, value in row.items()}
        result.verified = verified(evaluation, 2, digits, numbers)
    return result


@checks(**at_a_point("autograd.functional.jvp"), vector=optional(VALUES))
def jvp(
    expression: str,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    wrt: Sequence[str] | None = None,
    dtype: str = "float64",
    *,
    vector: Mapping[str, Value] | None = None,
) -> Product:
    """Compute the Jacobian of an expression times a vector, without the matrix: the change of the output in a direction.

    Args:
        expression, at, const, wrt, dtype: the arguments of ``jacobian``, whose errors this function raises as well.
        vector: the direction by variable; missing variables have the direction 0.
    """
    return product("jvp", Evaluation(expression, at, const, wrt, dtype), vector or {})


@checks(**at_a_point("autograd.functional.vjp"))
def vjp(
    expression: str,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    wrt: Sequence[str] | None = None,
    dtype: str = "float64",
    *,
    vector: Value | None = None,
) -> Product:
    """Compute a vector times the Jacobian of an expression, without the matrix: one backward pass.

    Args:
        expression, at, const, wrt, dtype: the arguments of ``jacobian``, whose errors this function raises as well.
        vector: the vector in the shape of the output; 1 by default.
    """
    return product("vjp", Evaluation(expression, at, const, wrt, dtype, gradient=vector), {})


@checks(**at_a_point("autograd.functional.hvp"), vector=optional(VALUES))
def hvp(
    expression: str,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    wrt: Sequence[str] | None = None,
    dtype: str = "float64",
    *,
    vector: Mapping[str, Value] | None = None,
) -> Product:
    """Compute the Hessian of an expression times a vector, without the matrix; the arguments are those of ``jvp``."""
    return product("hvp", Evaluation(expression, at, const, wrt, dtype), vector or {})


def product(command: str, evaluation: Evaluation, vector: Mapping[str, Any]) -> Product:
    """Compute a Jacobian, a Hessian or a product with a vector.

    Args:
        command: ``jacobian``, ``hessian``, ``jvp``, ``vjp`` or ``hvp``.
        evaluation: the evaluated expression.
        vector: the vector for ``jvp`` and ``hvp``, by variable; missing variables have a zero vector.

    Raises:
        MissingValue: if the expression does not have variables, or if ``jvp`` or ``hvp`` is called without a vector.
        UnknownName: if the vector has a name that is not a variable.
        ShapeError: if the vector has other shapes than the variables, or if ``hvp`` or ``vjp`` needs a scalar output.
        LimitError: if a matrix has more than 100,000 numbers.
    """
    if not evaluation.variables:
        raise no_variable_error(command)
    with np.errstate(all="ignore"):
        return Product(command, evaluation, _derivatives(command, evaluation, vector))


def _derivatives(command: str, evaluation: Evaluation, vector: Mapping[str, Any]) -> Any:
    """Return ``Product.derivatives`` of a command; the arguments and the errors are those of ``product``."""
    inputs = list(evaluation.variables.values())
    if command == "vjp":
        return _by_name(evaluation, _vector_jacobian_products(evaluation, inputs))
    if command in ("jacobian", "hessian"):
        _check_size(command, evaluation, inputs)
        blocks = _hessian_blocks if command == "hessian" else _jacobian_blocks
        return blocks(evaluation, inputs)
    direction = _direction_tensors(command, evaluation, vector)
    if command == "jvp":
        (tangent,) = jacobian_vector([evaluation.output], inputs, direction)
        return tangent._data
    _require_scalar(evaluation, command)
    return _by_name(evaluation, hessian_vector(evaluation.output, inputs, direction))


def _by_name(evaluation: Evaluation, tensors: Sequence[Tensor | None]) -> dict[str, Any]:
    """Return the arrays of tensors by the variables to which they belong, without those that are ``None``."""
    pairs = zip(evaluation.variables, tensors, strict=True)
    return {name: tensor._data for name, tensor in pairs if tensor is not None}


def _vector_jacobian_products(evaluation: Evaluation, inputs: list[Tensor]) -> Sequence[Tensor]:
    """Return the product for each variable, 0 if the output does not depend on it; ``ShapeError`` if it needs a vector."""
    if not evaluation.differentiable:
        return [x.detach() * 0 for x in inputs]
    evaluation.require_scalar()
    result: Sequence[Tensor] = grad(evaluation.output, inputs, evaluation.gradient, materialize_grads=True)
    return result


def _require_scalar(evaluation: Evaluation, command: str) -> None:
    """Raise ``ShapeError``, which names the command, if the output does not have exactly one element."""
    if evaluation.output.numel() != 1:
        raise ShapeError(
            f"{command} needs a scalar output, not shape {list(evaluation.output.shape)}",
            span=evaluation.evaluator.tree.children[-1].span,
            source=evaluation.expression,
            hint="reduce the output to a scalar, for example with sum",
        )


def _direction_tensors(command: str, evaluation: Evaluation, vector: Mapping[str, Any]) -> list[Tensor]:
    """Return the direction of ``jvp`` or ``hvp`` as a tensor for each variable, by default 0.  See ``product`` for errors."""
    if not vector:
        example = setting("vector", f"{next(iter(evaluation.variables))}=1")  # for the first variable
        raise MissingValue(f"{command} needs a vector", hint=f"add {example}")
    for name in vector:
        if name not in evaluation.variables:
            message = f"{setting('vector')}: '{name}' is not a variable of the expression"
            raise UnknownName(message, hint=variable_hint(name, evaluation.variables))
    tensors = new_leaves(dict(vector), np.dtype(evaluation.dtype), requires_grad=())
    direction = []
    for name, leaf in evaluation.variables.items():
        part = tensors[name] if name in tensors else leaf.detach() * 0
        if part.shape != leaf.shape:
            raise ShapeError(
                f"{setting('vector')} {name} has shape {list(part.shape)}, but {name} has shape {list(leaf.shape)}",
                hint=f"give one number for each element of '{name}'",
            )
        direction.append(part)
    return direction


def _check_size(command: str, evaluation: Evaluation, inputs: list[Tensor]) -> None:
    """Raise ``LimitError`` if the matrix of the command ``jacobian`` or ``hessian`` would have too many numbers."""
    elements = sum(x.numel() for x in inputs)
    count = evaluation.output.numel() * (elements**2 if command == "hessian" else elements)
    hint = f"use jvp, vjp or hvp, which do not form the matrix, or add {setting('no_limits')}"
    check_count(count, MOST_PARTIALS, f"the {command} has {{}} numbers, more than the limit of {{}}", hint)


def _jacobian_blocks(evaluation: Evaluation, inputs: list[Tensor]) -> dict[str, Any]:
    """Return the Jacobian by passes for columns if they are fewer and give finite numbers, else by passes for rows."""
    few_columns = sum(x.numel() for x in inputs) < evaluation.output.numel()
    columns = jacobian_by_columns(evaluation.output, inputs) if few_columns else []
    if columns and all(np.isfinite(block._data).all() for block in columns):
        return _by_name(evaluation, columns)
    return _by_name(evaluation, jacobian_of(evaluation.output, inputs))


def _hessian_blocks(evaluation: Evaluation, inputs: list[Tensor]) -> dict[str, Any]:
    """Return the Hessian by pair of variables: by a formula of matrices if that is faster, or by differentiating twice."""
    matrix = _hessian_by_formula(evaluation)
    if matrix is not None:
        return _blocks_of_matrix(matrix, evaluation.variables)
    gradients = jacobian_of(evaluation.output, inputs, create_graph=True)
    pairs = zip(evaluation.variables, gradients, strict=True)
    return {name: _by_name(evaluation, jacobian_of(gradient, inputs)) for name, gradient in pairs}


def _blocks_of_matrix(matrix: Any, variables: Mapping[str, Tensor]) -> dict[str, Any]:
    """Cut a Hessian matrix, with a row and a column for each element of the variables, into a block for each pair of variables."""
    ends = np.cumsum([x.numel() for x in variables.values()])[:-1]  # the cuts between variables
    blocks: dict[str, Any] = {}
    for (name, x), rows in zip(variables.items(), np.split(matrix, ends), strict=True):
        pairs = zip(variables.items(), np.split(rows, ends, axis=1), strict=True)
        blocks[name] = {other: block.reshape((*x.shape, *y.shape)) for (other, y), block in pairs}
    return blocks


def _hessian_by_formula(evaluation: Evaluation) -> Any:
    """Return the Hessian matrix by a formula; ``None`` if finding one does not pay, or if none is found.

    It pays for values of many elements.  A formula needs float64, and an expression in which all variables occur.
    """
    used = names_in(evaluation.evaluator.tree)
    values = {name: leaf._data for name, leaf in evaluation.leaves.items() if name in used}
    elements = sum(x.numel() for x in evaluation.variables.values())
    is_small = elements * sum(map(np.size, values.values())) < LEAST_BY_FORMULA
    if is_small or evaluation.dtype != "float64" or not used.issuperset(evaluation.variables):
        return None
    find_formula = named("autodiff_cli.symbolic.matrices.diff:hessian_by_formula")
    formula = find_formula(evaluation.expression, values, list(evaluation.variables), LEAST_BY_FORMULA)
    return None if formula is None else formula(values)
