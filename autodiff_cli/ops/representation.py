"""Signs of floating-point numbers, and powers in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import VALUE, takes
from autodiff_cli.autograd.primitives.types import Operand
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.ops.arithmetic import pow
from autodiff_cli.ops.casts import to
from autodiff_cli.ops.rules.representation import copysign_number, copysign_tensor, declare


@declare.described
def copysign(x: Operand, y: Operand) -> Any:
    return copysign_number(x, float(y)) if isinstance(x, Tensor) and isinstance(y, (int, float)) else copysign_tensor(x, y)


@declare.described
@takes(input=VALUE, exponent=VALUE)
def float_power(input: Operand, exponent: Operand) -> Any:
    return pow(
        *(to(each, np.float64) if isinstance(each, Tensor) else np.asarray(each, np.float64)[()] for each in (input, exponent))
    )
