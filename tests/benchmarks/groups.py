"""Many small fits, and the fits that share parameters or have errors in a column.

Run it with ``python tests/benchmarks/groups.py``.  Peers, where they are installed: SciPy's ``curve_fit`` with the same model, and
``scipy.odr`` or ``odrpack``.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import autodiff_cli as ad

GROUPS, ROWS = 10_000, 20
MODEL = "y = a*exp(-k*t) + c"
START = {"a": 1.0, "k": 1.0, "c": 0.0}
FEW = 200
"""The number of groups that a peer fits; its time is given for all of them."""


def decays() -> dict[str, np.ndarray]:
    """Return decay curves with errors of 0.05, one for each group."""
    random = np.random.default_rng(0)
    g = np.repeat(np.arange(GROUPS), ROWS)
    t = np.tile(np.linspace(0, 5, ROWS), GROUPS)
    a, k, c = (random.uniform(*ends, GROUPS)[g] for ends in ((1, 5), (0.3, 2), (-1, 1)))
    return {"g": g, "t": t, "y": a * np.exp(-k * t) + c + 0.05 * random.standard_normal(len(t))}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def row(what: str, seconds: float, note: str) -> None:
    print(f"{what:<58} {seconds:8.2f} s   {note}")


def separate(data: dict[str, np.ndarray]) -> None:
    seconds, found = timed(lambda: ad.fit(MODEL, data, at=START, by="g"))
    solved = sum(group["converged"] for group in found.groups)
    row(f"{GROUPS:,} groups of {ROWS} rows, 3 parameters", seconds, f"{solved:,} proven minima")
    parts = [{name: column[data["g"] == g] for name, column in data.items()} for g in range(FEW)]
    seconds, _ = timed(lambda: [ad.fit(MODEL, {"t": part["t"], "y": part["y"]}, at=START) for part in parts])
    row("  the same, one call of ad.fit a group", seconds * GROUPS / FEW, f"from {FEW} groups")
    curve_fit = import_module("scipy.optimize").curve_fit

    def model(t: np.ndarray, a: float, k: float, c: float) -> np.ndarray:
        return a * np.exp(-k * t) + c

    seconds, _ = timed(lambda: [curve_fit(model, part["t"], part["y"], p0=[1, 1, 0]) for part in parts])
    row("  scipy.optimize.curve_fit, one call a group", seconds * GROUPS / FEW, f"from {FEW} groups, not verified")


def shared(data: dict[str, np.ndarray]) -> None:
    t = data["t"]
    y = 2 * np.exp(-0.7 * t) + 0.1 * np.sin(data["g"]) + 0.05 * np.random.default_rng(1).standard_normal(len(t))
    seconds, found = timed(lambda: ad.fit(MODEL, {**data, "y": y}, at=START, by="g", share=["k"]))
    known = found.parameters["k"]
    row(f"k shared by {GROUPS:,} groups: {2 * GROUPS + 1:,} parameters", seconds, f"k = {known['value']:.5f}")


def errors_in_x() -> None:
    random = np.random.default_rng(2)
    for rows in (1_000, 100_000):
        truth = random.uniform(0, 5, rows)
        x = truth + 0.1 * random.standard_normal(rows)
        y = 3 * np.exp(-0.7 * truth) + 0.02 * random.standard_normal(rows)
        options: dict[str, Any] = {"at": {"a": 1.0, "k": 1.0}, "sigma": "0.02", "sigma_x": {"x": 0.1}}
        seconds, found = timed(lambda x=x, y=y, options=options: ad.fit("y = a*exp(-k*x)", {"x": x, "y": y}, **options))
        row(f"errors in x, {rows:,} rows", seconds, f"{found.digits} certain digits")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                odr = import_module("scipy.odr")
            except ImportError:
                continue
            model = odr.Model(lambda p, x: p[0] * np.exp(-p[1] * x))
            data = odr.RealData(x, y, sx=0.1, sy=0.02)
            seconds, peer = timed(lambda odr=odr, data=data, model=model: odr.ODR(data, model, beta0=[1, 1], maxit=500).run())
        worst = max(abs(p / found.values[name] - 1) for p, name in zip(peer.beta, "ak", strict=True))
        row("  scipy.odr", seconds, f"agrees to {-np.log10(worst):.1f} digits")


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    everything = decays()
    separate(everything)
    shared(everything)
    errors_in_x()
