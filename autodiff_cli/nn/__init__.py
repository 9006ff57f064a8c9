"""The counterpart of ``torch.nn`` in PyTorch: functions and parameters; it has no modules and no initial values."""

from autodiff_cli.nn import functional as functional
from autodiff_cli.nn.parameter import Parameter as Parameter
from autodiff_cli.unavailable_names import missing_from

__getattr__ = missing_from(__name__)
