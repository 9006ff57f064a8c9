"""The saved values of nodes under PyTorch's names, such as ``node._saved_self``.

A VJP rule names the values that it needs after the parameters of the operation (``x``, ``y``, ``out``, ``x_shape``); PyTorch
names them differently, and not always in the same way.  Only the values that autodiff saves have a name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from autodiff_cli.autograd.node import OUTPUT, Node

_USUAL = {"x": "self", "y": "other", "out": "result", "x_shape": "self_sym_sizes", "key": "indices"}
_FACTORS = {"y": "mat2"}
_INDEX = {"key": "index"}
_POWER = {"y": "exponent"}
_AT_NODE: dict[str, dict[str, str]] = {
    **dict.fromkeys(("MmBackward0", "BmmBackward0"), _FACTORS),
    **dict.fromkeys(("PowBackward0", "PowBackward1"), _POWER),
    "PowBackward2": {"x": "exponent", "y": "self"},
    "MvBackward0": {"y": "vec"},
    "DotBackward0": {"y": "tensor"},
    "LinalgInvExBackward0": {"out": "inverse"},
    "LinalgCholeskyExBackward0": {"out": "L"},
    "LinalgDetBackward0": {"x": "A"},
    "LinalgSolveExBackward0": {"x": "A"},
    "RepeatBackward0": {"sizes": "repeats"},
    "IndexPutBackward0": {"key": "indices"},
    **dict.fromkeys(("ScatterBackward0", "ScatterAddBackward0", "IndexAddBackward0"), _INDEX),
}
"""For the nodes whose saved values have other names: PyTorch's names, by the names in the VJP rules."""
_SCALARS = {"PowBackward0", "PowBackward2"}
"""The nodes that show a plain number as a number; other nodes show it as a tensor, because PyTorch saves it as a tensor."""
_TUPLES = {
    *("SumBackward1", "MeanBackward1", "LogsumexpBackward0", "AmaxBackward0", "AminBackward0", "StdBackward0", "VarBackward0"),
    *("LinalgVectorNormBackward0", "NansumBackward0"),
}
"""The nodes whose dimension is a tuple in PyTorch."""


def _place(key: tuple[Any, ...], kind: type) -> int:
    """Return the dimension of the only element of an index that is of this kind and selects something."""
    places = [i for i, part in enumerate(key) if isinstance(part, kind) and part != slice(None)]
    if len(places) != 1:
        raise AttributeError("the index selects in several dimensions")
    return places[0]


def _slice_at(key: tuple[Any, ...]) -> Any:
    return key[_place(key, slice)]


_COUNT: dict[str, tuple[str, Callable[[Any], Any]]] = {"self_sym_numel": ("x_shape", math.prod)}
_COMPUTED: dict[str, dict[str, tuple[str, Callable[[Any], Any]]]] = {
    **dict.fromkeys(("MeanBackward0", "MeanBackward1"), _COUNT),
    "SelectBackward0": {"dim": ("key", lambda key: _place(key, int)), "index": ("key", lambda key: key[_place(key, int)])},
    "SliceBackward0": {
        "dim": ("key", lambda key: _place(key, slice)),
        "start": ("key", lambda key: _slice_at(key).start or 0),
        "end": ("key", lambda key: 2**63 - 1 if _slice_at(key).stop is None else _slice_at(key).stop),
        "step": ("key", lambda key: _slice_at(key).step or 1),
    },
}
"""For some nodes, the values that PyTorch saves and that follow from a value with another name."""


def saved_name(node: str, name: str) -> str:
    """Return PyTorch's name of a saved value.

    Args:
        node: the name of the node, such as ``PowBackward0``.
        name: the name of the value in the VJP rules.
    """
    return _AT_NODE.get(node, {}).get(name) or _USUAL.get(name, name)


def shown_names(node: str, slots: Sequence[str]) -> list[str]:
    """Return PyTorch's names of the saved values of a node, and of the values that follow from them.

    Args:
        node: the name of the node.
        slots: the names of the saved values in the VJP rules.
    """
    computed = [name for name, (slot, _) in _COMPUTED.get(node, {}).items() if slot in slots]
    return [*(saved_name(node, slot) for slot in slots), *computed]


def computed_value(node: str, name: str) -> tuple[str, Callable[[Any], Any]]:
    """Return the name of the saved value that another value follows from, and the function that computes it."""
    return _COMPUTED[node][name]


def shown_value(node: str, name: str, is_operand: bool, value: Any) -> Any:
    """Return a saved value that is not a tensor in the form that PyTorch shows.

    Args:
        node: the name of the node.
        name: the name of the value in the VJP rules.
        is_operand: whether the value is an argument that could be a tensor.
        value: the value.
    """
    from autodiff_cli.autograd.dtypes import to_array
    from autodiff_cli.autograd.tensor import Tensor, tensor_on

    if value is None or isinstance(value, (Tensor, str, bool)):
        return value
    if isinstance(value, tuple):
        return tuple(tensor_on(part) if hasattr(part, "dtype") else part if isinstance(part, int) else None for part in value)
    if name == "dim" and node in _TUPLES:
        return (value,)
    if hasattr(value, "dtype") or (is_operand and isinstance(value, (int, float)) and node not in _SCALARS):
        return tensor_on(to_array(value))
    return value


def packing_order(node: Node) -> Sequence[int]:
    """Return the order in which hooks pack the saved values of a node: inputs by their names, then outputs, as in PyTorch."""
    slots = node.saved_slots
    if slots[0][0].isdecimal():  # the node of a custom function
        return range(len(slots))
    return sorted(range(len(slots)), key=lambda i: (slots[i][1] == OUTPUT, saved_name(type(node).__name__, slots[i][0])))
