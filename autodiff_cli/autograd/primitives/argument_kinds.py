"""The binding of arguments to parameters, and the kinds of plain arguments, such as dimensions, whole numbers, flags and names.

A declaration gives the kind of every parameter that does not take a tensor.  A kind converts an argument for the function,
or refuses it with a message that names the function, the parameter, the expected kind and the given value.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, DtypeError, ValuesNeeded, type_name

KEYWORD_ALIASES: dict[str, tuple[str, ...]] = {
    "input": ("x",),
    "other": ("y",),
    "a": ("x",),
    "axis": ("dim", "dims"),
    "axes": ("dims", "dim"),
    "axis1": ("dim0", "dim1"),
    "axis2": ("dim2", "dim1"),
    "keepdims": ("keepdim",),
    "k": ("diagonal", "offset"),
    "ord": ("p",),
    "ddof": ("correction",),
    "shift": ("shifts",),
    "reps": ("dims",),
    "a_min": ("min",),
    "a_max": ("max",),
}
"""Keywords of NumPy and PyTorch, each with the parameters that it may stand for in a function without a parameter of that name."""
INTO_ANOTHER = "the result is a new tensor: assign it, or write it into a tensor with copy_"
"""The hint for ``out=``."""
LEAST, MOST = -(2**63), 2**63 - 1
"""The range of int64, the widest signed integer type of NumPy."""
EXACT = 2**53
"""The number up to which every integer can be represented exactly as a float."""
_LONGEST_TEXT = 60
"""The most characters of a value in a message, and the most elements of a list."""

Argument = Any
"""The value that a user passed for a parameter: any object, until a kind has checked it."""


def value_text(value: Argument) -> str:
    """Return the text of a value for messages: as the language writes it, or its kind (and shape); a long text is cut."""
    if value is None or isinstance(value, (bool, np.bool_)):
        text = str(value).lower()
    elif isinstance(value, (float, np.floating)):
        text = f"{value:g}"
    elif isinstance(value, (list, tuple)):
        text = f"[{', '.join(value_text(item) for item in value[:_LONGEST_TEXT])}]"
    elif isinstance(value, Tensor) and type(value) is not Tensor:
        text = "a tensor"  # a Taylor series, or a tracer, without values
    elif isinstance(value, Tensor) or (isinstance(value, np.ndarray) and value.ndim):
        text = f"a {np.dtype(value.dtype)} tensor of shape {list(value.shape)}" if value.shape else f"the tensor {value.item():g}"
    elif isinstance(value, (int, str, np.generic, np.ndarray)):
        text = repr(value.item() if isinstance(value, (np.generic, np.ndarray)) else value)
    else:
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - len(' ...')]} ..."


def parameter_for(keyword: str, parameters: Sequence[str]) -> str:
    """Return the parameter that a keyword stands for; the keyword itself if no parameter fits."""
    if keyword in parameters:
        return keyword
    return next((alias for alias in KEYWORD_ALIASES.get(keyword, ()) if alias in parameters), keyword)


def how_many(least: int, most: int) -> str:
    """Return a count of arguments, such as ``1 argument`` or ``2 to 3 arguments``."""
    return f"{most} argument{'s' * (most != 1)}" if least == most else f"{least} to {most} arguments"


def bind(
    name: str, parameters: tuple[str, ...], defaults: tuple[Any, ...], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return the arguments of a call of the function ``name`` in the order of the parameters; the last have the ``defaults``.

    Raise ArgumentError if there are too many or too few arguments, or a keyword is unknown or given twice.
    """
    first_default = len(parameters) - len(defaults)
    expected = how_many(first_default, len(parameters))
    if len(args) > len(parameters):
        raise ArgumentError(f"{name} takes {expected}, not {len(args)}")
    values = dict(zip(parameters, args, strict=False))
    for keyword, value in kwargs.items():
        parameter = parameter_for(keyword, parameters)
        if parameter not in parameters:
            hint = INTO_ANOTHER if keyword == "out" else f"it has {', '.join(parameters)}"
            raise ArgumentError(f"{name} has no parameter '{keyword}'", hint=hint)
        if parameter in values:
            raise ArgumentError(f"{name} got two values for '{parameter}'")
        values[parameter] = value
    for i, parameter in enumerate(parameters):
        if parameter not in values:
            if i < first_default:
                raise ArgumentError(f"{name} takes {expected}; '{parameter}' is missing")
            values[parameter] = defaults[i - first_default]
    return tuple(values[parameter] for parameter in parameters)


