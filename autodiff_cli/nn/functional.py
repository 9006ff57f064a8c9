"""The functions of PyTorch's ``torch.nn.functional``."""

from autodiff_cli.ops.activation import *  # noqa: F403
from autodiff_cli.ops.arrange import pad as pad
from autodiff_cli.ops.contract import linear as linear
from autodiff_cli.ops.elementary import tanh as tanh
from autodiff_cli.ops.loss import *  # noqa: F403
