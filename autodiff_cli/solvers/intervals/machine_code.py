"""Functions of columns that are written with NumPy, such as the rules of intervals, as machine code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.compiler.llvm.array_protocol import KernelColumn, Unknown, vector
from autodiff_cli.compiler.llvm.ir import Builder, Value
from autodiff_cli.compiler.llvm.kernel import module
from autodiff_cli.compiler.llvm.machine_code import LoadedKernel, compiled, machine
from autodiff_cli.errors import FOREIGN

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import DType


def compiled_function(function: Callable[..., Iterable[Any]], count: int, kinds: Sequence[DType]) -> LoadedKernel | None:
    """Return a function of ``count`` float64 columns as machine code; ``None`` if it uses what cannot be compiled.

    It is called once, with columns that record its NumPy operations.  Each of its results is float64 or bool, as ``kinds`` says.
    """
    width = machine().width
    builder = Builder(width)
    columns = [KernelColumn(Value(builder, f"%in{i}", "f64"), np.dtype(float)) for i in range(count)]
    try:
        results = [vector(builder, result, kind) for result, kind in zip(function(*columns), kinds, strict=True)]
    except (Unknown, *FOREIGN):
        return None
    return compiled(module(builder, ["f64"] * count, [], results), width)
