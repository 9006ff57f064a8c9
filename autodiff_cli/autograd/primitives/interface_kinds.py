"""Kinds of the arguments that only Python passes: functions, dictionaries of values, expressions and lists of tensors.

``checks`` is for functions of Python alone.  The functions of the language use ``takes``, which also converts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import Argument, Kind, Unfit, number
from autodiff_cli.autograd.tensor import Tensor

_Checked = TypeVar("_Checked", bound=Callable[..., Any])


def _of(wanted: type | tuple[type, ...]) -> Callable[[Argument], Any]:
    def take(value: Argument) -> Any:
        if not isinstance(value, wanted) or isinstance(value, bytes):
            raise Unfit
        return value

    return take


def _each_of(wanted: type) -> Callable[[Argument], Any]:
    def take(value: Argument) -> Any:
        if isinstance(value, wanted):
            return value
        if isinstance(value, (str, bytes, np.ndarray, Mapping)) or not isinstance(value, Iterable):
            raise Unfit
        if isinstance(value, (list, tuple)) and not all(isinstance(one, wanted) for one in value):
            raise Unfit
        return value

    return take


def _function(value: Argument) -> Any:
    if not callable(value):
        raise Unfit
    return value


def _rate(value: Argument) -> Any:
    return value if isinstance(value, Tensor) else number(value)


def _pair(value: Argument) -> Any:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise Unfit
    return tuple([number(item) for item in value])


FUNCTION = Kind("a function", _function)
A_TENSOR = Kind("a tensor", _of(Tensor))
EXPRESSION = Kind("an expression, which is a text", _of(str))
VALUES = Kind("a dictionary of names and values, such as {'x': 1.0}", _of(Mapping))
VALUES_OR_TEXTS = Kind("a dictionary of names and values, such as {'x': 1.0}, or texts such as 'x=1'", _of((Mapping, Iterable)))
NAMES = Kind("a list of names", _each_of(str))
TENSORS = Kind("a tensor or a list of tensors", _each_of(Tensor))
PARAMETERS = Kind("a list of tensors, or of dictionaries with the key 'params'", _of(Iterable))
POINTS = Kind("a dictionary of names and values, such as {'x': 1.0}, or a list of them", _each_of(Mapping))
RATE = Kind("a number or a tensor with one element", _rate)
PAIR = Kind("a pair of numbers", _pair)


def checks(**kinds: Kind) -> Callable[[_Checked], _Checked]:
    """Return a decorator that checks arguments by their kinds and passes them on unchanged, for functions of Python alone.

    In a message, a constructor has the name of its class.
    """

    def decorate(function: _Checked) -> _Checked:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        name = function.__qualname__.removesuffix(".__init__")

        @functools.wraps(function)
        def checked(*args: Argument, **kwargs: Argument) -> Any:
            for parameter, value in (*zip(names, args, strict=False), *kwargs.items()):
                if parameter in kinds:
                    kinds[parameter](value, name, parameter)
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate
