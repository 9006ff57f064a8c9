"""The vector functions of the compiled engine as functions of arrays, for every number of lanes."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

import autodiff_cli as ad
from autodiff_cli.compiler.llvm.kernel import kernel
from autodiff_cli.compiler.llvm.machine_code import compiled as loaded
from autodiff_cli.compiler.llvm.machine_code import machine
from autodiff_cli.compiler.partition import partition
from autodiff_cli.compiler.program import Program


def widths() -> list[int]:
    """Return the numbers of lanes that this processor has registers for."""
    return [width for width in (2, 4, 8) if width <= machine().width]


@functools.cache
def compiled(name: str, width: int, inline: bool = True) -> Callable[..., np.ndarray]:
    """Return a function of float64 arrays."""
    program = ad.compile(f"{name}(x)", order=0)
    assert isinstance(program, Program)
    parts = partition(program.instructions, frozenset())
    function = loaded(kernel(width, inline, parts.columns, [], parts.rows, program.results), width)

    def run(x: np.ndarray) -> np.ndarray:
        result = np.empty(len(x))
        function.run([np.ascontiguousarray(x)], [], [result])
        return result

    return run
