"""Kepler's equation in columns: ``root(E=M, E - ecc*sin(E) = M)`` beside Newton's method by hand in NumPy, and optimistix.

``python -m tests.benchmarks.equation_values`` prints rows per second of processor time, the least of the rounds.  Newton by hand
and optimistix (in the extra ``bench``; under ``jax.jit`` and ``vmap``) start at Danby's point and prove nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import autodiff_cli as ad
from tests.benchmarks.timing import least

ROWS, ROUNDS = 1_000_000, 3
EXPRESSION = "root(E=M, E - ecc*sin(E) = M)"


def by_hand(mean: Any, ecc: Any) -> Any:
    """The eccentric anomaly by Newton's method."""
    angle = mean + 0.85 * ecc * np.sign(np.sin(mean))
    moving = np.arange(len(mean))
    for _ in range(60):
        e, x = ecc[moving], angle[moving]
        step = (x - e * np.sin(x) - mean[moving]) / (1 - e * np.cos(x))
        angle[moving] = x - step
        moving = moving[np.abs(step) > 1e-15 * np.abs(x)]
        if not len(moving):
            break
    return angle


def by_optimistix() -> dict[str, Callable[[Any, Any], Any]]:
    """Return the value, and the value and gradient, compiled by JAX."""
    import jax
    import optimistix
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)
    solver = optimistix.Newton(rtol=1e-13, atol=1e-13)

    def anomaly(mean: Any, ecc: Any) -> Any:
        start = mean + 0.85 * ecc * jnp.sign(jnp.sin(mean))
        return optimistix.root_find(lambda x, a: x - a[1] * jnp.sin(x) - a[0], solver, start, (mean, ecc), max_steps=60).value

    both = jax.value_and_grad(anomaly, (0, 1))
    functions = {"value": jax.jit(jax.vmap(anomaly)), "value and gradient": jax.jit(jax.vmap(both))}
    return {name: lambda *x, f=function: jax.block_until_ready(f(*x)) for name, function in functions.items()}


def main() -> None:
    generator = np.random.default_rng(0)
    mean, ecc = generator.uniform(0, 2 * np.pi, ROWS), generator.uniform(0, 0.99, ROWS)
    base = least(lambda: by_hand(mean, ecc), ROUNDS, time.process_time)
    print(f"{'Newton by hand':24} {ROWS / base:12,.0f} rows/s    1.00")
    for name, order in (("value", 0), ("value and gradient", 1)):
        program = ad.compile(EXPRESSION, order=order, threads=1)
        program(M=mean[:5_000], ecc=ecc[:5_000])  # compiles
        value = program(M=mean, ecc=ecc)["value"]
        assert np.abs(value - by_hand(mean, ecc)).max() < 1e-11
        seconds = least(lambda program=program: program(M=mean, ecc=ecc), ROUNDS, time.process_time)  # type: ignore[misc]
        print(f"{name:24} {ROWS / seconds:12,.0f} rows/s  {seconds / base:6.2f}")
    for name, function in by_optimistix().items() if find_spec("optimistix") else ():
        function(mean, ecc)  # compiles
        seconds = least(lambda function=function: function(mean, ecc), ROUNDS, time.process_time)  # type: ignore[misc]
        print(f"{'optimistix, ' + name:24} {ROWS / seconds:12,.0f} rows/s  {seconds / base:6.2f}")


if __name__ == "__main__":
    main()
