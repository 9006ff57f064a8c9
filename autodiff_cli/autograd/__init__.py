"""The engine: tensors, the recorded graph and the sweep through it; PyTorch's ``torch.autograd``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autodiff_cli.autograd.checking import gradcheck as gradcheck
    from autodiff_cli.autograd.checking import gradgradcheck as gradgradcheck
    from autodiff_cli.autograd.function import Function as Function
    from autodiff_cli.autograd.sweep import backward as backward
    from autodiff_cli.autograd.sweep import grad as grad
    from autodiff_cli.autograd.tensor import Variable as Variable
    from autodiff_cli.errors import GradcheckError as GradcheckError

_HOMES = {
    "Function": "autograd.function",
    "GradcheckError": "errors",
    "Variable": "autograd.tensor",
    "backward": "autograd.sweep",
    "grad": "autograd.sweep",
    "gradcheck": "autograd.checking",
    "gradgradcheck": "autograd.checking",
}


def __getattr__(name: str) -> Any:
    if name == "functional":
        import_module("autodiff_cli.ops")
        return import_module("autodiff_cli.autograd.functional")
    if name not in _HOMES:
        raise AttributeError(f"module 'autodiff_cli.autograd' has no attribute {name!r}")
    import_module("autodiff_cli.ops")  # the sweep needs the operations that its adjoints are made of
    return getattr(import_module(f"autodiff_cli.{_HOMES[name]}"), name)
