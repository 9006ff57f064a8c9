"""The reciprocals of the trigonometric functions, in radians."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.ops.elementary import tan

__all__ = ["cot", "csc", "sec"]

declare = Declarations(__name__, elementwise=True)

_ANY = ((0.3,), (-1.7,), ([0.4, -2.2],))
_AT_WHOLE_TURNS: dict[str, Any] = {
    "domain": "sin(x) != 0",
    "inside": lambda x: np.sin(x) != 0,
    "samples": _ANY,
    "edges": ((0.0,),),
}
_reciprocal = np.errstate(divide="ignore")(np.reciprocal)

sec: TensorFunction = declare(
    "sec",
    lambda x: _reciprocal(np.cos(x)),
    {"x": lambda g, x, out: g * (out * tan(x))},
    decomposition="1/cos(x)",
    summary="secant of x in radians, 1/cos(x)",
    formula="sec(x)*tan(x)",
    domain="cos(x) != 0",
    inside=lambda x: np.cos(x) != 0,
    samples=_ANY,
)
csc: TensorFunction = declare(
    "csc",
    lambda x: _reciprocal(np.sin(x)),
    {"x": lambda g, x, out: -g * (out * cot(x))},
    decomposition="1/sin(x)",
    summary="cosecant of x in radians, 1/sin(x)",
    formula="-csc(x)*cot(x)",
    convention="at 0 the value is inf and the derivative is -inf",
    **_AT_WHOLE_TURNS,
)
cot: TensorFunction = declare(
    "cot",
    lambda x: _reciprocal(np.tan(x)),
    {"x": lambda g, out: -g * (out * out + 1)},
    decomposition="1/tan(x)",
    summary="cotangent of x in radians, 1/tan(x)",
    formula="-1 - cot(x)**2",
    convention="at 0 the value is inf and the derivative is -inf",
    **_AT_WHOLE_TURNS,
)
