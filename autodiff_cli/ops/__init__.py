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


# The interpreter looks operators up in the class, so they cannot wait for Tensor.__getattr__.
_MODULES = {"__getitem__": "indexing", "__iter__": "views", "__matmul__": "rules.contract", "__rmatmul__": "rules.contract"}
for _name, _module in _MODULES.items():
    setattr(Tensor, _name, _replaced_by(_module, _name))
