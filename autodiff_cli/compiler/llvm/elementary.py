"""Elementary functions of vectors in double precision, as functions in LLVM's IR.

Each is at most 1 ulp from the exact value, right at the edges (nan, infinities, signed zeros, subnormals), and
the answer in a lane depends on its own argument only.  They need a processor that multiplies and adds with one rounding.
sin, cos and tan beyond 2**36 are those of the C library.  glibc's (2.36) are within 1 ulp at random arguments, but off by up to
143,000 ulp at the doubles nearest to multiples of pi/2.
``tests/benchmarks/elementary.py`` measures their errors and times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from autodiff_cli.compiler.llvm.double_double import ATTRIBUTES
from autodiff_cli.compiler.llvm.error_functions import bell, erf, erfc, ndtr
from autodiff_cli.compiler.llvm.exponential import cosh, exp, exp2, expm1, sinh, tanh
from autodiff_cli.compiler.llvm.inverse_trigonometric import acos, asin, atan, atan2
from autodiff_cli.compiler.llvm.ir import Builder, Library, Value
from autodiff_cli.compiler.llvm.logarithmic import acosh, asinh, atanh, log, log1p, log2, log10, pow
from autodiff_cli.compiler.llvm.roots import cbrt, hypot
from autodiff_cli.compiler.llvm.trigonometric import cos, sin, tan

FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    function.__name__: function
    for function in (
        acos,
        acosh,
        asin,
        asinh,
        atan,
        atan2,
        atanh,
        cbrt,
        cos,
        cosh,
        erf,
        erfc,
        exp,
        exp2,
        expm1,
        hypot,
        log,
        log10,
        log1p,
        log2,
        ndtr,
        pow,
        sin,
        sinh,
        tan,
        tanh,
    )
}
"""The functions, by their names in C or SciPy."""
WITH_CONSTANTS: Final[Mapping[str, Callable[..., Value]]] = {"bell": bell}
"""The functions of a vector and constants, by the names of their primitives."""
FASTEST: Final = ("cos", "erf", "erfc", "exp", "log", "sin", "tanh")
"""The functions with which a value and its derivatives take no more time than with libmvec, because they share work."""


def library(inline: bool) -> Library:
    """Return the library of these functions.

    Args:
        inline: whether the instructions of a function take the place of each call.  Calls can then share work, such as the
            reduction of the argument of sin and cos, but many calls take long to compile.
    """

    def call(builder: Builder, name: str, operands: Sequence[Value], *constants: float) -> Value | None:
        if name in WITH_CONSTANTS:
            return WITH_CONSTANTS[name](*operands, *constants)
        if name not in FUNCTIONS or constants:
            return None
        if inline:
            return FUNCTIONS[name](*operands)
        text, declared = definition(name, builder.width, len(operands))
        builder.definitions[name] = text
        builder.declared |= declared
        vector = builder.type("f64")
        given = ", ".join(f"{vector} {operand.text}" for operand in operands)
        return builder.append(f"call {vector} @vec.{name}({given})", "f64")

    return call


def definition(name: str, width: int, operands: int) -> tuple[str, dict[str, str]]:
    """Return the definition of ``vec.NAME``, a function of vectors, and the declarations of what it calls.

    Args:
        name: a key of ``FUNCTIONS``.
        width: the number of lanes.
        operands: the number of operands.
    """
    builder = Builder(width)
    vector = builder.type("f64")
    given = [Value(builder, f"%x{i}", "f64") for i in range(operands)]
    found = FUNCTIONS[name](*given)
    parameters = ", ".join(f"{vector} {one.text}" for one in given)
    body = "\n".join(f"  {line}" for line in [*builder.lines, f"ret {vector} {found.text}"])
    text = f"define internal {vector} @vec.{name}({parameters}) {ATTRIBUTES} noinline {{\n{body}\n}}"
    return "\n".join([*builder.definitions.values(), text]), builder.declared
