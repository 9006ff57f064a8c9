"""Jacobians, Hessians and their products with vectors: PyTorch's ``torch.autograd.functional``.

The products are computed without forming the Jacobian or the Hessian.  ``vjp`` runs one backward pass; ``jvp`` and ``hvp`` run
two backward passes.  A vector-Jacobian product is linear in the vector, so its derivative with respect to the vector gives the
Jacobian-vector product.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import enable_grad
from autodiff_cli.autograd.node import leaf_edge
from autodiff_cli.autograd.primitives.structural import reshaped, stack
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, tensor_on, zeros_on
from autodiff_cli.errors import DtypeError, GraphError, ShapeError, type_name

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Tensor | Sequence[Tensor]

INDEPENDENT = "The output of the user-provided function is independent of"


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
        vectorize, strategy: accepted for compatibility with PyTorch; they have no effect.

    Returns:
        A tensor whose shape is the shape of the output followed by the shape of the input.  For several outputs or several
        inputs, a tuple; for several outputs and several inputs, a tuple of tuples with one row for each output.
    """
    with enable_grad():
        given, several_inputs = _leaves(inputs, create_graph)
        outputs, several_outputs = _outputs(func(*given))
        rows = [
            tuple(_settled(j, create_graph) for j in jacobian_of(o, given, create_graph, strict, i)) for i, o in enumerate(outputs)
        ]
    found = tuple(row if several_inputs else row[0] for row in rows)
    return found if several_outputs else found[0]


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
    several = not isinstance(inputs, Tensor)

    def gradient(*arguments: Tensor) -> Any:
        (output,) = _one_number("hessian", func(*arguments))
        found = _grads([output], list(arguments), None, True, strict)
        if strict and any(not g.requires_grad for g in found):
            raise GraphError(
                "jacobian of the user-provided function with respect to an input is independent of the inputs. This is not "
                "allowed in strict mode."
            )
        return tuple(found) if several else found[0]

    return jacobian(gradient, inputs, create_graph, strict)


def vjp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the outputs, and the vector-Jacobian product with ``v``.

    Args:
        func, inputs, create_graph, strict: see ``jacobian``.
        v: the vector, with the shapes of the outputs; 1 for a scalar output if left out. The product has the shapes of the inputs.
    """
    with enable_grad():
        given, several = _leaves(inputs, create_graph)
        outputs, several_outputs = _outputs(func(*given))
        start = _vector(v, outputs, "outputs")
        products = _grads(outputs, given, start, create_graph, strict)
    return _pack(outputs, several_outputs, create_graph), _pack(products, several, create_graph)


def jvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the outputs, and the Jacobian-vector product with ``v``.

    Args:
        func, inputs, create_graph, strict: see ``jacobian``.
        v: the vector, with the shapes of the inputs; 1 for a scalar input if left out. The product has the shapes of the outputs.
    """
    with enable_grad():
        given, _ = _leaves(inputs, create_graph)
        outputs, several_outputs = _outputs(func(*given))
        products = jacobian_vector(outputs, given, _vector(v, given, "inputs"), create_graph, strict)
    return _pack(outputs, several_outputs, create_graph), _pack(products, several_outputs, create_graph)


def hvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the output, which is a scalar, and the product of the Hessian with ``v``, which has the shapes of the inputs."""
    with enable_grad():
        given, several = _leaves(inputs, create_graph)
        outputs = _one_number("hvp", func(*given))
        products = hessian_vector(outputs[0], given, _vector(v, given, "inputs"), create_graph)
    return _pack(outputs, False, create_graph), _pack(products, several, create_graph)


def vhp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the output and the product of ``v`` with the Hessian: the results of ``hvp``, because a Hessian is symmetric."""
    return hvp(func, inputs, v, create_graph, strict)


# Jacobians and products for a graph that is already recorded


def jacobian_of(
    output: Tensor, inputs: Sequence[Tensor], create_graph: bool = False, strict: bool = False, number: int = 0
) -> list[Tensor]:
    """Return the Jacobian of a recorded output with respect to each input, by one backward pass for each output element."""
    rows = []
    for position in itertools.product(*map(range, output.shape)):
        # The pass starts from the element.  A one-hot cotangent of the whole output would contain zeros for the other elements,
        # and zero times an infinite derivative is nan.
        rows.append(_grads([output[position] if position else output], inputs, None, create_graph, strict, number))
    return [
        reshaped(stack([row[k] for row in rows]), output.shape + x.shape) if rows else zeros_on(output.shape + x.shape, x)
        for k, x in enumerate(inputs)
    ]


