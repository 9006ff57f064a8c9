"""Functions with the parameters of PyTorch's ``torch.nn.functional``, in their order and by their names.

The functions of the language have fewer parameters: those that change a tensor in place, and those that PyTorch has deprecated,
are not among them, and the parameter for the tensor is ``x``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.inplace import change

TensorFunction = Callable[..., Any]
_DEPRECATED = ("size_average", "reduce")
"""Parameters that PyTorch has replaced by ``reduction``; they must be ``None``."""


def with_parameters(function: TensorFunction, parameters: str, **renamed: str) -> TensorFunction:
    """Return a function of the language with the parameters of PyTorch's function; it raises ArgumentError for others.

    Args:
        function: the function of the language.
        parameters: the parameters of PyTorch's function in order, separated by spaces.  The first of them is
            the tensor, passed by position; it is changed if the argument ``inplace`` is true.
        renamed: for parameters that have another name in ``function``, this name.
    """
    names = parameters.split()

    def call(*args: object, **kwargs: object) -> Any:
        """Call the function with the arguments under its own names; with ``inplace``, write the result into the tensor."""
        arguments = _arguments_by_name(function.__name__, names, args, kwargs)
        for name in _DEPRECATED:
            if arguments.pop(name, None) is not None:
                raise ArgumentError(f"'{name}' is deprecated in PyTorch", hint="use reduction='mean', 'sum' or 'none'")
        tensor = arguments.pop(names[0])
        in_place = arguments.pop("inplace", False)
        options = {renamed.get(name, name): value for name, value in arguments.items()}
        if in_place and isinstance(tensor, Tensor):  # ``function`` refuses what is not a tensor
            return change(tensor, lambda old: function(old, **options))
        return function(tensor, **options)

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    return call


def _arguments_by_name(function: str, names: Sequence[str], args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of a call of ``function`` by name; ArgumentError if one is repeated or unknown, or the first missing."""
    if len(args) > len(names):
        message = f"{function} takes {len(names)} arguments at most, not {len(args)}"
        raise ArgumentError(message, hint=f"they are {', '.join(names)}")
    arguments: dict[str, Any] = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in arguments:
            raise ArgumentError(f"{function}() got multiple values for argument '{name}'")
        if name not in names:
            raise ArgumentError(f"{function}() got an unexpected keyword argument '{name}'", hint=f"it has {', '.join(names)}")
        arguments[name] = value
    if names[0] not in arguments:
        raise ArgumentError(f"{function}() missing 1 required positional argument: '{names[0]}'")
    return arguments
