"""The vector functions of the compiled engine as functions of arrays, for every number of lanes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

import numpy as np

import autodiff_cli as ad
from autodiff_cli.compiler.llvm.kernel import kernel
from autodiff_cli.compiler.llvm.machine import compiled as loaded
from autodiff_cli.compiler.llvm.machine import machine
from autodiff_cli.compiler.partition import partition
from autodiff_cli.compiler.program import Program

BINARY: Final = ("pow",)
"""The functions of two numbers."""


def call(name: str) -> str:
    """Return the expression that calls a function."""
    return f"{name}(x, y)" if name in BINARY else f"{name}(x)"


def widths() -> list[int]:
    """Return the numbers of lanes that this processor has registers for."""
    return [width for width in (2, 4, 8) if width <= machine().width]


@functools.cache
def compiled(name: str, width: int, inline: bool = True) -> Callable[..., np.ndarray]:
    """Return a function of float64 arrays."""
    program = ad.compile(call(name), order=0)
    assert isinstance(program, Program)
    parts = partition(program.instructions, frozenset())
    function = loaded(kernel(width, inline, parts.columns, [], parts.rows, program.results), width)

    def run(*operands: np.ndarray) -> np.ndarray:
        found = np.empty(len(operands[0]))
        columns = dict(zip("xy", map(np.ascontiguousarray, operands), strict=False))
        function.run([columns[one.variable] for one in parts.columns], [], [found])
        return found

    return run
