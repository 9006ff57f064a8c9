"""Tracing for ``diff`` and ``export``, whose variables are scalars."""

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.compiler.tracer import is_of_scalars, takes_array
from autodiff_cli.errors import NotRecordable, setting
from autodiff_cli.evaluation.compile import TracingEvaluator
from autodiff_cli.language.tree import Syntax

_ARRAYS = f"use diff with {setting('shape', 'x=n')} for vectors, or grad and jacobian for numbers"
_HINTS = {name: f"list the elements, as in {name}([x1, x2]), or " for name in ("sum", "prod", "mean")}
_HINTS["sum"] = "differentiate f(x) instead of sum(f(x)), list the elements, as in sum([x1, x2]), or "


class ScalarTracingEvaluator(TracingEvaluator):
    """A tracing evaluator for scalar variables.

    It rejects array functions of variables: ``sum(x)``, for example, would be traced as ``x``, which is wrong for an array.
    """

    def apply(self, op: FunctionInfo, arguments: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Apply a function of the language.

        Raises:
            NotRecordable: if the function takes arrays, but its arguments are tracers of scalars.
        """
        if takes_array(op) and is_of_scalars((*arguments, *named.values())):
            raise NotRecordable(
                f"'{op.name}' takes an array, but variables are scalars here",
                hint=f"{_HINTS.get(op.name, '')}{_ARRAYS}",
            )
        return super().apply(op, arguments, named, node)