PLAIN = frozenset((np.ndarray, np.float64, np.float32, np.int64, np.bool_, float, int, bool))
"""The usual types of a first argument that is not a tensor; VJP rules pass arrays."""


def checked_operand(value: Argument, name: str, parameter: str = "x", position: int = 1) -> Any:
    """Return an argument that is a tensor, an array of numbers or a number; raise PyTorch's DtypeError for any other value.

    The message tells the function ``name``, the ``parameter``, whose ``x`` and ``y`` are PyTorch's ``input`` and ``other``, and the
    ``position`` of the argument, from 1.
    """
    if isinstance(value, (Tensor, int, float)) or (isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fiub"):
        return value
    kind = f"{value.dtype} array" if isinstance(value, np.ndarray) else type_name(value)
    parameter = {"x": "input", "y": "other"}.get(parameter, parameter)
    raise DtypeError(
        f"{name}(): argument '{parameter}' (position {position}) must be Tensor, not {kind}",
        hint="make a tensor with tensor([1.0, 2.0])" if isinstance(value, (list, tuple)) else "pass a tensor or a number",
    )


class Unfit(Exception):
    """The exception for an argument of the wrong kind; its text, if not empty, replaces the description of the kind."""


class Kind:
    """A kind of plain argument.

    Attributes:
        wants: the description of the kind, which completes ``must be ...`` in a message.
        take: the function that converts an argument, or raises ``Unfit``.
        hint: the hint of the error for an argument that is not of the kind.
    """

    __slots__ = ("hint", "take", "wants")

    def __init__(self, wants: str, take: Callable[[Argument], Any], hint: str | None = None) -> None:
        self.wants = wants
        self.take = take
        self.hint = hint

    def __call__(self, value: Argument, name: str, parameter: str) -> Any:
        """Convert the argument for ``parameter`` in a call of ``name``; raise ArgumentError if it is not of this kind."""
        try:
            return self.take(value)
        except Unfit as unfit:
            wants = str(unfit) or self.wants
        raise ArgumentError(f"{name}: '{parameter}' must be {wants}, not {value_text(value)}", hint=self.hint)


def _single_number(value: Argument) -> Any:
    """Return the number in a 0-d tensor or array, any other value unchanged; refuse tensors that require grad or have a shape."""
    if isinstance(value, Tensor) and (type(value) is not Tensor or value.shape or value.requires_grad):  # also tracers
        raise Unfit
    if isinstance(value, (np.generic, Tensor)) or (isinstance(value, np.ndarray) and not value.ndim):
        return value.item()
    return value


def _as_whole(value: Argument) -> int:
    """Convert a whole number of at most 64 bits to an int; refuse booleans."""
    if type(value) is not int:
        value = _single_number(value)
        if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, float) and value.is_integer())):
            raise Unfit
        value = int(value)
    if not LEAST <= value <= MOST:
        raise Unfit("a whole number of at most 64 bits")
    return int(value)


def whole_between(least: int, most: int) -> Callable[[Argument], int]:
    """Return a function that converts a whole number from ``least`` to ``most``."""

    def take(value: Argument) -> int:
        result = _as_whole(value)
        if not least <= result <= most:
            raise Unfit
        return result

    return take


def instance(*types: Any) -> Callable[[Argument], Any]:
    """Return a function that returns an instance of one of the types unchanged; it refuses other values, and always ``bytes``."""

    def take(value: Argument) -> Any:
        if not isinstance(value, types) or isinstance(value, bytes):
            raise Unfit
        return value

    return take


def _as_wholes(value: Argument) -> Any:
    """Convert a whole number, or a list of them to a tuple."""
    return tuple([_as_whole(item) for item in value]) if isinstance(value, (list, tuple)) else _as_whole(value)


def number(value: Argument) -> Any:
    """Convert to a Python number; a whole number beyond ``EXACT`` becomes a float or inf, because NumPy's integers have 64 bits."""
    value = _single_number(value)
    if not isinstance(value, (int, float)):
        raise Unfit
    if isinstance(value, float) or -EXACT <= value <= EXACT:
        return value
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _as_flag(value: Argument) -> bool:
    """Convert a boolean, or the number 0 or 1, to a boolean; refuse other numbers."""
    value = _single_number(value)
    if not isinstance(value, (int, float)) or value not in (0, 1):
        raise Unfit
    return bool(value)


