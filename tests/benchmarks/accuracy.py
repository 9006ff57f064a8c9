"""How many units in the last place values, gradients and Hessians are off, here, in PyTorch and in JAX.

``python tests/benchmarks/accuracy.py [COUNT] [SEED]`` draws random expressions of two variables, takes the exact answers
at 50 digits (mpmath), and prints the median, the 99th percentile and the worst error of
each.  PyTorch and JAX are in the extra ``bench``; one that is not installed is left out.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

import autodiff_cli as ad

UNARY = (
    *("exp", "log", "sin", "cos", "tan", "sqrt", "tanh", "sinh", "cosh", "atan", "asinh", "log1p", "expm1", "sigmoid"),
    *("erf", "softplus", "asin", "acos", "atanh", "square", "reciprocal", "abs", "logsigmoid"),
)
BINARY = ("+", "-", "*", "/", "**", "+", "*", "logaddexp", "hypot", "atan2")
CONSTANTS = (0.5, 1.0, 2.0, 3.0, 0.1, 1.5)
ORDERS = ("value", "gradient", "Hessian")

Tree = Any


def draw(rng: random.Random, depth: int) -> Tree:
    """A random expression: a variable, a number, or a function of such."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice("xy") if rng.random() < 0.8 else rng.choice(CONSTANTS)
    if rng.random() < 0.45:
        return (rng.choice(UNARY), draw(rng, depth - 1))
    return (rng.choice(BINARY), draw(rng, depth - 1), draw(rng, depth - 1))


def text(tree: Tree) -> str:
    """The expression in our language."""
    if not isinstance(tree, tuple):
        return str(tree)
    if len(tree) == 2 or tree[0].isidentifier():
        return f"{tree[0]}({', '.join(map(text, tree[1:]))})"
    return f"({text(tree[1])} {tree[0]} {text(tree[2])})"


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
}


def build(tree: Tree, functions: Callable[[str], Any], variables: dict[str, Any]) -> Any:
    """The value of the expression with another library's functions."""
    if not isinstance(tree, tuple):
        return variables.get(tree, tree)
    parts = [build(part, functions, variables) for part in tree[1:]]
    return OPERATORS[tree[0]](*parts) if tree[0] in OPERATORS else functions(tree[0])(*parts)


def precise(name: str) -> Any:
    """The functions at the precision that mpmath is set to."""
    known: dict[str, Any] = {
        "sigmoid": lambda a: 1 / (1 + mpmath.exp(-a)),
        "logsigmoid": lambda a: -mpmath.log1p(mpmath.exp(-a)),
        "softplus": lambda a: mpmath.log1p(mpmath.exp(a)),
        "square": lambda a: a * a,
        "reciprocal": lambda a: 1 / a,
        "logaddexp": lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b)),
        "abs": abs,
    }
    function = known.get(name) or getattr(mpmath, name)

    def real(*arguments: Any) -> Any:
        value = function(*arguments)
        if isinstance(value, mpmath.mpc):
            raise ValueError("outside of the real domain")
        return value

    return real


def exact(tree: Tree, point: tuple[float, float]) -> list[list[Any]] | None:
    """Value, gradient and Hessian as mpmath numbers; ``None`` where they are not real and of ordinary size."""

    def function(x: Any, y: Any) -> Any:
        value = mpmath.mpmathify(build(tree, precise, {"x": x, "y": y}))
        if not isinstance(value, mpmath.mpf) or not mpmath.isfinite(value) or abs(value) > 1e30:
            raise ValueError("not a real number of ordinary size")
        return value

    with mpmath.workdps(50):
        at = tuple(map(mpmath.mpf, point))
        groups = [[function(*at)]]
        for orders in (((1, 0), (0, 1)), ((2, 0), (1, 1), (0, 2))):
            groups.append([mpmath.diff(function, at, order) for order in orders])
        # A difference that ought to be 0 is the rest of the digits.
        groups = [[value if abs(value) > mpmath.mpf(10) ** -35 else mpmath.mpf(0) for value in group] for group in groups]
    ordinary = all(value == 0 or 1e-25 < abs(value) < 1e30 for group in groups for value in group)
    return groups if ordinary else None


def ours(tree: Tree, point: tuple[float, float]) -> list[list[float]]:
    result = ad.evaluate(text(tree), at={"x": point[0], "y": point[1]}, order=2)
    hessian = result.hessian
    second = [hessian["x"]["x"], hessian["x"]["y"], hessian["y"]["y"]]
    return [[float(result.value)], [float(result.grad[n]) for n in "xy"], [float(v) for v in second]]


