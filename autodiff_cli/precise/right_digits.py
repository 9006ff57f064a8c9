"""How many digits of an answer are right: its numbers beside the same ones computed with 50 digits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autodiff_cli.errors import UsageError
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.precise.differences import Slope
from autodiff_cli.precise.evaluator import numbers
from autodiff_cli.precise.truth import MOST_SECONDS, Truth, in_time

DIGITS = 50
MOST_DIGITS = 1000
MOST_RIGHT = 16.0
"""More right digits than this are not told apart."""

Path = tuple[str, ...]
"""What a number is: ``("value",)``, ``("grad", "x")``, ``("hessian", "x", "y")``, ``("coefficients",)``, ``("tensors", "%1")``."""


@contextmanager
def verifying(evaluation: Evaluation, order: int, digits: int | None, entries: int = 1) -> Iterator[Verified]:
    """The numbers of an answer, which are to be taken in within the time that there is.

    Raises:
        NotPrecise: if that takes longer, or they cannot be computed with many digits.
    """
    with in_time(MOST_SECONDS):
        yield Verified(evaluation, order, digits, entries)


class Verified:
    """Numbers of an answer, and what they are to many digits.

    Attributes:
        digits: how many are shown; ``None`` if the numbers are shown as usual.
        right: for each number the count of its right decimal digits, in the shape of the number; ``None`` in it where there is
            no such number, as at a kink.
        texts: the numbers to ``digits`` digits.
    """

    def __init__(self, evaluation: Evaluation, order: int, digits: int | None, entries: int = 1) -> None:
        if digits is not None and not 1 <= digits <= MOST_DIGITS:
            raise UsageError(f"--digits must be from 1 to {MOST_DIGITS}, not {digits}", hint="--digits 30, for example")
        self.digits = digits
        self.right: dict[Path, Any] = {}
        self.texts: dict[Path, Any] = {}
        self._session = evaluation
        self._dtype = np.dtype(evaluation.dtype)
        wanted = max(DIGITS, (digits or 0) + 10)
        evaluations = entries * (order + 1) ** 2 * 2
        self._plain = Truth(evaluation, order, wanted, evaluations)
        weights = evaluation.gradient
        self._truth = self._plain if weights is None else self._plain.weighted(weights._data)
        self._mp = self._plain.differences.math.mp

    def value(self, found: Any) -> None:
        """Take in the value of the expression."""
        self._add(("value",), found, self._plain.differences.values())

    def tensors(self) -> None:
        """Take in what the program computes on the way, step by step."""
        given = [(tensor, name) for tensor, name, _ in self._session.evaluator.named() if name not in self._session.leaves]
        truth = self._plain.tensors()[len(self._session.leaves) :]
        if [tensor.shape for tensor, _ in given] != [tensor.shape for tensor in truth]:
            return  # numbers without digits to lose, such as positions, may be tensors on one side only
        for (tensor, name), true in zip(given, truth, strict=True):
            self._add(("tensors", name), tensor._data, map(self._mp.mpf, numbers(true)))

    def derivative(self, path: Path, names: Sequence[str], found: Any) -> None:
        """Take in a derivative by variables, one for each order; its shape is theirs, one after the other."""
        if self._session.gradient is None and self._session.output.numel() != 1:
            return  # it depends on no variable, or there is nothing in it
        places = [range(self._truth.first(name), self._truth.first(name) + self._truth.size(name)) for name in names]
        slopes = [self._truth.differences.slopes(tuple(sorted(index)))[0] for index in itertools.product(*places)]
        self._add(path, found, map(_value, slopes))

    def coefficients(self, found: Any) -> None:
        """Take in the coefficients of a Taylor series in the one variable."""
        truth = self._plain.along()
        values: list[Any] = []
        for k in range(len(found)):
            slopes = truth.slopes((0,) * k) if k else [Slope("smooth", v, v, 0) for v in truth.values()]
            values += [None if slope.kind != "smooth" else slope.value / math.factorial(k) for slope in slopes]
        self._add(("coefficients",), found, values)

    def _add(self, path: Path, found: Any, truth: Iterable[Any]) -> None:
        array = np.asarray(found)
        true = list(truth)
        right = np.empty(array.size, object)
        texts = np.empty(array.size, object)
        for i, (one, other) in enumerate(zip(array.ravel(), true, strict=True)):
            right[i] = self._count(one, other)
            texts[i] = None if other is None else self._text(other)
        self.right[path], self.texts[path] = (cells.reshape(array.shape).tolist() for cells in (right, texts))

    def _count(self, found: Any, true: Any) -> float | None:
        mp = self._mp
        if true is None or mp.isnan(true):
            return None
        with np.errstate(all="ignore"):
            rounded = self._dtype.type(float(true))
        if found == rounded and (rounded == 0 or np.isinf(rounded)):
            return MOST_RIGHT
        if not np.isfinite(found) or mp.isinf(true) or not true:
            return 0.0
        error = abs(mp.mpf(float(found)) - true) / abs(true)
        return MOST_RIGHT if not error else round(min(MOST_RIGHT, max(0.0, float(-mp.log10(error)))), 1)

    def _text(self, true: Any) -> str:
        mp = self._mp
        if mp.isnan(true) or mp.isinf(true):
            return "nan" if mp.isnan(true) else "inf" if true > 0 else "-inf"
        return str(mp.nstr(true, self.digits or DIGITS, strip_zeros=True, min_fixed=-5, max_fixed=max(self.digits or DIGITS, 20)))

    def to_dict(self) -> dict[str, Any]:
        """What they add to the JSON of an answer: the right digits, and the numbers that are shown to many digits."""
        shown = {path: right for path, right in self.right.items() if path[0] != "tensors"}
        return {"verified": nested(shown), **({} if self.digits is None else nested(self.texts))}

    def rows(self) -> list[tuple[Path, tuple[int, ...], Any, Any]]:
        """For each single number what it is, its place in an array, its right digits, and its text."""
        found = []
        for path, right in self.right.items():
            cells, texts = _cells(right), _cells(self.texts[path])
            found += [(path, place, cells[place], texts[place]) for place in np.ndindex(*cells.shape)]
        return found

    def lines(self) -> list[tuple[str, Any, Any]]:
        """For each single number its name, its right digits and its text."""
        return [(label(path, place), right, text) for path, place, right, text in self.rows()]

    def beside(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Records with the right digits of their values, and of their gradients, and with the numbers to many digits."""
        known = {label(path): path for path in self.right if path[0] != "tensors"}
        for record in records:
            name = record["name"]
            # A tensor may have any name, that of a derivative too.
            paths = {"value": ("tensors", name), "grad": ("grad", name)} if "grad" in record else {"value": known.get(name, ())}
            for column, path in paths.items():
                if path not in self.right:
                    continue
                record["right_digits" if column == "value" else "grad_right_digits"] = self.right[path]
                if self.digits is not None:
                    record[column] = self.texts[path]
        return records

    def bare(self, kinds: Sequence[str]) -> list[str | None]:
        """The texts of numbers of some kinds in the order in which bare output has them: each mixed derivative once."""
        names = list(self._session.variables)
        wanted = {*kinds, *(("hessian", "derivatives") if "grad" in kinds else ())}
        once = "grad" in kinds
        return [
            text
            for path, _, _, text in self.rows()
            if path[0] in wanted and not (once and path[0] == "hessian" and names.index(path[1]) > names.index(path[2]))
        ]

    def summary(self) -> str:
        """All of it in one line; of an array the fewest digits."""
        parts = []
        for path, right in self.right.items():
            if path[0] == "tensors":
                continue
            known = [one for one in _cells(right).flat if one is not None]
            parts.append(f"{label(path)} {min(known):g}" if known else f"{label(path)} none")
        return f"right digits: {', '.join(parts)}"


def _cells(nest: Any) -> Any:
    return np.array(nest, dtype=object)


def _value(slope: Slope) -> Any:
    return slope.value if slope.kind == "smooth" else None


def nested(flat: Mapping[Path, Any]) -> dict[str, Any]:
    """``{("grad", "x"): 1}`` as ``{"grad": {"x": 1}}``."""
    tree: dict[str, Any] = {}
    for path, value in flat.items():
        branch = tree
        for name in path[:-1]:
            branch = branch.setdefault(name, {})
        branch[path[-1]] = value
    return tree


def label(path: Path, place: tuple[int, ...] = ()) -> str:
    """What a number is called: ``value``, ``d_x``, ``d_x_y[0, 1]``, and a tensor by its name."""
    kind, *names = path
    if kind == "tensors":
        kind, names = names[0], []
    if kind == "coefficients":
        return f"order {place[0]}" + (f" [{', '.join(map(str, place[1:]))}]" if len(place) > 1 else "") if place else "coefficients"
    text = "_".join(["d", *names]) if names else kind
    return f"{text}[{', '.join(map(str, place))}]" if place else text
