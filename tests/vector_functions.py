"""The vector functions of the compiled engine as functions of arrays, for every number of lanes."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import numpy as np

import autodiff_cli as ad
from autodiff_cli.compiler.llvm.elementary import library
from autodiff_cli.compiler.llvm.ir import Library
from autodiff_cli.compiler.llvm.kernel import kernel
from autodiff_cli.compiler.llvm.machine import compiled as loaded
from autodiff_cli.compiler.llvm.machine import machine
from autodiff_cli.compiler.partition import partition
from autodiff_cli.compiler.program import Program


def widths() -> list[int]:
    """Return the numbers of lanes that this processor has registers for."""
    return [width for width in (2, 4, 8) if width <= machine().width]


@functools.cache
def compiled(name: str, width: int, inline: bool = True) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of float64 arrays."""
    return with_library(name, width, library(inline))


def with_library(name: str, width: int, functions: Library | None) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of float64 arrays, with the functions of a library."""
    program = ad.compile(f"{name}(x)", order=0)
    assert isinstance(program, Program)
    parts = partition(program.instructions, frozenset())
    function = loaded(kernel(width, functions, parts.columns, [], parts.rows, program.results))

    def run(x: np.ndarray) -> np.ndarray:
        found = np.empty_like(x)
        given, made = (ctypes.c_void_p * 1)(x.ctypes.data), (ctypes.c_void_p * 1)(found.ctypes.data)
        function.call(given, None, made, len(x))
        return found

    return run