def with_torch(tree: Tree, point: tuple[float, float]) -> list[list[float]]:
    import torch
    from torch.nn import functional

    names = {"logsigmoid": functional.logsigmoid, "softplus": lambda a: functional.softplus(a, threshold=1e9)}
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in point)

    def lifted(name: str) -> Any:
        function = names.get(name) or getattr(torch, name)
        return lambda *a: function(*(v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=torch.float64) for v in a))

    value = torch.as_tensor(build(tree, lifted, {"x": x, "y": y}), dtype=torch.float64)
    if not value.requires_grad:
        return [[value.item()], [0.0] * 2, [0.0] * 3]
    first = torch.autograd.grad(value, (x, y), create_graph=True, materialize_grads=True)
    rows = [
        torch.autograd.grad(g, (x, y), retain_graph=True, materialize_grads=True) if g.requires_grad else (x * 0, y * 0)
        for g in first
    ]
    return [[value.item()], [g.item() for g in first], [rows[0][0].item(), rows[0][1].item(), rows[1][1].item()]]


def with_jax(tree: Tree, point: tuple[float, float]) -> list[list[float]]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    names = {
        "sigmoid": jax.nn.sigmoid,
        "logsigmoid": jax.nn.log_sigmoid,
        "softplus": jax.nn.softplus,
        "erf": jax.scipy.special.erf,
        "atan": jnp.arctan,
        "asinh": jnp.arcsinh,
        "asin": jnp.arcsin,
        "acos": jnp.arccos,
        "atanh": jnp.arctanh,
        "atan2": jnp.arctan2,
    }

    def function(x: Any, y: Any) -> Any:
        return jnp.asarray(build(tree, lambda n: names.get(n) or getattr(jnp, n), {"x": x, "y": y}), dtype=jnp.float64)

    arguments = tuple(map(jnp.float64, point))
    first = jax.grad(function, (0, 1))(*arguments)
    second = jax.jacfwd(jax.grad(function, (0, 1)), (0, 1))(*arguments)
    return [[float(function(*arguments))], list(map(float, first)), [float(second[0][0]), float(second[0][1]), float(second[1][1])]]


def ulps(found: float, true: Any, scale: float) -> float:
    """The error in units in the last place of the true answer, of ``scale`` where that is 0."""
    if not math.isfinite(found):
        return math.inf
    with mpmath.workdps(50):
        return float(abs(mpmath.mpf(found) - true) / math.ulp(float(true) or scale))


def worst_of(found: list[float], true: list[Any]) -> float:
    """The worst error of a gradient or Hessian; an entry that is exactly 0 is measured by the largest of its kind."""
    scale = max(abs(float(t)) for t in true) or 1.0
    return max(ulps(f, t, scale) for f, t in zip(found, true, strict=True))


def main(count: int = 300, seed: int = 0) -> None:
    rng = random.Random(seed)
    libraries: dict[str, Callable[..., Any]] = {"autodiff": ours}
    for name, function in (("PyTorch", with_torch), ("JAX", with_jax)):
        try:
            __import__({"PyTorch": "torch", "JAX": "jax"}[name])
        except ImportError:
            continue
        libraries[name] = function
    errors: dict[str, list[list[float]]] = {name: [[], [], []] for name in libraries}
    worst: list[list[tuple[float, str, tuple[float, float]]]] = [[], [], []]
    drawn = 0
    while drawn < count:
        tree, point = draw(rng, rng.randint(2, 4)), (round(rng.uniform(0.1, 2.5), 3), round(rng.uniform(0.1, 2.5), 3))
        try:
            truth = exact(tree, point)
        except (ArithmeticError, ValueError, TypeError, AttributeError, mpmath.libmp.ComplexResult):
            continue
        if truth is None or not {"x", "y"} & set(text(tree).replace("exp", "")):
            continue
        drawn += 1
        with np.errstate(all="ignore"):
            for name, function in libraries.items():
                for order, (group, answers) in enumerate(zip(function(tree, point), truth, strict=True)):
                    error = worst_of(group, answers)
                    errors[name][order].append(error)
                    if name == "autodiff":
                        worst[order].append((error, text(tree), point))
    print(f"{count} expressions, seed {seed}: errors in units in the last place")
    print(f"{'':10s}" + "".join(f"{order + ' p50':>14s}{'p99':>12s}{'max':>12s}" for order in ORDERS) + "   not finite")
    for name, groups in errors.items():
        cells = "".join(f"{np.percentile(g, 50):14.2f}{_of(g, 99):12.4g}{max(g):12.3g}" for g in groups)
        print(f"{name:10s}{cells}   {sum(not math.isfinite(e) for g in groups for e in g)}")
    for order, entries in zip(ORDERS, worst, strict=True):
        print(f"\nworst {order}s here:")
        for error, expression, point in sorted(entries, reverse=True)[:5]:
            print(f"  {error:10.3g}  {expression} at x={point[0]}, y={point[1]}")


def _of(errors: list[float], percent: float) -> float:
    """The percentile, without interpolation towards infinity."""
    return float(np.percentile(errors, percent, method="higher"))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
