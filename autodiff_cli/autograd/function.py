"""Functions with a custom VJP: PyTorch's ``torch.autograd.Function``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from autodiff_cli.autograd.custom.node import PYTORCH, FunctionNode, Output
from autodiff_cli.autograd.custom.outputs import Outputs
from autodiff_cli.autograd.modes import is_recording, no_grad
from autodiff_cli.autograd.node import Cotangent, leaf_edge
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import outermost
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError


class Function:
    """A function with a custom VJP.

    Subclasses define the static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``; users call ``apply``.
    Alternatively, ``forward(*args)`` does not take ``ctx``, and ``setup_context(ctx, inputs, output)`` saves the values for
    ``backward``.  The method ``backward`` may also be named ``vjp``.
    """

    _backward_cls: type[FunctionNode] | None = None
    """The class of the nodes, which the first call of ``apply`` creates; PyTorch's name."""

    generate_vmap_rule: ClassVar[bool] = False
    """Whether ``vmap`` calls the function for one example after the other, instead of its method ``vmap``."""

    @staticmethod
    def forward(ctx: FunctionNode, *args: Any, **kwargs: Any) -> Any:
        """Compute the result; the operations are not recorded."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: FunctionNode, inputs: tuple[Any, ...], output: Output | tuple[Output, ...]) -> Any:
        """Save the values for ``backward``, if ``forward`` does not take ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: FunctionNode, *grads: Any) -> Any:
        """Return one gradient for each argument of ``forward``, or ``None`` for an argument without a gradient."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: FunctionNode, *tangents: Any) -> Any:
        """Return the tangent of each result, for the tangent of each argument of ``forward``; it is called in forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """Return the outputs for all examples of a batch, and the dimension of the examples in each of them.

        Args:
            info: the number of examples, ``info.batch_size``.
            in_dims: for each argument of ``forward``, the dimension of the examples; ``None`` without examples.
            args: the arguments of ``forward`` for all examples.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def has_vmap(cls) -> bool:
        """Return whether the function has a method ``vmap`` of its own."""
        return cls.vmap is not Function.vmap

    @classmethod
    def _backward(cls) -> Callable[..., Any]:
        """Return the VJP rule, the method ``backward`` or ``vjp``."""
        if cls.backward is not Function.backward and cls.vjp is not Function.vjp:
            raise GraphError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
                "them."
            )
        return cls.vjp if cls.backward is Function.backward else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward``, and record a node whose class is named after the function, such as ``CubeBackward`` for ``Cube``."""
        args, kwargs = _in_order(cls, args, kwargs)
        transformed = outermost((args,))
        if transformed is not None and hasattr(transformed, "applied_custom"):
            return transformed.applied_custom(cls, args, kwargs)
        result, node = cls.run(args, kwargs)
        node._dirty = node._constant = ()  # an output must not be part of a reference cycle through its node
        return result

    @classmethod
    def run(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, FunctionNode]:
        """Run ``forward`` with ordinary tensors in the order of its parameters; return the result and the node (``ctx``)."""
        if "_backward_cls" not in cls.__dict__:
            cls._backward_cls = type(f"{cls.__name__}Backward", (FunctionNode,), {"__slots__": (), "__module__": PYTORCH})
        assert cls._backward_cls is not None
        node = cls._backward_cls(cls)
        without_ctx = _without_ctx(cls)
        node._takes_tensors = tuple(isinstance(a, Tensor) for a in args)
        needs = tuple(isinstance(a, Tensor) and a._requires_grad for a in args)
        node.needs_input_grad = needs
        recording = any(needs) and bool(is_recording())
        node._edges = tuple((a._edge or leaf_edge(a)) if need and recording else None for a, need in zip(args, needs, strict=True))
        with no_grad():
            if without_ctx:
                result = cls.forward(*args, **kwargs)
                cls.setup_context(node, args, result)
            else:
                result = cls.forward(node, *args, **kwargs)
        several = isinstance(result, tuple)
        outputs = Outputs(node, args, list(result) if several else [result], recording, without_ctx).completed()
        return tuple(outputs) if several else outputs[0], node


def _without_ctx(function: type[Function]) -> bool:
    """Return whether ``forward`` does not take ``ctx``."""
    return function.setup_context is not Function.setup_context


def _in_order(function: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call in the order of the parameters of ``forward``, with defaults filled in.

    The arguments are unchanged if ``forward`` has keyword-only parameters or a ``**kwargs`` parameter."""
    forward = function.forward
    if not kwargs and getattr(forward, "__defaults__", None) is None:
        return args, kwargs
    signature = inspect.signature(forward)
    if any(p.kind in (p.VAR_KEYWORD, p.KEYWORD_ONLY) for p in signature.parameters.values()):
        return args, kwargs
    first = () if _without_ctx(function) else (None,)  # in place of ``ctx``
    bound = signature.bind(*first, *args, **kwargs)
    bound.apply_defaults()
    return bound.args[len(first) :], {}


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``backward`` method that is not differentiable, so that differentiating its result raises an error."""

    @functools.wraps(backward)
    def call(ctx: FunctionNode, *grads: Any) -> Any:
        recorded = is_recording() and any(isinstance(g, Tensor) and g._requires_grad for g in grads)
        with no_grad():
            result = backward(ctx, *grads)
        if not recorded:
            return result
        # As in PyTorch, the history of the gradients that the results were computed from ends here.
        parts = result if isinstance(result, tuple) else (result,)
        barred = [
            _differentiable_once(Tensor(part._data, requires_grad=True)) if isinstance(part, Tensor) else part for part in parts
        ]
        return tuple(barred) if isinstance(result, tuple) else barred[0]

    return call


def _refuse(g: Cotangent) -> Cotangent:
    """Raise the error of a second differentiation, as the VJP rule of the results of the first."""
    raise GraphError("trying to differentiate twice a function that was marked with @once_differentiable")


_differentiable_once = Declarations(__name__)("once_differentiable", lambda x: x, {"x": _refuse}, node="Error", public=False)
"""The same numbers, which cannot be differentiated; the name of the node is PyTorch's."""


FunctionCtx = FunctionNode
"""PyTorch's name for the type of ``ctx``."""
