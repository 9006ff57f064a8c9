"""The counterpart of ``torch.nn`` in PyTorch: functions, parameters and their initial values; it has no modules."""

from typing import NoReturn

from autodiff_cli.nn import functional as functional
from autodiff_cli.nn import init as init
from autodiff_cli.nn import utils as utils
from autodiff_cli.nn.parameter import Parameter as Parameter
from autodiff_cli.unavailable_names import missing


def __getattr__(name: str) -> NoReturn:
    raise missing(__name__, name)
