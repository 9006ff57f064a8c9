"""Eigenvalues, singular values, orthogonal factors and ranks of matrices in batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.errors import ArgumentError, ShapeError
from autodiff_cli.limits import check_size
from autodiff_cli.numerics.matrices import check_matrix, converged, symmetric


def eigh(x: Array) -> Any:
    check_matrix("linalg.eigh", x)
    return converged("linalg.eigh", np.linalg.eigh, symmetric(x))


def svd(x: Array, full_matrices: bool) -> Any:
    check_matrix("linalg.svd", x, square=False)
    if full_matrices:
        for length in x.shape[-2:]:
            check_size((*x.shape[:-2], length, length))
    return converged("linalg.svd", np.linalg.svd, x, bool(full_matrices))


def qr(x: Array, mode: str) -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    check_matrix("linalg.qr", x, square=False)
    if mode == "complete":
        check_size((*x.shape[:-1], x.shape[-2]))
    with np.errstate(all="ignore"):
        return (
            (np.zeros(0, x.dtype), np.linalg.qr(x, "r"))
            if mode == "r"
            else np.linalg.qr(x, "complete" if mode == "complete" else "reduced")
        )


def ranks(x: Array, atol: float | None, rtol: float | None, hermitian: bool) -> Any:
    if x.ndim < 2:
        raise ShapeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    if not x.size:
        return np.zeros(x.shape[:-2], np.int64)[()]
    check_matrix("linalg.matrix_rank", x, square=hermitian)
    sizes = np.abs(np.linalg.eigvalsh(x)) if hermitian else np.linalg.svd(x, compute_uv=False)
    if rtol is None:
        rtol = 0.0 if atol else float(np.finfo(x.dtype).eps) * max(x.shape[-2:])
    limit = np.maximum(atol or 0.0, rtol * sizes.max(-1, keepdims=True))
    return np.count_nonzero(sizes > limit, axis=-1)
