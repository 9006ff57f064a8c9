"""The counterpart of ``torch.nn`` in PyTorch; it contains only ``functional``."""

from autodiff_cli.nn import functional as functional
