"""Tracing for ``diff`` and ``export``, whose variables are single numbers."""

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.tracer import Tracer
from autodiff_cli.errors import NotRecordable, setting
from autodiff_cli.evaluation.compile import TracingEvaluator
from autodiff_cli.language.tree import Syntax

_OF_ARRAYS = ("reduce", "norms", "extremes", "sorting", "linalg", "contract", "loss", "matrices", "decompose", "determinants")
"""Modules of functions of arrays; most of them return a single number unchanged."""

_EXAMPLE = setting("at", '"x=[1, 2]"')
_HINTS = {name: f"list the elements, as in {name}([x1, x2]); " for name in ("sum", "prod", "mean")}
_HINTS["sum"] = "element by element, the derivative of sum(f(x)) is that of f(x); list the elements, as in sum([x1, x2]); "


class ScalarTracingEvaluator(TracingEvaluator):
    """Refuses the sum of a variable: it would be traced as the variable itself, which is wrong for an array."""

    def apply(self, op: FunctionInfo, given: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Apply a function of the language.

        Raises:
            NotRecordable: if it takes arrays, and here it gets tracers of single numbers only.
        """
        if op.section in _OF_ARRAYS or (op.section == "activation" and "dim" in op.parameters):
            tensors = [value for value in (*given, *named.values()) if isinstance(value, Tensor)]
            if any(isinstance(tensor, Tracer) for tensor in tensors) and not any(tensor.shape for tensor in tensors):
                raise NotRecordable(
                    f"'{op.name}' takes an array, and a variable is a single number here",
                    hint=f"{_HINTS.get(op.name, '')}grad and jacobian take arrays: {_EXAMPLE}",
                )
        return super().apply(op, given, named, node)
