"""The operations of the language, grouped by subject.

Importing this package installs the operators of ``Tensor``.  All other functions are installed when their names are looked up, so
that a small evaluation loads only the modules of its functions; ``index`` has the module of each name.
"""

from autodiff_cli.autograd import detached as detached  # this import installs Tensor.detach
from autodiff_cli.autograd import reverse_mode as reverse_mode  # this import installs Tensor.backward
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.lazy import named
from autodiff_cli.ops import arithmetic, comparison  # noqa: F401
from autodiff_cli.ops.index import MODULES

FUNCTIONS.on_missing(
    {name: module for module, names in MODULES.items() for name in names.split()},
    lambda module: named(f"autodiff_cli.ops.{module}"),
)
