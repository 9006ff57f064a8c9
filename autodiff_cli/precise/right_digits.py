"""The number of correct digits of an answer, by comparison with numbers computed to 50 digits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autodiff_cli.errors import UsageError, setting
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.precise.arithmetic import Real
from autodiff_cli.precise.difference_quotients import Slope
from autodiff_cli.precise.evaluator import numbers
from autodiff_cli.precise.reference import MOST_SECONDS, Reference, in_time

DIGITS = 50
MOST_DIGITS = 1000
MOST_RIGHT = 16.0
"""The largest reported number of correct digits."""

Path = tuple[str, ...]
"""The path of a number, such as ``("value",)``, ``("grad", "x")``, ``("hessian", "x", "y")`` or ``("tensors", "%1")``."""
COEFFICIENTS: Path = ("coefficients",)


def verified(
    evaluation: Evaluation, order: int, digits: int | None, answer: Mapping[Path, ArrayLike], has_tensors: bool = False
) -> Verified:
    """Compare an answer, and the program's tensors for ``has_tensors``; raise ``NotPrecise`` if that fails or takes too long."""
    with in_time(MOST_SECONDS):
        result = Verified(evaluation, order, digits, sum(map(np.size, answer.values())))
        if has_tensors:
            result.add_tensors()
        for path, value in answer.items():
            result.add(path, value)
    return result


