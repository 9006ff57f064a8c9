"""The saved values of nodes under PyTorch's names, such as ``node._saved_self``.

A VJP rule names the values that it needs after the parameters of the operation (``x``, ``y``, ``out``, ``x_shape``); PyTorch
names them differently, and not always in the same way.  Only the values that autodiff saves have a name.
"""

from __future__ import annotations

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


def saved_name(node: str, name: str) -> str:
    """Return PyTorch's name of a value that a node with the name ``node`` saves, from its ``name`` in the VJP rules."""
    return _AT_NODE.get(node, {}).get(name) or _USUAL.get(name, name)
