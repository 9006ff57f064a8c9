"""The readers of ``.npy`` and ``.npz``, which map arrays of files into memory and never unpickle."""

from __future__ import annotations

import io
import os
import shutil
import warnings
import zipfile
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np

from autodiff_cli.arrays import Array, Floats
from autodiff_cli.data.row_blocks import BLOCK_ROWS, BadRows, Block, Input, Reader, ReadRequest
from autodiff_cli.data.storage import library_errors
from autodiff_cli.errors import DataError, setting
from autodiff_cli.wording import plural

_LONGEST_HEADER = 1 << 20
"""The maximum number of characters of the header of a file, which Python parses: a longer one may be an attack."""
_KINDS = {"U": "text", "S": "bytes", "c": "complex numbers"}
"""The words for types of values that are not numbers, by their kind in NumPy; others have the name of their type."""
_BLOCK_BYTES = 1 << 27
"""The maximum number of bytes of a block, if its rows are long."""


def mapped(file: Any, name: str) -> Array:
    """Return the array of a ``.npy`` file, whose values are read from the disk when they are used.

    A file without a whole array of plain values and at least one dimension raises ``DataError``, which names the array ``name``.
    """
    if file.peek(6)[:6] != b"\x93NUMPY":  # before a copy, because a pipe may be endless
        raise DataError(f"{name} is not a .npy file")
    temporary = TemporaryDirectory(prefix="autodiff-", ignore_cleanup_errors=True)  # its files may still be mapped
    with library_errors(f"{name} is not a whole .npy file of numbers"), warnings.catch_warnings(), temporary as folder:
        warnings.simplefilter("ignore")  # Python may warn about the literal in the header
        path = _path_on_disk(file, folder)
        array: Array = np.asarray(np.lib.format.open_memmap(path, "r", max_header_size=_LONGEST_HEADER))
    if not array.shape:
        raise DataError(f"{name} contains one number, not rows")
    if not array.dtype.itemsize:
        raise DataError(f"{name} is empty: its values have a size of 0 bytes")
    return array


def _path_on_disk(file: Any, folder: str) -> str:
    """Return the path of a file, or of its copy in a folder if it is not on the disk, such as a pipe or a member of an archive."""
    path = getattr(file, "name", None) if isinstance(file, io.BufferedReader) else None
    if isinstance(path, str) and os.path.isfile(path):
        return path
    path = os.path.join(folder, "array.npy")
    with open(path, "wb") as copy:
        shutil.copyfileobj(file, copy)
    return path


class NumpyReader(Reader):
    """The base class of the NumPy readers; ``done`` and ``total`` count rows.

    Args:
        source, file: see ``Reader``.
        arrays: a 1-d array for each column, all of the same length.
    """

    def __init__(self, source: Input, file: IO[bytes], arrays: dict[str, Array]) -> None:
        super().__init__(source, file)
        self._arrays = arrays
        self.columns = tuple(arrays)
        self.total = len(next(iter(arrays.values())))  # all are equally long
        self.done, self._stop = source.span or (0, self.total)

    def pieces(self) -> Iterator[slice]:
        """Yield ranges of rows; one empty range if there are no rows."""
        row_bytes = sum(array.itemsize for array in self._arrays.values())
        step = max(1, min(BLOCK_ROWS, _BLOCK_BYTES // row_bytes))
        for start in range(self.done, self._stop, step) or [self.done]:  # instead of an empty range
            piece = slice(start, min(start + step, self._stop))
            self.done = piece.stop
            yield piece

    def block(self, piece: slice, request: ReadRequest) -> Block:
        """Return the rows of a piece; raise ``DataError`` if a column does not contain numbers.  See ``Reader.block``."""
        bad = BadRows(f"{self.name}, row", request.on_error, request.finite)
        numbers: dict[str, Floats] = {}
        for name in request.numbers:
            array = self._arrays[name][piece]
            if array.dtype.kind not in "fiub":  # floats, integers, booleans
                kind = _KINDS.get(array.dtype.kind, str(array.dtype))
                raise DataError(f"{self.name}: column '{name}' contains {kind}, not numbers")
            numbers[name] = np.ascontiguousarray(array, np.float64)
        columns = {name: self._copied(name, piece) for name in request.copies}
        texts = {name: self._copied(name, piece) for name in request.texts}
        lines = range(piece.start + 1, piece.stop + 1)
        return bad.applied_to(Block(len(lines), numbers, columns, raw=None, where=bad.where, lines=lines, texts=texts))

    def _copied(self, name: str, piece: slice) -> Array:
        """Return rows of a column, with the bytes in the order of this machine; ``DataError`` for text that is not Unicode."""
        array = self._arrays[name][piece]
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
            points = np.ascontiguousarray(array).view(np.uint32)
            is_surrogate = (points >= 0xD800) & (points < 0xE000)  # half of a character
            if points.max() > 0x10FFFF or is_surrogate.any():  # beyond the last character
                message = f"{self.name}: column '{name}' contains text that is not Unicode"
                raise DataError(message, hint="check that the file is complete")
        return array


class NpyReader(NumpyReader):
    """The reader of a structured array with its fields as columns, or of a 1-d or 2-d array with given column names.

    An array that is not a table, or has another number of columns than names, raises ``DataError``.
    """

    def __init__(self, source: Input, file: IO[bytes]) -> None:
        name = source.title
        array = mapped(file, name)
        fields = array.dtype.names
        if array.ndim > 2 or (fields is not None and array.ndim > 1):
            raise DataError(f"{name} contains an array of shape {list(array.shape)}, not a table")
        parts = [array] if array.ndim == 1 else list(array.T)  # the columns of an array without fields
        columns = parts if fields is None else [array[field] for field in fields]
        names = fields if source.columns is None else source.columns
        if names is None:
            hint = f"name its {plural(len(columns), 'column')} with {setting('columns', 'x,y')}"
            raise DataError(f"{name} does not name its columns", hint=hint)
        if len(names) != len(columns):
            raise DataError(f"{name} has {plural(len(columns), 'column')}, but {setting('columns')} names {len(names)}")
        super().__init__(source, file, dict(zip(names, columns, strict=True)))


class NpzReader(NumpyReader):
    """The reader of an archive with one 1-d array of the same length for each column; ``DataError`` for another file."""

    def __init__(self, source: Input, file: IO[bytes]) -> None:
        name = source.title
        with library_errors(f"{name} is not a .npz file"), zipfile.ZipFile(file) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            arrays = {key: mapped(archive.open(info), f"{name}: {key}") for key, info in members.items()}
        shapes = {key: array.shape for key, array in arrays.items()}
        if not shapes or any(len(shape) > 1 for shape in shapes.values()) or len(set(shapes.values())) > 1:
            listed = ", ".join(f"{key} {list(shape)}" for key, shape in shapes.items())
            raise DataError(f"{name} is not a table: {f'its columns have shapes {listed}' if listed else 'it has no columns'}")
        super().__init__(source, file, arrays)
