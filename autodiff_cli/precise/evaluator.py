"""Evaluation of an expression in arbitrary-precision arithmetic.

The inputs and the literals of the program are exactly the float64 or float32 numbers that ``eval`` uses; for example, ``0.1``
is the nearest float.  Functions of constants (``1/3``, ``sqrt(2)``) and the names ``pi`` and ``e`` are computed to many digits,
because rounding them to the 16 digits of a float64 counts as an error of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.primitives.argument_kinds import MASK, POSITIONS
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.evaluation.coercion import is_plain
from autodiff_cli.evaluation.expression import Evaluator
from autodiff_cli.evaluation.tensor_log import TensorLog
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.language.tree import Syntax
from autodiff_cli.precise.arithmetic import Arithmetic, Exact, Number, Real
from autodiff_cli.precise.tensor import Precise, precise


class _TensorLog(TensorLog):
    """A tensor log that converts literals into arbitrary-precision tensors."""

    def __init__(self, source: str, math: Arithmetic, given: Iterable[Tensor], listing: bool) -> None:
        super().__init__(source, np.dtype(np.float64), given, listing)
        self.math = math

    def of(self, value: Any, node: Syntax | None = None) -> Tensor:
        if isinstance(value, Precise):
            return value
        made = super().of(value, node)
        if isinstance(value, Tensor) or not made.is_floating_point() or isinstance(made, Precise):
            return self.raised(made)
        exact = precise(self.math, np.array(value, dtype=object))
        if node is not None and self.made and self.made[-1][0] is made:
            self.made[-1] = (exact, self.made[-1][1])
        return exact

    def raised(self, tensor: Tensor) -> Tensor:
        """Convert a tensor of floats to an arbitrary-precision tensor; return any other tensor unchanged."""
        if isinstance(tensor, Precise) or not tensor.is_floating_point():
            return tensor
        return precise(self.math, tensor._data)

    def _argument(self, op: FunctionInfo, parameter: str, value: Any, node: Syntax) -> Any:
        found = super()._argument(op, parameter, value, node)
        if op.kinds.get(parameter) in (POSITIONS, MASK):
            return _lowered(found)
        return self.raised(found) if isinstance(found, Tensor) else found


def _lowered(value: Any) -> Any:
    """Convert indices, which may be arbitrary-precision tensors, to ordinary tensors."""
    if isinstance(value, Precise):
        return new_tensor(value._data.astype(np.float64))
    return [_lowered(item) for item in value] if isinstance(value, list) else value


class PreciseEvaluator(Evaluator):
    """An evaluator in arbitrary-precision arithmetic; it ignores user-written derivatives, as it computes values only.

    Args:
        source, tree: the program, as text and as a syntax tree.
        math: the arithmetic of the evaluation.
        inputs: a tensor or an array of numbers for each variable, by name.
        plain: the plain values of other names, such as a slope.
        listing: whether to record all tensors.
    """

    tensors: _TensorLog

    def __init__(
        self,
        source: str,
        tree: Syntax,
        math: Arithmetic,
        inputs: Mapping[str, object],
        plain: Mapping[str, object] = MappingProxyType({}),
        listing: bool = False,
    ) -> None:
        leaves = {name: value if isinstance(value, Tensor) else precise(math, value) for name, value in inputs.items()}
        super().__init__(source, leaves, np.dtype(np.float64), tree)
        self.math = math
        self.names.update(plain)
        self.tensors = _TensorLog(source, math, leaves.values(), listing)
        self.constants = math.constants

    def run(self) -> Any:
        value: Any = None
        with no_grad(), np.errstate(all="ignore"):
            for statement in self.tree.children:
                value = self.statement(statement)
        return value

    def output(self) -> Tensor:
        """Run the program and return its result."""
        return self.tensors.raised(self.as_tensor(self.run()))

    def name(self, node: Syntax) -> Any:
        value = super().name(node)
        text = node.children[0].text
        if text in ("pi", "e") and type(value) is float and text not in self._scope and text not in self.names:
            return Exact(self.math.made(self.math.mp.pi + 0 if text == "pi" else self.math.mp.e + 0))
        if self.math.reading and isinstance(value, Precise):
            return precise(self.math, np.vectorize(self.math.read, otypes=[object])(value._data))
        return value

    def apply(self, op: FunctionInfo, given: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        numbers = bool(op.tensors) and all(map(is_plain, given)) and all(map(is_plain, named.values())) and not op.variadic
        if not numbers or all(isinstance(value, bool) for value in given):
            return super().apply(op, given, named, node)
        count = len(op.tensors)
        with self.tensors.unlisted():
            raised = [precise(self.math, v) if i < count and not isinstance(v, bool) else v for i, v in enumerate(given)]
            result = super().apply(op, raised, named, node)
        return result.item() if isinstance(result, Tensor) and not result.shape else result

    def listed(self, result: Any, node: Syntax) -> Any:
        listed = super().listed(self.tensors.raised(result) if isinstance(result, Tensor) else result, node)
        return self.tensors.raised(listed) if isinstance(listed, Tensor) else listed

    def keys(self, values: Iterable[Any]) -> list[Any]:
        return super().keys([_lowered(value) for value in values])

    def with_own_vjp(self, function: UserFunction, given: list[Any], node: Syntax) -> Any:
        value = self.within(function, function.body, [self.tensors.of(value) for value in given])
        return self.tensors.keep(value, node)


def numbers(tensor: Tensor) -> list[Real | float]:
    """Return the elements of a tensor: mpmath numbers for an arbitrary-precision tensor, floats for any other."""
    return [cell.value if isinstance(cell, Number) else float(cell) for cell in np.ravel(tensor._data)]
