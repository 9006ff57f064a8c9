"""How many digits of an answer are right: its numbers compared with the same numbers computed with 50 digits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autodiff_cli.errors import UsageError, setting
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.precise.arithmetic import Real
from autodiff_cli.precise.differences import Slope
from autodiff_cli.precise.evaluator import numbers
from autodiff_cli.precise.reference import MOST_SECONDS, Reference, in_time

DIGITS = 50
MOST_DIGITS = 1000
MOST_RIGHT = 16.0
"""More right digits than this are not told apart."""

Path = tuple[str, ...]
"""Names a number: ``("value",)``, ``("grad", "x")``, ``("hessian", "x", "y")``, ``("coefficients",)``, ``("tensors", "%1")``."""
COEFFICIENTS: Path = ("coefficients",)


@contextmanager
def verifying(evaluation: Evaluation, order: int, digits: int | None, entries: int = 1) -> Iterator[Verified]:
    """Give a ``Verified`` that the numbers of an answer are added to, in limited time.

    Raises:
        NotPrecise: if that takes longer, or they cannot be computed with many digits.
    """
    with in_time(MOST_SECONDS):
        yield Verified(evaluation, order, digits, entries)


class Verified:
    """Numbers of an answer, compared with the same numbers of many digits.

    Args:
        evaluation: what was evaluated.
        order: the highest order of its derivatives.
        digits: how many digits of the numbers are shown; ``None`` to show them as usual.
        entries: how many numbers there are.

    Attributes:
        digits: as given.
        right: the count of right decimal digits of each number, in the shape of the number; ``None`` in it where the number
            does not exist, as at a kink.
        texts: the numbers to ``digits`` digits.

    Raises:
        UsageError: for less than one digit, or more than 1,000.
    """

    def __init__(self, evaluation: Evaluation, order: int, digits: int | None, entries: int = 1) -> None:
        if digits is not None and not 1 <= digits <= MOST_DIGITS:
            raise UsageError(
                f"{setting('digits')} must be from 1 to {MOST_DIGITS}, not {digits}", hint=f"{setting('digits', '30')}, for example"
            )
        self.digits = digits
        self.right: dict[Path, Any] = {}
        self.texts: dict[Path, Any] = {}
        self._evaluation = evaluation
        self._dtype = np.dtype(evaluation.dtype)
        self._reference = Reference(evaluation, order, max(DIGITS, (digits or 0) + 10), entries * (order + 1) ** 2 * 2)
        weights = evaluation.gradient
        self._differentiated = self._reference if weights is None else self._reference.weighted(weights._data)
        self._mp = self._reference.differences.math.mp

    def value(self, found: ArrayLike) -> None:
        """Add the value of the expression."""
        self._add(("value",), found, self._reference.differences.values())

    def tensors(self) -> None:
        """Add the tensors that the program computes, step by step."""
        leaves = self._evaluation.leaves
        given = [(tensor, name) for tensor, name, _ in self._evaluation.evaluator.named() if name not in leaves]
        exact = self._reference.tensors()[len(leaves) :]
        if [tensor.shape for tensor, _ in given] != [tensor.shape for tensor in exact]:
            return  # tensors that have no digits, such as positions, may be on one side only
        for (tensor, name), other in zip(given, exact, strict=True):
            self._add(("tensors", name), tensor._data, map(self._mp.mpf, numbers(other)))

    def derivative(self, path: Path, names: Sequence[str], found: ArrayLike) -> None:
        """Add a derivative with respect to variables, one for each order; its shape is theirs, one after the other."""
        if self._evaluation.gradient is None and self._evaluation.output.numel() != 1:
            return  # it does not depend on a variable, or has no elements
        slopes = [self._differentiated.differences.slopes(index)[0] for index in self._differentiated.indices(names)]
        self._add(path, found, map(_number, slopes))

    def coefficients(self, found: NDArray[np.floating]) -> None:
        """Add the coefficients of a Taylor series in the one variable."""
        differences = self._reference.along()
        exact: list[Real | None] = list(differences.values())
        for k in range(1, len(found)):
            derivatives = map(_number, differences.slopes((0,) * k))
            exact += [None if number is None else number / math.factorial(k) for number in derivatives]
        self._add(COEFFICIENTS, found, exact)

    def _add(self, path: Path, found: ArrayLike, exact: Iterable[Real | None]) -> None:
        array = np.asarray(found)
        pairs = list(zip(array.ravel(), exact, strict=True))
        self.right[path] = _nest([self._count(number, other) for number, other in pairs], array.shape)
        self.texts[path] = _nest([None if other is None else self._text(other) for _, other in pairs], array.shape)

    def _count(self, found: float, exact: Real | None) -> float | None:
        mp = self._mp
        if exact is None or mp.isnan(exact):
            return None
        with np.errstate(all="ignore"):
            rounded = self._dtype.type(float(exact))
        if found == rounded and (rounded == 0 or np.isinf(rounded)):
            return MOST_RIGHT
        if not np.isfinite(found) or mp.isinf(exact) or not exact:
            return 0.0
        error = abs(mp.mpf(float(found)) - exact) / abs(exact)
        return MOST_RIGHT if not error else round(min(MOST_RIGHT, max(0.0, float(-mp.log10(error)))), 1)

    def _text(self, exact: Real) -> str:
        mp, digits = self._mp, self.digits or DIGITS
        if mp.isnan(exact) or mp.isinf(exact):
            return str(float(exact))
        return mp.nstr(exact, digits, strip_zeros=True, min_fixed=-5, max_fixed=max(digits, 20))

    def to_dict(self) -> dict[str, object]:
        """Return the right digits for the JSON of an answer, and with ``digits`` the numbers that replace its floats.

        Tensors and derivatives above the second stand in lists there: see ``mark``.
        """
        right = {path: right for path, right in self.right.items() if path[0] != "tensors"}
        texts = {path: text for path, text in self.texts.items() if path[0] not in ("tensors", "derivatives")}
        return {"verified": _nested(right), **(_nested(texts) if self.digits is not None else {})}

    def rows(self) -> list[tuple[Path, tuple[int, ...], float | None, str | None]]:
        """Return for each single number its path, its place in an array, its right digits, and its text."""
        found: list[tuple[Path, tuple[int, ...], Any, Any]] = []
        for path, right in self.right.items():
            cells, texts = np.array(right, dtype=object), np.array(self.texts[path], dtype=object)
            found += [(path, place, cells[place], texts[place]) for place in np.ndindex(*cells.shape)]
        return found

    def lines(self) -> list[tuple[str, float | None, str | None]]:
        """Return for each single number its name, its right digits and its text."""
        return [(_label(path, place), right, text) for path, place, right, text in self.rows()]

    def mark(self, record: dict[str, object], column: str, path: Path, right: str = "right_digits") -> None:
        """Put the right digits of a number into a record, and the number to many digits, if they are known.

        Args:
            column: where the number stands in the record.
            right: the column of the right digits.
        """
        if path in self.right:
            record[right] = self.right[path]
            if self.digits is not None:
                record[column] = self.texts[path]

    def beside(self, records: list[dict[str, object]]) -> list[dict[str, object]]:
        """Return records with the right digits of their values and gradients, and with the numbers to many digits."""
        known = {_label(path): path for path in self.right if path[0] != "tensors"}
        for record in records:
            name = str(record["name"])
            if "grad" in record:  # a tensor, which may have the name of a derivative
                self.mark(record, "value", ("tensors", name))
                self.mark(record, "grad", ("grad", name), "grad_right_digits")
            else:
                self.mark(record, "value", known.get(name, ()))
        return records

    def bare(self, kinds: Sequence[str]) -> list[str | None]:
        """Return the texts of numbers of some kinds, in the order of bare output: each mixed derivative once."""
        names = list(self._evaluation.variables)
        once = "grad" in kinds
        wanted = {*kinds, *(("hessian", "derivatives") if once else ())}
        return [
            text
            for path, _, _, text in self.rows()
            if path[0] in wanted and not (once and path[0] == "hessian" and names.index(path[1]) > names.index(path[2]))
        ]

    def summary(self) -> str:
        """Return the right digits in one line; the fewest of each array."""
        parts = []
        for path, right in self.right.items():
            if path[0] != "tensors":
                known = [one for one in np.array(right, dtype=object).flat if one is not None]
                parts.append(f"{_label(path)} {min(known):g}" if known else f"{_label(path)} none")
        return f"right digits: {', '.join(parts)}"


def _nest(cells: Sequence[object], shape: tuple[int, ...]) -> object:
    """Return nested lists of a shape, a single cell for the shape ``()``."""
    array = np.empty(len(cells), object)
    array[:] = cells
    nest: object = array.reshape(shape).tolist()
    return nest


def _number(slope: Slope) -> Real | None:
    return slope.value if slope.kind == "smooth" else None


def _nested(flat: Mapping[Path, object]) -> dict[str, object]:
    """Return ``{"grad": {"x": 1}}`` for ``{("grad", "x"): 1}``."""
    tree: dict[str, object] = {}
    for path, value in flat.items():
        branch = tree
        for name in path[:-1]:
            inner = branch.setdefault(name, {})
            assert isinstance(inner, dict)
            branch = inner
        branch[path[-1]] = value
    return tree


def _label(path: Path, place: tuple[int, ...] = ()) -> str:
    """Return the name of a number: ``value``, ``d_x``, ``d_x_y[0, 1]``, and of a tensor its own."""
    kind, *names = path
    if path == COEFFICIENTS and place:
        kind, place = f"order {place[0]}", place[1:]
        return f"{kind} [{', '.join(map(str, place))}]" if place else kind
    text = names[0] if kind == "tensors" else "_".join(["d", *names]) if names else kind
    return f"{text}[{', '.join(map(str, place))}]" if place else text
