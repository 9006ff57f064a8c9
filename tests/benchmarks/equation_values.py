"""Kepler's equation in columns: ``root(E=M, E - ecc*sin(E) = M)`` beside Newton's method written by hand in NumPy.

``python -m tests.benchmarks.equation_values`` prints rows per second of one thread in processor time, the least of the rounds.
Newton by hand starts at Danby's point, iterates rows until they stand still, and proves
nothing.
"""

from __future__ import annotations

import time
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


if __name__ == "__main__":
    main()
