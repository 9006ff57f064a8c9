"""Indexing: slices, positions, masks, and lists of positions between brackets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import FOREIGN, ArgumentError, AutodiffError
from autodiff_cli.evaluation.coercion import check_gather, described, holds_tensor, is_plain, positions, refused, whole
from autodiff_cli.evaluation.tensor_log import TensorLog
from autodiff_cli.language.tree import Syntax
from autodiff_cli.text import plural

_WANTED = "between the brackets stand whole numbers, slices a:b, masks, lists of positions, none and ..."


def as_slice(node: Syntax, bounds: Sequence[object]) -> slice:
    """Return the slice ``a:b:c``.

    Args:
        node: the slice.
        bounds: the values of the bounds that are written.
    """
    left = list(bounds)
    parts: list[int | None] = [None]
    for child in node.children:
        if child.kind == "COLON":
            parts.append(None)
        else:
            bound = whole(left.pop(0), "a bound of a slice")
            if bound is not None and not isinstance(bound, int):
                raise ArgumentError("a bound of a slice must be a whole number", span=child.span)
            parts[-1] = bound
    if parts[2:] == [0]:
        raise ArgumentError("the step of a slice cannot be 0")
    return slice(*parts)


def as_keys(values: Sequence[object], tensors: TensorLog) -> list[Any]:
    """Return the values between brackets as a tensor takes them.

    Raises:
        ArgumentError: for a value that is not a position, a slice, a mask or a list of positions.
    """
    for value in values:
        if not (value is None or value is ... or is_plain(value) or isinstance(value, (Tensor, list, slice))):
            raise ArgumentError(f"{described(value)} is not a position", hint=_WANTED)
    keys = [whole(key, "a position") if isinstance(key, float) else key for key in values]
    return [positions(tensors.of(key) if isinstance(key, list) and holds_tensor(key) else key) for key in keys]


def item(values: tuple[Any, ...], keys: Sequence[object]) -> Any:
    """Return an item of a tuple, or several."""
    key = keys[0]
    if len(keys) != 1 or not isinstance(key, (int, slice)):
        raise ArgumentError("a tuple is indexed by one whole number")
    try:
        return values[key]
    except IndexError:
        raise ArgumentError(f"this tuple has {plural(len(values), 'element')}: positions go from 0 to {len(values) - 1}") from None


def elements(tensor: Tensor, keys: list[Any]) -> Tensor:
    """Return ``tensor[keys]``."""
    check_gather(tensor, keys)
    try:
        return tensor[tuple(keys)]
    except FOREIGN as error:
        raise _refused("an index", error, [tensor, *keys]) from error


def set_elements(tensor: Tensor, keys: Sequence[Any], value: float | Tensor) -> None:
    """Run ``tensor[keys] = value``."""
    try:
        tensor[tuple(keys)] = value
    except FOREIGN as error:
        raise _refused("an assignment to elements", error, [tensor, *keys, value]) from error


def _refused(what: str, error: Exception, values: Sequence[object]) -> Exception:
    return error if isinstance(error, AutodiffError) else refused(what, values, _WANTED)
