"""Jacobians, Hessians and their products with vectors: PyTorch's ``torch.autograd.functional``.

Products do not form a matrix: ``vjp`` runs one backward pass, and ``jvp`` and ``hvp`` run two.  A vector-Jacobian product is linear
in the vector, so its derivative with respect to the vector gives the Jacobian-vector product.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import enable_grad
from autodiff_cli.autograd.primitives.interface_kinds import FUNCTION, checks
from autodiff_cli.autograd.primitives.structural import reshaped, stack
from autodiff_cli.autograd.printing import Size
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, tensor_on, zeros_on
from autodiff_cli.errors import DtypeError, GraphError, NotSupported, ShapeError, UnknownChoice
from autodiff_cli.lazy import named

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Tensor | Sequence[Tensor]
Gradients = Sequence[Tensor | None]
"""The gradient of each input, ``None`` for an input that the outputs do not depend on."""

_FORBIDDEN = "This is not allowed in strict mode"
_NO_INPUT = "The output of the user-provided function is independent of input {}. " + _FORBIDDEN + "."
_CONSTANT_OUTPUT = (
    "Output {} of the user-provided function does not require gradients. The outputs must be computed in a differentiable manner "
    "from the input when running in strict mode."
)
_CONSTANT_JACOBIAN = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is independent of "
    "the input. This is not allowed in strict mode. You should ensure that your function is twice differentiable and that the "
    "jacobian depends on the inputs (this would be violated by a linear function for example)."
)
_OUTPUTS = "outputs of the user-provided function"
_STRATEGIES = ("reverse-mode", "forward-mode")


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
        vectorize: whether to run one backward pass for all output elements, instead of one pass for each.
        strategy: ``reverse-mode``, or ``forward-mode``, which requires ``vectorize``.

    Returns:
        A tensor whose shape is the shape of the output followed by the shape of the input.  For several outputs or several
        inputs, a tuple; for several outputs and several inputs, a tuple of tuples with one row for each output.

    Raises:
        GraphError: in strict mode, if an output does not depend on an input; for options that cannot be combined.
    """
    if strategy not in _STRATEGIES:
        raise UnknownChoice(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, '
            '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return _by_forward_mode(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        given, several_inputs = _leaves(inputs, create_graph, "jacobian")
        outputs, several_outputs = _tensors(func(*given), _OUTPUTS, "jacobian")
        _check_outputs(outputs, strict)
        if vectorize:
            if strict:
                raise GraphError(
                    "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please "
                    "either set `strict=False` or `vectorize=False`."
                )
            rows = _in_one_pass(outputs, given, create_graph)
        else:
            rows = [jacobian_of(output, given, create_graph, strict, i) for i, output in enumerate(outputs)]
    packed = tuple(_pack(row, several_inputs, create_graph) for row in rows)
    return packed if several_outputs else packed[0]


def _by_forward_mode(func: Callable[..., Any], inputs: Tensors, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    for option, requested in (("create_graph", create_graph), ("strict", strict)):
        if requested:
            raise NotSupported(
                f'torch.autograd.functional.jacobian: `{option}=True` and `strategy="forward-mode"` are not supported together '
                f'(yet). Please either set `{option}=False` or `strategy="reverse-mode"`.'
            )
    if not vectorize:
        raise NotSupported(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`.",
            hint="pass vectorize=True",
        )
    given, several = _tensors(inputs, "inputs", "jacobian")

    def of_tensors(*values: Tensor) -> Any:
        outputs, several_outputs = _tensors(func(*values), _OUTPUTS, "jacobian")
        return tuple(outputs) if several_outputs else outputs[0]

    jacfwd = named("autodiff_cli.autograd.transforms.forward:jacfwd")
    return jacfwd(of_tensors, tuple(range(len(given))) if several else 0)(*[x.detach() for x in given])


def _in_one_pass(outputs: Sequence[Tensor], inputs: Sequence[Tensor], create_graph: bool) -> list[list[Tensor]]:
    """Return the Jacobian of each output with respect to each input, by one backward pass with a batch of unit vectors."""
    live = [output for output in outputs if output.requires_grad]
    sizes = [math.prod(output.shape) for output in live]
    units = np.split(np.eye(sum(sizes)), np.cumsum(sizes), axis=1)[:-1]
    starts = [tensor_on(unit.reshape(-1, *y.shape).astype(y._data.dtype)) for unit, y in zip(units, live, strict=True)]
    found: Gradients = [None] * len(inputs)
    if sum(sizes):
        found = grad(
            live, list(inputs), starts, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True
        )
    rows, first = [], 0
    for output in outputs:
        size = math.prod(output.shape) if output.requires_grad else 0
        rows.append(
            [
                zeros_on(output.shape + x.shape, x)
                if g is None or not size
                else reshaped(g[first : first + size], output.shape + x.shape)
                for x, g in zip(inputs, found, strict=True)
            ]
        )
        first += size
    return rows


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
    if outer_jacobian_strategy not in _STRATEGIES:
        raise UnknownChoice('Expected strategy to be either "forward-mode" or "reverse-mode".')
    given, several = _tensors(inputs, "inputs", "hessian")

    def single(*arguments: Tensor) -> Tensor:
        output = _one_number("hessian", func(*arguments))
        _check_outputs([output], strict)
        return reshaped(output, ())  # type: ignore[no-any-return]

    if outer_jacobian_strategy == "forward-mode":
        jacrev = named("autodiff_cli.autograd.transforms.reverse:jacrev")
        argnums = tuple(range(len(given))) if several else 0
        return _by_forward_mode(jacrev(single, argnums), inputs, create_graph, strict, vectorize)

    def gradient(*arguments: Tensor) -> Any:
        found = jacobian(single, arguments, create_graph=True)
        if strict:
            for i, slope in enumerate(found):
                if not slope.requires_grad:
                    raise GraphError(_CONSTANT_JACOBIAN.format(i))
        return found if several else found[0]

    return jacobian(gradient, inputs, create_graph, strict, vectorize)


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
        given, several = _leaves(inputs, create_graph, "vjp")
        outputs, several_outputs = _tensors(func(*given), _OUTPUTS, "vjp")
        _check_outputs(outputs, strict)
        start = _vector(v, outputs, several_outputs, "vjp")
        found = _grads(outputs, given, start, create_graph)
        products = _filled(found, given, strict, create_graph, _NO_INPUT, "The jacobian of the user-provided function is")
    return _pack(outputs, several_outputs, create_graph), _pack(products, several, create_graph)


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
        given, several = _leaves(inputs, create_graph, "jvp")
        vector = _vector(v, given, several, "jvp")
        outputs, several_outputs = _tensors(func(*given), _OUTPUTS, "jvp")
        _check_outputs(outputs, strict)
        products = jacobian_vector(outputs, given, vector, create_graph, strict)
    return _pack(outputs, several_outputs, create_graph), _pack(products, several_outputs, create_graph)


@checks(func=FUNCTION)
def hvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the output, which is a scalar, and the product of the Hessian with ``v``, which has the shapes of the inputs."""
    return _hessian_product("hvp", _NO_INPUT, func, inputs, v, create_graph, strict)


@checks(func=FUNCTION)
def vhp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the output and the product of ``v`` with the Hessian: the results of ``hvp``, because a Hessian is symmetric."""
    return _hessian_product("vhp", _NO_INPUT.replace("The output of", "The jacobian of"), func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, independent: str, func: Callable[..., Any], inputs: Tensors, v: Tensors | None, create_graph: bool, strict: bool
) -> Any:
    with enable_grad():
        given, several = _leaves(inputs, create_graph, name)
        vector = _vector(v, given, several, name)
        output = _one_number(name, func(*given))
        _check_outputs([output], strict)
        slopes = _grads([output], given, None, create_graph=True)
        if strict:
            for i, slope in enumerate(slopes):
                if slope is None or not slope.requires_grad:
                    raise GraphError((_NO_INPUT if slope is None else _CONSTANT_JACOBIAN).format(i))
        found = _grads([slope for slope in slopes if slope is not None], given, _of_some(vector, slopes), create_graph)
        products = _filled(found, given, strict, create_graph, independent, "The hessian of the user-provided function is")
    return _pack([output], False, create_graph), _pack(products, several, create_graph)


def _of_some(vector: Sequence[Tensor], slopes: Gradients) -> list[Tensor]:
    return [each for each, slope in zip(vector, slopes, strict=True) if slope is not None]


def jacobian_of(
    output: Tensor, inputs: Sequence[Tensor], create_graph: bool = False, strict: bool = False, number: int = 0
) -> list[Tensor]:
    """Return the Jacobian of a recorded output with respect to each input, by one backward pass for each output element.

    Args:
        output, inputs: the output and the inputs.
        create_graph: whether to record the result.
        strict: whether to raise an error, instead of returning zeros, if the output does not depend on an input.
        number: the number of the output in error messages.
    """
    rows = []
    missing = f"Output {number} of the user-provided function is independent of input {{}}. {_FORBIDDEN}."
    for position in itertools.product(*map(range, output.shape)):
        # A one-hot cotangent of the whole output would contain zeros, and zero times an infinite derivative is nan.
        found = _grads([output[position] if position else output], inputs, None, create_graph)
        rows.append(_filled(found, inputs, strict, create_graph, missing, "The jacobian of the user-provided function is"))
    return [
        reshaped(stack([row[k] for row in rows]), output.shape + x.shape) if rows else zeros_on(output.shape + x.shape, x)
        for k, x in enumerate(inputs)
    ]


def jacobian_vector(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], v: Sequence[Tensor], create_graph: bool = False, strict: bool = False
) -> list[Tensor]:
    """Return the product of the Jacobian of recorded outputs with ``v``, by two backward passes."""
    starts = [zeros_on(o.shape, o).requires_grad_() for o in outputs]
    swept = _grads(outputs, inputs, starts, create_graph=True)
    if strict and any(each is None for each in swept):
        raise GraphError(_NO_INPUT.format(next(i for i, each in enumerate(swept) if each is None)))
    found = _grads([each for each in swept if each is not None], starts, _of_some(v, swept), create_graph)
    independent = (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double backward "
        f"trick to compute forward mode gradients. {_FORBIDDEN}."
    )
    return _filled(found, outputs, strict, create_graph, independent, "The jacobian of the user-provided function is")


def hessian_vector(output: Tensor, inputs: Sequence[Tensor], v: Sequence[Tensor], create_graph: bool = False) -> list[Tensor]:
    """Return the product of the Hessian of a recorded scalar with ``v``, by a backward pass through the gradient."""
    slopes = _grads([output], inputs, None, create_graph=True)
    found = _grads([slope for slope in slopes if slope is not None], inputs, _of_some(v, slopes), create_graph)
    return _filled(found, inputs)


def _grads(outputs: Sequence[Tensor], inputs: Sequence[Tensor], starts: Sequence[Tensor] | None, create_graph: bool) -> Gradients:
    """Return the gradients of the sum of the outputs that require grad."""
    recorded = [i for i, output in enumerate(outputs) if output.requires_grad]
    if not recorded:
        return [None] * len(inputs)
    chosen = None if starts is None else [starts[i] for i in recorded]
    found: Gradients = grad(
        [outputs[i] for i in recorded], list(inputs), chosen, retain_graph=True, create_graph=create_graph, allow_unused=True
    )
    return found


def _filled(
    found: Gradients,
    like: Sequence[Tensor],
    strict: bool = False,
    create_graph: bool = False,
    missing: str = "",
    constant: str = "",
) -> list[Tensor]:
    """Return gradients with zeros for missing ones.

    Raises:
        GraphError: in strict mode, with the message ``missing`` for a gradient that is missing, and with a message that begins with
            ``constant`` for a recorded gradient that is constant.
    """
    if strict:
        for i, gradient in enumerate(found):
            if gradient is None:
                raise GraphError(missing.format(i))
            if create_graph and not gradient.requires_grad:
                raise GraphError(f"{constant} independent of input {i}. {_FORBIDDEN} when create_graph=True.")
    return [zeros_on(x.shape, x) if g is None else g for x, g in zip(like, found, strict=True)]


# Arguments and results


def _leaves(inputs: Tensors, create_graph: bool, name: str) -> tuple[list[Tensor], bool]:
    """Return the inputs as new tensors that require grad; with ``create_graph`` they keep their history."""
    given, several = _tensors(inputs, "inputs", name)
    return [
        reshaped(x, tuple(x.shape)) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given
    ], several


def _check_outputs(outputs: Sequence[Tensor], strict: bool) -> None:
    if strict:
        for i, output in enumerate(outputs):
            if not output.requires_grad:
                raise GraphError(_CONSTANT_OUTPUT.format(i))


def _tensors(given: Tensors, what: str, name: str) -> tuple[list[Tensor], bool]:
    if isinstance(given, Tensor):
        return [given], False
    beginning = f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the"
    if not isinstance(given, (tuple, list)):
        raise DtypeError(f"{beginning} given {what} has type {type(given)}.")
    for i, one in enumerate(given):
        if not isinstance(one, Tensor):
            raise DtypeError(f"{beginning} value at index {i} has type {type(one)}.")
    return list(given), True


def _one_number(name: str, result: Tensors) -> Tensor:
    outputs, several = _tensors(result, _OUTPUTS, name)
    if several:
        raise ShapeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise ShapeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return outputs[0]


def _vector(v: Tensors | None, like: Sequence[Tensor], several: bool, name: str) -> list[Tensor]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            subject = "user-provided function returns" if name == "vjp" else "input to the user-provided function is"
            raise ShapeError(f"The vector v can only be None if the {subject} a single Tensor with a single element.")
        return [tensor_on(np.ones(like[0].shape, like[0]._data.dtype)[()])]
    given, _ = _tensors(v, "v", name)
    if len(given) != len(like):
        if several:
            raise ShapeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
        raise ShapeError("The given v should contain a single Tensor.")
    for i, (one, other) in enumerate(zip(given, like, strict=True)):
        if one.shape != other.shape:
            entry = f"Entry {i} in v" if several else "v"
            raise ShapeError(f"{entry} has invalid size: should be {Size(other.shape)} but got {Size(one.shape)}.")
    return given


def _pack(tensors: Sequence[Tensor], several: bool, create_graph: bool) -> Any:
    settled = tuple(tensor if create_graph else tensor.detach() for tensor in tensors)
    return settled if several else settled[0]