def _as_dtype(value: Argument) -> Any:
    """Convert the name of a type, or a type, to a NumPy dtype; refuse ``None`` and lists, which are types for NumPy."""
    try:
        result = None if value is None or isinstance(value, (list, tuple)) else np.dtype(value)
    except (TypeError, ValueError):
        result = None
    if result is None or result.kind not in "fib":
        raise Unfit
    return result


def _as_tensor(value: Argument) -> Any:
    """Accept a tensor, an array or a number; a number becomes a NumPy scalar."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fib":
        return value
    if isinstance(value, (int, float)):
        return np.float64(number(value))  # integers would overflow
    raise Unfit


def _as_array(value: Argument) -> Any:
    """Convert a tensor, a number or nested lists to an array."""
    try:
        return np.asarray(getattr(value, "_data", value))
    except (ValueError, TypeError):  # rows of different lengths
        raise Unfit from None


def _as_mask(value: Argument) -> Any:
    """Convert to an array of booleans; refuse numbers."""
    array = _as_array(value)
    if array.dtype.kind != "b":
        raise Unfit
    return array


def _as_positions(value: Argument) -> Any:
    """Convert to an array of integers, from whole floats too; refuse booleans and fractions."""
    array = whole_as_integers(_as_array(value))
    if array.dtype.kind != "i":
        raise Unfit
    return array


def whole_as_integers(array: Array | np.generic) -> Any:
    """Convert floating-point numbers to integers if all are whole 64-bit numbers; return any other array unchanged."""
    if array.dtype.kind == "f" and np.all((array == np.floor(array)) & (np.abs(array) < MOST)):
        return array.astype(np.int64)
    return array


WHOLE = Kind("a whole number", _as_whole)
MOST_ORDER = 300
"""The highest order of a derivative or of a Bessel function that an argument can request."""
ORDER = Kind(f"a whole number from 0 to {MOST_ORDER}", whole_between(0, MOST_ORDER))
DIMENSION = Kind("a dimension, which is a whole number", _as_whole)
DIMENSIONS = Kind("a dimension or a list of dimensions, which are whole numbers", _as_wholes)
WHOLES = Kind("a whole number or a list of whole numbers", _as_wholes)
PARTS = Kind(
    "a number of parts, or a list of the positions between them",
    lambda value: _as_wholes(value.tolist() if isinstance(value, Tensor) else value),
)
NUMBER = Kind("a number", number)
FLAG = Kind("true or false", _as_flag)
TEXT = Kind("a string in quotes", instance(str))
BRANCH = Kind("0 or -1, a real branch", whole_between(-1, 0))
SIDE = Kind("'left' or 'right'", instance(str))
TYPE = Kind("the name of a type such as 'float64'", _as_dtype)
FLAG_AFTER_TWO = Kind("true or false", _as_flag, "for more than two tensors, give a list, such as max([a, b, c])")
MASK = Kind("a tensor of booleans, such as x > 0", _as_mask)
POSITIONS = Kind("a tensor of positions, which are whole numbers", _as_positions)
TENSOR = Kind("a number or a tensor", _as_tensor)
VALUE = Kind("a number or a tensor", lambda value: number(value) if isinstance(value, (int, float)) else _as_tensor(value))
"""The same kind as ``TENSOR``, for functions that treat plain numbers differently from tensors."""


def either(*kinds: Kind) -> Kind:
    """Return a kind that accepts arguments of several kinds; the first kind that accepts an argument converts it."""

    def take(value: Argument) -> Any:
        for kind in kinds:
            try:
                return kind.take(value)
            except Unfit:
                continue
        raise Unfit

    return Kind(" or ".join(kind.wants for kind in kinds), take)


def _as_count_or_pair(value: object) -> Any:
    """Convert a number of dimensions, or a pair of lists of dimensions to a tuple."""
    if not isinstance(value, (list, tuple)):
        return WHOLE.take(value)
    if len(value) != 2:
        raise Unfit
    return tuple([WHOLES.take(dims) for dims in value])


COUNT_OR_PAIR = Kind("a number of dimensions, or a pair of lists of dimensions", _as_count_or_pair)


def optional(kind: Kind) -> Kind:
    """Return a kind that also accepts ``none``."""
    return Kind(f"{kind.wants}, or none", lambda value: None if value is None else kind.take(value))


DIMENSIONS_OR_UNBIASED = Kind("a dimension or a list of dimensions", either(DIMENSIONS, FLAG).take)
"""Dimensions, or the flag ``unbiased``, which PyTorch accepts in their place."""
Check = tuple[int, str, Any, Kind]
"""The position of an argument, its name, its default and its kind."""


def checks_of(parameters: Sequence[str], defaults: Sequence[Any], kinds: Mapping[str, Kind]) -> tuple[Check, ...]:
    """Return the checks that ``converted`` applies, one for each parameter that has a kind.

    The ``defaults`` belong to the last parameters.  ``Unfit``, which is never an argument, stands for a missing default.
    """
    last = dict(zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True))
    return tuple((i, name, last.get(name, Unfit), kinds[name]) for i, name in enumerate(parameters) if name in kinds)


def converted(name: str, checks: tuple[Check, ...], args: Sequence[Any]) -> Sequence[Any]:
    """Return the arguments of a call, each converted by its kind; default values are not converted."""
    result: list[Any] | None = None  # a copy, made for the first argument to convert
    for i, parameter, default, kind in checks:
        if i < len(args) and args[i] is not default:
            result = list(args) if result is None else result
            result[i] = kind(args[i], name, parameter)
    return args if result is None else tuple(result)


def takes(**kinds: Kind) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that checks and converts the arguments of a function by their kinds."""
    return lambda function: _converting(function, kinds)


