"""Reductions over all elements or along dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.declare import declare
from autodiff_cli.autograd.dtypes import as_float
from autodiff_cli.autograd.op import describe
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.comparison import maximum, minimum, where
from autodiff_cli.ops.shape import dimension, expand, reshape

__all__ = ["amax", "amin", "max", "mean", "min", "sum"]

_SAMPLES = (([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 4.0]], 1), ([[1.0, 2.0], [3.0, 4.0]], 0, True))


def dimensions(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions that ``dim`` means: all for ``None``, else one or several."""
    if dim is None:
        return tuple(range(ndim))
    given = dim if isinstance(dim, (list, tuple)) else (dim,)
    chosen = tuple(dimension(d, ndim) for d in given)
    if len(set(chosen)) < len(chosen):
        raise ArgumentError(f"a dimension appears twice in {list(given)}")
    return chosen if ndim else ()


def kept_shape(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """``shape`` with length 1 along the reduced dimensions."""
    reduced = dimensions(dim, len(shape))
    return tuple(1 if i in reduced else n for i, n in enumerate(shape))


def _spread(g: Any, shape: tuple[int, ...], dim: Any) -> Any:
    """The gradient of a reduction, repeated over what was reduced."""
    return expand(reshape(g, kept_shape(shape, dim)), shape)


def _reduction(ufunc: Any) -> Any:
    return lambda x, dim, keepdim: ufunc.reduce(x, axis=dimensions(dim, x.ndim), keepdims=bool(keepdim))


def _count(shape: tuple[int, ...], dim: Any) -> int:
    return int(np.prod([shape[i] for i in dimensions(dim, len(shape))], dtype=np.int64))


_STATICS = {"dim": None, "keepdim": False}


def _mean(x: Any, dim: Any, keepdim: bool) -> Any:
    total = _reduction(np.add)(as_float(x), dim, keepdim)
    return total / _count(x.shape, dim)


def _summation(name: str, forward: Any, partial: Any, **description: Any) -> Any:
    """A reduction that PyTorch gives one node for all elements (0) and another along dimensions (1)."""
    whole, along = (
        declare(name, forward, {"x": partial}, node=f"{name.capitalize()}Backward{i}", statics=_STATICS, public=False)
        for i in (0, 1)
    )

    def function(x: Any, dim: Any = None, keepdim: Any = False) -> Any:
        return whole(x, dim, keepdim) if dim is None and not keepdim else along(x, dim, keepdim)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = description["summary"]
    return describe(function, tensors=("x",), samples=_SAMPLES, **description)


sum = _summation(
    "sum",
    _reduction(np.add),
    lambda g, x_shape, dim: _spread(g, x_shape, dim),
    summary="sum of all elements, or along dim",
    formula="1",
)
mean = _summation(
    "mean",
    _mean,
    lambda g, x_shape, dim: _spread(g, x_shape, dim) / _count(x_shape, dim),
    summary="mean of all elements, or along dim",
    formula="1/n",
)


def _share(g: Any, x: Any, out: Any, dim: Any) -> Any:
    """The gradient of an extreme value, shared evenly among the elements that reach it."""
    chosen = x == expand(reshape(out, kept_shape(x.shape, dim)), x.shape)
    return where(chosen, _spread(g, x.shape, dim) / _spread(sum(chosen, dim), x.shape, dim), 0.0)


def _shared(ufunc: Any, x: Any, dim: Any) -> Any:
    """The elements that share the extreme value with another."""
    reached = x == ufunc.reduce(x, axis=dimensions(dim, np.ndim(x)), keepdims=True)
    return reached & (np.add.reduce(reached, axis=dimensions(dim, np.ndim(x)), keepdims=True) > 1)


def _extreme(name: str, ufunc: Any, summary: str, node: str | None = None, public: bool = True) -> Any:
    description: dict[str, Any] = {
        "summary": summary,
        "formula": "1 at the extreme element, 0 elsewhere",
        "domain": "everywhere",
        "smooth": "one element is the extreme one",
        "convention": "elements that share the extreme value share the derivative evenly (PyTorch)",
        "samples": _SAMPLES,
        "edges": (([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],)),
        "kink": lambda x, dim: _shared(ufunc, x, dim),
    }
    return declare(
        name,
        _reduction(ufunc),
        {"x": lambda g, x, out, dim: _share(g, x, out, dim)},
        node=node,
        statics=_STATICS,
        public=public,
        **(description if public else {}),
    )


amax = _extreme("amax", np.maximum, "largest element, or largest along dim")
amin = _extreme("amin", np.minimum, "smallest element, or smallest along dim")
_max_of_all = _extreme("max", np.maximum, "", "MaxBackward1", public=False)
_min_of_all = _extreme("min", np.minimum, "", "MinBackward1", public=False)


def max(x: Any, y: Any = None) -> Any:
    """the largest element of x; of two arguments the larger, element by element"""
    return _max_of_all(x) if y is None else maximum(x, y)


def min(x: Any, y: Any = None) -> Any:
    """the smallest element of x; of two arguments the smaller, element by element"""
    return _min_of_all(x) if y is None else minimum(x, y)


def _ties(ufunc: Any) -> Any:
    return lambda x, y: _shared(ufunc, x, None) if y is None else x == y


for _function, _other, _ufunc in ((max, "amax", np.maximum), (min, "amin", np.minimum)):
    describe(
        _function,
        tensors=("x", "y"),
        formula="1 at the extreme element, 0 elsewhere",
        domain="everywhere",
        smooth="one element is the extreme one",
        convention=f"elements that share the extreme value share the derivative evenly (PyTorch); along a dimension: {_other}",
        kink=_ties(_ufunc),
        samples=(([1.0, -2.0, 3.0],), (1.5, -0.5)),
        edges=((1.0, 1.0), ([5.0, 1.0, 5.0],)),
    )
