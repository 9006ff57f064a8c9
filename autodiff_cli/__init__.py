"""autodiff: exact derivatives of expressions, with PyTorch's autograd on NumPy.

``import autodiff_cli as ad`` provides PyTorch's names with PyTorch's semantics.  Each name is imported on first use, so that
the command line loads only the modules that it needs.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from autodiff_cli import autograd as autograd
    from autodiff_cli import errors as errors
    from autodiff_cli import func as func
    from autodiff_cli import linalg as linalg
    from autodiff_cli import nn as nn
    from autodiff_cli import optim as optim
    from autodiff_cli import special as special
    from autodiff_cli import utils as utils
    from autodiff_cli.public_names import *  # noqa: F403
else:
    from autodiff_cli.lazy import attach

    __getattr__, __dir__ = attach(
        __name__, "autodiff_cli.public_names", ("autograd", "errors", "func", "linalg", "nn", "optim", "special", "utils")
    )

__version__ = "0.3.0"


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Add the magics ``%autodiff`` and ``%%autodiff`` to IPython; ``%load_ext autodiff_cli`` calls this function."""
    from autodiff_cli.lazy import named

    named("autodiff_cli.cli.notebook:register")(shell)
