"""Random tensors, samples of distributions, and in-place methods that draw the elements of a tensor.

As in PyTorch, the numbers do not depend on the parameters of their distribution for differentiation: the derivative of
``normal(mean, std)`` with respect to ``mean`` is 0.  For derivatives with respect to parameters, write ``mean + std*randn(n)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from autodiff_cli.autograd.active_batches import draws
from autodiff_cli.autograd.dtypes import Array, DType, DTypeLike, as_dtype, default_type
from autodiff_cli.autograd.primitives.argument_kinds import NUMBER, TENSOR, WHOLE
from autodiff_cli.autograd.primitives.interface_kinds import checks
from autodiff_cli.autograd.primitives.types import Number, Shape, Value, Wholes, array_of
from autodiff_cli.autograd.tensor import Tensor, add_methods
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError
from autodiff_cli.ops.creation import Options, leaf_of, shape_of
from autodiff_cli.ops.generators import Generator, drawing
from autodiff_cli.ops.inplace import change
from autodiff_cli.ops.rules import random_numbers as rules
from autodiff_cli.ops.shape import broadcast_shape

__all__ = [
    "bernoulli", "normal", "rand", "rand_like", "randint", "randn", "randn_like", "randperm",
]  # fmt: skip


def _floating_dtype(name: str, dtype: DTypeLike | None) -> DType:
    """Return the type of random floats after a check; ``name`` is that of PyTorch's kernel in the message."""
    result = default_type() if dtype is None else as_dtype(dtype)
    if result.kind != "f":
        raise DtypeError(f'"{name}" not implemented for {result}', hint="use float64 or float32")
    return result


class RandomOptions(Options, total=False):
    """The keywords of a function that creates a tensor of random numbers."""

    generator: Generator | None


def _sample(name: str, draw: Callable[[np.random.Generator], Any], options: RandomOptions, whole: bool = False) -> Tensor:
    """Return the numbers that ``draw`` returns for a generator as a new leaf; ``whole`` ones have int64 by default, or any type."""
    random, dtype = drawing(name, options.pop("generator", None)), options.get("dtype")
    kind = as_dtype("int64" if dtype is None else dtype) if whole else _floating_dtype(name, dtype)
    return leaf_of(name, np.asarray(draw(random)).astype(kind), options)


@draws
def rand(*lengths: Wholes, size: Wholes | None = None, **options: Unpack[RandomOptions]) -> Tensor:
    """Return uniform random numbers from 0 to 1, which are the same in every run unless ``manual_seed`` sets another seed."""
    shape = shape_of("rand", lengths if size is None else (size,))
    return _sample("rand", lambda random: random.random(shape), options)


@draws
def randn(*lengths: Wholes, size: Wholes | None = None, **options: Unpack[RandomOptions]) -> Tensor:
    """Return random numbers from the standard normal distribution; see ``rand`` for the seed."""
    shape = shape_of("randn", lengths if size is None else (size,))
    return _sample("randn", lambda random: random.standard_normal(shape), options)


@draws
def randint(low: int, high: int | Wholes | None = None, size: Wholes | None = None, **options: Unpack[RandomOptions]) -> Tensor:
    """Return random whole numbers from ``low`` to ``high - 1``; ``randint(high, size)`` starts at 0.

    Raises:
        ArgumentError: if the range does not contain a number, or the size is missing.
    """
    if size is None and isinstance(high, (list, tuple)):
        low, high, size = 0, low, high
    if size is None or high is None or isinstance(high, (list, tuple)):
        raise ArgumentError(
            "randint takes high and a size, or low, high and a size", hint="for three numbers from 0 to 9: randint(10, (3,))"
        )
    shape = shape_of("randint", (size,))
    first, last = WHOLE(low, "randint", "low"), WHOLE(high, "randint", "high")
    if first >= last:
        raise GraphError(f"random_ expects 'from' to be less than 'to', but got from={first} >= to={last}")
    return _sample("randint", lambda random: random.integers(first, last, shape), options, whole=True)


@draws
def randperm(n: int, **options: Unpack[RandomOptions]) -> Tensor:
    """Return the whole numbers from 0 to ``n - 1`` in random order."""
    (count,) = shape_of("randperm", (n,))
    return _sample("randperm", lambda random: random.permutation(count), options, whole=True)


def _like_tensor(draw: Callable[..., Tensor], described: str) -> Callable[..., Tensor]:
    """Return the function that calls ``draw`` with the shape and type of a tensor; its docstring calls the result ``described``."""

    def like(x: Tensor, **options: Unpack[RandomOptions]) -> Tensor:
        options["dtype"] = x._data.dtype if options.get("dtype") is None else options["dtype"]
        return draw(tuple(x.shape), **options)

    like.__name__ = like.__qualname__ = f"{draw.__name__}_like"
    like.__doc__ = f"Return {described} with the shape and the type of ``x``."
    return draws(like)


rand_like = _like_tensor(rand, "uniform random numbers from 0 to 1")
randn_like = _like_tensor(randn, "random numbers from the standard normal distribution")


