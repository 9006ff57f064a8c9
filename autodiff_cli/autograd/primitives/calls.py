"""The public functions of operations, which compute on arrays and record a node if a tensor requires grad.

For plain arrays, such a function only computes the result.  VJP rules call these functions, so that one rule serves both the
fast backward pass on arrays and the recorded backward pass on tensors, at every order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, default_type, promote
from autodiff_cli.autograd.hooks import node_observers, observed
from autodiff_cli.autograd.memory import created_now, next_sequence_nr, view_of
from autodiff_cli.autograd.modes import inference_used, is_recording
from autodiff_cli.autograd.node import NO_EDGE, Node, leaf_edge
from autodiff_cli.autograd.primitives.argument_kinds import PLAIN, TENSOR, Argument, bind, checks_of, converted
from autodiff_cli.autograd.primitives.arguments import NO_BOOLEANS, UNFIT, common, mismatch, on_arrays, plain
from autodiff_cli.autograd.primitives.node_factory import NodeFactory, output_of
from autodiff_cli.autograd.primitives.nodes import BothNode, InputNode, LinearNode, OutputNode, SequenceNode
from autodiff_cli.autograd.primitives.primitive import Primitive, TensorFunction, argument_names, dispatch
from autodiff_cli.autograd.primitives.saved_names import node_class
from autodiff_cli.autograd.tensor import Tensor, is_inference, shared_array, tensor_on
from autodiff_cli.errors import ArgumentError, DtypeError

_new = object.__new__


def _kind(value: Array | float) -> str:
    """Return the kind of the elements of an array, such as ``f``, and an empty string for a plain number."""
    return getattr(getattr(value, "dtype", None), "kind", "")


def _in_torch_type(forward: Callable[..., Array], data: Array, values: Sequence[Any], arity: int) -> Array:
    """Return a result in PyTorch's type for integers: the default type for floating-point numbers, and int64 for uint64.

    Args:
        forward: the function that computed the result.
        data: the result.
        values: the arguments of the function.
        arity: the number of arguments that are tensors.
    """
    if data.dtype.kind == "f":
        if not any(_kind(value) == "f" for value in values[:arity]):
            if data.dtype.itemsize < 8:  # NumPy computes with int8 in float16: compute again, with int64 in float64
                data = forward(*(v.astype(np.int64) if _kind(v) in "biu" and _kind(v) else v for v in values))
            return data.astype(default_type(), copy=False)
    elif data.dtype == np.uint64:
        return data.astype(np.int64)
    return data


def _of_integers(primitive: Primitive, values: Array) -> Tensor:
    """Return the result of an operation on integers or booleans.

    Raises:
        DtypeError: if PyTorch refuses the operation for booleans.
    """
    if values.dtype.kind == "b" and primitive.elementwise:
        if primitive.name in NO_BOOLEANS:
            raise DtypeError(NO_BOOLEANS[primitive.name])
        values = values.astype(np.int64)
    return tensor_on(_in_torch_type(primitive.forward, primitive.forward(values), (values,), 1))


def unary(primitive: Primitive, nodes: NodeFactory) -> TensorFunction:
    """Return the function of an operation whose only argument is a tensor; this function must be fast."""
    forward = primitive.forward
    (vjp,) = nodes.vjps
    saves = argument_names(vjp)[1:]
    saves_input = saves == ("x",)
    saves_output = saves == ("out",)
    saves_both = saves == ("x", "out")
    if saves and not (saves_input or saves_output or saves_both):
        return single(primitive, nodes)
    base: type[Node] = InputNode if saves_input else OutputNode if saves_output else BothNode if saves_both else LinearNode
    node_type: Any = None

    def function(input: Argument) -> Any:
        nonlocal node_type
        if type(input) is not Tensor:
            if isinstance(input, Tensor):
                return dispatch(function, (input,))
            try:
                if type(input) in PLAIN:  # the call of a VJP rule, which must be fast
                    return forward(input)
            except UNFIT:
                pass  # on_arrays describes the error
            return on_arrays(primitive, (input,))
        values = input._data
        if values.dtype.kind != "f":
            return _of_integers(primitive, values)
        data = forward(values)
        if not input._requires_grad or not is_recording():
            return tensor_on(data)
        if node_type is None:
            node_type = nodes.subclass(base, vjp=staticmethod(vjp))
        node = _new(node_type)
        node._saved = input if saves_input else data if saves_output else (input, data) if saves_both else None
        # An inlined copy of output_of, because this is the innermost loop of eager evaluation.
        node._edges = (input._edge or leaf_edge(input),)
        node._shape = data.shape
        node._dtype = data.dtype
        node.sequence_nr = next_sequence_nr()
        node._hooks = None
        if node_observers:
            observed(node)
        out = _new(Tensor)
        out._data = data
        out._requires_grad = True
        out._edge = (node, 0)
        out._extra = None
        return out

    return function


def binary(primitive: Primitive, nodes: NodeFactory) -> TensorFunction:
    """Return the function of an operation on two tensors, either of which may be a plain number."""
    name, forward = primitive.name, primitive.forward
    first, second = 0 in primitive.differentiable_args, 1 in primitive.differentiable_args
    record = nodes.record_pair

    def function(input: Argument, other: Argument) -> Any:
        if type(input) is Tensor:
            a = input._data
            if type(other) is Tensor:
                b = other._data
                if a.dtype is not b.dtype:
                    a, b = promote(a, b)
                    # VJP rules compute with numbers, not with booleans.
                    if input._data.dtype.kind == "b":
                        input = tensor_on(a)
                    if other._data.dtype.kind == "b":
                        other = tensor_on(b)
            elif type(other) is float:
                b = other
            elif isinstance(other, Tensor):
                return dispatch(function, (input, other))
            else:
                b = other = plain(other, a)
        elif isinstance(input, Tensor) or (isinstance(other, Tensor) and type(other) is not Tensor):
            return dispatch(function, (input, other))
        elif type(other) is Tensor:
            b = other._data
            a = input = plain(input, b)
        else:
            try:
                if type(input) in PLAIN and type(other) in PLAIN:
                    return forward(input, other)
            except UNFIT:
                pass
            return on_arrays(primitive, (input, other))
        try:
            data = forward(a, b)
        except UNFIT as error:
            raise mismatch(name, error, (a, b)) from None
        by_first = first and type(input) is Tensor and input._requires_grad
        by_second = second and type(other) is Tensor and other._requires_grad
        if (by_first or by_second) and is_recording():
            return record(input, other, data, by_first, by_second)
        return tensor_on(_in_torch_type(forward, data, (a, b), 2))

    return function


def single(primitive: Primitive, nodes: NodeFactory) -> TensorFunction:
    """Return the function of an operation on one tensor, followed by plain arguments with defaults."""
    name, forward, differentiable = primitive.name, primitive.forward, bool(primitive.differentiable_args)
    parameters, defaults = primitive.parameters, primitive.defaults
    checks = checks_of(parameters, defaults, primitive.kinds)

    def function(*call: Argument, **kwargs: Argument) -> Any:
        args: Sequence[Any] = call
        if kwargs or len(args) != len(parameters):
            args = bind(name, parameters, defaults, args, kwargs)
        if checks:
            args = converted(name, checks, args)
        x = args[0]
        if type(x) is not Tensor:
            return dispatch(function, args) if isinstance(x, Tensor) else on_arrays(primitive, args)
        values = x._data
        try:
            data = forward(values, *args[1:])
        except UNFIT as error:
            raise mismatch(name, error, [values]) from None
        if differentiable and x._requires_grad and is_recording():
            return nodes.record(args, data)
        return tensor_on(_in_torch_type(forward, data, (values, *args[1:]), 1))

    return function


def general(primitive: Primitive, nodes: NodeFactory) -> TensorFunction:
    """Return the function of an operation on several tensors, with tensor arguments first, then plain arguments with defaults."""
    name, forward, arity, differentiable = primitive.name, primitive.forward, primitive.arity, primitive.differentiable_args
    parameters, defaults = primitive.parameters, primitive.defaults
    checks = checks_of(parameters, defaults, primitive.kinds)

    def function(*call: Argument, **kwargs: Argument) -> Any:
        args: Sequence[Any] = call
        if kwargs or len(args) != len(parameters):
            args = bind(name, parameters, defaults, args, kwargs)
        if checks:
            args = converted(name, checks, args)
        raw = list(args)
        recorded = any_tensor = False
        for i in range(arity):
            value = args[i]
            if type(value) is Tensor:
                any_tensor = True
                raw[i] = value._data
                recorded = recorded or (value._requires_grad and i in differentiable)
            elif isinstance(value, Tensor):
                return dispatch(function, args)
        if not any_tensor:
            return on_arrays(primitive, args)
        raw[:arity] = common(raw[:arity], differentiable)
        for i in differentiable:  # VJP rules compute with numbers, not with booleans
            if type(args[i]) is Tensor and args[i]._data.dtype.kind == "b" and raw[i].dtype.kind != "b":
                args = (*args[:i], tensor_on(raw[i]), *args[i + 1 :])
        try:
            data = forward(*raw)
        except UNFIT as error:
            raise mismatch(name, error, raw[:arity]) from None
        if recorded and is_recording():
            return nodes.record(args, data)
        return tensor_on(_in_torch_type(forward, data, raw, arity))

    return function


def viewing(primitive: Primitive, nodes: NodeFactory) -> TensorFunction:
    """Return the function of an operation whose result is a view of its argument."""
    name, forward, parameters, defaults = primitive.name, primitive.forward, primitive.parameters, primitive.defaults
    checks = checks_of(parameters, defaults, primitive.kinds)

    def function(*call: Argument, **kwargs: Argument) -> Any:
        args: Sequence[Any] = call
        if kwargs or len(args) != len(parameters):
            args = bind(name, parameters, defaults, args, kwargs)
        if checks:
            args = converted(name, checks, args)
        x = args[0]
        if type(x) is not Tensor:
            return dispatch(function, args) if isinstance(x, Tensor) else on_arrays(primitive, args)
        source = shared_array(x)
        try:
            data = forward(source, *args[1:])
        except UNFIT as error:
            raise mismatch(name, error, [source]) from None
        recording = is_recording()
        recorded = x._requires_grad and recording and not (inference_used[0] and is_inference(x))
        result = nodes.record(args, data) if recorded else tensor_on(data)
        if not shares(data, source):
            return result
        return view_of(result, x, function, args[1:], "" if recording else created_now())

    return function


def shares(data: Array, source: Array) -> bool:
    """Return whether an array is a view of the memory of another array."""
    return data is source or (data.base is not None and data.base is (source if source.base is None else source.base))


def of_sequence(primitive: Primitive, node: str) -> TensorFunction:
    """Return the function of an operation on a sequence of tensors."""
    name, forward, parameters, defaults = primitive.name, primitive.forward, primitive.parameters, primitive.defaults
    checks = checks_of(parameters, defaults, primitive.kinds)
    (vjp,) = primitive.vjps.values()
    assert vjp is not None
    slots = (("shapes", NO_EDGE), *((each, NO_EDGE) for each in parameters[1:]))
    node_type: Any = node_class(node, SequenceNode, vjp=staticmethod(vjp), primitive=primitive, saved_slots=slots)

    def function(*args: Argument, **kwargs: Argument) -> Any:
        if args and not isinstance(args[0], (list, tuple)):
            # Accept stack(x, y), as in the language, in addition to PyTorch's stack([x, y]).
            count = sum(isinstance(a, (Tensor, np.ndarray, np.generic, float)) for a in args)
            args = (list(args[:count]), *args[count:])
        tensors, *rest = converted(name, checks, bind(name, parameters, defaults, args, kwargs))
        if not tensors:
            raise ArgumentError(f"{name} expects at least one tensor")
        if any(type(t) is not Tensor and isinstance(t, Tensor) for t in tensors):
            return dispatch(function, (list(tensors), *rest))
        raw = [t._data if type(t) is Tensor else np.asarray(TENSOR(t, name, "tensors")) for t in tensors]
        try:
            data = forward(raw, *rest)
        except UNFIT as error:
            raise mismatch(name, error, raw) from None
        if not any(type(t) is Tensor for t in tensors):
            return data
        if not any(type(t) is Tensor and t._requires_grad for t in tensors) or not is_recording():
            return tensor_on(data)
        result: Any = _new(node_type)
        result._saved = (tuple(r.shape for r in raw), *rest)
        edges = tuple([(t._edge or leaf_edge(t)) if type(t) is Tensor and t._requires_grad else None for t in tensors])
        return output_of(result, edges, data)

    return function
