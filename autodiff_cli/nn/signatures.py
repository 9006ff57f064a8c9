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


def with_parameters(function: TensorFunction, parameters: str, **renamed: str) -> TensorFunction:
    """Return a function with other parameters.

    Args:
        function: the function of the language.
        parameters: the parameters of PyTorch's function in order, separated by spaces.  The first of them is
            passed by position and changed if ``inplace`` is true; ``size_average`` and ``reduce`` must be ``None``.
        renamed: for parameters with other names, the name in ``function``.
    """
    names = parameters.split()

    def call(*args: object, **kwargs: object) -> Any:
        arguments = _arguments_by_name(function.__name__, names, args, kwargs)
        in_place = arguments.pop("inplace", False)
        for name in _DEPRECATED:
            if arguments.pop(name, None) is not None:
                raise ArgumentError(f"'{name}' is deprecated in PyTorch", hint="use reduction='mean', 'sum' or 'none'")
        if names[0] not in arguments:
            raise ArgumentError(f"{function.__name__}() missing 1 required positional argument: '{names[0]}'")
        tensor = arguments.pop(names[0])
        values = {renamed.get(name, name): value for name, value in arguments.items()}
        if in_place and isinstance(tensor, Tensor):
            return change(tensor, lambda old: function(old, **values))
        return function(tensor, **values)

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    return call


def _arguments_by_name(function: str, names: Sequence[str], args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Any]:
    """Return checked arguments by parameter; a text as the third argument is ``reduction``, as in the language, if there is one."""
    if len(args) > len(names):
        message = f"{function} takes {len(names)} arguments at most, not {len(args)}"
        raise ArgumentError(message, hint=f"they are {', '.join(names)}")
    if len(args) > 2 and names[2] != "reduction" and isinstance(args[2], str) and "reduction" in names:
        args, kwargs = args[:2], {"reduction": args[2], **kwargs}
    arguments: dict[str, Any] = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in arguments:
            raise ArgumentError(f"{function}() got multiple values for argument '{name}'")
        if name not in names:
            raise ArgumentError(f"{function}() got an unexpected keyword argument '{name}'", hint=f"it has {', '.join(names)}")
        arguments[name] = value
    return arguments
