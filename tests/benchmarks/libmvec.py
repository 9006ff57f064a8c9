"""The vector functions of glibc, libmvec: fast, with errors of up to 4 units in the last place.

The names follow the vector function ABI, ``_ZGV`` + instruction set + ``N`` + lanes + ``v`` for each operand + ``_`` + name:
https://sourceware.org/glibc/wiki/libmvec.
"""

from __future__ import annotations

import ctypes
import functools
import platform
from collections.abc import Sequence
from typing import Final

from autodiff_cli.compiler.llvm.ir import Builder, Value

_SETS: Final = {("x86_64", 2): "b", ("x86_64", 4): "d", ("x86_64", 8): "e", ("aarch64", 2): "n"}
"""The letter of the instruction set, by processor and number of lanes."""


@functools.cache
def _library() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libmvec.so.1")
    except OSError:
        return None


@functools.cache
def address(name: str, operands: int, width: int) -> tuple[str, int] | None:
    """Return the symbol and the address of a function of vectors; ``None`` if libmvec does not have it.

    Args:
        name: the name of the function in C.
        operands: the number of its operands.
        width: the number of lanes.
    """
    letter = _SETS.get((platform.machine(), width))
    symbol = f"_ZGV{letter}N{width}{'v' * operands}_{name}"
    found = getattr(_library(), symbol, None) if letter else None
    return None if found is None else (symbol, ctypes.cast(found, ctypes.c_void_p).value or 0)


def library(builder: Builder, name: str, operands: Sequence[Value], *constants: float) -> Value | None:
    """Append a call of a function; see ``compiler.llvm.ir.Library``."""
    found = None if constants else address(name, len(operands), builder.width)
    if found is None:
        return None
    symbol, place = found
    builder.imports[symbol] = place
    return builder.call(symbol, operands, "f64")
