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
from autodiff_cli.autograd.modes import inference_used, is_recording
from autodiff_cli.autograd.node import NO_EDGE, leaf_edge
from autodiff_cli.autograd.primitives.argument_kinds import PLAIN, TENSOR, Argument
from autodiff_cli.autograd.primitives.arguments import NO_BOOLEANS, UNFIT, in_common_type, mismatch, on_arrays, plain
from autodiff_cli.autograd.primitives.nodes import NodeFactory, SequenceNode, complete_node
from autodiff_cli.autograd.primitives.primitive import Primitive, TensorFunction, dispatch
from autodiff_cli.autograd.tensor import Tensor, is_inference, shared_array, tensor_on
from autodiff_cli.autograd.views_and_versions import created_now, next_sequence_nr, view_of
from autodiff_cli.errors import ArgumentError, DtypeError

_new = object.__new__


def _kind(value: Array | float) -> str:
    """Return the kind of the elements of an array, such as ``f``, and an empty string for a plain number."""
    return getattr(getattr(value, "dtype", None), "kind", "")


def _in_torch_type(forward: Callable[..., Array], data: Array, values: Sequence[Any], arity: int) -> Array:
    """Return ``data = forward(*values)`` in PyTorch's type: a default float for integers (``arity`` operands), int64 for uint64."""
    if data.dtype.kind == "f":
        if _kind(values[0]) != "f" and not any(_kind(value) == "f" for value in values[1:arity]):
            if data.dtype.itemsize < 8:  # NumPy computes with int8 in float16: compute again, with int64 in float64
                data = forward(*(v.astype(np.int64) if _kind(v) in ("b", "i", "u") else v for v in values))
            return data.astype(default_type(), copy=False)
    elif data.dtype == np.uint64:
        return data.astype(np.int64)
    return data


def _result_for_integers(primitive: Primitive, values: Array) -> Tensor:
    """Return the result for integers or booleans, which are refused (``NO_BOOLEANS``) or computed as integers, as in PyTorch."""
    if values.dtype.kind == "b" and primitive.elementwise:
        if primitive.name in NO_BOOLEANS:
            raise DtypeError(NO_BOOLEANS[primitive.name])
        values = values.astype(np.int64)
    return tensor_on(_in_torch_type(primitive.forward, primitive.forward(values), (values,), 1))


def unary(primitive: Primitive, nodes: NodeFactory) -> TensorFunction:
    """Return the function of an operation whose only argument is a tensor; this function must be fast."""
    forward = primitive.forward
    saves_input, saves_output = "x" in nodes.names, "out" in nodes.names
    if not {"x", "out"}.issuperset(nodes.names):  # a rule that needs the shape
        return single(primitive, nodes)

    def function(input: Argument) -> Any:
        # Other classes than Tensor compute in their own way, arrays and numbers are not recorded, tensors are if they require grad.
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
            return _result_for_integers(primitive, values)
        data = forward(values)
        if not input._requires_grad or not is_recording():
            return tensor_on(data)
        node = _new(nodes.node_type or nodes.create_type())
        if saves_input:
            node._saved = (input, data) if saves_output else (input,)
        else:
            node._saved = (data,) if saves_output else ()
        # An inlined copy of complete_node, because this is the innermost loop of eager evaluation.
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
    """Return the function of an operation on two tensors, either of which may be a plain number; this function must be fast."""
    name, forward = primitive.name, primitive.forward
    first_has_rule, second_has_rule = 0 in primitive.differentiable_args, 1 in primitive.differentiable_args
    is_crossed, saves = nodes.is_crossed, bool(nodes.names)

    def function(input: Argument, other: Argument) -> Any:
        # Get the arrays or numbers ``a`` and ``b`` of the operands, in a common type.
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
        # Record a node if an operand requires grad.
        needs_first = first_has_rule and type(input) is Tensor and input._requires_grad
        needs_second = second_has_rule and type(other) is Tensor and other._requires_grad
        if (needs_first or needs_second) and is_recording():
            node = _new(nodes.node_type or nodes.create_type())
            edges = (
                (input._edge or leaf_edge(input)) if needs_first else None,
                (other._edge or leaf_edge(other)) if needs_second else None,
            )
            if is_crossed:  # as in a product: the rule of each operand needs the other
                node._saved = (other if needs_first else None, input if needs_second else None)
            else:
                node._saved = nodes.saved(edges, (input, other), data) if saves else ()
            return complete_node(node, edges, data)
        return tensor_on(_in_torch_type(forward, data, (a, b), 2))

    return function


