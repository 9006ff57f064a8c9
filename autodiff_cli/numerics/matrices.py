"""Products, inverses, linear equations, determinants, functions and factorizations of matrices in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, DTypeLike, torch_type
from autodiff_cli.autograd.primitives.types import Number, Shape, Value, array_of
from autodiff_cli.errors import ArgumentError, DtypeError, LinAlgError, ShapeError
from autodiff_cli.limits import check_size
from autodiff_cli.numerics.backend import from_scipy

_expm = from_scipy("expm", "linalg")
_MOST_CONDITION = 1e5
"""The largest ratio of singular values with which the inverse has enough digits."""
_FEW = 4
"""Up to this number of rows, the cofactors are the determinants of the minors: small ones beside large ones keep their digits."""
Labels = tuple[int, ...]


def check_matrix(name: str, x: Array, square: bool = True) -> None:
    """Raise PyTorch's error if an argument does not consist of matrices of floating-point numbers.

    Raises:
        ShapeError: if there are fewer than two dimensions, or if ``square`` is true and the matrices are not square.
        DtypeError: if the elements are not floating-point numbers.
    """
    if x.ndim < 2:
        raise ShapeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name}: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices")
    if x.dtype.kind != "f":
        raise DtypeError(f"{name}: Expected a floating point or complex tensor as input. Got {torch_type(x.dtype).scalar_name}")


def converged(name: str, function: Callable[..., Any], x: Array, *rest: object) -> Any:
    """Run an iterative LAPACK routine; no convergence, and nan or infinity, for which it may not end, are errors."""
    reason = "is ill-conditioned"
    try:
        if np.all(np.isfinite(x)):
            with np.errstate(all="ignore"):
                return function(x, *rest)
        reason = "contained non-finite values"
    except np.linalg.LinAlgError:  # no convergence
        pass
    raise LinAlgError(f"{name}: The algorithm failed to converge because the input matrix {reason}.")


def _first_fault(routine: str) -> Callable[[Array], int]:
    """Return the function that counts, from 1, where a routine of LAPACK fails for a matrix; it returns 0 for success."""
    return lambda matrix: int(from_scipy("get_lapack_funcs", "linalg.lapack")(routine, (matrix,))(matrix)[-1])


def at_fault(name: str, x: Array, find: Callable[[Array], int]) -> tuple[str, int]:
    """Return the prefix of PyTorch's message and the result of ``find`` for the first matrix where it is not 0, else n."""
    for i, matrix in enumerate(x.reshape(-1, *x.shape[-2:])):
        result = find(matrix)
        if result:
            return (f"{name}: (Batch element {i}):" if x.ndim > 2 else f"{name}:"), result
    return f"{name}:", x.shape[-1]


@np.errstate(all="ignore")
def inv(x: Array) -> Any:
    """Return the inverse matrices; a singular matrix is PyTorch's error, with the first zero on the diagonal of its LU factor."""
    check_matrix("linalg.inv", x)
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        where_, k = at_fault("linalg.inv", x, _first_fault("getrf"))
        raise LinAlgError(
            f"{where_} The diagonal element {k} is zero, the inversion could not be completed because the input matrix is "
            "singular.",
            hint="use pinv(x) for the pseudo-inverse",
        ) from None


def is_vector(a_shape: Shape, b_shape: Shape) -> bool:
    """Return whether the right-hand side consists of vectors according to PyTorch's rule."""
    return len(b_shape) == 1 or (len(a_shape) - 1 == len(b_shape) and tuple(b_shape) == tuple(a_shape[:-1]))


def solve(a: Array, b: Array) -> Any:
    """Return the x with a @ x = b; b holds vectors or matrices, see ``is_vector``."""
    check_matrix("linalg.solve", a)
    vector = is_vector(a.shape, b.shape)
    right = b[..., None] if vector else b
    if right.ndim < 2 or right.shape[-2] != a.shape[-1]:
        shape = f"{right.shape[-2]}x{right.shape[-1]}" if right.ndim > 1 else "a number"
        raise ShapeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({a.shape[-2]}x{a.shape[-1]} and {shape})"
        )
    try:
        with np.errstate(all="ignore"):
            out = np.linalg.solve(a, right)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "torch.linalg.solve: The solver failed because the input matrix is singular.",
            hint="use pinv(A) @ b for a least-squares solution",
        ) from None
    return out[..., 0] if vector else out


def symmetric(x: Array) -> Any:
    return (x + np.swapaxes(x, -2, -1)) / 2


def cholesky(x: Array) -> Any:
    """Return the lower triangular L with L @ L.T = x, where x is first made symmetric."""
    check_matrix("linalg.cholesky", x)
    x = symmetric(x)
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        where_, k = at_fault("linalg.cholesky", x, _first_fault("potrf"))
        raise LinAlgError(
            f"{where_} The factorization could not be completed because the input is not positive-definite "
            f"(the leading minor of order {k} is not positive-definite)."
        ) from None


