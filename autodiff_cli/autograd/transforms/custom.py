"""Custom functions inside ``vmap``: ``Function.vmap`` and ``Function.generate_vmap_rule``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from autodiff_cli.autograd.active_batches import active_batches, running
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.autograd.transforms.batched import Batch
from autodiff_cli.autograd.transforms.pytrees import Tree, broadcast, leaves, mapped, rebuilt, structure
from autodiff_cli.autograd.transforms.vmap import with_dimension_moved
from autodiff_cli.errors import GraphError

if TYPE_CHECKING:
    from autodiff_cli.autograd.function import Function


class VmapInfo(NamedTuple):
    """What ``Function.vmap`` receives about the batch.

    Attributes:
        batch_size: the number of examples.
        randomness: always ``error``, as for ``vmap``.
    """

    batch_size: int
    randomness: str = "error"


def apply(batch: Batch, function: type[Function], args: Sequence[Tree], kwargs: Mapping[str, Tree]) -> Tree:
    """Return the result of a custom function for all examples.

    Raises:
        GraphError: if the function has neither a ``vmap`` method nor ``generate_vmap_rule``, or both; if its ``vmap`` does not
            return a pair of the output and the dimensions of the examples in it.
    """
    name = function.__name__
    if function.generate_vmap_rule:
        if function.has_vmap():
            raise GraphError(
                f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. "
                "Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
            )
        return batch.loop(function.apply, args, dict(kwargs))
    if not function.has_vmap():
        raise GraphError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True.",
            hint=f"set generate_vmap_rule = True in {name}; it is then called for one example after the other",
        )
    in_dims = mapped(lambda value: 0 if batch.holds(value) else None, tuple(args))
    with running(*active_batches()[: batch.depth - 1]):  # the outer batches: ``vmap`` receives physical tensors
        result = function.vmap(VmapInfo(batch.size), in_dims, *mapped(batch.physical, tuple(args)), **kwargs)
        return _wrapped(batch, result)


def _wrapped(batch: Batch, result: Tree) -> Tree:
    """Return the outputs of ``Function.vmap`` as batched tensors; one with the dimension ``None`` is returned unchanged."""
    if not isinstance(result, tuple) or len(result) != 2:
        got = f"{len(result)} returns" if isinstance(result, tuple) else f"a {type(result)}"
        raise GraphError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the "
            f"output. Got {got} instead"
        )
    output, out_dims = result
    dims = broadcast(out_dims, output)
    if dims is None:
        raise GraphError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure {structure(out_dims)} "
            f"but output has structure {structure(output)}."
        )
    values = [
        batch.wrap(with_dimension_moved(value, dim, 0)) if isinstance(value, Tensor) and dim is not None else value
        for value, dim in zip(leaves(output), dims, strict=True)
    ]
    return rebuilt(output, values)
