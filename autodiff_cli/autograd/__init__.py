"""The autograd engine: tensors, the recorded graph and its backward passes, as in ``torch.autograd``."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from autodiff_cli.autograd import forward_ad as forward_ad
    from autodiff_cli.autograd import function as function
    from autodiff_cli.autograd import functional as functional
    from autodiff_cli.autograd import graph as graph
    from autodiff_cli.autograd.public_names import *  # noqa: F403
else:
    from autodiff_cli.lazy import attach

    __getattr__, __dir__ = attach(__name__, "autodiff_cli.autograd.public_names", ("forward_ad", "function", "functional", "graph"))
