"""The saved values of nodes under PyTorch's names, such as ``node._saved_self``.

A VJP rule names the values that it needs after the parameters of the operation (``x``, ``y``, ``out``, ``x_shape``); PyTorch
names them differently, and not always in the same way.  Only the values that autodiff saves have a name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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


def node_class(name: str, base: type[Node], **attributes: Any) -> Any:
    """Return a class of nodes, with a property for each saved value.

    Args:
        name: the name of the class, which is PyTorch's name of the node.
        base: the class that it is derived from.
        attributes: the class attributes.
    """
    result: Any = type(name, (base,), {"__slots__": (), **attributes})
    names = [slot for slot, _ in result.saved_slots]
    shown_names = [saved_name(name, slot) for slot in names]
    # Hooks run for inputs by their names, then for outputs, as in PyTorch.
    result.saved_order = sorted(range(len(names)), key=lambda i: (result.saved_slots[i][1] == OUTPUT, shown_names[i]))
    for i, shown in enumerate(shown_names):
        setattr(result, f"_saved_{shown}", _value_at(i))
    for shown, (slot, compute) in _COMPUTED.get(name, {}).items():
        if slot in names:
            setattr(result, f"_saved_{shown}", _computed_from(names.index(slot), compute))
    return result


def _value_at(index: int) -> property:
    def get(node: Node) -> Any:
        from autodiff_cli.autograd.saved.packing import saved_value

        name, edge = node.saved_slots[index]
        return shown_value(type(node).__name__, name, edge >= 0, saved_value(node, index))

    return property(get, doc="A saved value.")


def _computed_from(index: int, compute: Callable[[Any], Any]) -> property:
    return property(lambda node: compute(node.saved_entries()[index]), doc="A saved value.")
