"""Columns that are not known yet: NumPy's functions of a column append instructions to a kernel.

The forward function of a primitive is written with NumPy.  Called with columns instead of arrays, it describes the kernel
of the primitive, so a primitive is not defined twice, and its values at edges are those of ``evaluate``.

Code that looks at values cannot run: ``Unknown`` is raised.  Only ``np.any`` has an answer, ``True``, because forward
functions ask it whether some rows need a formula that is right for all of these rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from autodiff_cli.compiler.llvm.ir import Builder, Value
from autodiff_cli.compiler.llvm.operations import Unknown as Unknown  # noqa: PLC0414
from autodiff_cli.compiler.llvm.operations import rule_of

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import DType

KINDS: Final = {np.dtype(np.float64): "f64", np.dtype(np.float32): "f32", np.dtype(bool): "i1"}
"""The kind of a vector in the IR for each element type."""


def _refuse(self: KernelColumn, *_: object, **__: object) -> NoReturn:
    raise Unknown("the function depends on values")


class KernelColumn(np.lib.mixins.NDArrayOperatorsMixin):
    """A column that a kernel computes.

    Attributes:
        value: the rows of the current group, as a vector of the kernel.
        dtype: the element type.
    """

    __slots__ = ("dtype", "value")

    ndim = 1

    def __init__(self, value: Value, dtype: DType) -> None:
        self.value = value
        self.dtype = dtype

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> KernelColumn:
        """Append the instructions of a ufunc, or raise ``Unknown``; elements that ``where`` excludes are those of ``out``."""
        if method != "__call__" or ufunc.nout != 1 or not set(options) <= {"out", "where"}:
            raise Unknown(ufunc.__name__)
        result = applied(self.value.builder, ufunc, inputs)
        if "where" in options:
            (before,) = options["out"]
            result = chosen(self.value.builder, options["where"], result, before)
        return result

    def __array_function__(self, function: Callable[..., Any], _: object, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        """Append the instructions of another function of NumPy; raise ``Unknown`` for one without a rule."""
        rule = _FUNCTIONS.get(function)
        if rule is None:
            raise Unknown(function.__name__)
        return rule(*arguments, **options)

    def astype(self, dtype: DType, copy: bool = True) -> KernelColumn:
        """Return the column in another type; columns are never changed, so ``copy`` does not matter."""
        return converted(self, np.dtype(dtype))

    def copy(self) -> KernelColumn:
        """Return the column; columns are never changed."""
        return self

    def __getitem__(self, key: tuple[()]) -> KernelColumn:
        """Return the column for the key (), which NumPy applies to results; raise ``Unknown`` for another key."""
        if key != ():
            raise Unknown("an index")
        return self

    def any(self) -> bool:
        """Return ``True``: some rows may satisfy the condition."""
        return True

    __bool__ = __float__ = __int__ = __index__ = __array__ = __len__ = __iter__ = __setitem__ = _refuse


@functools.cache
def _resolved_types(ufunc: np.ufunc, types: tuple[Any, ...]) -> tuple[DType, ...]:
    """Return the types of the operands and the result of a function; ``Unknown`` if it does not take operands of these types."""
    try:
        return ufunc.resolve_dtypes((*types, None))  # ``None`` stands for the result
    except TypeError as error:
        raise Unknown(f"{ufunc.__name__}: {error}") from None


def _promotion_type(value: object) -> Any:
    """Return the type of a value; for a Python number, ``float`` or ``int``, which fit any float type.  May raise ``Unknown``."""
    if isinstance(value, KernelColumn | np.ndarray | np.generic):
        return value.dtype
    if type(value) in (float, int, bool):
        return np.dtype(bool) if type(value) is bool else type(value)
    raise Unknown(f"an argument of type {type(value).__name__}")


def applied(builder: Builder, ufunc: np.ufunc, inputs: Sequence[Any]) -> KernelColumn:
    """Return the column that a function has for columns and numbers; raise ``Unknown`` if a kernel cannot compute it."""
    *types, result_type = _resolved_types(ufunc, tuple(map(_promotion_type, inputs)))
    values = [vector(builder, operand, dtype) for operand, dtype in zip(inputs, types, strict=True)]
    if result_type not in KINDS:
        raise Unknown(ufunc.__name__)
    rule = rule_of(ufunc, of_conditions=values[0].kind == "i1")
    return KernelColumn(rule(builder, *values), result_type)


def vector(builder: Builder, value: Any, dtype: DType) -> Value:
    """Return a column or a number as a vector of a type; raise ``Unknown`` for an array, or a type without vectors."""
    if dtype not in KINDS:
        raise Unknown(f"the type {dtype.name}")
    if isinstance(value, KernelColumn):
        return converted(value, dtype).value
    if np.ndim(value):
        raise Unknown("an array")
    with np.errstate(all="ignore"):
        return builder.constant(np.asarray(value).astype(dtype).item(), KINDS[dtype])


def converted(column: KernelColumn, dtype: DType) -> KernelColumn:
    """Return a column in another type; raise ``Unknown`` for a type without vectors."""
    if dtype == column.dtype:
        return column
    if dtype not in KINDS:
        raise Unknown(f"the type {dtype.name}")
    builder = column.value.builder
    if dtype.kind == "b":
        return KernelColumn(builder.truth(column.value), dtype)
    return KernelColumn(builder.convert(column.value, KINDS[dtype]), dtype)


def chosen(builder: Builder, condition: Any, one: Any, other: Any) -> KernelColumn:
    """Return ``one`` where the condition holds, and ``other`` elsewhere, as ``np.where`` does."""
    types = [value if type(value) in (float, int, bool) else _promotion_type(value) for value in (one, other)]
    dtype = np.result_type(*types)  # which takes Python numbers themselves
    test = vector(builder, condition, np.dtype(bool))
    return KernelColumn(builder.select(test, vector(builder, one, dtype), vector(builder, other, dtype)), dtype)


def _where(condition: Any, *values: Any) -> KernelColumn:
    """Follow ``np.where`` of a condition and two values, at least one of which is a column; ``Unknown`` for the condition alone."""
    column = next(value for value in (condition, *values) if isinstance(value, KernelColumn))
    if len(values) != 2:  # np.where(condition) depends on values
        raise Unknown("where")
    return chosen(column.value.builder, condition, *values)


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    """Follow ``np.clip``; a bound that is ``None`` does not limit."""
    raised = x if low is None else np.maximum(x, low)
    return raised if high is None else np.minimum(raised, high)


def _rounded(x: KernelColumn, decimals: int = 0) -> Any:
    """Follow ``np.round`` to integers; raise ``Unknown`` for other decimals."""
    if decimals:
        raise Unknown("round")
    return np.rint(x)


_FUNCTIONS: Final[dict[Callable[..., Any], Callable[..., Any]]] = {
    np.where: _where,
    np.clip: _clip,
    np.round: _rounded,
    np.any: lambda condition: condition.any(),
    np.result_type: lambda *values: np.result_type(*[one.dtype if isinstance(one, KernelColumn) else one for one in values]),
    np.ndim: lambda _: 1,
    np.copy: lambda x: x,
}
"""The functions of NumPy that are not ufuncs, for columns."""
