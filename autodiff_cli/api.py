"""The public names of the library, in one flat module that ``autodiff_cli`` hands out on first use."""

from autodiff_cli.autograd.dtypes import float32, float64, get_default_dtype, int64, set_default_dtype
from autodiff_cli.autograd.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from autodiff_cli.autograd.tensor import Tensor, Variable
from autodiff_cli.ops import *  # noqa: F403
