"""Kinds of the arguments that only Python passes: functions, dictionaries of values, expressions and lists of tensors.

``checks`` is for functions of Python alone.  The functions of the language use ``takes``, which also converts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from inspect import CO_VARKEYWORDS
from typing import Any, TypeVar

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import NUMBER, WHOLE, Argument, Kind, Unfit, either, instance, number, optional
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError
from autodiff_cli.suggest import suggestion

_Checked = TypeVar("_Checked", bound=Callable[..., Any])


def _one_or_several(item_type: type) -> Callable[[Argument], Any]:
    """Return a function that accepts an instance of a type, a list of instances, or an iterator, which is not read."""

    def take(value: Argument) -> Any:
        if isinstance(value, item_type):
            return value
        if isinstance(value, (str, bytes, np.ndarray, Mapping)) or not isinstance(value, Iterable):
            raise Unfit
        if isinstance(value, (list, tuple)) and not all(isinstance(item, item_type) for item in value):
            raise Unfit
        return value

    return take


def _as_pair(value: Argument) -> Any:
    """Convert a list of two numbers to a tuple; refuse any other value."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise Unfit
    return tuple([number(item) for item in value])


def choice(*names: str) -> Kind:
    """Return the kind of a setting whose value is one of the names, exactly as written."""

    def take(value: Argument) -> str:
        if not isinstance(value, str) or value not in names:
            raise Unfit
        return value

    return Kind(" or ".join(map(repr, names)), take)


def _as_count(value: Argument) -> Any:
    """Accept a whole number of any size, because the functions have limits of their own."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return WHOLE.take(value)


COUNT = Kind("a whole number", _as_count)
FUNCTION = Kind("a function", instance(Callable))
A_TENSOR = Kind("a tensor", instance(Tensor))
EXPRESSION = Kind("an expression, which is a text", instance(str))
VALUES = Kind("a dictionary of names and values, such as {'x': 1.0}", instance(Mapping))
NAMES = Kind("a name or a list of names", _one_or_several(str))
VALUES_OR_TEXTS = Kind("a dictionary of names and values, such as {'x': 1.0}, or texts such as 'x=1'", either(VALUES, NAMES).take)
PARAMETERS = Kind("a list of tensors, or of dictionaries with the key 'params'", instance(Iterable))
POINTS = Kind("a dictionary of names and values, such as {'x': 1.0}, or a list of them", _one_or_several(Mapping))
RATE = Kind("a number or a tensor with one element", either(A_TENSOR, NUMBER).take)
PAIR = Kind("a pair of numbers", _as_pair)


def at_a_point(tensors: str = "") -> dict[str, Kind]:
    """Return the kinds of the arguments ``expression``, ``at``, ``const`` and ``wrt`` of a function.

    Args:
        tensors: the function that does the same with tensors or functions of tensors, for the hint of an error.
    """
    expression = Kind(EXPRESSION.wants, EXPRESSION.take, f"use {tensors} for tensors" if tensors else None)
    values = optional(VALUES)
    return {"expression": expression, "at": values, "const": values, "wrt": optional(NAMES)}


def checks(**kinds: Kind) -> Callable[[_Checked], _Checked]:
    """Return a decorator that checks arguments by their kinds and passes them on unchanged, for functions of Python alone.

    In a message, a constructor has the name of its class.
    """
    return lambda function: _checking(function, kinds)


def _checking(function: _Checked, kinds: Mapping[str, Kind]) -> _Checked:
    """Return a function that checks its arguments and calls ``function``; see ``checks``."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    accepts_any = bool(code.co_flags & CO_VARKEYWORDS)
    accepted = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    name = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def checked(*args: Argument, **kwargs: Argument) -> Any:
        for parameter, value in (*zip(names, args, strict=False), *kwargs.items()):
            if parameter not in accepted and not accepts_any:
                variable = f"give values of variables as at={{'{parameter}': 1.0}}" if "at" in kinds else None
                message = f"{name}() got an unexpected keyword argument '{parameter}'"
                raise ArgumentError(message, hint=suggestion(parameter, accepted) or variable)
            if parameter in kinds:
                kinds[parameter](value, name, parameter)
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]
