"""The public names of ``torch.autograd``, which the package imports on first use."""

from autodiff_cli.autograd.checks.gradcheck import gradcheck as gradcheck
from autodiff_cli.autograd.checks.gradcheck import gradgradcheck as gradgradcheck
from autodiff_cli.autograd.function import Function as Function
from autodiff_cli.autograd.modes import enable_grad as enable_grad
from autodiff_cli.autograd.modes import inference_mode as inference_mode
from autodiff_cli.autograd.modes import no_grad as no_grad
from autodiff_cli.autograd.modes import set_grad_enabled as set_grad_enabled
from autodiff_cli.autograd.reverse.anomaly import detect_anomaly as detect_anomaly
from autodiff_cli.autograd.reverse.anomaly import set_detect_anomaly as set_detect_anomaly
from autodiff_cli.autograd.reverse_mode import backward as backward
from autodiff_cli.autograd.reverse_mode import grad as grad
from autodiff_cli.autograd.tensor import Tensor as Variable  # noqa: F401
from autodiff_cli.errors import GradcheckError as GradcheckError
