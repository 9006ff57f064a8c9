"""Inverses, linear equations, the Cholesky factor and functions of square matrices, in batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.types import Value, array_of
from autodiff_cli.numerics.matrices import check_matrix
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.matrices import declare, inv


@declare.described
def matrix_power(x: Value, n: int) -> Any:
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        check_matrix("linalg.matrix_power", array_of(x))
    base = inv(x) if n < 0 else x
    result = None
    for bit in reversed(bin(abs(n))[2:]):
        if bit == "1":
            result = base if result is None else matmul(result, base)
        base = base if abs(n) < 2 else matmul(base, base)
    return x * 0.0 + np.eye(x.shape[-1], dtype=x.dtype) if result is None else result