class Verified:
    """The numbers of an answer, compared with their arbitrary-precision values.

    Args:
        evaluation: the evaluation that computed the answer.
        order: the highest order of the derivatives.
        digits: the number of digits to display; ``None`` for the default format.
        entries: the number of elements in the answer.

    Attributes:
        digits: the number of digits to display, or ``None``.
        right: the number of correct decimal digits of each element, as nested lists; ``None`` for an element that does not exist,
            such as a derivative at a kink.
        texts: the exact values of the elements, formatted to ``digits`` digits.

    Raises:
        UsageError: if ``digits`` is less than 1 or more than 1,000.
    """

    def __init__(self, evaluation: Evaluation, order: int, digits: int | None, entries: int = 1) -> None:
        if digits is not None and not 1 <= digits <= MOST_DIGITS:
            raise UsageError(
                f"{setting('digits')} must be from 1 to {MOST_DIGITS}, not {digits}",
                hint=f"use {setting('digits', '30')}, for example",
            )
        self.digits = digits
        self.right: dict[Path, Any] = {}
        self.texts: dict[Path, Any] = {}
        self._evaluation = evaluation
        self._dtype = np.dtype(evaluation.dtype)
        needed = max(DIGITS, (digits or 0) + 10)  # ten more than displayed, so that the last one is rounded correctly
        self._reference = Reference(evaluation, order, needed, entries * (order + 1) ** 2 * 2)  # about 2*(order + 1)**2 each
        weights = evaluation.gradient
        self._differentiated = self._reference if weights is None else self._reference.weighted(weights._data)
        self._mp = self._reference.differences.math

    def add(self, path: Path, value: ArrayLike) -> None:
        """Compare and add the value, a derivative, or the coefficients of a Taylor series; omit a derivative of several outputs."""
        is_one_number = self._evaluation.gradient is not None or self._evaluation.output.numel() == 1  # or a weighted sum
        if path == ("value",):
            self._compare_and_add(path, value, self._reference.differences.values())
        elif path == COEFFICIENTS:
            self._add_coefficients(np.asarray(value))
        elif is_one_number:
            _kind, *names = path
            indices = self._differentiated.indices(names)
            slopes = [self._differentiated.differences.slopes(index)[0] for index in indices]
            self._compare_and_add(path, value, map(_smooth_value, slopes))

    def add_tensors(self) -> None:
        """Compare and add the tensors of all steps of the program; add none if the exact program lists other shapes."""
        leaves = self._evaluation.leaves
        listed = [(tensor, name) for tensor, name, _ in self._evaluation.evaluator.named() if name not in leaves]
        exact = self._reference.tensors()[len(leaves) :]  # the leaves come first
        if [tensor.shape for tensor, _ in listed] != [tensor.shape for tensor in exact]:
            return  # tensors without digits, such as indices, may be in only one of the two lists
        for (tensor, name), other in zip(listed, exact, strict=True):
            self._compare_and_add(("tensors", name), tensor._data, map(self._mp.mpf, numbers(other)))

    def _add_coefficients(self, values: NDArray[np.floating]) -> None:
        """Compare and add the coefficients of a Taylor series in the single variable; one without a derivative is ``None``."""
        differences = self._reference.along()
        exact: list[Real | None] = list(differences.values())
        for k in range(1, len(values)):
            derivatives = map(_smooth_value, differences.slopes((0,) * k))
            exact += [None if number is None else number / math.factorial(k) for number in derivatives]
        self._compare_and_add(COEFFICIENTS, values, exact)

    def _compare_and_add(self, path: Path, values: ArrayLike, exact: Iterable[Real | None]) -> None:
        """Add the correct digits and the exact texts of the elements of an array, whose exact values are in row-major order."""
        array = np.asarray(values)
        pairs = list(zip(array.ravel(), exact, strict=True))
        right = [self._count_right_digits(number, other) for number, other in pairs]
        texts = [None if other is None else self._exact_text(other) for _, other in pairs]
        self.right[path] = np.array(right, object).reshape(array.shape).tolist()
        self.texts[path] = np.array(texts, object).reshape(array.shape).tolist()

    def _count_right_digits(self, value: float, exact: Real | None) -> float | None:
        """Return the number of correct digits: ``None`` without an exact number, 0 where only one is 0, infinite or nan."""
        mp = self._mp
        if exact is None or mp.isnan(exact):
            return None
        with np.errstate(all="ignore"):
            rounded = self._dtype.type(float(exact))
        if value == rounded and (rounded == 0 or np.isinf(rounded)):  # also of a number outside the range of floats
            return MOST_RIGHT
        if not np.isfinite(value) or mp.isinf(exact) or not exact:
            return 0.0
        error = abs(mp.mpf(float(value)) - exact) / abs(exact)
        digits = -float(mp.log10(error)) if error else MOST_RIGHT
        return round(min(MOST_RIGHT, max(0.0, digits)), 1)

    def _exact_text(self, exact: Real) -> str:
        """Return a number in ``digits`` digits, with an exponent below 1e-5 and from 1e20 on; ``inf`` and ``nan`` as in Python."""
        mp, digits = self._mp, self.digits or DIGITS
        if mp.isnan(exact) or mp.isinf(exact):
            return str(float(exact))
        return str(mp.nstr(exact, digits, strip_zeros=True, min_fixed=-5, max_fixed=max(digits, 20)))

    def to_dict(self) -> dict[str, object]:
        """Return the counts of correct digits for the JSON object and, if ``digits`` is set, the texts that replace its floats.

        In the JSON object, tensors and derivatives of order 3 and above are in lists, to which ``mark`` is applied instead.
        """
        right = {path: right for path, right in self.right.items() if path[0] != "tensors"}
        texts = {path: text for path, text in self.texts.items() if path[0] not in ("tensors", "derivatives")}
        replaced_floats = {} if self.digits is None else _nested_dictionaries(texts)
        return {"verified": _nested_dictionaries(right), **replaced_floats}

    def rows(self) -> list[tuple[Path, tuple[int, ...], float | None, str | None]]:
        """Return each number's path, index in its array, correct digits and exact text, both ``None`` if it does not exist."""
        rows: list[tuple[Path, tuple[int, ...], Any, Any]] = []
        for path in self.right:
            right, texts = np.array(self.right[path], dtype=object), np.array(self.texts[path], dtype=object)
            rows += [(path, place, right[place], texts[place]) for place in np.ndindex(*right.shape)]
        return rows

    def lines(self) -> list[tuple[str, float | None, str | None]]:
        """Return ``rows`` with the name of each scalar in place of its path and its index."""
        return [(_number_name(path, place), right, text) for path, place, right, text in self.rows()]

    def mark(self, record: dict[str, object], column: str, path: Path, right: str = "right_digits") -> None:
        """Add the correct digits of the number in a column of a record, with the key ``right``, and replace it by its exact text.

        A record whose number has an unknown path stays as it is.
        """
        if path in self.right:
            record[right] = self.right[path]
            if self.digits is not None:
                record[column] = self.texts[path]

    def beside(self, records: list[dict[str, object]]) -> list[dict[str, object]]:
        """Return copies of records with the correct digits of values and gradients, and with exact texts for the numbers."""
        copies = [dict(record) for record in records]
        paths = {_number_name(path): path for path in self.right if path[0] != "tensors"}
        for record in copies:
            name = str(record["name"])
            if "grad" in record:  # a tensor, whose name may equal the name of a derivative
                self.mark(record, "value", ("tensors", name))
                self.mark(record, "grad", ("grad", name), "grad_right_digits")
            elif name in paths:
                self.mark(record, "value", paths[name])
        return copies

    def bare(self, kinds: Sequence[str]) -> list[str | None]:
        """Return the exact texts of numbers of some kinds, in the order of bare output (``-q``).

        With ``grad``, the higher derivatives follow, and of two equal mixed derivatives only the first.
        """
        order = {name: i for i, name in enumerate(self._evaluation.variables)}
        with_higher = "grad" in kinds
        texts = []
        for (kind, *names), _place, _right, text in self.rows():
            is_repeated = with_higher and kind == "hessian" and order[names[0]] > order[names[1]]
            if not is_repeated and (kind in kinds or (with_higher and kind in ("hessian", "derivatives"))):
                texts.append(text)
        return texts

    def summary(self) -> str:
        """Return one line with the smallest number of correct digits of each array but the tensors, or ``none``."""
        parts = []
        for path, right in self.right.items():
            if path[0] != "tensors":
                known = [digits for digits in np.array(right, dtype=object).flat if digits is not None]
                parts.append(f"{_number_name(path)} {min(known):g}" if known else f"{_number_name(path)} none")
        return f"correct digits: {', '.join(parts)}"


def _smooth_value(slope: Slope) -> Real | None:
    """Return the value of a derivative; ``None`` where it does not exist."""
    return slope.value if slope.kind == "smooth" else None


def _nested_dictionaries(flat: Mapping[Path, object]) -> dict[str, object]:
    """Convert paths to nested dictionaries, such as ``{("grad", "x"): 1}`` to ``{"grad": {"x": 1}}``."""
    tree: dict[str, Any] = {}
    for path, value in flat.items():
        branch = tree
        for name in path[:-1]:
            branch = branch.setdefault(name, {})
        branch[path[-1]] = value
    return tree


def _number_name(path: Path, place: tuple[int, ...] = ()) -> str:
    """Return the name of a number: ``value``, ``d_x``, ``d_x_y[0, 1]``, ``order 2 [1]``, or the name of a tensor."""
    kind, *names = path
    if path == COEFFICIENTS and place:
        order, *element = place
        return f"order {order} {element}" if element else f"order {order}"
    text = names[0] if kind == "tensors" else "_".join(["d", *names]) if names else kind
    return f"{text}[{', '.join(map(str, place))}]" if place else text
