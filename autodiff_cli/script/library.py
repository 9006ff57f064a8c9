"""The functions, methods and attributes of PyTorch's autograd that only programs of statements can use."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import Any

import numpy as np

from autodiff_cli import optim
from autodiff_cli.autograd import forward_ad, functional, graph, modes, reverse_mode
from autodiff_cli.autograd.checks.gradcheck import gradcheck, gradgradcheck
from autodiff_cli.autograd.dtypes import set_default_dtype
from autodiff_cli.autograd.hooks import RemovableHandle
from autodiff_cli.autograd.node import Node
from autodiff_cli.autograd.primitives.argument_kinds import value_text
from autodiff_cli.autograd.reverse import anomaly
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import FOREIGN, ArgumentError, AutodiffError, Span
from autodiff_cli.evaluation.coercion import DTYPES as NAMES
from autodiff_cli.evaluation.coercion import refusal
from autodiff_cli.language.tree import Syntax
from autodiff_cli.nn.parameter import Parameter
from autodiff_cli.ops import creation, inplace, random_numbers
from autodiff_cli.ops.generators import manual_seed
from autodiff_cli.script.namespaces import PACKAGE
from autodiff_cli.suggest import suggestion
from autodiff_cli.unavailable_names import hint_for
from autodiff_cli.utils.checkpoint import checkpoint

Action = Callable[..., Any]

CREATING: dict[str, Action] = {name: getattr(module, name) for module in (creation, random_numbers) for name in module.__all__}
"""The functions that create tensors."""
ACTIONS: dict[str, Action] = {
    **CREATING,
    **{f.__name__: f for f in (reverse_mode.grad, reverse_mode.backward, gradcheck, gradgradcheck)},
    "Variable": Tensor,
    **{name: getattr(functional, name) for name in functional.__all__},
    "set_grad_enabled": modes.set_grad_enabled,
    "is_grad_enabled": lambda: modes.is_grad_enabled(),  # a built-in method does not have a signature
    "set_default_dtype": set_default_dtype,
    "set_detect_anomaly": anomaly.set_detect_anomaly,
    **{name: getattr(optim, name) for name in ("SGD", "Adam", "AdamW")},
    **{f.__name__: f for f in (forward_ad.make_dual, forward_ad.unpack_dual, checkpoint, manual_seed)},
    "Parameter": lambda data, requires_grad=True: Parameter(data, requires_grad),
    "print": print,  # Interpreter shows the values
    "len": lambda x: len(x),
}
"""The functions of programs, by name."""
CONTEXTS: dict[str, Action] = {
    each.__name__: each
    for each in (
        *(modes.no_grad, modes.enable_grad, modes.set_grad_enabled, modes.inference_mode),
        *(anomaly.detect_anomaly, anomaly.set_detect_anomaly, forward_ad.dual_level),
        *(graph.saved_tensors_hooks, graph.save_on_cpu, graph.disable_saved_tensors_hooks),
    )
}
"""The context managers of programs, by name."""
METHODS: dict[type, tuple[str, ...]] = {
    Tensor: (
        *("backward", "retain_grad", "requires_grad_", "detach", "detach_", "register_hook"),
        *("register_post_accumulate_grad_hook", "item", "tolist", "numel", "dim", "size", "double", "float", "type_as"),
        *inplace.METHODS,
    ),
    Node: ("name", "register_hook", "register_prehook"),
    RemovableHandle: ("remove",),
    optim.Optimizer: ("step", "zero_grad"),
}
"""The methods of each class of values."""
METHOD_NAMES = dict.fromkeys(name for names in METHODS.values() for name in names)
ATTRIBUTES: dict[type, tuple[str, ...]] = {
    Tensor: ("grad", "requires_grad", "is_leaf", "retains_grad", "grad_fn", "output_nr", "dtype", "data", "_version"),
    Node: ("next_functions", "variable"),
}
"""The attributes of each class of values."""
SETTABLE = ("grad", "requires_grad", "data")
"""The tensor attributes that a program may set."""
DTYPES = {name: np.dtype(name) for name in NAMES}
KEEPING_THEIR_TYPE = (
    "as_tensor",
    "from_numpy",
    "is_tensor",
    *(set(random_numbers.__all__) - {"rand", "randn"}),
    *(n for n in CREATING if n.endswith("_like")),
)
"""Creation functions whose results do not have the type of the program."""
SILENT = (
    *("backward", "retain_grad", "remove", "manual_seed", "step", "zero_grad"),
    *("set_grad_enabled", "set_default_dtype", "set_detect_anomaly"),
)
"""Functions and methods whose results are not shown."""


def listed_class(thing: object) -> type:
    """Return the class under which ``METHODS`` and ``ATTRIBUTES`` list a value."""
    return next((kind for kind in METHODS if isinstance(thing, kind)), type(thing))


def call_with_values(
    name: str,
    action: Action,
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    convert: Callable[[Any], Any],
    unconverted: bool = False,
) -> Any:
    """Call the Python function ``action``, called ``name`` in messages, with values of the language.

    ``convert`` makes a Python argument of a value; positional arguments that are ``unconverted`` are passed as they are.

    Raises:
        ArgumentError: if the arguments do not match the signature, or the function does not accept their values.
    """
    signature = _signature(action.__func__, method=True) if isinstance(action, MethodType) else _signature(action, method=False)
    try:
        signature.bind(*arguments, **named)
    except TypeError as error:
        raise _wrong_arguments(name, signature, str(error)) from None
    try:
        keywords = {keyword: convert(value) for keyword, value in named.items()}
        return action(*(arguments if unconverted else map(convert, arguments)), **keywords)
    except FOREIGN as error:
        if isinstance(error, AutodiffError) and "<class" not in str(error):  # PyTorch's words may name a class of Python
            raise
        values = [*arguments, *(value for value in named.values() if not isinstance(value, np.dtype))]
        raise refusal(name, values, f"it is {_signature_text(name, signature)}") from error


_IN_HOOK = re.compile(r"\.register_\w*hook\([^()]*\Z")
"""The end of a text inside the brackets of a call that registers a hook."""


def hint_for_name(name: str, source: str, span: Span) -> str | None:
    """Return a hint for a name without a value that stands where a function is expected; ``None`` elsewhere."""
    begin, end = span
    is_only_argument = source[:begin].endswith("(") and source.startswith(")", end)
    is_in_hook = _IN_HOOK.search(source[:begin]) is not None
    if name in ACTIONS and (is_only_argument or not is_in_hook):  # it stands for the function itself, which is not a value
        return f"write lambda g: {name}(g)"
    return "a hook is a function of the gradient, such as lambda g: 2*g" if is_in_hook else None


_ELSEWHERE = {
    "array": "write a new tensor as tensor([1.0, 2.0])",
    **dict.fromkeys(("dir", "vars"), "press Tab after a name and a dot in 'autodiff repl', or type help and a name"),
    "vmap": PACKAGE,
    "numpy": f"write .tolist() for the numbers; {PACKAGE}",
}
"""Functions that programs do not have, with what to write instead."""


def hint_for_function(name: str) -> str | None:
    """Return what to write instead of a function or a class that programs do not have; ``None`` for any other name."""
    return hint_for("nn", name) if name[0].isupper() else _ELSEWHERE.get(name)


def hint_for_none(node: Syntax) -> str:
    """Return a hint that explains why the object of an attribute may be ``none``."""
    written = node.children[0]
    if written.kind == "attribute" and written.children[1].text == "grad_fn":
        return "a leaf does not have a grad_fn, because no operation computed it"
    return "run the backward pass first: .grad is none until then"


def without_tensors(items: list[Any]) -> list[Any]:
    """Replace the tensors in a nested list by numbers, because a new tensor is a copy without history."""
    return [without_tensors(v) if isinstance(v, list) else v.tolist() if isinstance(v, Tensor) else v for v in items]


def is_whole(value: object = 0.0) -> bool:
    """Return whether a number, or each number in a nested list, is a whole number; ``False`` for no argument and empty lists."""
    if isinstance(value, list):
        return all(map(is_whole, value)) and value != []
    return isinstance(value, int) and not isinstance(value, bool)


@functools.lru_cache(maxsize=1024)
def _signature(function: Action, method: bool) -> inspect.Signature:
    """Return the signature of a function, or that of a method without its first parameter."""
    signature = inspect.signature(function)
    return signature.replace(parameters=list(signature.parameters.values())[1:]) if method else signature


def _wrong_arguments(name: str, signature: inspect.Signature, reason: str) -> ArgumentError:
    """Return the error for arguments of ``name`` that do not match its signature; ``reason`` is Python's message."""
    about = f"it is {_signature_text(name, signature)}"
    unknown = re.search(r"unexpected keyword argument '(.*)'", reason)
    if unknown:
        hint = suggestion(unknown[1], signature.parameters) or about
        return ArgumentError(f"{name} has no parameter '{unknown[1]}'", hint=hint)
    missing = re.search(r"missing a required .*argument: '(.*)'", reason)
    return ArgumentError(f"{name} requires the argument '{missing[1]}'" if missing else f"{name}: {reason}", hint=about)


def _signature_text(name: str, signature: inspect.Signature) -> str:
    """Return the text of a signature, such as ``grad(outputs, inputs, create_graph=False)``."""
    shown = []
    for parameter in signature.parameters.values():
        stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
        value = parameter.default
        text = value.__name__ if callable(value) else value_text(value)  # not used for a parameter without a default
        shown.append(f"{stars}{parameter.name}" if value is parameter.empty else f"{stars}{parameter.name}={text}")
    return f"{name}({', '.join(shown)})"
