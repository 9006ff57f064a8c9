"""What an autograd library does, said as small programs that run on PyTorch and on this package alike.

``AUTODIFF_PEER=torch`` runs them on PyTorch, where all of them pass: that is what makes them true.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import isfunction
from typing import Any

import pytest

torch: Any = import_module(os.environ.get("AUTODIFF_PEER", "autodiff_cli"))


def precedes(version: str) -> bool:
    """Whether the tests run on a PyTorch that is older than a version, such as ``2.14``."""
    return torch.__name__ == "torch" and int(torch.__version__.split(".")[1]) < int(version.split(".")[1])


def since(version: str) -> pytest.MarkDecorator:
    """The mark of a test of what PyTorch does from a version on: an older PyTorch skips it."""
    return pytest.mark.skipif(precedes(version), reason=f"new in PyTorch {version}")


def leaf(values: Any) -> Any:
    """A float64 tensor that requires grad."""
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def const(values: Any) -> Any:
    """A float64 tensor that does not."""
    return torch.tensor(values, dtype=torch.float64)


class Function(torch.autograd.Function):  # type: ignore[misc,name-defined]
    """A custom function whose methods are static without saying so."""

    def __init_subclass__(cls) -> None:
        for name, method in list(vars(cls).items()):
            if isfunction(method):
                setattr(cls, name, staticmethod(method))


def shape(tensor: Any) -> list[int]:
    return list(tensor.shape)


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings, such as the one about the cycle that ``backward(create_graph=True)`` makes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def each_time() -> Iterator[None]:
    """Warnings that are given once in a process are given each time, whichever test was first."""
    set_always = getattr(torch, "set_warn_always", lambda mode: None)  # autodiff gives no warning only once
    set_always(True)
    try:
        yield
    finally:
        set_always(False)
