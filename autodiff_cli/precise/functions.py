"""What the functions of the language do to single numbers of many digits, by the names of the declarations."""

from __future__ import annotations

from typing import Any

from autodiff_cli.errors import NotPrecise
from autodiff_cli.precise.number import Arithmetic
from autodiff_cli.precise.special import FUNCTIONS


def computed(name: str, m: Arithmetic, arguments: list[Any]) -> Any:
    """The result of a function of the table.

    Raises:
        NotPrecise: if it is not in the table, or mpmath cannot compute it there.
    """
    function = FUNCTIONS.get(name)
    if function is None:
        raise NotPrecise(name)
    try:
        value = function(m, *arguments)
    except NotPrecise:
        raise
    except (ArithmeticError, ValueError, NotImplementedError, MemoryError, TypeError):
        raise NotPrecise(name) from None
    if isinstance(value, m.mp.mpc):
        return value.real if not value.imag else m.mp.nan
    return value
