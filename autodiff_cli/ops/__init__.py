"""The declarations of all operations, grouped by subject.  Importing this package installs the common operations.

All other operations are installed when an unknown name is looked up or all names are listed, so that a small evaluation
need not load three hundred declarations.
"""

from autodiff_cli.autograd import detached as detached  # this import installs Tensor.detach
from autodiff_cli.autograd import reverse_mode as reverse_mode  # this import installs Tensor.backward
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.lazy import named
from autodiff_cli.ops.arithmetic import *  # noqa: F403
from autodiff_cli.ops.comparison import *  # noqa: F403
from autodiff_cli.ops.creation import *  # noqa: F403
from autodiff_cli.ops.elementary import *  # noqa: F403
from autodiff_cli.ops.indexing import *  # noqa: F403
from autodiff_cli.ops.inplace import *  # noqa: F403
from autodiff_cli.ops.linalg import *  # noqa: F403
from autodiff_cli.ops.reduce import *  # noqa: F403
from autodiff_cli.ops.shape import *  # noqa: F403

COMMON = ("arithmetic", "elementary", "comparison", "reduce", "shape", "indexing", "linalg", "creation", "inplace")
FURTHER = (
    *("views", "positions", "extremes", "sorting", "arrange", "norms", "contract", "matrices", "determinants", "decompose"),
    *("factorials", "special", "logarithms", "bessel", "zeta_functions", "incomplete", "density", "activation", "loss"),
    *("faddeeva", "numerical", "trigonometry", "airy", "elliptic", "bessel_orders"),
    *("gates", "normalization", "attention", "margin_losses", "random_numbers", "batching", "stop_gradient"),
    *("pieces", "counting", "summaries", "systems", "representation"),
)


def install_all() -> None:
    """Install the operations of every module."""
    for module in FURTHER:
        named(f"autodiff_cli.ops.{module}")


FUNCTIONS.on_missing(install_all)