def half_lower(n: int, dtype: DTypeLike) -> Any:
    """Return the matrix of factors 1 below the diagonal, 1/2 on the diagonal and 0 above the diagonal."""
    return (np.tri(n, dtype=dtype) - np.eye(n, dtype=dtype) / 2).astype(dtype)


def pinv(x: Array, rtol: float | None) -> Any:
    """Return pseudo-inverses; singular values below ``rtol`` (by default, n times eps) times the largest count as 0."""
    check_matrix("linalg.pinv", x, square=False)
    if not x.size:
        return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    return converged("linalg.pinv", np.linalg.pinv, x, max(x.shape[-2:]) * np.finfo(x.dtype).eps if rtol is None else rtol)


def matrix_exp(x: Array) -> Any:
    check_matrix("linalg.matrix_exp", x)
    if not x.size:
        return x
    return np.asarray(_expm(x)).astype(x.dtype, copy=False)


def minor_places(n: int) -> tuple[Any, Any, Any]:
    """Return the rows and columns of all minors [i, j] of an n by n matrix, as broadcasting indices, and their signs."""
    rest = np.array([[k for k in range(n) if k != i] for i in range(n)], np.int64).reshape(n, n - 1)
    places = np.arange(n)
    return rest[:, None, :, None], rest[None, :, None, :], (-1.0) ** (places[:, None] + places)


def minor_key(n: int, count: int) -> tuple[Any, ...]:
    """Return the NumPy index of the elements of all minors of ``count`` matrices of n rows."""
    rows, columns, _ = minor_places(n)
    return np.arange(count).reshape(-1, 1, 1, 1, 1), rows, columns


def minor_signs(x: Value) -> Any:
    """Return the signs (-1)**(i + j) of the cofactors, in the type of x."""
    return minor_places(x.shape[-1])[2].astype(x.dtype)


def is_sound(x: Value) -> bool:
    """Return whether all matrices of a batch are finite and well conditioned; those without elements are."""
    data = array_of(x)
    if not np.all(np.isfinite(data)):
        return False
    sizes = converged("linalg.det", np.linalg.svdvals, data)
    return bool(np.all(sizes[..., -1:] * _MOST_CONDITION > sizes[..., :1])) if sizes.size else True


def uses_inverse(x: Value) -> bool:
    """Return whether the cofactors are those of the inverse, not of the minors or of a decomposition."""
    return x.shape[-1] > _FEW and is_sound(x)


