"""Determinants of matrices in batches, their logarithms and cofactors."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.types import Shape, Value, array_of
from autodiff_cli.numerics.matrices import check_matrix, converged

_MOST_CONDITION = 1e5
_FEW = 4
"""Up to this number of rows, the cofactors are the determinants of the minors: small ones beside large ones keep their digits."""


def others(n: int) -> tuple[Any, Any, Any]:
    """Return the rows and columns of all minors of an n by n matrix, and their signs."""
    left = np.array([[k for k in range(n) if k != i] for i in range(n)], np.int64).reshape(n, n - 1)
    places = np.arange(n)
    return left[:, None, :, None], left[None, :, None, :], (-1.0) ** (places[:, None] + places)


def matrix_count(shape: Shape) -> int:
    return int(np.prod(shape[:-2], dtype=np.int64))


def minor_key(n: int, count: int) -> tuple[Any, ...]:
    """Return the NumPy index of the elements of all minors of a number of matrices."""
    rows, columns, _ = others(n)
    return np.arange(count).reshape(-1, 1, 1, 1, 1), rows, columns


def minor_shape(shape: Shape) -> Shape:
    n = shape[-1]
    return (*shape[:-2], n, n, n - 1, n - 1)


def minor_signs(x: Value) -> Any:
    return others(x.shape[-1])[2].astype(x.dtype)


def is_sound(x: Value) -> bool:
    """Return whether all matrices of a batch are finite and well conditioned."""
    data = array_of(x)
    if not np.all(np.isfinite(data)):
        return False
    sizes = converged("linalg.det", np.linalg.svdvals, data)
    return bool(np.all(sizes[..., -1:] * _MOST_CONDITION > sizes[..., :1])) if sizes.size else True


def uses_inverse(x: Value) -> bool:
    """Return whether the cofactors are those of the inverse, not of the minors or of a decomposition."""
    return x.shape[-1] > _FEW and is_sound(x)


def cofactors(x: Array) -> Any:
    n = x.shape[-1]
    if n == 0:
        return x
    if n <= _FEW:  # the rounding error of a minor is relative to this minor; that of the decomposition, to the largest one
        rows, columns, signs = others(n)
        minors = x[..., rows, columns]
        return nan_kept(x, signs.astype(x.dtype) * (minors[..., 0, 0] if n == 2 else np.linalg.det(minors)))
    finite = np.all(np.isfinite(x), (-2, -1))[..., None, None]
    u, sizes, vh = converged("linalg.det", np.linalg.svd, np.where(finite, x, 0))
    products = np.ones_like(sizes)
    for i in range(n):
        products[..., i] = np.prod(np.delete(sizes, i, -1), -1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return np.where(finite, sign[..., None, None] * ((u * products[..., None, :]) @ vh), x.dtype.type(np.nan))


def nan_kept(x: Array, found: Array) -> Any:
    """Set the results of matrices that contain nan to nan.

    Elimination may stop at a zero pivot before it reaches the nan.
    """
    if not np.isnan(np.add.reduce(x, None)):  # one sum over all matrices is faster than a test of each
        return found
    lost = np.any(np.isnan(x), (-2, -1), keepdims=np.ndim(found) == x.ndim)
    return np.where(lost, x.dtype.type(np.nan), found)[()]


def det(x: Array) -> Any:
    check_matrix("linalg.det", x)
    with np.errstate(all="ignore"):
        return nan_kept(x, np.linalg.det(x))


def slogdet(x: Array) -> Any:
    check_matrix("linalg.slogdet", x)
    with np.errstate(all="ignore"):
        return tuple(nan_kept(x, part)[()] for part in np.linalg.slogdet(x))
