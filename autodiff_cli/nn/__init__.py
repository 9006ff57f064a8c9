"""The counterpart of ``torch.nn`` in PyTorch: functions, parameters and their initial values; it has no modules."""

from autodiff_cli.nn import functional as functional
from autodiff_cli.nn import init as init
from autodiff_cli.nn.parameter import Parameter as Parameter
from autodiff_cli.unavailable_names import missing_from

__getattr__ = missing_from(__name__)