@draws
def normal(mean: Value | Number, std: Value | Number = 1.0, size: Wholes | None = None, **options: Unpack[RandomOptions]) -> Tensor:
    """Return normally distributed random numbers; ``mean`` and ``std`` are tensors, or numbers with a ``size``.

    The derivatives with respect to tensors are 0, as in PyTorch.

    Raises:
        ArgumentError: if both are numbers and ``size`` is missing.
        GraphError: if ``std`` is negative.
    """
    with_mean, with_std = isinstance(mean, Tensor), isinstance(std, Tensor)
    if not with_mean and not with_std:
        if size is None:
            raise ArgumentError("normal takes two numbers and a size, or tensors", hint="for three numbers: normal(0, 1, (3,))")
        centre, deviation = NUMBER(mean, "normal", "mean"), _checked_deviation(NUMBER(std, "normal", "std"))
        shape = shape_of("normal", (size,))
        return _sample("normal", lambda random: np.asarray(random.standard_normal(shape)) * deviation + centre, options)
    means, deviations = array_of(TENSOR(mean, "normal", "mean")), array_of(TENSOR(std, "normal", "std"))
    for each in (mean, std):
        if isinstance(each, Tensor):
            _floating_dtype("normal_kernel_cpu", each._data.dtype)
    if np.any(deviations < 0):
        raise GraphError(
            "normal expects all elements of std >= 0.0" if with_std else f"normal expects std >= 0.0, but found std {std}"
        )
    shape, random = broadcast_shape("normal", np.shape(means), np.shape(deviations)), drawing("normal", options.get("generator"))
    kind = np.result_type(*[each._data.dtype for each in (mean, std) if isinstance(each, Tensor)])
    values = np.asarray(random.standard_normal(shape) * deviations + means).astype(kind)[()]
    if with_mean and with_std:
        return rules.normal_of_both(mean, std, values)  # type: ignore[no-any-return]
    return rules.normal_of_mean(mean, values) if with_mean else rules.normal_of_std(std, values)  # type: ignore[no-any-return]


def _checked_deviation(std: Number) -> Number:
    if std < 0:
        raise GraphError(f"normal expects std >= 0.0, but found std {std}")
    return std


def _checked_probabilities(p: Array) -> Array:
    """Return probabilities unchanged if all are from 0 to 1."""
    if not np.all((p >= 0) & (p <= 1)):
        raise GraphError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.", hint="give probabilities from 0 to 1")
    return p


@draws
def bernoulli(x: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """Return 1 with the probability that an element of ``x`` gives, else 0; with ``p``, ``x`` gives the shape only."""
    random = drawing("bernoulli", generator)
    kind = x._data.dtype
    if p is None:
        _floating_dtype("bernoulli_tensor_cpu_p_", kind)
    chances = _checked_probabilities(np.asarray(x._data if p is None else float(p)))
    values = np.asarray(random.random(tuple(x.shape)) < chances).astype(kind)[()]
    return rules.bernoulli_of(x, values)  # type: ignore[no-any-return]


def _draw_in_place(
    self: Tensor, name: str, draw: Callable[[np.random.Generator, Shape], Any], generator: Generator | None, whole: bool = False
) -> Tensor:
    """Replace the elements by those that ``draw`` returns for a generator and a shape; ``whole`` ones fit tensors of any type."""
    kind = self._data.dtype
    if not whole:
        _floating_dtype(name, kind)
    random, drawn = drawing(name, generator), getattr(rules, f"{name}values")  # such as ``uniform_values`` of ``uniform_``
    return change(self, lambda old: drawn(old, np.asarray(draw(random, tuple(old.shape))).astype(kind)[()]))


@checks(a=NUMBER, b=NUMBER)
def uniform_(self: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Draw all elements from the uniform distribution from ``a`` to ``b``, in place."""
    if a > b:
        raise GraphError(f"uniform_ expects to return a [from, to) range, but found from={a} > to={b}")
    return _draw_in_place(self, "uniform_", lambda random, shape: random.random(shape) * (b - a) + a, generator)


@checks(mean=NUMBER, std=NUMBER)
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Draw all elements from a normal distribution, in place."""
    _checked_deviation(std)
    return _draw_in_place(self, "normal_", lambda random, shape: random.standard_normal(shape) * std + mean, generator)


def bernoulli_(self: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Set each element to 1 with probability ``p``, else to 0, in place."""
    if isinstance(p, Tensor):
        random, chances = drawing("bernoulli_", generator), _checked_probabilities(np.asarray(p._data))
        values = np.asarray(random.random(tuple(self.shape)) < chances).astype(self._data.dtype)[()]
        return change(self, lambda old: rules.bernoulli_with(old, p, values))
    if not 0 <= p <= 1:
        raise GraphError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return _draw_in_place(self, "bernoulli_", lambda random, shape: random.random(shape) < p, generator, whole=True)


_METHODS: tuple[Any, ...] = (uniform_, normal_, bernoulli_)
add_methods(**{_method.__name__: _method for _method in (*map(draws, _METHODS), bernoulli)})