def _converting(function: Callable[..., Any], kinds: Mapping[str, Kind]) -> Callable[..., Any]:
    """Return a function that checks and converts its arguments, and calls ``function``; see ``takes``.

    If the first parameter has no kind, it takes a tensor, an array or a number.  Keyword-only parameters may be given by position,
    unless ``function`` takes any number of arguments (``*args`` or ``**kwargs``).
    """
    code = function.__code__
    count = code.co_argcount
    is_open = bool(code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))  # takes *args or **kwargs
    own = code.co_varnames[: count + code.co_kwonlyargcount]
    names = own[:count] if is_open else own
    defaults = (*(function.__defaults__ or ()), *(() if is_open else (function.__kwdefaults__ or {}).values()))
    required = count - len(function.__defaults__ or ())
    checks = checks_of(names, defaults, kinds)
    first_checked = checks[0][0] if checks else count
    has_tensor = count > 0 and names[0] not in kinds

    @functools.wraps(function)
    def checked(*args: Argument, **kwargs: Argument) -> Any:
        name, named = checked.__name__, kwargs
        values: Sequence[Any] = args
        try:
            if is_open:  # only the keywords that have a kind are checked here
                renamed = {parameter_for(k, own): v for k, v in kwargs.items()}
                named = {k: kinds[k](v, name, k) if k in kinds else v for k, v in renamed.items()}
            elif kwargs or not required <= len(args) <= count:  # otherwise the arguments are in order
                values, named = bind(name, names, defaults, args, kwargs), {}
            if has_tensor and values and type(values[0]) is not Tensor:
                checked_operand(values[0], name, names[0])
            if len(values) > first_checked:
                values = converted(name, checks, values)
            if len(values) > count and not is_open:  # keyword-only parameters
                named = dict(zip(names[count:], values[count:], strict=True))
                values = values[:count]
            return function(*values, **named)
        except ValuesNeeded:
            return example_by_example(checked, args, kwargs)
        except AttributeError:  # a plain number does not have a shape
            if args and isinstance(args[0], (int, float)):
                raise ArgumentError(f"{name} cannot be applied to the number {value_text(args[0])}") from None
            raise

    return checked


def example_by_example(function: Callable[..., Any], args: Sequence[Argument], kwargs: Mapping[str, Argument]) -> Any:
    """Call a function that needs the values of batched tensors, such as positions, once for each example of the outermost batch.

    It is called while a ``ValuesNeeded`` error is handled, and raises this error again if no argument is batched.
    """
    arguments: list[Any] = []
    for value in (*args, *kwargs.values()):
        arguments += value if isinstance(value, (list, tuple)) else [value]
    batched = [value for value in arguments if hasattr(value, "applied_function")]
    if not batched:
        raise  # noqa: PLE0704
    return max(batched, key=lambda value: value._level).applied_function(function, args, kwargs)


def whole_numbers(name: str, parameter: str, arguments: tuple[Any, ...]) -> tuple[int, ...]:
    """Return whole numbers that were given as separate arguments or as one list, such as the shape of ``reshape``."""
    values = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)) else arguments
    for value in values:  # all() would take longer
        if type(value) is not int:
            break
    else:
        return tuple(values)
    return tuple([WHOLE(value, name, parameter) for value in values])
