"""Jacobians, Hessians and their products with vectors: PyTorch's ``torch.autograd.functional``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_cli.autograd.jacobians import filled, gradients_of, hessian_vector, jacobian_of, jacobian_vector
from autodiff_cli.autograd.modes import enable_grad
from autodiff_cli.autograd.primitives.interface_kinds import FUNCTION, checks
from autodiff_cli.autograd.primitives.structural import reshaped
from autodiff_cli.autograd.printing import Size
from autodiff_cli.autograd.tensor import Tensor, zeros_on
from autodiff_cli.errors import DtypeError, GraphError, ShapeError, UnknownChoice
from autodiff_cli.lazy import named

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Tensor | Sequence[Tensor]

_STRICT = "This is not allowed in strict mode"
_OUTPUTS = "outputs of the user-provided function"
_TRANSFORMS = {
    "reverse-mode": "autodiff_cli.autograd.transforms.reverse:jacrev",
    "forward-mode": "autodiff_cli.autograd.transforms.forward:jacfwd",
}


@checks(func=FUNCTION)
def jacobian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the derivative of every output element with respect to every input element.

    Args:
        func: the function, which takes the inputs and returns a tensor or a tuple of tensors.
        inputs: a tensor or a sequence of tensors.
        create_graph: whether to record the result, so that it can be differentiated.
        strict: whether to raise an error, instead of returning zeros, if an output does not depend on an input.
        vectorize: whether to compute all elements in one pass, as ``func.jacrev`` does, instead of one pass for each.
        strategy: ``reverse-mode``, or ``forward-mode``, which computes all elements in one pass, as ``func.jacfwd`` does.

    Returns:
        A tensor whose shape is the shape of the output followed by the shape of the input.  For several outputs or several
        inputs, a tuple; for several outputs and several inputs, a tuple of tuples with one row for each output.

    Raises:
        GraphError: in strict mode, if an output does not depend on an input.
        UnknownChoice: if ``strategy`` is neither.
    """
    if strategy not in tuple(_TRANSFORMS):
        raise UnknownChoice(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, '
            '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    with enable_grad():
        values, several = _as_leaves(inputs, create_graph, "jacobian")
        if strict or not (vectorize or strategy == "forward-mode"):
            outputs, several_outputs = _called("jacobian", func, values, strict)
            rows = [jacobian_of(output, values, create_graph) for output in outputs]
            packed = tuple(_packed(row, several, create_graph) for row in rows)
            return packed if several_outputs else packed[0]

        def function(*arguments: Tensor) -> Any:
            outputs, several_outputs = _called("jacobian", func, arguments, strict=False)
            return tuple(outputs) if several_outputs else outputs[0]

        rows = named(_TRANSFORMS[strategy])(function, tuple(range(len(values))) if several else 0)(*values)
    return rows if create_graph else _detached(rows)


def _detached(tree: Any) -> Any:
    """Return a tensor, or nested tuples of tensors, without histories; the depth of the recursion is at most 3."""
    return tree.detach() if isinstance(tree, Tensor) else tuple(map(_detached, tree))


@checks(func=FUNCTION)
def hessian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the second derivatives of a function that returns one number; see ``jacobian`` for the arguments.

    Returns:
        A tensor whose shape is the shape of the input, repeated; for several inputs, a tuple of tuples with one row for each input.
    """
    _, several = _checked_list(inputs, "inputs", "hessian")

    def gradient(*arguments: Tensor) -> Any:
        """Return the gradient of the function, whose Jacobian is the Hessian."""
        output = _called_for_number("hessian", func, arguments, strict)
        slopes = gradients_of([output], arguments, None, create_graph=True)
        if strict:
            _check_second_order(slopes)
        return tuple(filled(slopes, arguments)) if several else filled(slopes, arguments)[0]

    if outer_jacobian_strategy == "forward-mode":
        argnums = tuple(range(len(inputs))) if several else 0
        gradient = named(_TRANSFORMS["reverse-mode"])(
            lambda *arguments: _called_for_number("hessian", func, arguments, False), argnums
        )
    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


@checks(func=FUNCTION)
def vjp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the outputs, and the vector-Jacobian product with ``v``.

    Args:
        func, inputs, create_graph, strict: see ``jacobian``.
        v: the vector, with the shapes of the outputs; 1 for a scalar output if left out. The product has the shapes of the inputs.
    """
    with enable_grad():
        values, several = _as_leaves(inputs, create_graph, "vjp")
        outputs, several_outputs = _called("vjp", func, values, strict)
        vector = _checked_vector(v, outputs, several_outputs, "vjp")
        products = filled(gradients_of(outputs, values, vector, create_graph), values)
    return _packed(outputs, several_outputs, create_graph), _packed(products, several, create_graph)


@checks(func=FUNCTION)
def jvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the outputs, and the Jacobian-vector product with ``v``.

    Args:
        func, inputs, create_graph, strict: see ``jacobian``.
        v: the vector, with the shapes of the inputs; 1 for a scalar input if left out. The product has the shapes of the outputs.
    """
    with enable_grad():
        values, several = _as_leaves(inputs, create_graph, "jvp")
        vector = _checked_vector(v, values, several, "jvp")
        outputs, several_outputs = _called("jvp", func, values, strict)
        products = jacobian_vector(outputs, values, vector, create_graph)
    return _packed(outputs, several_outputs, create_graph), _packed(products, several_outputs, create_graph)


@checks(func=FUNCTION)
def hvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the scalar output, and the product of the Hessian with ``v``, in the shapes of the inputs; see ``jvp``."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


@checks(func=FUNCTION)
def vhp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the output and the product of ``v`` with the Hessian: the results of ``hvp``, because a Hessian is symmetric."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, func: Callable[..., Any], inputs: Tensors, v: Tensors | None, create_graph: bool, strict: bool
) -> Any:
    """Return the output, and the product of the Hessian with the vector ``v``; ``name`` is the caller, for messages."""
    with enable_grad():
        values, several = _as_leaves(inputs, create_graph, name)
        vector = _checked_vector(v, values, several, name)
        output = _called_for_number(name, func, values, strict)
        if strict:
            _check_second_order(gradients_of([output], values, None, create_graph=True))
        products = hessian_vector(output, values, vector, create_graph)
    return _packed([output], False, create_graph), _packed(products, several, create_graph)


# Arguments and results


def _as_leaves(inputs: Tensors, create_graph: bool, name: str) -> tuple[list[Tensor], bool]:
    """Return the inputs as new tensors that require grad, and whether they are a sequence; ``create_graph`` keeps their history."""
    values, several = _checked_list(inputs, "inputs", name)
    leaves = [reshaped(x, tuple(x.shape)) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in values]
    return leaves, several


def _called(name: str, func: Callable[..., Any], values: Sequence[Tensor], strict: bool) -> tuple[list[Tensor], bool]:
    """Return the outputs of a function, and whether they are a sequence; if ``strict``, check that each depends on each input."""
    outputs, several = _checked_list(func(*values), _OUTPUTS, name)
    for i, output in enumerate(outputs if strict else ()):
        if not output.requires_grad:
            raise GraphError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )
        for k, gradient in enumerate(gradients_of([output], values, [output.detach()])):
            if gradient is None:
                raise GraphError(f"Output {i} of the user-provided function is independent of input {k}. {_STRICT}.")
    return outputs, several


def _check_second_order(slopes: Sequence[Tensor | None]) -> None:
    """Check that each first derivative is recorded, so that it depends on an input, for strict mode."""
    for i, slope in enumerate(slopes):
        if slope is None or not slope.requires_grad:
            raise GraphError(
                f"The jacobian of the user-provided function with respect to input {i} is independent of the input. {_STRICT}."
            )


def _checked_list(value: Tensors, what: str, name: str) -> tuple[list[Tensor], bool]:
    """Return one tensor or a sequence as a list, and whether it is a sequence; ``what`` and ``name`` are for the message."""
    if isinstance(value, Tensor):
        return [value], False
    beginning = f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the"
    if not isinstance(value, (tuple, list)):
        raise DtypeError(f"{beginning} given {what} has type {type(value)}.")
    for i, item in enumerate(value):
        if not isinstance(item, Tensor):
            raise DtypeError(f"{beginning} value at index {i} has type {type(item)}.")
    return list(value), True


def _called_for_number(name: str, func: Callable[..., Any], values: Sequence[Tensor], strict: bool) -> Tensor:
    """Call a function that returns one number, and return it without dimensions; see ``_called`` for ``strict``."""
    outputs, several = _called(name, func, values, strict)
    if several:
        raise ShapeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise ShapeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return outputs[0] if not outputs[0].shape else reshaped(outputs[0], ())


def _checked_vector(v: Tensors | None, like: Sequence[Tensor], several: bool, name: str) -> list[Tensor]:
    """Return the vector of a product after checks; without ``v``, it is 1.

    The tensors ``like``, which the user has as a sequence if ``several``, have the shapes of the vector; ``name`` is the caller.
    """
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            subject = "user-provided function returns" if name == "vjp" else "input to the user-provided function is"
            raise ShapeError(f"The vector v can only be None if the {subject} a single Tensor with a single element.")
        return [zeros_on(like[0].shape, like[0]) + 1]
    vector, _ = _checked_list(v, "v", name)
    if len(vector) != len(like):
        if several:
            raise ShapeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vector)}.")
        raise ShapeError("The given v should contain a single Tensor.")
    for i, (item, example) in enumerate(zip(vector, like, strict=True)):
        if item.shape != example.shape:
            entry = f"Entry {i} in v" if several else "v"
            raise ShapeError(f"{entry} has invalid size: should be {Size(example.shape)} but got {Size(item.shape)}.")
    return vector


def _packed(tensors: Sequence[Tensor], several: bool, create_graph: bool) -> Any:
    """Return the only tensor, or a tuple if there may be ``several``; without ``create_graph``, they are detached."""
    results = tuple(tensor if create_graph else tensor.detach() for tensor in tensors)
    return results if several else results[0]