def jacobian_vector(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], v: Sequence[Tensor], create_graph: bool = False, strict: bool = False
) -> list[Tensor]:
    """Return the product of the Jacobian of recorded outputs with ``v``, by two backward passes."""
    starts = [tensor_on(np.zeros(o.shape, o.dtype)[()]).requires_grad_() for o in outputs]
    swept = _grads(outputs, inputs, starts, True, strict)
    return _grads(swept, starts, v, create_graph)


def hessian_vector(output: Tensor, inputs: Sequence[Tensor], v: Sequence[Tensor], create_graph: bool = False) -> list[Tensor]:
    """Return the product of the Hessian of a recorded scalar with ``v``, by a backward pass through the gradient."""
    return _grads(_grads([output], inputs, None, True), inputs, v, create_graph)


def _grads(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    starts: Sequence[Tensor] | None,
    create_graph: bool,
    strict: bool = False,
    number: int = 0,
) -> list[Tensor]:
    """Return the gradients of the sum of the outputs; zeros for an input that the outputs do not depend on."""
    recorded = [i for i, output in enumerate(outputs) if output.requires_grad]
    if not recorded:
        if strict:
            raise GraphError(
                f"Output {number} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )
        return [zeros_on(x.shape, x) for x in inputs]
    chosen = None if starts is None else [starts[i] for i in recorded]
    found = grad(
        [outputs[i] for i in recorded], list(inputs), chosen, retain_graph=True, create_graph=create_graph, allow_unused=True
    )
    if strict and any(g is None for g in found):
        unused = next(i for i, g in enumerate(found) if g is None)
        raise GraphError(
            f"Output {number} of the user-provided function is independent of input {unused}. This is not allowed in strict mode."
        )
    return [zeros_on(x.shape, x) if g is None else g for x, g in zip(inputs, found, strict=True)]


def _leaves(inputs: Tensors, create_graph: bool) -> tuple[list[Tensor], bool]:
    """Return the inputs as new tensors that require grad; with ``create_graph`` they keep their history."""
    given, several = _tensors(inputs, "inputs")
    if not create_graph:
        return [x.detach().requires_grad_() for x in given], several
    joined = [tensor_on(x._data, x._edge or leaf_edge(x)) if x.requires_grad else x.detach().requires_grad_() for x in given]
    return joined, several


def _outputs(result: Tensors) -> tuple[list[Tensor], bool]:
    return _tensors(result, "outputs of the user-provided function")


def _tensors(given: Tensors, what: str) -> tuple[list[Tensor], bool]:
    if isinstance(given, Tensor):
        return [given], False
    if not isinstance(given, (tuple, list)) or not all(isinstance(one, Tensor) for one in given):
        raise DtypeError(f"The {what} must be either a Tensor or a tuple of Tensors, not {type_name(given)}")
    return list(given), True


def _one_number(name: str, result: Tensors) -> list[Tensor]:
    outputs, several = _outputs(result)
    if several:
        raise ShapeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise ShapeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return outputs


def _vector(v: Tensors | None, like: Sequence[Tensor], what: str) -> list[Tensor]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise ShapeError(
                "The vector v can only be None if "
                + ("the user-provided function returns" if what == "outputs" else "the input to the user-provided function is")
                + " a single Tensor with a single element."
            )
        return [tensor_on(np.ones(like[0].shape, like[0].dtype)[()])]
    given = [v] if isinstance(v, Tensor) else list(v)
    if [x.shape for x in given] != [x.shape for x in like]:
        shapes = ([list(x.shape) for x in tensors] for tensors in (given, like))
        raise ShapeError("v has invalid size: it has shapes {}, but the {what} have {}".format(*shapes, what=what))
    return given


def _settled(tensor: Tensor, create_graph: bool) -> Tensor:
    return tensor if create_graph else tensor.detach()


def _pack(tensors: Sequence[Tensor], several: bool, create_graph: bool) -> Any:
    settled = tuple(_settled(tensor, create_graph) for tensor in tensors)
    return settled if several else settled[0]
