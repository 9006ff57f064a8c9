"""Each public function and method refuses unknown and missing arguments in words: the message names the function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.argument_kinds import Kind
from autodiff_cli.errors import ArgumentError, AutodiffError

_MODULES = ("", "linalg", "special", "func", "nn.functional", "optim", "autograd", "autograd.functional")
_INTERNAL = re.compile(r"<\w+>|\b_[a-z]\w*[.(]|\bfunction\(|\bcall\(|\bmethod\(")
"""The names of functions that a user does not write."""

_TAKES_ALL = ("Function", "Size", "checks")
"""What accepts all arguments: the base class of custom functions, a tuple, and the decorator that checks arguments."""


def _callables() -> Iterator[tuple[str, str, Callable[..., object]]]:
    for path in _MODULES:
        module: Any = ad
        for part in path.split(".") if path else ():
            module = getattr(module, part)
        for name in dir(module):
            made = getattr(module, name)
            ours = (getattr(made, "__module__", None) or "").startswith("autodiff_cli")
            if name[0] != "_" and name not in _TAKES_ALL and callable(made) and ours and not _is_declaration(made):
                yield f"{path}.{name}", name, made
    tensor = ad.tensor([[1.0, 2.0], [3.0, 4.0]])
    for name, made in vars(ad.Tensor).items():
        if name[0] != "_" and name != "astype" and not isinstance(made, property) and callable(getattr(tensor, name)):
            yield f"Tensor.{name}", name, getattr(tensor, name)


def _is_declaration(made: object) -> bool:
    """Return whether an object is an error, or a kind of arguments."""
    return isinstance(made, Kind) or (isinstance(made, type) and issubclass(made, Exception))


CALLS = list(_callables())


def test_the_walk_finds_the_functions() -> None:
    assert len(CALLS) > 1200


def test_an_unknown_keyword_is_refused_with_the_name_of_the_function() -> None:
    public = {"grad_mode", "Tensor", *(name for _, name, _ in CALLS)}  # grad_mode: PyTorch's module with no_grad and enable_grad
    wrong = []
    for place, _, function in CALLS:
        try:
            function(foo=1)
        except (TypeError, AutodiffError) as error:
            text = str(error)
            named = re.match(r"(?:Tensor\.(?!_)|linalg\.)?(\w+)", text)
            if named is None or named[1] not in public or _INTERNAL.search(text) or not ("'foo'" in text or "argument" in text):
                wrong.append(f"{place}: {text}")
        else:
            wrong.append(f"{place} accepts foo=")
    assert not wrong, "\n".join(wrong)


def test_too_many_arguments_are_refused_without_internal_names() -> None:
    wrong = []
    for place, _, function in CALLS:
        try:
            function(*[np.float64(1.0)] * 40)
        except (TypeError, AutodiffError) as error:
            if _INTERNAL.search(str(error)):
                wrong.append(f"{place}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (lambda t: np.sum(t, out=t), "sum has no parameter 'out'", "the result is a new tensor"),
        (lambda t: ad.sum(t, foo=1), "sum has no parameter 'foo'", "it has x, dim, keepdim, dtype"),
        (lambda t: t.norm(foo=1), "norm has no parameter 'foo'", "it has x, p, dim, keepdim, dtype"),
        (lambda t: ad.std(t, 0, True, False, 1, 2), "std takes 1 to 5 arguments, not 6", None),
        (lambda t: ad.lerp(t, t), "lerp takes 3 arguments; 'weight' is missing", None),
        (lambda t: ad.index_add(t, dim=0, source=t), "index_add takes 4 to 5 arguments; 'index' is missing", None),
    ],
)
def test_functions_composed_of_others_bind_like_primitives(
    call: Callable[[ad.Tensor], object], message: str, hint: str | None
) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(ad.tensor([1.0, 2.0]))
    assert caught.value.message == message
    assert caught.value.__context__ is None
    assert (caught.value.hint or "").startswith(hint or "")


def test_a_type_error_inside_a_function_is_not_taken_for_a_wrong_call() -> None:
    with pytest.raises(TypeError) as caught:
        ad.tensor([1.0]).sum(dim="rows")
    assert "'dim' must be" in str(caught.value)


def test_the_method_of_numpy_for_types_has_a_hint() -> None:
    x = ad.tensor([1.0])
    assert not hasattr(x, "astype")
    with pytest.raises(AttributeError, match=r"no attribute 'astype'\n  hint: use x.to"):
        x.astype(np.float32)
