"""``grad``, ``grad_and_value``, ``vjp`` and ``jacrev``: reverse mode as transformations of functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.active_batches import active_batches
from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.jacobians import gradients_of
from autodiff_cli.autograd.modes import enable_grad, is_grad_enabled
from autodiff_cli.autograd.primitives.interface_kinds import FUNCTION, checks
from autodiff_cli.autograd.primitives.structural import reshaped
from autodiff_cli.autograd.saved.packing import disable_saved_tensors_hooks
from autodiff_cli.autograd.tensor import Tensor, tensor_on, zeros_on
from autodiff_cli.autograd.transforms.pytrees import Tree, argument_positions, leaves, mapped, rebuilt, structure
from autodiff_cli.autograd.transforms.reverse_through_transforms import detached, fresh, lifted, reaches_others
from autodiff_cli.autograd.transforms.vmap import vmap
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, ShapeError

Argnums = int | tuple[int, ...]
"""The position of the argument to differentiate by, or a tuple of positions."""
Transformed = Callable[..., Any]
_NO_HOOKS = "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks."


class RecordedCall:
    """A call of a function that was recorded, so that it can be differentiated.

    Attributes:
        output: the outputs of the function, with their graph.
        aux: the additional result of the function.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        chosen: Sequence[int],
        kwargs: dict[str, Any] | None = None,
        caller_with_aux: str = "",
    ) -> None:
        """Call the function, and record it with respect to the arguments at the positions ``chosen``, which must be tensors.

        If the function must return a pair of its outputs and ``aux``, ``caller_with_aux`` names the caller in the error.
        """
        self._recorded_outside = is_grad_enabled()  # whether gradients may become part of a graph outside
        self._batches = active_batches()  # which the gradients are inside of
        self._arguments = [args[i] for i in chosen]
        self._leaves: list[Tensor] = []
        for value in leaves(self._arguments):
            if not isinstance(value, Tensor):
                raise ArgumentError(f"Thing passed to transform API must be Tensor, got {type(value)}")
        values = list(args)
        with disable_saved_tensors_hooks(_NO_HOOKS), enable_grad():
            for i in chosen:
                values[i] = mapped(lambda x: fresh(lifted(x), self._leaves), args[i])  # appends the leaves
            self.output = func(*values, **(kwargs or {}))
        self.aux: Tree = None
        if caller_with_aux:
            self.output, self.aux = pair_of(self.output, caller_with_aux)

    def sweep(self, outputs: Sequence[Tensor], cotangents: Sequence[Tensor]) -> list[Tree]:
        """Return the gradients of the chosen arguments, each with the structure of its argument; 0 where nothing depends on one."""
        create_graph = self._recorded_outside and reaches_others([*outputs, *cotangents], self._leaves)
        with enable_grad():
            slopes = gradients_of(outputs, self._leaves, cotangents, create_graph)
        pairs = zip(self._leaves, slopes, strict=True)
        # In the order of the leaves of the arguments.
        gradients = iter([self._zero_gradient(leaf) if slope is None else slope for leaf, slope in pairs])
        return [mapped(lambda _: next(gradients), tree) for tree in self._arguments]

    def _zero_gradient(self, leaf: Tensor) -> Tensor:
        """Return the gradient of a leaf that the outputs do not depend on."""
        zero = zeros_on(leaf.shape, leaf)
        for batch in self._batches:
            zero = batch.wrap(zero)
        return zero

    def result(self, tree: Tree) -> Tree:
        """Return outputs without a graph, unless the graph also belongs to tensors outside the function."""
        return mapped(lambda x: self._without_own_graph(x) if isinstance(x, Tensor) else x, tree)

    def _without_own_graph(self, x: Tensor) -> Tensor:
        """Return a tensor without the graph of this call, or with it if it also belongs to other tensors."""
        return x if self._recorded_outside and reaches_others([x], self._leaves) else detached(x)


def pair_of(output: Tree, name: str) -> tuple[Tree, Tree]:
    """Return the outputs and the other result of a function with ``has_aux``; ``name`` begins the message of an error."""
    if not isinstance(output, tuple) or len(output) != 2:
        raise GraphError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


