"""The functions of PyTorch's ``torch.nn``."""

from autodiff_cli.nn import functional as functional
