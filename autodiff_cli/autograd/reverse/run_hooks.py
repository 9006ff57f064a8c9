"""The hooks of a backward pass: they are called with tensors, and their results are checked.

As in PyTorch, the hooks of the tensors run first, then the gradients of tensors that retain them are stored, then the prehooks
of the node run, the node, and its posthooks.  All run in the grad mode of the pass, which is ``create_graph``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autodiff_cli.autograd.hooks import Hook, NodeHooks
from autodiff_cli.autograd.node import Cotangent, Node
from autodiff_cli.autograd.reverse.accumulate import as_tensor, retain
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import DtypeError, GraphError, ShapeError, type_name

Cotangents = Sequence[Cotangent | None]


def run_tensor_hooks(node: Node, hooks: NodeHooks, cotangent: Cotangent | None, create_graph: bool) -> Cotangent | None:
    """Run the hooks on the outputs of a node, store the retained gradients, and return the new cotangent."""
    grads = list(_output_cotangents(node, cotangent))
    for output, registered in hooks.tensor.items():
        for hook in list(registered.values()):
            result = hook(_tensor_or_none(grads[output]))
            grads[output] = _checked_replacement(hook, grads[output], result, create_graph)
    for output, reference in hooks.retaining.items():
        tensor = reference()
        if tensor is not None and grads[output] is not None:
            retain(tensor, grads[output])
    return _node_cotangent(node, grads)


def run_prehooks(node: Node, hooks: NodeHooks, cotangent: Cotangent | None, create_graph: bool) -> Cotangent | None:
    """Run the prehooks of a node, and return the new cotangent."""
    grads: Cotangents = _output_cotangents(node, cotangent)
    for hook in list(hooks.before.values()):
        grads = _checked_replacements(hook, grads, hook(tuple(map(_tensor_or_none, grads))), create_graph)
    return _node_cotangent(node, grads)


def run_posthooks(node: Node, parts: Cotangents, cotangent: Cotangent | None, create_graph: bool) -> Cotangents:
    """Run the posthooks of a node, and return the new contributions in place of ``parts``; ``cotangent`` is that of its output."""
    assert node._hooks is not None
    outputs = tuple(map(_tensor_or_none, _output_cotangents(node, cotangent)))
    for hook in list(node._hooks.after.values()):
        parts = _checked_replacements(hook, parts, hook(tuple(map(_tensor_or_none, parts)), outputs), create_graph)
    return parts


def run_leaf_hooks(leaf: Tensor, gradient: Cotangent | None, create_graph: bool) -> Cotangent | None:
    """Run the hooks on the gradient of a leaf, and return the new gradient."""
    for hook in list((leaf.extra().hooks or {}).values()):
        gradient = _checked_replacement(hook, gradient, hook(_tensor_or_none(gradient)), create_graph)
    return gradient


def run_accumulated_hooks(leaf: Tensor) -> None:
    """Run the hooks that follow the accumulation of the gradient of a leaf; raise an error if one returns another value."""
    for hook in list((leaf.extra().after or {}).values()):
        result = hook(leaf)
        if result is None or result is leaf:
            continue
        if isinstance(result, Tensor):
            raise GraphError("Tensor post accumulate grad hooks should return None.")
        raise DtypeError(f"expected Variable, but hook returned '{type_name(result)}'", hint="return None from the hook")


def _output_cotangents(node: Node, cotangent: Cotangent | None) -> list[Cotangent | None]:
    """Return the cotangent of each output of a node, which for one output is not in a list; ``None``: no output has one."""
    if node._outputs == 1:
        return [cotangent]
    return [None] * node._outputs if cotangent is None else cotangent


def _node_cotangent(node: Node, grads: Cotangents) -> Cotangent | None:
    """Return the cotangents of the outputs in the form of the backward pass; the inverse of ``_output_cotangents``."""
    if node._outputs == 1:
        return grads[0]
    return None if all(grad is None for grad in grads) else list(grads)


def _tensor_or_none(cotangent: Cotangent | None) -> Tensor | None:
    """Return a cotangent as hooks see it: a tensor, or ``None`` for an undefined gradient."""
    return None if cotangent is None else as_tensor(cotangent)


def _checked_replacement(hook: Hook, before: Cotangent | None, result: Any, create_graph: bool) -> Cotangent | None:
    """Return the ``result`` of a hook after checks, an array without ``create_graph``; ``before`` if it is ``None``."""
    if result is None:
        return before
    if not isinstance(result, Tensor):
        raise DtypeError(f"expected Variable, but hook returned '{type_name(result)}'", hint="return a tensor, or None")
    if before is None:
        raise GraphError("can't replace a None gradient with a non-None value")
    if result.shape != before.shape:
        raise ShapeError(
            f"hook '{_hook_name(hook)}' has changed the size of value",
            hint=f"return a gradient of shape {list(before.shape)}, not {list(result.shape)}",
        )
    was, got = as_tensor(before).dtype, result.dtype
    if was is not got:
        raise DtypeError(
            f"hook '{_hook_name(hook)}' has changed the type of value (was torch.{was.scalar_name}Tensor got "
            f"torch.{got.scalar_name}Tensor)"
        )
    return result if create_graph else result._data


def _checked_replacements(hook: Hook, before: Cotangents, result: Any, create_graph: bool) -> Cotangents:
    """Return what a hook that may return a tuple makes of cotangents; in the tuple, ``None`` makes a gradient undefined."""
    if result is None:
        return before
    if not isinstance(result, tuple):
        raise DtypeError(f"expected tuple, but hook returned '{type_name(result)}'", hint="return a tuple, or None")
    if len(result) != len(before):
        raise GraphError(
            f"hook '{_hook_name(hook)}' has returned an incorrect number of values (got {len(result)}, but expected {len(before)})"
        )
    pairs = zip(before, result, strict=True)
    return [None if after is None else _checked_replacement(hook, old, after, create_graph) for old, after in pairs]


def _hook_name(hook: Hook) -> str:
    return getattr(hook, "__name__", "<unknown>")
