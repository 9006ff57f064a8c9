"""Random scalar expressions of vectors and matrices."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence


def expressions(rng: random.Random) -> tuple[str, str, dict[str, str]]:
    """Return an expression, the variable to differentiate with respect to, and the shapes of its names."""
    writer = _Writer(rng)
    text = writer.number(3)
    while not re.search(r"\b[xX]\b", text):
        text = writer.number(3)
    wrt = rng.choice([name for name in "xX" if re.search(rf"\b{name}\b", text)])
    if rng.random() < 0.2:
        text = f"f(t) = {rng.choice(['t**2 + t', 'tanh(t)', '2*t'])}; w = {writer.vector(1)}; f({text}) + w @ f(w)"
    names = set(re.findall(r"\b[a-zA-Z]\b", text)) - set("cTftw")
    return text, wrt, {name: "n" if name.islower() else "n,n" for name in sorted(names)}


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def _one(self, leaves: Sequence[str], forms: Sequence[Callable[[], str]], depth: int) -> str:
        if depth == 0 or self.rng.random() < 0.25:
            return self.rng.choice(leaves)
        return self.rng.choice(forms)()

    def place(self) -> int:
        """Return a place in a dimension of length 3."""
        return self.rng.randrange(-3, 3)

    def number(self, depth: int) -> str:
        """Write a number."""
        vector, matrix = (lambda: self.vector(depth - 1)), (lambda: self.matrix(depth - 1))
        forms = [
            lambda: f"sum({vector()})",
            lambda: f"(({vector()}) @ ({vector()}))",
            lambda: f"norm({vector()})",
            lambda: f"trace({matrix()})",
            lambda: f"logsumexp({vector()})",
            lambda: f"mean({matrix()})",
            lambda: f"sum({matrix()}*{matrix()})",
            lambda: f"({vector()})[{self.place()}]",
            lambda: f"({matrix()})[{self.place()}, {self.place()}]",
            lambda: f"norm({matrix()})",
            lambda: f"sum(prod({matrix()}, {self.rng.randrange(2)}))",
            lambda: f"mse_loss({vector()}, {vector()})",
            lambda: f"sum(diff({vector()})**2)",
            lambda: f"norm(kron({vector()}, {vector()}))",
            lambda: f"(flatten({matrix()}) @ kron({matrix()}, {matrix()}) @ kron({vector()}, {vector()}))",
        ]
        return self._one(["c", "2"], forms, depth)

    def vector(self, depth: int) -> str:
        """Write a vector."""
        vector, matrix = (lambda: self.vector(depth - 1)), (lambda: self.matrix(depth - 1))
        function = self.rng.choice(["exp", "sin", "tanh", "sigmoid", "softplus", "abs", "softmax"])
        forms = [
            lambda: f"({vector()} {self.rng.choice('+-*')} {vector()})",
            lambda: f"({matrix()} @ ({vector()}))",
            lambda: f"(({vector()}) @ {matrix()})",
            lambda: f"{function}({vector()})",
            lambda: f"({self.number(depth - 1)}*{vector()})",
            lambda: f"({vector()})**2",
            lambda: f"diagonal({matrix()})",
            lambda: f"sum({matrix()}, {self.rng.randrange(2)})",
            lambda: f"solve(A, {vector()})",
            lambda: f"({matrix()})[{self.place()}]",
            lambda: f"({matrix()})[:, {self.place()}]",
            lambda: f"cumsum({vector()}, 0)",
            lambda: f"where({vector()} > {vector()}, {vector()}, {self.number(depth - 1)})",
            lambda: f"mean({matrix()}, {self.rng.randrange(-2, 2)})",
            lambda: f"norm({matrix()}, dim={self.rng.randrange(2)})",
            lambda: f"logsumexp({matrix()}, {self.rng.randrange(2)})",
        ]
        return self._one("xyb", forms, depth)

    def matrix(self, depth: int) -> str:
        """Write a matrix."""
        vector, matrix = (lambda: self.vector(depth - 1)), (lambda: self.matrix(depth - 1))
        forms = [
            lambda: f"({matrix()} {self.rng.choice('+-*')} {matrix()})",
            lambda: f"({matrix()} @ {matrix()})",
            lambda: f"({matrix()}).T",
            lambda: f"outer({vector()}, {vector()})",
            lambda: f"diag({vector()})",
            lambda: f"{self.rng.choice(['exp', 'sin', 'tanh'])}({matrix()})",
            lambda: "inv(A)",
            lambda: f"reshape(kron({vector()}, {vector()}), [A.shape[0], A.shape[1]])",
            lambda: "cholesky(X @ X.T + A @ A.T)",
            lambda: f"softmax({matrix()}, {self.rng.randrange(2)})",
            lambda: f"(({vector()})[:, none]*{matrix()})",
            lambda: f"({matrix()} - mean({matrix()}, {self.rng.randrange(2)}, true))",
            lambda: f"{self.rng.choice(['tril', 'triu'])}({matrix()})",
            lambda: f"cumsum({matrix()}, {self.rng.randrange(2)})",
            lambda: f"({self.number(depth - 1)}*{matrix()})",
        ]
        return self._one("ABX", forms, depth)