def cofactors(x: Array) -> Any:
    """Return the cofactors: from the minors of small matrices, else from the singular values, or nan if not finite."""
    n = x.shape[-1]
    if n == 0:
        return x
    if n <= _FEW:  # the rounding error of a minor is relative to this minor; that of the decomposition, to the largest one
        rows, columns, signs = minor_places(n)
        minors = x[..., rows, columns]
        return _keep_nan(x, signs.astype(x.dtype) * (minors[..., 0, 0] if n == 2 else np.linalg.det(minors)))
    finite = np.all(np.isfinite(x), (-2, -1))[..., None, None]
    u, sizes, vh = converged("linalg.det", np.linalg.svd, np.where(finite, x, 0))
    products = np.ones_like(sizes)
    for i in range(n):
        products[..., i] = np.prod(np.delete(sizes, i, -1), -1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return np.where(finite, sign[..., None, None] * ((u * products[..., None, :]) @ vh), x.dtype.type(np.nan))


def _keep_nan(x: Array, result: Array) -> Any:
    """Set the results of matrices that contain nan to nan, as elimination may stop at a zero pivot before the nan."""
    if not np.isnan(np.add.reduce(x, None)):  # one sum over all matrices is faster than a test of each
        return result
    lost = np.any(np.isnan(x), (-2, -1), keepdims=np.ndim(result) == x.ndim)
    return np.where(lost, x.dtype.type(np.nan), result)[()]


def det(x: Array) -> Any:
    check_matrix("linalg.det", x)
    with np.errstate(all="ignore"):
        return _keep_nan(x, np.linalg.det(x))


def slogdet(x: Array) -> Any:
    check_matrix("linalg.slogdet", x)
    with np.errstate(all="ignore"):
        return tuple(_keep_nan(x, part)[()] for part in np.linalg.slogdet(x))


def eigh(x: Array) -> Any:
    """Return the eigenvalues, in increasing order, and the eigenvectors of the symmetric parts of matrices."""
    check_matrix("linalg.eigh", x)
    return converged("linalg.eigh", np.linalg.eigh, symmetric(x))


def svd(x: Array, full_matrices: bool) -> Any:
    """Return u, s and vh with x = u @ diag(s) @ vh; u and vh are square with ``full_matrices``."""
    check_matrix("linalg.svd", x, square=False)
    if full_matrices:
        for length in x.shape[-2:]:
            check_size((*x.shape[:-2], length, length))
    return converged("linalg.svd", np.linalg.svd, x, bool(full_matrices))


def qr(x: Array, mode: str) -> Any:
    """Return q and r with x = q @ r in PyTorch's three modes; for 'r', q is empty."""
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    check_matrix("linalg.qr", x, square=False)
    if mode == "complete":
        check_size((*x.shape[:-1], x.shape[-2]))
    with np.errstate(all="ignore"):
        return (np.zeros(0, x.dtype), np.linalg.qr(x, "r")) if mode == "r" else np.linalg.qr(x, mode)  # type: ignore[call-overload]


def ranks(x: Array, atol: float | None, rtol: float | None, hermitian: bool) -> Any:
    """Return the numbers of singular values above the larger of ``atol`` and ``rtol`` times the largest one.

    By default ``rtol`` is the length times eps, or 0 beside an ``atol``.  Symmetric matrices (``hermitian``) have the absolute
    values of their eigenvalues instead.
    """
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


def _product(x: Array, y: Array) -> Any:
    """Return the product of operands that have dimensions; the error for lengths that do not fit is PyTorch's."""
    try:
        return x @ y
    except ValueError:
        if x.ndim == y.ndim == 2:
            raise ShapeError(
                f"mat1 and mat2 shapes cannot be multiplied ({x.shape[0]}x{x.shape[1]} and {y.shape[0]}x{y.shape[1]})"
            ) from None
        raise ShapeError(
            f"shapes {list(x.shape)} and {list(y.shape)} cannot be multiplied: "
            f"the first has {x.shape[-1]} columns, but the second has {y.shape[max(y.ndim - 2, 0)]} rows"
        ) from None


def _ranked(name: str, *ranks: int) -> Callable[[Array, Array], Any]:
    """Return ``_product`` restricted to operands with the given numbers of dimensions."""

    def forward(x: Array, y: Array) -> Any:
        if (x.ndim, y.ndim) != ranks:
            raise ShapeError(
                f"{name} expects {ranks[0]}D and {ranks[1]}D tensors, but got {x.ndim}D and {y.ndim}D",
                hint="use @ for any product of vectors and matrices",
            )
        return _product(x, y)

    return forward


mm, mv = _ranked("mm", 2, 2), _ranked("mv", 2, 1)


def dot(x: Array, y: Array) -> Any:
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors", hint="use @ for matrices")
    if x.shape != y.shape:
        raise ShapeError(
            f"inconsistent tensor size, expected tensor [{len(x)}] and src [{len(y)}] to have the same number of elements"
        )
    return np.dot(x, y)


def bmm(x: Array, y: Array) -> Any:
    for name, batch in (("batch1", x), ("batch2", y)):
        if batch.ndim < 2:
            raise ShapeError(f"bmm: {name} must be a 3D tensor, got {batch.ndim}D")
    return _product(x, y)


def outer_shape(shape: Shape, other: Shape) -> Shape:
    """Return the shape of a vector as a column, for a product with a vector of another shape."""
    if len(shape) != 1 or len(other) != 1:
        raise ShapeError(f"outer: expected 1-D tensors, but got {len(shape)}-D and {len(other)}-D")
    return (shape[0], 1)


def trace(x: Array) -> Any:
    if x.ndim != 2:
        raise ShapeError(f"trace: expected a matrix, but got tensor with dim {x.ndim}")
    return np.trace(x)


def einsum(x: Array, y: Array, of_x: Labels, of_y: Labels, of_out: Labels) -> Any:
    """Return a sum of products over the dimensions whose label is not in ``of_out``; one label for each dimension of x and y."""
    lengths = {label: n for v, labels in ((x, of_x), (y, of_y)) for label, n in zip(labels, v.shape, strict=True) if n != 1}
    check_size(tuple(lengths.get(label, 1) for label in of_out))
    product: Any = np.einsum
    return product(x, of_x, y, of_y, of_out, optimize=True)[()]


def addmm(x: Array, mat1: Array, mat2: Array, beta: Number, alpha: Number) -> Any:
    """Return beta*x + alpha*(mat1 @ mat2), where x may broadcast to the product; factors of 1 keep integers and save time."""
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        shapes = " and ".join("x".join(map(str, m.shape)) for m in (mat1, mat2))
        raise ShapeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes})")
    product = alpha * (mat1 @ mat2) if alpha != 1 else mat1 @ mat2
    total = product + (beta * x if beta != 1 else x)
    if total.shape != product.shape:
        raise ShapeError(
            f"The expanded size of the tensor ({list(product.shape)}) must match the existing size ({list(np.shape(x))})"
        )
    return total


def cross(x: Array, y: Array, dim: int) -> Any:
    """Return the vector products along ``dim``, whose length is 3."""
    a, b = np.moveaxis(x, dim, 0), np.moveaxis(y, dim, 0)
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return np.stack(parts, dim)
