"""Tensors as PyTorch prints them: ``tensor(4.8283, grad_fn=<LogBackward0>)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.dtypes import get_default_dtype

if TYPE_CHECKING:
    from autodiff_cli.autograd.tensor import Tensor

_PRECISION, _THRESHOLD, _EDGE, _WIDTH = 4, 1000, 3, 80


def tensor_repr(tensor: Tensor) -> str:
    """The text of a tensor: four digits after the point, the middle of what is large left out."""
    data = np.asarray(tensor._data)
    suffixes = []
    if data.size == 0 and data.ndim != 1:
        suffixes.append(f"size={data.shape}")
    if data.dtype.kind == "f" and data.dtype != get_default_dtype():
        suffixes.append(f"dtype=torch.{data.dtype}")
    if tensor._edge is not None:
        suffixes.append(f"grad_fn=<{tensor._edge[0].name()}>")
    elif tensor._requires_grad:
        suffixes.append("requires_grad=True")
    formatter = _formatter(data)
    body = np.array2string(
        data,
        max_line_width=_WIDTH - 8,
        separator=", ",
        prefix="tensor(",
        threshold=_THRESHOLD,
        edgeitems=_EDGE,
        formatter={"all": formatter},
    )
    return f"tensor({', '.join([body.replace('...', '...'), *suffixes])})"


def _formatter(data: Any) -> Any:
    """How one element is printed: whole numbers as ``5.``, scientific where four digits would not do."""
    if data.dtype.kind != "f":
        texts = [str(v) for v in data.ravel()[:_THRESHOLD]]
        width = max(map(len, texts), default=0) if data.ndim else 0
        return lambda value: str(value).rjust(width)
    finite = np.abs(data[np.isfinite(data) & (data != 0)]).astype(np.float64)
    if finite.size == 0 or np.all(finite == np.floor(finite)):
        scientific = finite.size > 0 and finite.max() >= 1e8
        text = _scientific if scientific else _whole
    else:
        largest, smallest = finite.max(), finite.min()
        text = _scientific if largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4 else _fixed
    shown = data.ravel()[: 10 * _THRESHOLD]
    width = max((len(text(v)) for v in shown if np.isfinite(v)), default=0) if data.ndim else 0
    return lambda value: text(value).rjust(width)


def _whole(value: Any) -> str:
    return f"{value:.0f}." if np.isfinite(value) else str(float(value))


def _fixed(value: Any) -> str:
    return f"{value:.{_PRECISION}f}" if np.isfinite(value) else str(float(value))


def _scientific(value: Any) -> str:
    return f"{value:.{_PRECISION}e}" if np.isfinite(value) else str(float(value))
