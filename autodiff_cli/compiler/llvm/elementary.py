"""Elementary functions of vectors in double precision, as functions in LLVM's IR.

Each is at most 1 ulp from the exact value, right at the edges (nan, infinities, signed zeros, subnormals), and
the answer in a lane depends on its own argument only.  They need a processor that multiplies and adds with one rounding.
``tests/benchmarks/elementary.py`` measures their errors and times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from autodiff_cli.compiler.llvm.error_functions import bell, erf, erfc, ndtr
from autodiff_cli.compiler.llvm.exponential import exp, expm1, tanh
from autodiff_cli.compiler.llvm.ir import Builder, Library, Value
from autodiff_cli.compiler.llvm.logarithmic import log, log1p, log2, log10, pow
from autodiff_cli.compiler.llvm.trigonometric import cos, sin

FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    function.__name__: function for function in (cos, erf, erfc, exp, expm1, log, log10, log1p, log2, ndtr, pow, sin, tanh)
}
"""The functions, by their names in C or SciPy."""


def library(inline: bool) -> Library:
    """Return the library of these functions.

    Args:
        inline: whether the instructions of a function take the place of each call.  Calls can then share work, such as the
            reduction of the argument of sin and cos, but many calls take long to compile.
    """

    def call(builder: Builder, name: str, operands: Sequence[Value], *constants: float) -> Value | None:
        if name == "bell":  # its exponential is shared with that of erfc and ndtr
            return bell(operands[0], *constants)
        if name not in FUNCTIONS or constants:
            return None
        function = FUNCTIONS[name]
        if inline:
            return function(*operands)
        return builder.subroutine(f"vec.{name}", function, operands)

    return call
