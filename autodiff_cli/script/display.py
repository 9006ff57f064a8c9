"""Conversion of program values to text, and to plain numbers for JSON."""

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.node import Node
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.printing import Size
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.command_result import plain
from autodiff_cli.evaluation.coercion import is_plain_number
from autodiff_cli.evaluation.user_function import UserFunction


def display(value: object) -> str:
    """Return the text of a value; tensors are printed in the format of PyTorch."""
    if isinstance(value, tuple) and not isinstance(value, Size):
        return f"({', '.join(map(display, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(display, value))}]"
    if isinstance(value, Node):
        return f"<{type(value).__name__}>"
    if isinstance(value, UserFunction):
        return f"<function {value.name}({', '.join(value.parameters)})>"
    if isinstance(value, FunctionInfo):
        return f"<function {value.signature}>"
    return str(value)


def as_plain_value(value: object) -> Any:
    """Return a value for JSON: a number, nested lists of numbers, or the text of any other value."""
    if isinstance(value, (tuple, list)):
        return [as_plain_value(item) for item in value]
    if isinstance(value, Tensor):
        return plain(value._data)
    return value if value is None or is_plain_number(value) else display(value)
