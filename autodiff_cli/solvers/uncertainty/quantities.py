"""Quantities: estimates with their distributions, as in ``0.994(1)``, ``0.994±0.001`` and ``[1.0(1), 2.0(2)]``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.errors import ShapeError, UsageError, setting
from autodiff_cli.evaluation.bindings import constant_value, from_file
from autodiff_cli.evaluation.names import element_names
from autodiff_cli.language.tree import split_outside_brackets
from autodiff_cli.solvers.bounds import check_names
from autodiff_cli.solvers.uncertainty.covariances import NOTHING, Estimates
from autodiff_cli.solvers.uncertainty.distributions import Distribution, split_distribution

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Stated = str | ArrayLike | list["Stated"] | tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, str]
    """A value: a text, a number, an array, a list of these, or a pair of a value and its uncertainty."""
    Part = tuple[Array, list[Distribution | None]]
    """A value, and the distribution of each of its elements in row-major order; ``None`` for no uncertainty."""

_DIGITS = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))\((\d+\.?\d*|\.\d+)\)([eE][+-]?\d+)?$")
"""``9.801(22)e-3``."""
_SIGN = re.compile(r"±|\+/-|\+-")
_SCALED = re.compile(r"\((.*)\)[eE]([+-]?\d+)$", re.DOTALL)
"""``(9.801±0.022)e-3``."""


class Quantities(NamedTuple):
    """The quantities of a calculation.

    Attributes:
        values: the value of each variable, which may be an array.
        distributions: the distribution of each element with an uncertainty, by its name, such as ``x`` or ``v[0]``.
    """

    values: dict[str, Array]
    distributions: dict[str, Distribution]

    @property
    def labels(self) -> list[str]:
        """The name of each element."""
        return [label for name, value in self.values.items() for label in element_names(name, value.shape)]


def quantities(
    at: Mapping[str, Stated], u: Mapping[str, str | ArrayLike], dof: Mapping[str, str | ArrayLike], known: Estimates = NOTHING
) -> Quantities:
    """Return the quantities in values, uncertainties and degrees of freedom, each by name.

    Args:
        at: the values: texts such as ``0.994(1)``, numbers, arrays, lists, or pairs of a value and an uncertainty.
        u: the uncertainties: texts such as ``0.002 rect``, numbers or arrays; one number is for all elements of an array.
        dof: the degrees of freedom of uncertainties; a normal distribution becomes ``t`` (JCGM 101:2008, 6.4.9).
        known: further quantities, with their covariances.

    Raises:
        UsageError: if a text is not a quantity, or an uncertainty is negative, not finite, or stated twice.
        ShapeError: if the shapes of a value and its uncertainties differ.
        UnknownName: if a name in ``u`` or ``dof`` does not have a value.
    """
    stated = {name: _stated_quantity(statement, name) for name, statement in at.items()}
    for name in known.values:
        _require_new(name, stated, "value", "at")
    values = {name: value for name, (value, _) in stated.items()}
    values |= {name: np.array(float(estimate)) for name, estimate in known.values.items()}
    check_names(u, values, "u", "quantity")
    # The distributions that are stated beside the values, apart from them, and with covariances.
    spreads: dict[str, Distribution] = {}
    for name, (value, distributions) in stated.items():
        spreads |= _by_label(name, value, distributions)
    for name, uncertainty in u.items():
        stated_apart = _by_label(name, values[name], _distributions(uncertainty, name, values[name]))
        for label in stated_apart:
            _require_new(label, spreads, "uncertainty", "at", "u")
        spreads |= stated_apart
    used = known.restricted(Quantities(values, {}).labels)
    for label, variance in zip(used.names, np.diag(used.matrix), strict=True):
        _require_new(label, spreads, "uncertainty", "at")
        spreads[label] = _with_dof(Distribution(size=math.sqrt(variance)), label, known.dof.get(label, math.inf))
    _check_sizes(spreads)
    check_names(dof, values, "dof", "quantity")
    return Quantities(values, {**spreads, **_with_stated_dof(dof, values, spreads)})


def _with_stated_dof(
    dof: Mapping[str, str | ArrayLike], values: Mapping[str, Array], spreads: Mapping[str, Distribution]
) -> dict[str, Distribution]:
    """Return copies, with their degrees of freedom, of those distributions in ``spreads`` for which ``dof`` states them."""
    result = {}
    for name, freedom in dof.items():
        freedoms = _spread_over(_numbers(freedom, "dof", name), name, values[name])
        for label, number in zip(element_names(name, values[name].shape), freedoms, strict=True):
            result[label] = _with_dof(spreads.get(label), label, float(number))
    return result


def _check_sizes(spreads: Mapping[str, Distribution]) -> None:
    """Raise an error if an uncertainty is negative or not finite."""
    for label, spread in spreads.items():
        if not 0 <= spread.size < math.inf:
            what = "negative" if spread.size < 0 else "not finite"
            raise UsageError(f"the uncertainty of '{label}' is {what}: {spread.size}", hint="state it as a positive number")


def row_distribution(value: str | float, name: str) -> tuple[Distribution, bool]:
    """Return an uncertainty for all rows, and whether it is relative (``1%``); a negative, infinite or array one is an error."""
    text, kind = split_distribution(value.strip()) if isinstance(value, str) else ("", Distribution())
    is_relative = text.endswith("%")
    size = _numbers(text.removesuffix("%") if isinstance(value, str) else value, "u", name)
    if size.ndim or not 0 <= size < math.inf:
        raise UsageError(f"the uncertainty of '{name}' is not a positive number: {value}", hint="state it as a positive number")
    return replace(kind, size=float(size) / 100 if is_relative else float(size)), is_relative


def _require_new(label: str, stated: Mapping[str, object], what: str, first: str, second: str = "cov") -> None:
    """Raise an error if ``label`` is a key of ``stated``: its value or uncertainty (``what``) is in both settings."""
    if label in stated:
        message = f"the {what} of '{label}' is stated twice, in {setting(first)} and in {setting(second)}"
        raise UsageError(message, hint="state it in one of them")


def _by_label(name: str, value: Array, distributions: list[Distribution | None]) -> dict[str, Distribution]:
    """Return the distributions of those elements of a value that have one, by label."""
    labels = element_names(name, value.shape)
    return {label: spread for label, spread in zip(labels, distributions, strict=True) if spread is not None}


def _stated_quantity(statement: Stated, name: str) -> Part:
    """Return the value and the distributions in a statement about a variable; see ``Stated``."""
    if isinstance(statement, tuple):
        return _quantity_from_tuple(statement, name)
    if isinstance(statement, str):
        text = statement.strip()
        if not (text.startswith("[") and text.endswith("]")):
            return _quantity_from_text(text, name)
        statement = [*filter(None, split_outside_brackets(text[1:-1]))]  # none in "[]"
    if isinstance(statement, list):
        parts = [_stated_quantity(item, name) for item in statement]
        if len({value.shape for value, _ in parts}) > 1:
            raise ShapeError(f"the entries of '{name}' have different shapes", hint="give every row the same number of entries")
        value = np.stack([value for value, _ in parts]) if parts else np.zeros(0)
        return value, [spread for _, spreads in parts for spread in spreads]
    value = _numbers(statement, "at", name)
    return value, [None] * value.size


def _quantity_from_tuple(statement: tuple[Any, ...], name: str) -> Part:
    """Return the value of a variable with its distributions from ``(value, u)`` or ``(value, u, "rect")``."""
    if len(statement) not in (2, 3):
        raise UsageError(f"the value of '{name}' is a tuple of {len(statement)} entries", hint="give a pair: (value, u)")
    number, u, *kinds = statement
    value = _numbers(number, "at", name)
    spread = Distribution()
    for kind in kinds:  # one at most
        _, spread = split_distribution(f"0 {kind}")  # the number does not matter
    sizes = _spread_over(_numbers(u, "u", name), name, value)
    return value, [replace(spread, size=float(size)) for size in sizes]


def _quantity_from_text(text: str, name: str) -> Part:
    """Return the value of a variable with its distribution from ``9.801(22)e-3``, ``(9.801±0.022)e-3 rect`` or ``9.801``."""
    body, kind = split_distribution(text)
    concise = _DIGITS.match(body)
    if concise is not None:
        number, size = _number_and_size(*concise.groups())
        return np.array(number), [replace(kind, size=size)]
    scaled = _SCALED.match(body)
    inside, exponent = scaled.groups() if scaled else (body, "0")
    number_text, *after_sign = (side.strip() for side in _SIGN.split(inside))
    if len(after_sign) == 1 and number_text:
        factor = float(f"1e{exponent}")
        value = constant_value(number_text, "at", name) * factor
        sizes = _sizes(after_sign[0], name, value, factor)
        return value, [replace(kind, size=float(size)) for size in _spread_over(sizes, name, value)]
    if body != text:
        message = f"the value of '{name}' names a distribution, but states no uncertainty: {text}"
        raise UsageError(message, hint=f"write {setting('at', f'{name}={body}±0.1 {kind.kind}')}")
    value = _numbers(text, "at", name)
    return value, [None] * value.size


def _number_and_size(digits: str, uncertainty: str, exponent: str | None) -> tuple[float, float]:
    """Return the number and its uncertainty in the parts of ``9.801(22)e-3``; an integer counts units of the last digit."""
    number, power = Decimal(digits), int(exponent[1:]) if exponent else 0
    power_of_last_digit = 0 if "." in uncertainty else int(number.as_tuple().exponent)
    return float(number.scaleb(power)), float(Decimal(uncertainty).scaleb(power + power_of_last_digit))


def _distributions(statement: str | ArrayLike, name: str, value: Array) -> list[Distribution | None]:
    """Return the distribution of each element of a value, as stated by a text such as ``0.002 rect``, a number or an array."""
    text, kind = split_distribution(statement.strip()) if isinstance(statement, str) else ("", Distribution())
    sizes = _sizes(text, name, value) if isinstance(statement, str) else _numbers(statement, "u", name)
    return [replace(kind, size=float(size)) for size in _spread_over(sizes, name, value)]


def _sizes(text: str, name: str, value: Array, factor: float = 1.0) -> Array:
    """Return the size in a text such as ``0.002``, times the factor of the value, or ``1%``, a part of the absolute value."""
    sizes = _numbers(text.removesuffix("%"), "u", name)
    return sizes / 100 * abs(value) if text.endswith("%") else sizes * factor


def _numbers(numbers: str | ArrayLike, option: str, name: str) -> Array:
    """Return the numbers that a setting gives a variable: an expression, ``@FILE``, a number or an array."""
    if isinstance(numbers, str):
        return np.asarray(from_file(numbers[1:]) if numbers.startswith("@") else constant_value(numbers, option, name), float)
    try:
        return np.array(numbers, float)
    except (TypeError, ValueError):
        message = f"{setting(option)} gives '{name}' a value that is not a number"
        raise UsageError(message, hint='use a number, a text such as "0.994(1)", or a pair (value, u)') from None


def _spread_over(sizes: Array, name: str, value: Array) -> Array:
    """Return one of the sizes, or the only one, for each element of a value, in row-major order; other shapes are an error."""
    if sizes.ndim and sizes.shape != value.shape:
        message = f"'{name}' has shape {list(value.shape)}, but its uncertainty has shape {list(sizes.shape)}"
        raise ShapeError(message, hint="give one number for all elements, or one for each")
    return np.broadcast_to(sizes, value.shape).ravel()


def _with_dof(spread: Distribution | None, label: str, dof: float) -> Distribution:
    """Return a distribution (``None`` is an error) with positive degrees of freedom; finite ones turn ``normal`` into ``t``."""
    if spread is None:
        message = f"{setting('dof')} names '{label}', which has no uncertainty"
        raise UsageError(message, hint=f"state its uncertainty with {setting('u')}")
    if not dof > 0:
        message = f"the degrees of freedom of '{label}' are not positive: {dof}"
        raise UsageError(message, hint="an estimate from n observations has n - 1")
    if spread.kind in ("normal", "t"):
        return replace(spread, kind="t" if math.isfinite(dof) else "normal", dof=dof)
    return replace(spread, dof=dof)
