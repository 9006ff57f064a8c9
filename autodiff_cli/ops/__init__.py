"""The operations of the language, grouped by subject.

Importing this package installs the operators of ``Tensor``.  All other functions are installed when their names are looked up, so
that a small evaluation loads only the modules of its functions; ``names`` has the module of each name.
"""

from collections.abc import Callable
from typing import Any

from autodiff_cli.autograd import detached as detached  # this import installs Tensor.detach
from autodiff_cli.autograd import reverse_mode as reverse_mode  # this import installs Tensor.backward
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.lazy import named
from autodiff_cli.ops import arithmetic  # noqa: F401
from autodiff_cli.ops.names import MODULES

FUNCTIONS.on_missing(
    {name: module for module, names in MODULES.items() for name in names.split()},
    lambda module: named(f"autodiff_cli.ops.{module}"),
)


def _replaced_by(module: str, name: str) -> Callable[..., Any]:
    """Return an operator that imports the module which installs the operator, and calls it."""

    def operator(self: Tensor, *operands: object) -> Any:
        named(f"autodiff_cli.ops.{module}")
        return getattr(Tensor, name)(self, *operands)

    return operator


def _compared(name: str) -> Any:
    """Return the operator of a comparison, which leaves ``None`` and texts to Python."""
    return lambda self, other: NotImplemented if other is None or isinstance(other, str) else FUNCTIONS[name].function(self, other)


# The interpreter looks operators up in the class, so they cannot wait for Tensor.__getattr__.
_OPERATORS = {
    **dict.fromkeys(("lt", "le", "gt", "ge", "and", "or", "xor", "rand", "ror", "rxor", "invert"), "rules.comparison"),
    **dict.fromkeys(("lshift", "rshift", "rlshift", "rrshift"), "rules.comparison"),
    **{"getitem": "indexing", "iter": "views", "matmul": "rules.contract", "rmatmul": "rules.contract"},
}
for _name, _module in _OPERATORS.items():
    setattr(Tensor, f"__{_name}__", _replaced_by(_module, f"__{_name}__"))
Tensor.__eq__, Tensor.__ne__ = _compared("eq"), _compared("ne")  # type: ignore[method-assign]
