"""Functions of PyTorch's ``torch.nn.functional``: activation functions, losses, ``linear`` and ``pad``."""

from autodiff_cli.ops.activation import *  # noqa: F403
from autodiff_cli.ops.arrange import pad as pad
from autodiff_cli.ops.contract import linear as linear
from autodiff_cli.ops.elementary import tanh as tanh
from autodiff_cli.ops.loss import *  # noqa: F403
