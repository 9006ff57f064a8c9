"""Determinants of matrices in batches, and their logarithms.

The derivative of a determinant is the matrix of cofactors, which exists even for singular matrices.  The cofactors of small
matrices are computed from the minors.  Those of large matrices are ``det(x)*inv(x).mT`` if the matrix is well conditioned; if
not, they are computed from a singular value decomposition, and higher derivatives from the cofactors of the minors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import unindexed
from autodiff_cli.autograd.primitives.types import Shape, Value, array_of
from autodiff_cli.ops.comparison import eq, where
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.matrices import BATCH, SINGULAR, SQUARE, A, check_matrix, converged, inv, mT
from autodiff_cli.ops.shape import reshape, unsqueeze

__all__ = ["det", "logdet", "slogdet"]

declare = Declarations(__name__)

_MOST_CONDITION = 1e5
_FEW = 4
"""Up to this number of rows, the cofactors are the determinants of the minors: small ones beside large ones keep their digits."""


def _is_sound(x: Value) -> bool:
    """Return whether all matrices of a batch are finite and well conditioned."""
    data = array_of(x)
    if not np.all(np.isfinite(data)):
        return False
    sizes = converged("linalg.det", np.linalg.svdvals, data)
    return bool(np.all(sizes[..., -1:] * _MOST_CONDITION > sizes[..., :1])) if sizes.size else True


def _uses_inverse(x: Value) -> bool:
    """Return whether the cofactors are those of the inverse, not of the minors or of a decomposition."""
    return x.shape[-1] > _FEW and _is_sound(x)


def _lift(g: Value) -> Any:
    """Append two dimensions of length 1, so that one number for each matrix broadcasts against the matrices."""
    return unsqueeze(unsqueeze(g, -1), -1)


def _others(n: int) -> tuple[Any, Any, Any]:
    """Return the rows and columns of all minors of an n by n matrix, and their signs."""
    left = np.array([[k for k in range(n) if k != i] for i in range(n)], np.int64).reshape(n, n - 1)
    places = np.arange(n)
    return left[:, None, :, None], left[None, :, None, :], (-1.0) ** (places[:, None] + places)


def _minors(x: Value) -> Any:
    n = x.shape[-1]
    rows, columns, _ = _others(n)
    lead = x.shape[:-2]
    flat = reshape(x, (-1, n, n))
    every = np.arange(flat.shape[0]).reshape(-1, 1, 1, 1, 1)
    return reshape(getitem(flat, (every, rows, columns)), (*lead, n, n, n - 1, n - 1))


def _from_minors(g: Value, shape: Shape) -> Any:
    """Apply the adjoint of ``_minors``."""
    n = shape[-1]
    rows, columns, _ = _others(n)
    count = int(np.prod(shape[:-2], dtype=np.int64))
    every = np.arange(count).reshape(-1, 1, 1, 1, 1)
    return reshape(unindexed(reshape(g, (count, n, n, n - 1, n - 1)), (count, n, n), (every, rows, columns)), shape)


def _cofactor_values(x: Array) -> Any:
    n = x.shape[-1]
    if n == 0:
        return x
    if n <= _FEW:  # the rounding error of a minor is relative to this minor; that of the decomposition, to the largest one
        rows, columns, signs = _others(n)
        minors = x[..., rows, columns]
        return _nan_kept(x, signs.astype(x.dtype) * (minors[..., 0, 0] if n == 2 else np.linalg.det(minors)))
    finite = np.all(np.isfinite(x), (-2, -1))[..., None, None]
    u, sizes, vh = converged("linalg.det", np.linalg.svd, np.where(finite, x, 0))
    others = np.ones_like(sizes)
    for i in range(n):
        others[..., i] = np.prod(np.delete(sizes, i, -1), -1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return np.where(finite, sign[..., None, None] * ((u * others[..., None, :]) @ vh), x.dtype.type(np.nan))


def _cofactors_vjp(g: Value, x: Value) -> Any:
    if x.shape[-1] < 2:
        return zeros_like(g)
    signs = _others(x.shape[-1])[2].astype(x.dtype)
    minors = _minors(x)
    return _from_minors(_lift(g * signs) * cofactors(minors), x.shape)


_cofactors: TensorFunction = declare("cofactors", _cofactor_values, {"x": _cofactors_vjp}, public=False)


def cofactors(x: Value) -> Any:
    """Return the cofactors: the derivative of the determinant with respect to each element."""
    return _lift(det(x)) * mT(inv(x)) if _uses_inverse(x) else _cofactors(x)


def _nan_kept(x: Array, found: Array) -> Any:
    """Set the results of matrices that contain nan to nan.

    Elimination may stop at a zero pivot before it reaches the nan.
    """
    if not np.isnan(np.add.reduce(x, None)):  # one sum over all matrices is faster than a test of each
        return found
    lost = np.any(np.isnan(x), (-2, -1), keepdims=np.ndim(found) == x.ndim)
    return np.where(lost, x.dtype.type(np.nan), found)[()]


def _det(x: Array) -> Any:
    check_matrix("linalg.det", x)
    with np.errstate(all="ignore"):
        return _nan_kept(x, np.linalg.det(x))


det: TensorFunction = declare(
    "det",
    _det,
    {"x": lambda g, x, out: _lift(g) * (_lift(out) * mT(inv(x)) if _uses_inverse(x) else _cofactors(x))},
    node="LinalgDetBackward0",
    summary="determinant of each matrix",
    formula="the cofactors, which are det(x)*inv(x).mT where x is not singular",
    convention="derivatives of every order are exact even where x is singular",
    samples=((A,), (BATCH,), (SINGULAR,), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],)),
)


def _slogdet(x: Array) -> Any:
    check_matrix("linalg.slogdet", x)
    with np.errstate(all="ignore"):
        return tuple(_nan_kept(x, part)[()] for part in np.linalg.slogdet(x))


def _slogdet_vjp(g: list[Any], x: Value) -> Any:
    if g[1] is None:
        return zeros_like(x)
    return _lift(g[1]) * (mT(inv(x)) if _is_sound(x) else _cofactors(x) / _lift(det(x)))


slogdet: TensorFunction = declare.several(
    "slogdet",
    _slogdet,
    _slogdet_vjp,
    results=("sign", "logabsdet"),
    constant=("sign",),
    node="LinalgSlogdetBackward0",
    summary="sign of the determinant, and logarithm of its absolute value without overflow",
    formula="inv(x).mT",
    convention="for a singular matrix the logarithm is -inf and its derivative is infinite; PyTorch gives other signs",
    edges=((SINGULAR,),),
    **SQUARE,
)


def logdet(x: Value) -> Any:
    """Logarithm of the determinant without overflow."""
    sign, logarithm = slogdet(x)
    return where(eq(sign, -1.0), np.nan, logarithm)


describe(
    logdet,
    formula="inv(x).mT",
    domain="det(x) > 0",
    convention="where the determinant is negative, the value is nan and the derivative is 0 (PyTorch)",
    samples=((A,), (BATCH,)),
    edges=(([[1.0, 2.0], [3.0, 4.0]],),),
)
