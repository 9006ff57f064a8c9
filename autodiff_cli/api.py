"""The public names of the library, in one flat module that ``autodiff_cli`` hands out on first use."""

import math

from autodiff_cli.autograd.dtypes import dtype as dtype
from autodiff_cli.autograd.dtypes import get_default_dtype as get_default_dtype
from autodiff_cli.autograd.dtypes import set_default_dtype as set_default_dtype
from autodiff_cli.autograd.modes import enable_grad as enable_grad
from autodiff_cli.autograd.modes import inference_mode as inference_mode
from autodiff_cli.autograd.modes import is_anomaly_enabled as is_anomaly_enabled
from autodiff_cli.autograd.modes import is_grad_enabled as is_grad_enabled
from autodiff_cli.autograd.modes import is_inference_mode_enabled as is_inference_mode_enabled
from autodiff_cli.autograd.modes import no_grad as no_grad
from autodiff_cli.autograd.modes import set_grad_enabled as set_grad_enabled
from autodiff_cli.autograd.tensor import Size as Size
from autodiff_cli.autograd.tensor import Tensor as Tensor
from autodiff_cli.autograd.tensor import Variable as Variable
from autodiff_cli.compiler.program import Program as Program
from autodiff_cli.derivatives.evaluate import Result as Result
from autodiff_cli.derivatives.evaluate import evaluate as evaluate
from autodiff_cli.evaluation.compile import compile as compile
from autodiff_cli.gradcheck.check import Report as Report
from autodiff_cli.gradcheck.check import check_gradient as check_gradient
from autodiff_cli.limits import unlimited as unlimited
from autodiff_cli.ops import *  # noqa: F403
from autodiff_cli.ops.activation import *  # noqa: F403
from autodiff_cli.ops.arrange import *  # noqa: F403
from autodiff_cli.ops.bessel import *  # noqa: F403
from autodiff_cli.ops.contract import *  # noqa: F403
from autodiff_cli.ops.decompose import *  # noqa: F403
from autodiff_cli.ops.density import *  # noqa: F403
from autodiff_cli.ops.determinants import *  # noqa: F403
from autodiff_cli.ops.extremes import *  # noqa: F403
from autodiff_cli.ops.factorials import *  # noqa: F403
from autodiff_cli.ops.logarithms import *  # noqa: F403
from autodiff_cli.ops.loss import *  # noqa: F403
from autodiff_cli.ops.matrices import *  # noqa: F403
from autodiff_cli.ops.norms import *  # noqa: F403
from autodiff_cli.ops.positions import *  # noqa: F403
from autodiff_cli.ops.special import *  # noqa: F403
from autodiff_cli.ops.views import *  # noqa: F403

# PyTorch's names of types, and its numbers.
bool, int64, float32, float64 = map(dtype, ("bool", "int64", "float32", "float64"))
float, double, long = float32, float64, int64
e, inf, nan, pi = math.e, math.inf, math.nan, math.pi
