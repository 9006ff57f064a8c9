"""The engine: tensors, the recorded graph and backward passes through it; PyTorch's ``torch.autograd``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autodiff_cli.autograd.function import Function as Function
    from autodiff_cli.autograd.gradient_check import gradcheck as gradcheck
    from autodiff_cli.autograd.gradient_check import gradgradcheck as gradgradcheck
    from autodiff_cli.autograd.modes import detect_anomaly as detect_anomaly
    from autodiff_cli.autograd.modes import enable_grad as enable_grad
    from autodiff_cli.autograd.modes import inference_mode as inference_mode
    from autodiff_cli.autograd.modes import no_grad as no_grad
    from autodiff_cli.autograd.modes import set_detect_anomaly as set_detect_anomaly
    from autodiff_cli.autograd.modes import set_grad_enabled as set_grad_enabled
    from autodiff_cli.autograd.reverse_mode import backward as backward
    from autodiff_cli.autograd.reverse_mode import grad as grad
    from autodiff_cli.autograd.tensor import Variable as Variable
    from autodiff_cli.errors import GradcheckError as GradcheckError

_HOMES = {
    "Function": "autograd.function",
    "GradcheckError": "errors",
    "Variable": "autograd.tensor",
    "detect_anomaly": "autograd.modes",
    "enable_grad": "autograd.modes",
    "inference_mode": "autograd.modes",
    "no_grad": "autograd.modes",
    "set_detect_anomaly": "autograd.modes",
    "set_grad_enabled": "autograd.modes",
    "backward": "autograd.reverse_mode",
    "grad": "autograd.reverse_mode",
    "gradcheck": "autograd.gradient_check",
    "gradgradcheck": "autograd.gradient_check",
}
_MODULES = ("function", "functional", "graph")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"autodiff_cli.autograd.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'autodiff_cli.autograd' has no attribute {name!r}")
    return getattr(import_module(f"autodiff_cli.{_HOMES[name]}"), name)
