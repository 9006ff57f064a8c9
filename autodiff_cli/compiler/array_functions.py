"""Functions of arrays in expressions whose variables are single numbers, such as the numbers of a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.tracer import Tracer

_SECTIONS = (
    *("reduce", "norms", "extremes", "sorting", "linalg", "contract", "loss", "matrices", "decompose", "determinants"),
    *("margin_losses", "normalization", "attention"),
)
"""The modules whose functions take arrays; most of these functions return a scalar unchanged."""
_MIXED_SECTIONS = ("activation", "gates", "comparison", "numerical", "summaries")
"""The modules some of whose functions take arrays."""


def takes_array(op: FunctionInfo) -> bool:
    """Return whether a function takes an array, such as ``sum`` and ``softmax``."""
    return op.section in _SECTIONS or (op.section in _MIXED_SECTIONS and "dim" in op.parameters) or op.name in ("cov", "corrcoef")


def of_one_number(values: Iterable[object]) -> bool:
    """Return whether the tensors among the arguments of a call are scalars, and one of them depends on a variable."""
    tensors = [value for value in values if isinstance(value, Tensor)]
    return any(isinstance(one, Tracer) or one.requires_grad for one in tensors) and not any(one.shape for one in tensors)


def is_per_row(op: FunctionInfo, given: Sequence[object], named: Mapping[str, object]) -> bool:
    """Return whether a call is a loss, or ``x.max(y)``, which compares two numbers."""
    return "reduction" in op.parameters or (op.name in ("max", "min") and len(given) + len(named) == 2 and "dim" not in named)
