"""``vmap``: a function of one example becomes a function of a batch of examples."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from autodiff_cli.autograd.active_batches import active_batches, running
from autodiff_cli.autograd.primitives.interface_kinds import FUNCTION, checks
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.autograd.transforms.batched import Batch
from autodiff_cli.autograd.transforms.pytrees import Tree, broadcast, leaves, rebuilt, structure
from autodiff_cli.errors import ArgumentError

Dims = int | Tree | None
"""A dimension, or a tree of dimensions; ``None`` for an argument or a result without a batch."""


@checks(func=FUNCTION)
def vmap(
    func: Callable[..., Any], in_dims: Dims = 0, out_dims: Dims = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return a function that applies ``func`` to every example of a batch at once.

    Args:
        func: a function of tensors of one example, or of tuples, lists and dictionaries of tensors.
        in_dims: the dimension of the examples in each argument, ``None`` for an argument that all examples share; one number for
            all arguments, or a tuple with the structure of the arguments.
        out_dims: the dimension of the examples in each result.
        randomness: ``error``: random functions are refused.
        chunk_size: accepted for compatibility with PyTorch; all examples are computed at once.

    Raises:
        ArgumentError: if ``randomness`` is another mode of PyTorch.
    """
    if randomness != "error":
        raise ArgumentError(
            f"vmap: the randomness must be 'error', not {randomness!r}",
            hint="draw the numbers before, and pass them as an argument of the function",
        )

    @functools.wraps(func)
    def mapped_function(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(func, out_dims)
        size, values, dims = _examples(func, in_dims, args)
        batch = Batch(size)
        with running(*active_batches(), batch):
            inputs = [v if d is None else batch.wrap(with_dimension_moved(v, d, 0)) for v, d in zip(values, dims, strict=True)]
            output = func(*rebuilt(args, inputs), **kwargs)
        return _unwrapped(func, batch, output, out_dims)

    return mapped_function


def with_dimension_moved(x: Tensor, source: int, target: int) -> Tensor:
    """Return a tensor with its dimension ``source`` at the position ``target``, itself if it is there already."""
    return x if source == target else x.movedim(source, target)


def name_of(func: Callable[..., Any]) -> str:
    """Return the name of a function for messages, its text if it does not have a name."""
    if hasattr(func, "__name__"):
        return func.__name__
    return f"functools.partial({name_of(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def _examples(func: Callable[..., Any], in_dims: Dims, args: tuple[Any, ...]) -> tuple[int, list[Any], list[int | None]]:
    """Return the number of examples, the leaves of the arguments, and their dimensions of the examples, ``None`` if shared."""
    name = name_of(func)
    _check_arguments(name, in_dims, args)
    values = leaves(args)
    prefix = broadcast(in_dims, args)  # one dimension for each leaf
    beginning = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if prefix is None:
        raise ArgumentError(
            f"{beginning}in_dims is not compatible with the structure of `inputs`. in_dims has structure {structure(in_dims)} "
            f"but inputs has structure {structure(args)}."
        )
    dims = [None if dim is None else _example_dimension(value, dim, beginning) for value, dim in zip(values, prefix, strict=True)]
    sizes = [value.shape[dim] for value, dim in zip(values, dims, strict=True) if dim is not None]
    if not sizes:
        raise ArgumentError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ArgumentError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
        )
    return sizes[0], values, dims


def _check_arguments(name: str, in_dims: Dims, args: tuple[Any, ...]) -> None:
    """Raise ArgumentError if the function ``name`` gets no arguments, or ``in_dims`` is neither a number nor a tuple."""
    if not isinstance(in_dims, (int, tuple)):
        raise ArgumentError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple "
            f"matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ArgumentError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
            "with no inputs. The latter is unsupported."
        )


def _example_dimension(value: Any, dim: Any, beginning: str) -> int:
    """Return the dimension of the examples in an input, counted from the front; ``beginning`` is that of the error's message."""
    if not isinstance(dim, int):
        raise ArgumentError(f"{beginning}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
    if not isinstance(value, Tensor):
        raise ArgumentError(
            f"{beginning}Got in_dim={dim} for an input but the input is of type {type(value)}. We cannot vmap over non-Tensor "
            "arguments, please use None as the respective in_dim"
        )
    ndim = len(value.shape)
    if not -ndim <= dim < ndim:
        raise ArgumentError(
            f"{beginning}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {ndim} so expected "
            f"in_dim to satisfy -{ndim} <= in_dim < {ndim}."
        )
    return dim % ndim


def _check_out_dims(func: Callable[..., Any], out_dims: Dims) -> None:
    """Raise ArgumentError unless each dimension of the results is a whole number or ``None``."""
    for dim in leaves(out_dims):
        if dim is not None and not isinstance(dim, int):
            raise ArgumentError(
                f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
                "representing where in the outputs the vmapped dimension should appear."
            )


def _unwrapped(func: Callable[..., Any], batch: Batch, output: Tree, out_dims: Dims) -> Tree:
    """Return the results for all examples, with the examples along ``out_dims``; ``(dim,)`` may stand for ``dim`` of one tensor."""
    name = name_of(func)
    if isinstance(output, Tensor):
        dim = out_dims[0] if isinstance(out_dims, tuple) and len(out_dims) == 1 else out_dims
        dims = None if isinstance(dim, (tuple, list, dict)) else [dim]
    else:
        dims = broadcast(out_dims, output)
    if dims is None:
        raise ArgumentError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. "
            f"out_dims has structure {structure(out_dims)} but outputs has structure {structure(output)}."
        )
    return rebuilt(output, [_result(name, batch, v, d) for v, d in zip(leaves(output), dims, strict=True)])


def _result(name: str, batch: Batch, value: Any, dim: int | None) -> Any:
    """Return one result for all examples, with the examples along ``dim``; ``None`` for a result that they share."""
    if dim is None:
        if isinstance(value, Tensor) and batch.holds(value):
            raise ArgumentError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return value
    if not isinstance(value, Tensor):
        raise ArgumentError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set out_dims= to None "
            "for output?"
        )
    return with_dimension_moved(batch.lift(value), 0, dim)
