"""SciPy's special functions of numbers, as addresses that machine code can call without the interpreter's lock.

Source: https://docs.scipy.org/doc/scipy/reference/special.cython_special.html
"""

from __future__ import annotations

import ctypes
import functools
from typing import Final

from autodiff_cli.lazy import library

_NAMES: Final = {"digamma": "psi", "factorial": "", "loggamma": ""}
"""The name in ``cython_special`` where it is not that of the ufunc; empty if it has another meaning."""


@functools.cache
def _capsules() -> dict[str, object]:
    result: dict[str, object] = library("scipy.special.cython_special", "a special function").__pyx_capi__
    return result


@functools.cache
def address(name: str, operands: int) -> int | None:
    """Return the address of a function of doubles, which takes an ``int`` as its last argument; ``None`` if there is none."""
    wanted = f"double ({', '.join(['double'] * operands)}, int __pyx_skip_dispatch)".encode()
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype, python.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    plain = _NAMES.get(name, name)
    for key in (plain, f"__pyx_fuse_0{plain}", f"__pyx_fuse_1{plain}"):
        capsule = _capsules().get(key)
        if capsule is not None and python.PyCapsule_GetName(capsule) == wanted:
            result: int = python.PyCapsule_GetPointer(capsule, wanted)
            return result
    return None
