"""PyTorch's ``torch.nn``, as far as it is functions."""

from autodiff_cli.nn import functional as functional
