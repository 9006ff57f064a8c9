"""The functions of ``torch.special``."""

from autodiff_cli.ops.names.special import *  # noqa: F403
from autodiff_cli.ops.rules.activation import log_softmax as log_softmax
from autodiff_cli.ops.rules.activation import sigmoid as expit
from autodiff_cli.ops.rules.activation import softmax as softmax
from autodiff_cli.ops.rules.elementary import exp2 as exp2
from autodiff_cli.ops.rules.elementary import expm1 as expm1
from autodiff_cli.ops.rules.elementary import log1p as log1p
from autodiff_cli.ops.rules.elementary import round as round
