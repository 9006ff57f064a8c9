"""Calls of functions whose results and derivatives are recorded from PyTorch, and their recorder.

``AUTODIFF_PEER=torch python -m tests.behaviour.functions_of_tensors`` writes the records.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.behaviour import torch

RECORDS = Path(__file__).parents[1] / "golden" / "functions_of_tensors.json"

VECTOR = [0.5, -1.25, 2.0, 0.75]
MATRIX = [[1.0, 2.5, -0.5], [0.25, -1.5, 3.0]]
SQUARE = [[2.0, 0.5, 0.25], [0.5, 3.0, -1.0], [0.25, -1.0, 1.5]]
TIES = [[1.0, 2.0, 2.0], [3.0, 3.0, -1.0]]
CUBE = [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]
NANS = [[1.0, math.nan, 3.0], [2.0, 5.0, math.nan]]

Case = tuple[Any, Callable[[Any], Any]]
"""The values of the variable, and a function of it that returns a tensor or a tuple of tensors."""


def t(values: Any, **options: Any) -> Any:
    """A float64 tensor, or a tensor of another type."""
    return torch.tensor(values, **{"dtype": torch.float64, **options})


def longs(values: Any) -> Any:
    return torch.tensor(values, dtype=torch.int64)


CASES: dict[str, Case] = {
    # pieces
    "tensor_split": (MATRIX, lambda x: torch.tensor_split(x, 2, dim=1)),
    "tensor_split at positions": (VECTOR, lambda x: x.tensor_split((1, 3))),
    "hsplit": (MATRIX, lambda x: torch.hsplit(x, 3)),
    "hsplit at positions": (MATRIX, lambda x: torch.hsplit(x, [1])),
    "vsplit": (MATRIX, lambda x: x.vsplit(2)),
    "dsplit": (CUBE, lambda x: x.dsplit(2)),
    "split_with_sizes": (VECTOR, lambda x: x.split_with_sizes([1, 3])),
    "unfold": (VECTOR, lambda x: x.unfold(0, 3, 1)),
    "unfold with steps": (MATRIX, lambda x: x.unfold(dimension=1, size=2, step=1) * t([1.0, 2.0])),
    "rot90": (MATRIX, lambda x: torch.rot90(x)),
    "rot90 backwards": (MATRIX, lambda x: x.rot90(-1, [0, 1])),
    "rot90 twice": (MATRIX, lambda x: x.rot90(2)),
    "adjoint": (MATRIX, lambda x: x.adjoint()),
    "atleast_1d": (2.0, lambda x: torch.atleast_1d(x)),
    "atleast_2d": (VECTOR, lambda x: torch.atleast_2d(x)),
    "atleast_3d": (VECTOR, lambda x: torch.atleast_3d(x)),
    "atleast_3d of a matrix": (MATRIX, lambda x: torch.atleast_3d(x)),
    "column_stack": (VECTOR, lambda x: torch.column_stack((x, x**2))),
    "block_diag": (MATRIX, lambda x: torch.block_diag(x, t([[7.0]]), x[0] ** 2)),
    "cartesian_prod": (VECTOR, lambda x: torch.cartesian_prod(x, t([1.0, 2.0]))),
    "combinations": (VECTOR, lambda x: torch.combinations(x)),
    "combinations with replacement": (VECTOR, lambda x: torch.combinations(x, r=3, with_replacement=True)),
    "diagflat": (MATRIX, lambda x: torch.diagflat(x, 1)),
    # places
    "masked_scatter": (VECTOR, lambda x: x.masked_scatter(longs([1, 0, 1, 0]).bool(), x.detach() * 3)),
    "masked_scatter of the source": (VECTOR, lambda x: t([[0.0, 1.0, 2.0]]).masked_scatter(longs([[1, 0, 1]]).bool(), x**2)),
    "select_scatter": (MATRIX, lambda x: x.select_scatter(x[:, 0] ** 2, 1, 2)),
    "slice_scatter": (MATRIX, lambda x: x.slice_scatter(x[:, :2] ** 2, 1, 1)),
    "diagonal_scatter": (MATRIX, lambda x: torch.diagonal_scatter(x, x[0, :2] ** 2)),
    "index weights of bincount": (2.0, lambda x: x * torch.bincount(longs([0, 1, 1, 4])).double()),
    **{
        f"scatter_reduce {how}{'' if own else ' without x'}": (
            VECTOR,
            lambda x, how=how, own=own: x.scatter_reduce(0, longs([0, 0, 2]), x[:3] * 2, reduce=how, include_self=own),
        )
        for how in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
    },
    "scatter_reduce of a matrix": (MATRIX, lambda x: x.scatter_reduce(1, longs([[0, 0], [2, 1]]), x[:, 1:] * 3, "sum")),
    "scatter_reduce with ties": (TIES, lambda x: x.scatter_reduce(1, longs([[1, 1, 0], [0, 1, 2]]), x.detach(), "amax")),
    "gather of a number": (VECTOR, lambda x: torch.gather(x, 0, torch.tensor(2))),
    # statistics
    "var_mean": (MATRIX, lambda x: torch.var_mean(x)),
    "var_mean along": (MATRIX, lambda x: torch.var_mean(x, dim=1, keepdim=True)),
    "var_mean with correction": (MATRIX, lambda x: torch.var_mean(x, 0, correction=0)),
    "std_mean": (MATRIX, lambda x: torch.std_mean(x, dim=1, unbiased=False)),
    "aminmax": (MATRIX, lambda x: torch.aminmax(x)),
    "aminmax along": (TIES, lambda x: x.aminmax(dim=1, keepdim=True)),
    "nansum": (NANS, lambda x: torch.nansum(x, dim=0)),
    "nansum of all": (NANS, lambda x: x.nansum()),
    "nanmean": (NANS, lambda x: torch.nanmean(x, dim=1)),
    "nanmedian": (NANS, lambda x: torch.nanmedian(x)),
    "nanmedian along": (NANS, lambda x: torch.nanmedian(x, dim=1).values),
    "nan_to_num": (NANS, lambda x: torch.nan_to_num(x, nan=2.5) ** 2),
    "nan_to_num of infinities": ([math.inf, -math.inf, 2.0], lambda x: torch.nan_to_num(x, posinf=1.0, neginf=-1.0)),
    "mode": (TIES, lambda x: torch.mode(x, 1).values),
    "cov": (MATRIX, lambda x: torch.cov(x)),
    "cov of a vector": (VECTOR, lambda x: torch.cov(x)),
    "cov with weights": (MATRIX, lambda x: torch.cov(x, correction=0, aweights=t([1.0, 2.0, 0.5]))),
    "corrcoef": (MATRIX, lambda x: torch.corrcoef(x)),
    "cumulative_trapezoid": (VECTOR, lambda x: torch.cumulative_trapezoid(x, dx=0.5)),
    "cumulative_trapezoid at points": (MATRIX, lambda x: torch.cumulative_trapezoid(x, t([0.0, 1.0, 3.0]))),
    # systems
    "solve_triangular": (SQUARE, lambda x: torch.linalg.solve_triangular(x, t(MATRIX).T, upper=True)),
    "solve_triangular lower": (SQUARE, lambda x: torch.linalg.solve_triangular(x, x, upper=False)),
    "solve_triangular right": (SQUARE, lambda x: torch.linalg.solve_triangular(x, t(MATRIX), upper=True, left=False)),
    "solve_triangular unit": (SQUARE, lambda x: torch.linalg.solve_triangular(x, t(SQUARE), upper=False, unitriangular=True)),
    "cholesky_solve": (SQUARE, lambda x: torch.cholesky_solve(t(MATRIX).T, torch.linalg.cholesky(x))),
    "cholesky_solve upper": (SQUARE, lambda x: t(MATRIX).T.cholesky_solve(torch.triu(x), upper=True)),
    "cholesky_inverse": (SQUARE, lambda x: torch.cholesky_inverse(torch.tril(x))),
    "lstsq": (MATRIX, lambda x: torch.linalg.lstsq(x.T, t([[1.0], [2.0], [4.0]])).solution),
    "vecdot": (MATRIX, lambda x: torch.linalg.vecdot(x, x**2)),
    "cdist": (MATRIX, lambda x: torch.cdist(x, t([[0.0, 1.0, 2.0]]))),
    "cdist with p": (MATRIX, lambda x: torch.cdist(x, t([[0.0, 1.0, 2.0]]), p=1.0)),
    "dist": (VECTOR, lambda x: torch.dist(x, t([1.0, 2.0, 3.0, 4.0]), 3)),
    "addmv": (VECTOR, lambda x: torch.addmv(x[:2], t(MATRIX), x[1:], beta=0.5, alpha=2)),
    "addr": (VECTOR, lambda x: torch.addr(t(MATRIX), x[:2], x[1:], beta=2, alpha=3)),
    "addbmm": (CUBE, lambda x: torch.addbmm(x[0], x, x**2)),
}

CONSTANTS: dict[str, Callable[[], Any]] = {
    "vander": lambda: torch.vander(t(VECTOR)),
    "vander increasing": lambda: torch.vander(t(VECTOR), 3, increasing=True),
    "nonzero": lambda: torch.nonzero(t([[0.0, 1.0], [2.0, 0.0]])),
    "nonzero as a tuple": lambda: torch.nonzero(t([[0.0, 1.0], [2.0, 0.0]]), as_tuple=True),
    "nonzero of a number": lambda: torch.tensor(3.0).nonzero(),
    "argwhere": lambda: torch.argwhere(t([0.0, 1.0, 2.0])),
    "where of a condition": lambda: torch.where(t(MATRIX) > 0),
    "searchsorted": lambda: torch.searchsorted(t([1.0, 2.0, 4.0]), t([[0.0, 2.0], [3.0, 5.0]])),
    "searchsorted right": lambda: torch.searchsorted(t([1.0, 2.0, 4.0]), t([2.0]), right=True),
    "searchsorted in rows": lambda: torch.searchsorted(t([[1.0, 2.0], [3.0, 4.0]]), t([[1.5, 9.0], [3.0, 3.5]])),
    "bucketize": lambda: torch.bucketize(t([0.5, 2.0, 9.0]), t([1.0, 2.0, 3.0])),
    "bucketize right": lambda: torch.bucketize(t([0.5, 2.0, 9.0]), t([1.0, 2.0, 3.0]), right=True),
    "bincount": lambda: torch.bincount(longs([1, 1, 3]), minlength=6),
    "bincount with weights": lambda: torch.bincount(longs([1, 1, 3]), weights=t([0.5, 1.0, 2.0])),
    "isin": lambda: torch.isin(longs([[1, 2], [3, 4]]), longs([2, 4])),
    "isin inverted": lambda: torch.isin(longs([1, 2, 3]), longs([2]), invert=True),
    "unique": lambda: torch.unique(longs([3, 1, 3, 2])),
    "unique with inverse": lambda: torch.unique(longs([[3, 1], [3, 2]]), return_inverse=True),
    "unique with counts": lambda: torch.unique(t([3.0, 1.0, 3.0]), sorted=True, return_inverse=True, return_counts=True),
    "unique rows": lambda: torch.unique(longs([[3, 1], [0, 2], [3, 1]]), dim=0),
    "unique_consecutive": lambda: torch.unique_consecutive(longs([1, 1, 2, 2, 1])),
    "unique_consecutive with counts": lambda: torch.unique_consecutive(longs([1, 1, 2, 2, 1]), return_counts=True),
    "mode positions": lambda: torch.mode(t([[1.0, 2.0, 2.0, 1.0], [3.0, 3.0, -1.0, 0.0]])).indices,
    **{
        name: lambda name=name: (getattr(torch, name)(t(VECTOR), t(VECTOR).flip(0)), getattr(t(VECTOR), name)(0.5))
        for name in ("greater", "greater_equal", "less", "less_equal", "not_equal")
    },
    "nanmedian positions": lambda: torch.nanmedian(t(NANS), 1).indices,
}


def listed(value: Any) -> Any:
    """Return a result as nested lists, with ``nan`` and infinities as text, so that it can be compared and written."""
    if isinstance(value, (tuple, list)):
        return [listed(one) for one in value]
    if hasattr(value, "tolist"):
        return listed(value.detach().tolist()) if value.ndim else listed(value.item())
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def outcome(case: Case) -> dict[str, Any]:
    """Return the value of a case, its derivative in a fixed direction of the outputs, and the derivative of that."""
    values, function = case
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    results = function(x)
    parts = [one for one in (results if isinstance(results, tuple) else (results,)) if one.requires_grad]
    total = sum((one * (torch.arange(one.numel(), dtype=torch.float64).reshape(one.shape) + 1)).sum() for one in parts)
    (first,) = torch.autograd.grad(total, x, create_graph=True)
    second = None
    if first.requires_grad:
        try:
            (second,) = torch.autograd.grad((first * first.detach()).sum(), x, allow_unused=True)
        except NotImplementedError:  # PyTorch does not have the second derivative
            return {"value": listed(results), "first": listed(first)}
    return {"value": listed(results), "first": listed(first), "second": None if second is None else listed(second)}


def record() -> None:
    """Write the results of all cases."""
    found = {name: outcome(case) for name, case in CASES.items()}
    constants = {name: listed(make()) for name, make in CONSTANTS.items()}
    text = json.dumps({"torch": torch.__version__.partition("+")[0], "cases": found, "constants": constants}, indent=1)
    RECORDS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