def single(primitive: Primitive, nodes: NodeFactory) -> TensorFunction:
    """Return the function of an operation on one tensor, followed by plain arguments with defaults; it may return a view."""
    name, forward, differentiable, view = primitive.name, primitive.forward, bool(primitive.differentiable_args), primitive.view
    arguments = primitive.binder()

    def function(*call: Argument, **kwargs: Argument) -> Any:
        # As in ``unary``; the result may also be a view, which shares the memory of the argument.
        args = arguments(call, kwargs)
        x = args[0]
        if type(x) is not Tensor:
            if isinstance(x, Tensor):
                return dispatch(function, args)
            try:
                if type(x) in PLAIN:
                    return forward(*args)
            except UNFIT:
                pass
            return on_arrays(primitive, args)
        values = shared_array(x) if view else x._data
        try:
            data = forward(values, *args[1:])
        except UNFIT as error:
            raise mismatch(name, error, [values]) from None
        recording = is_recording()
        recorded = differentiable and x._requires_grad and recording
        if not view:
            return nodes.record(args, data) if recorded else tensor_on(_in_torch_type(forward, data, (values, *args[1:]), 1))
        if recorded and inference_used[0] and is_inference(x):
            recorded = False  # a view of an inference tensor is one too, see ``view_of``
        result = nodes.record(args, data) if recorded else tensor_on(data)
        return view_of(result, x, function, args[1:], "" if recording else created_now()) if shares_memory(data, values) else result

    return function


def general(primitive: Primitive, nodes: NodeFactory) -> TensorFunction:
    """Return the function of an operation on several tensors, with tensor arguments first, then plain arguments with defaults."""
    name, forward, arity, differentiable = primitive.name, primitive.forward, primitive.arity, primitive.differentiable_args
    arguments = primitive.binder()

    def function(*call: Argument, **kwargs: Argument) -> Any:
        # As in ``unary``; ``raw`` are the arguments with the arrays of the tensors among them.
        args = arguments(call, kwargs)
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
        raw[:arity] = in_common_type(raw[:arity], differentiable)
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


def shares_memory(data: Array, source: Array) -> bool:
    """Return whether an array is a view of the memory of another array, or the same array."""
    return data is source or (data.base is not None and data.base is (source if source.base is None else source.base))


def sequence_function(primitive: Primitive, node: str) -> TensorFunction:
    """Return the function of an operation on a sequence of tensors; ``node`` is PyTorch's name of the backward node."""
    name, forward, arguments = primitive.name, primitive.forward, primitive.binder()
    slots = tuple((slot, NO_EDGE) for slot in ("shapes", *primitive.parameters[1:]))
    attributes = {
        "__slots__": (),
        "vjps": tuple(primitive.vjps.values()),
        "primitive": primitive,
        "saved_slots": slots,
        "frees": False,
    }
    node_type: Any = type(node, (SequenceNode,), attributes)

    def function(*args: Argument, **kwargs: Argument) -> Any:
        # As in ``unary``, for the tensors of the sequence; the node saves their shapes.
        if args and not isinstance(args[0], (list, tuple)):
            # Accept stack(x, y), as in the language, in addition to PyTorch's stack([x, y]).
            count = sum(isinstance(a, (Tensor, np.ndarray, np.generic, float)) for a in args)
            args = (list(args[:count]), *args[count:])
        tensors, *rest = arguments(args, kwargs)
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
        return complete_node(result, edges, data)

    return function
