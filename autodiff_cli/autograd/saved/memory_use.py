"""The memory of saved values: what each node saves for the backward pass, and how many bytes of memory this keeps in use.

An array may be saved several times, by several nodes or as a view of another array.  Its memory is counted once, at the node
that is asked first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.node import OUTPUT, Node, SavedOutput
from autodiff_cli.autograd.primitives.saved_names import saved_name
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.number_text import bytes_text
from autodiff_cli.wording import plural

_SIZES = ("sym_sizes", "sym_numel", "shapes")
"""The ends of the names of sizes, which a text leaves out."""


@dataclass(slots=True, eq=False)
class SavedValue:
    """One value that a node saves.

    Attributes:
        name: PyTorch's name of the value: ``self`` for ``node._saved_self``.
        tensor: the name of the tensor that was saved; empty if it does not have a name.
        shape, dtype: the shape and the type of a tensor; ``None`` for other values.
        bytes: the number of bytes of the tensor; 0 for other values.
        again: whether the memory of the tensor was counted before.
        value: the value if it is not a tensor.
    """

    name: str
    tensor: str = ""
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    bytes: int = 0
    again: bool = False
    value: object = None

    def text(self, mark: str = "") -> str:
        """Return the value as text: ``self = x``, with ``mark`` around a name; empty for sizes, indices and flags that are off."""
        if self.shape is None:
            is_shown = isinstance(self.value, (int, float, str)) and self.value is not False
            is_size = self.name.endswith(_SIZES)
            return f"{self.name} = {self.value}" if is_shown and not is_size else ""
        shape_or_dtype = list(self.shape) if self.shape else self.dtype  # all 0-d tensors have the same shape
        content = f"{mark}{self.tensor}{mark}" if self.tensor else shape_or_dtype
        return f"{self.name} = {content}{' (again)' if self.again else ''}"

    def to_dict(self) -> dict[str, object]:
        """Return the value for JSON; only a tensor has a shape and, as ``of``, its name."""
        if self.shape is None:
            plain = self.value if isinstance(self.value, (bool, int, float, str)) else str(self.value)
            return {"name": self.name, "value": plain, "bytes": 0}
        return {
            "name": self.name,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "bytes": self.bytes,
            "of": self.tensor or None,
            "again": self.again,
        }


def text_of(values: Sequence[SavedValue], mark: str = "") -> str:
    """Return the values as text, without those whose text is empty; ``mark`` is the text before and after names of tensors."""
    return ", ".join(text for value in values if (text := value.text(mark)))


def new_bytes(values: Sequence[SavedValue]) -> int:
    """Return the number of bytes of the values, without memory that was counted before."""
    return sum(value.bytes for value in values if not value.again)


class SavedMemory:
    """The saved values of a graph, and their memory.

    Args:
        name_of: a function that returns the name of a tensor, or an empty text.
        variables: the tensors that exist without the graph.

    Attributes:
        tensors: the number of different tensors that were saved.
        bytes: the number of bytes of the memory that they keep in use.
        own: the part of this memory that belongs to the variables.
    """

    def __init__(self, name_of: Callable[[Tensor], str], variables: Iterable[Tensor]) -> None:
        self._name_of = name_of
        self._variables = {_memory_of(leaf._data)[0] for leaf in variables}
        self._counted: dict[int, Any] = {}  # the owners of memory by ``id``, alive so that no other array gets it
        self.tensors = self.bytes = self.own = 0

    def values_of(self, node: Node, name: str) -> list[SavedValue]:
        """Return the values that a node saves, and count their memory; ``name`` is the name of its first output."""
        if node._saved is None:  # a backward pass has freed them
            return []
        values = []
        for (slot, edge), entry in zip(node.saved_slots, node._saved, strict=True):  # slot: its name in VJP rules, or number
            if entry is None:  # not needed, because no gradient flows there
                continue
            title = f"saved_tensors[{slot}]" if slot.isdecimal() else saved_name(type(node).__name__, slot)
            arrays = list(_arrays_in(title, entry))
            if not arrays:
                values.append(SavedValue(title, value=entry))
            # The only output of a node is stored as an array, one of several as a ``SavedOutput``.
            is_first_output = edge == OUTPUT and (not isinstance(entry, SavedOutput) or entry.output == 0)
            tensor = self._name_of(entry) if isinstance(entry, Tensor) else ""
            values += [self._counted_value(label, name if is_first_output else tensor, array) for label, array in arrays]
        return sorted(values, key=_place)

    def _counted_value(self, label: str, tensor: str, array: Array) -> SavedValue:
        """Add the memory of a saved array to the sums, unless it was counted before, and return the record of the array.

        The array counts with at most the size of the owner of its memory: a broadcast array has more elements.
        """
        key, owner = _memory_of(array)
        again = key in self._counted
        value = SavedValue(label, tensor, np.shape(array), str(array.dtype), min(array.nbytes, owner.nbytes), again)
        if not again:
            self._counted[key] = owner
            self.tensors += 1
            self.bytes += value.bytes
            self.own += value.bytes if key in self._variables else 0
        return value

    @property
    def text(self) -> str:
        """The sum as a sentence, with the part of the variables unless it is 0."""
        if not self.tensors:
            return "The graph saves no tensors for the backward pass."
        text = f"The graph saves {plural(self.tensors, 'tensor')} for the backward pass: {bytes_text(self.bytes)}"
        return f"{text}, {bytes_text(self.own)} of which the variables take anyway." if self.own else f"{text}."

    def to_dict(self) -> dict[str, object]:
        return {"tensors": self.tensors, "bytes": self.bytes, "variable_bytes": self.own}


def _place(value: SavedValue) -> tuple[bool, bool, bool]:
    """Return the sort key of a saved value: ``self`` is first, then other tensors, then the result, then plain values."""
    return value.shape is None, value.name == "result", value.name != "self"


def _arrays_in(name: str, entry: Any) -> Iterator[tuple[str, Array]]:
    """Yield the arrays of a saved value, each with a name: the value itself, or the parts of an index."""
    if isinstance(entry, tuple):
        for i, part in enumerate(entry):
            yield from _arrays_in(f"{name}[{i}]", part)
        return
    array: Any = getattr(entry, "_data", entry)
    if hasattr(array, "dtype"):
        yield name, array


def _memory_of(array: Any) -> tuple[int, Any]:
    """Return the identity of the memory of an array, and the array that owns it."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return id(array), array
