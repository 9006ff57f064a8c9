"""The numbers of a lesson, each as the text that its page shows."""

from __future__ import annotations

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.explanation.model import CotangentContribution, ExplainedStep
from autodiff_cli.explanation.sentences import broadcast_text, unsigned_zeros
from autodiff_cli.language.tree import unparse
from autodiff_cli.report.numbers import human


class Numbers:
    """The texts of numbers with a number of significant digits, and of the steps of a backward pass."""

    def __init__(self, precision: int) -> None:
        self.precision = precision

    def text(self, value: Array | float) -> str:
        return human(unsigned_zeros(value), self.precision)

    def known(self, value: Array | None) -> dict[str, object] | None:
        """Return a number, or ``None`` if it is unknown."""
        return None if value is None else self.number(value)

    def number(self, value: Array) -> dict[str, object]:
        """Return the text of a number or an array, the shape of an array, and whether the elements are conditions."""
        array = np.asarray(value)
        shape = {"shape": list(array.shape)} if array.shape else {}
        return {"text": self.text(value), **shape, **({"condition": True} if array.dtype == np.bool_ else {})}

    def step(self, step: ExplainedStep) -> dict[str, object]:
        return {
            "names": step.names,
            "operation": unparse(step.operation),
            "grad_fn": step.grad_fn,
            "selects": step.selects,
            "gradients": [self.number(gradient) for gradient in step.gradients],
            "contributions": [self.contribution(made) for made in step.contributions],
        }

    def contribution(self, made: CotangentContribution) -> dict[str, object]:
        return {
            "to": made.to,
            "formula": None if made.formula is None else unparse(made.formula),
            "rule": made.words,
            "local": self.known(made.local),
            "value": self.number(made.value),
            "total": self.number(made.total),
            "broadcast": broadcast_text(made) if made.is_broadcast else None,
            "masked": made.masked,
        }