@checks(func=FUNCTION)
def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Transformed:
    """Return a function that computes the gradient and the value of ``func``.

    Args:
        func: the function, which returns one number, a 0-d tensor; otherwise GraphError or ShapeError is raised.
        argnums: the positions of the arguments to differentiate by; a tuple gives a tuple of gradients.
        has_aux: whether ``func`` returns a pair of the number and another result; the value is then this pair.
    """
    name = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def slope_and_value(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        chosen = argument_positions(argnums, len(args))
        call = RecordedCall(func, args, chosen, kwargs, name if has_aux else "")
        output = call.output
        if not isinstance(output, Tensor):
            raise GraphError(f"{name}: Expected f(*args) to return a Tensor, got {type(output)}")
        if output.shape:
            raise ShapeError(
                f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {len(output.shape)} dims. Maybe you wanted "
                "to use the vjp or jacrev APIs instead?"
            )
        one = tensor_on(np.ones((), output._data.dtype)[()])  # the derivative of the output with respect to itself
        slopes = call.sweep([output], [one])
        gradient = tuple(slopes) if isinstance(argnums, tuple) else slopes[0]
        value = call.result(output)
        return gradient, ((value, call.result(call.aux)) if has_aux else value)

    return slope_and_value


@checks(func=FUNCTION)
def value_and_grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Transformed:
    """Return a function that computes the value and the gradient of ``func``, in the order of JAX; see ``grad_and_value``."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def value_first(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        gradient, value = both(*args, **kwargs)
        return value, gradient

    return value_first


@checks(func=FUNCTION)
def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Transformed:
    """Return a function that computes the gradient of ``func``, which returns one number.

    Args:
        func, argnums: see ``grad_and_value``.
        has_aux: whether ``func`` returns a pair of the number and another result; then the pair of the gradient and this result.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        slope, value = both(*args, **kwargs)
        return (slope, value[1]) if has_aux else slope

    return gradient


@checks(func=FUNCTION)
def vjp(func: Callable[..., Any], *primals: Tree, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the outputs of ``func``, and a function from their cotangents to the cotangents of the inputs.

    Args:
        func: the function; its outputs are tensors, or tuples, lists and dictionaries of tensors.
        primals: the inputs.
        has_aux: whether ``func`` returns a pair of its outputs and another result, which is the third result of ``vjp``.

    Returns:
        The outputs and the function, which returns a tuple with the cotangent of each input.
    """
    call, outputs = _recorded("vjp(f, *primals)", func, primals, tuple(range(len(primals))), has_aux)

    def transposed(*cotangents: Tree, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """Return the cotangents of the inputs, unless those of the outputs do not fit; PyTorch's options have no effect."""
        tree = cotangents[0] if len(cotangents) == 1 else cotangents
        if structure(tree) != structure(call.output):
            raise GraphError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {structure(tree)}, primal output: {structure(call.output)}"
            )
        starts = leaves(tree)
        for i, (start, output) in enumerate(zip(starts, outputs, strict=True)):
            if tuple(start.shape) != tuple(output.shape):
                raise ShapeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {start.shape!r} and output[{i}] has a shape of "
                    f"{output.shape!r}."
                )
        return tuple(call.sweep(outputs, starts))

    result = call.result(call.output)
    return (result, transposed, call.result(call.aux)) if has_aux else (result, transposed)


def _recorded(
    name: str, func: Callable[..., Any], args: tuple[Any, ...], chosen: tuple[int, ...], has_aux: bool
) -> tuple[RecordedCall, list[Tensor]]:
    """Return a recorded call of a function, and its outputs; raise an error unless they are tensors of floats, one or more."""
    call = RecordedCall(func, args, chosen, None, name if has_aux else "")
    outputs = leaves(call.output)
    if not outputs:
        raise GraphError(f"{name}: Expected f to be a function that has non-empty output (got output = {call.output})")
    for output in outputs:
        if not isinstance(output, Tensor):
            raise GraphError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(output)}")
        if not output.is_floating_point():
            raise DtypeError(
                f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {output.dtype}"
            )
    return call, outputs


@checks(func=FUNCTION)
def jacrev(func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Transformed:
    """Return a function that computes the Jacobian of ``func`` by reverse mode: one sweep for all elements of the outputs at once.

    Args:
        func, argnums, has_aux: see ``grad``; the outputs of ``func`` are tensors, or tuples, lists and dictionaries of tensors.
        chunk_size: see ``vmap``.

    Returns:
        The function; its result has the structure of the outputs, and inside it the structure of the arguments.
    """

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        chosen = argument_positions(argnums, len(args))
        call, outputs = _recorded("vjp(f, *primals)", func, args, chosen, has_aux)  # PyTorch's errors name vjp
        basis = [tensor_on(unit) for unit in standard_basis(outputs)]
        if len(basis[0]):
            rows = vmap(lambda *units: call.sweep(outputs, units))(*basis)  # one for each unit vector
        else:  # the outputs are empty: a Jacobian without rows
            rows = mapped(lambda gradient: gradient[None][:0], call.sweep(outputs, outputs))
        trees, first = [], 0  # ``first`` is the first row of an output
        for output in outputs:
            block = functools.partial(_block, first, tuple(output.shape))
            parts = [mapped(block, tree) for tree in rows]
            trees.append(tuple(parts) if isinstance(argnums, tuple) else parts[0])
            first += math.prod(output.shape)
        result = rebuilt(call.output, trees)
        return (result, call.result(call.aux)) if has_aux else result

    return jacobian


def _block(first: int, shape: tuple[int, ...], rows: Tensor) -> Tensor:
    """Return the rows from ``first`` on that belong to the elements of an output, with the shape of the output in their place."""
    return reshaped(rows[first : first + math.prod(shape)], (*shape, *rows.shape[1:]))  # type: ignore[no-any-return]


def standard_basis(tensors: Sequence[Tensor]) -> list[Array]:
    """Return the unit vectors of the space of several tensors: an array for each tensor, whose first dimension counts them."""
    sizes = [math.prod(x.shape) for x in tensors]
    basis, first = [], 0  # ``first`` is the number of the first unit vector of a tensor
    for x, size in zip(tensors, sizes, strict=True):
        units = np.zeros((sum(sizes), size), x._data.dtype)
        units[first : first + size] = np.eye(size)
        basis.append(units.reshape(sum(sizes), *x.shape))
        first += size
    return basis
