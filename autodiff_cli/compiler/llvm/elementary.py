"""Elementary functions of vectors in double precision, as functions in LLVM's IR.

Each is at most 1 ulp from the exact value, right at the edges (nan, infinities, signed zeros, subnormals), and
the answer in a lane depends on its own argument only.  They are fast on processors that multiply and add with one rounding.
``tests/benchmarks/elementary.py`` measures their errors and times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from autodiff_cli.compiler.llvm.error_functions import bell, erf, erfc, ndtr
from autodiff_cli.compiler.llvm.exponential import exp, expm1, tanh
from autodiff_cli.compiler.llvm.ir import Builder, Value
from autodiff_cli.compiler.llvm.logarithmic import log, log1p
from autodiff_cli.compiler.llvm.trigonometric import cos, sin

FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    function.__name__: function for function in (cos, erf, erfc, exp, expm1, log, log1p, ndtr, sin, tanh)
}
"""The functions, by their names in C or SciPy."""


def call(builder: Builder, name: str, operands: Sequence[Value], *constants: float) -> Value | None:
    """Append a function of vectors, inline or as a call.  Return its result, or ``None`` if the function is unknown."""
    if name == "bell":  # its exponential is shared with that of erfc and ndtr
        return bell(operands[0], *constants)
    if name not in FUNCTIONS or constants:  # no other function has constants
        return None
    function = FUNCTIONS[name]
    if builder.inline:
        return function(*operands)
    return builder.append(builder.subroutine(f"vec.{name}", function, operands), "f64")
