"""The worked examples of JCGM 100:2008 and JCGM 101:2008: what they publish, and what ``propagate`` computes.

Run it with ``python tests/benchmarks/uncertainty.py``.  The first table compares each published number; the second one shows the
time of the law over rows and of random trials.
"""

from __future__ import annotations

import math
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import autodiff_cli as ad
from autodiff_cli.cli.main import main

TRIALS = 1_000_000
GAUGE = "ls + d - ls*(da*theta + alpha*dt)"
GAUGE_AT = {
    **{"ls": "50000623(25)", "d": "215(9.7)", "da": "0±1e-6 rect", "theta": "-0.1±0.41", "alpha": "11.5e-6±2e-6 rect"},
    "dt": "0±0.05 rect",
}
BLOCK = "ls + d + d1 + d2 - ls*(da*(theta + delta) + alpha*dt)"
BLOCK_AT = {
    **{"ls": "50000623(25) t:18", "d": "215(6) t:24", "d1": "0±4 t:5", "d2": "0±7 t:8", "alpha": "11.5e-6±2e-6 rect"},
    **{"theta": "-0.1±0.2", "delta": "0±0.5 arcsine", "da": "0±1e-6 ctrap:0.1e-6", "dt": "0±0.050 ctrap:0.025"},
}
MASS = "(m + dm)*(1 + (ra - 1.2)*(1/rw - 1/rr)) - 100000"
MASS_AT = {"m": "100000.000(50)", "dm": "1.234(20)", "ra": "1.20±0.10 rect", "rw": "8000±1000 rect", "rr": "8000±50 rect"}
OBSERVED = {
    "V": [5.007, 4.994, 5.005, 4.990, 4.999],
    "I": [19.663e-3, 19.639e-3, 19.640e-3, 19.685e-3, 19.678e-3],
    "phi": [1.0456, 1.0438, 1.0468, 1.0428, 1.0433],
}


class Row(NamedTuple):
    """A published number and the computed one; the number is met if they differ by at most ``allowed``."""

    example: str
    what: str
    published: float
    computed: float
    allowed: float


def end_gauge() -> list[Row]:
    """JCGM 100, H.1, in nm."""
    first = ad.propagate(GAUGE, GAUGE_AT, dof={"ls": 18, "d": 25.6, "da": 50, "dt": 2}, level=0.99)
    second = ad.propagate(GAUGE, GAUGE_AT, order=2)
    facts = [("l - 50 mm", 838, first.value - 50e6), ("u", 32, first.u), ("degrees of freedom", 16, math.floor(first.dof))]
    facts += [("k, 99 %", 2.92, first.k), ("U, 99 %, from u = 32", 93, first.k * 32), ("u, second order", 34, second.u)]
    return [Row("100 H.1 end gauge", *fact, 0.005 if fact[1] == 2.92 else 0.5) for fact in facts]


def impedance() -> list[Row]:
    """JCGM 100, H.2, tables H.3 and H.4, in ohms."""
    r = np.corrcoef(list(OBSERVED.values()))
    at = {name: (float(np.mean(each)), float(np.std(each, ddof=1) / math.sqrt(5))) for name, each in OBSERVED.items()}
    corr = {"V,I": r[0, 1], "V,phi": r[0, 2], "I,phi": r[1, 2]}
    found = ad.propagate("R = V/I*cos(phi); X = V/I*sin(phi); Z = V/I", at, corr=corr)
    published = (("R", 127.732, 0.071), ("X", 219.847, 0.295), ("Z", 254.260, 0.236))
    rows = []
    for (name, value, u), each in zip(published, found.outputs, strict=True):
        rows += [Row("100 H.2 impedance", name, value, each.value, 5e-4), Row("100 H.2 impedance", f"u({name})", u, each.u, 8e-4)]
    pairs = ((0, 1, -0.588), (0, 2, -0.485), (1, 2, 0.993))
    return rows + [Row("100 H.2 impedance", f"r({'RXZ'[i]}, {'RXZ'[j]})", r, found.correlation[i, j], 5e-4) for i, j, r in pairs]


def trials(example: str, found: Any, interval: str, published: tuple[float, ...], unit: float) -> list[Row]:
    """The rows of a Monte Carlo calculation; an end of an interval varies more than the mean."""
    checked = found.monte_carlo
    facts = zip(("mean", "u", "low", "high"), published, [checked["mean"], checked["u"], *checked[interval]], strict=True)
    return [Row(example, f"{what}, trials", p, c, unit * (1 if what in ("mean", "u") else 5)) for what, p, c in facts]


def law(example: str, found: Any, published: tuple[float, ...], unit: float, order: int = 1, shift: float = 0.0) -> list[Row]:
    """The rows of the law of propagation; the supplement does not shift the value of second order."""
    low, high = found.interval
    facts = zip(("y", "u", "low", "high"), published, (found.value - shift, found.u, low - shift, high - shift), strict=True)
    return [Row(example, f"{what}, order {order}", p, c, unit) for what, p, c in facts]


def additive() -> list[Row]:
    """JCGM 101, 9.2.2 to 9.2.4, tables 2 to 4."""
    rows = []
    cases = (("9.2.2", "1", "1", 2.0, 3.92, 3.92), ("9.2.3", "sqrt(3) rect", "sqrt(3) rect", 2.0, 3.92, 3.88),
             ("9.2.4", "sqrt(3) rect", "10*sqrt(3) rect", 10.1, 19.9, 17.0))  # fmt: skip
    for clause, others, last, u, half, by_trials in cases:
        names = ("a", "b", "c", "d")
        uncertainties = {**dict.fromkeys(names, others), "d": last}
        found = ad.propagate("a + b + c + d", dict.fromkeys(names, 0), u=uncertainties, monte_carlo=TRIALS)
        unit = 0.06 if u > 10 else 0.005
        rows += law(f"101 {clause} additive", found, (0, u, -half, half), unit)
        rows += trials(f"101 {clause} additive", found, "interval", (0, u, -by_trials, by_trials), unit)
    return rows


def mass() -> list[Row]:
    """JCGM 101, 9.3, table 6, in mg."""
    found = ad.propagate(MASS, MASS_AT, monte_carlo=TRIALS)
    second = ad.propagate(MASS, MASS_AT, order=2)
    return [
        *law("101 9.3 mass", found, (1.2340, 0.0539, 1.1285, 1.3395), 1e-4),
        *law("101 9.3 mass", second, (1.2340, 0.0750, 1.0870, 1.3810), 2e-4, 2),
        *trials("101 9.3 mass", found, "shortest", (1.2341, 0.0754, 1.0834, 1.3825), 5e-4),
    ]


def loss() -> list[Row]:
    """JCGM 101, 9.4, uncorrelated (9.4.2) and correlated (9.4.3) quantities, in units of 1e-6."""
    cases: tuple[tuple[float, float, tuple[float, ...], tuple[float, ...], tuple[float, ...]], ...] = (
        (0.000, 0.0, (0, 0, 0, 0), (0, 50, -98, 98), (50, 50, 0, 150)),
        (0.010, 0.0, (100, 100, -96, 296), (100, 112, -119, 319), (150, 112, 0, 367)),
        (0.050, 0.0, (2500, 500, 1520, 3480), (2500, 502, 1515, 3485), (2551, 502, 1590, 3543)),
        (0.000, 0.9, (0, 0, 0, 0), (), (50, 67, 0, 185)),
        (0.010, 0.9, (100, 100, -96, 296), (), (150, 121, 13, 398)),
        (0.050, 0.9, (2500, 500, 1520, 3480), (), (2551, 505, 1628, 3555)),
    )
    rows = []
    for x1, r, first, second, by_trials in cases:
        at, name = {"x1": (x1, 0.005), "x2": (0.0, 0.005)}, f"101 9.4 loss {x1:g}, r {r:g}"
        found = ad.propagate("1e6*(x1**2 + x2**2)", at, corr={"x1,x2": r}, monte_carlo=TRIALS)
        rows += law(name, found, first, 0.5)
        if second:
            terms = ad.propagate("1e6*(x1**2 + x2**2)", at, corr={"x1,x2": r}, order=2)
            rows += law(name, terms, second, 1.0, 2, 50)
        rows += trials(name, found, "shortest", by_trials, 3)
    return rows


def gauge_block() -> list[Row]:
    """JCGM 101, 9.5, table 11, in nm; the coverage probability is 99 %."""
    found = ad.propagate(BLOCK, BLOCK_AT, dof={"da": 50, "dt": 2}, level=0.99, monte_carlo=TRIALS)
    near = ad.propagate(f"{BLOCK} - 5e7", BLOCK_AT, dof={"da": 50, "dt": 2}, level=0.99, monte_carlo=TRIALS)
    assert found.u == near.u
    rows = law("101 9.5 gauge block", near, (838, 32, 745, 931), 1)
    return rows + trials("101 9.5 gauge block", near, "shortest", (838, 36, 745, 932), 0.6)


def times() -> None:
    """Print the time of rows of a file and of trials, with the start of the program."""
    generator = np.random.default_rng(0)
    count = 100_000
    columns = {"L": generator.uniform(0.9, 1.1, count), "T": generator.uniform(1.9, 2.1, count)}
    columns |= {"u_L": np.full(count, 0.001), "u_T": generator.uniform(0.001, 0.003, count)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        np.savetxt(path, np.column_stack(list(columns.values())), "%.6g", ",", header=",".join(columns), comments="")
        at = ["--at", "L=0.994(1),T=2.001(2)", "-o", str(Path(folder) / "one.json")]
        lines = {
            "100,000 rows of a CSV file": [str(path), "-o", str(Path(folder) / "out.csv")],
            "the same, with terms of second order": [str(path), "--order", "2", "-o", str(Path(folder) / "out.csv")],
            "1,000,000 trials of one result": [*at, "--monte-carlo", "1e6"],
            "10,000,000 trials of one result": [*at, "--monte-carlo", "1e7"],
        }
        print("\n4*pi**2*L/T**2                              seconds")
        for what, options in lines.items():
            start = time.perf_counter()
            main(["propagate", "4*pi**2*L/T**2", *options, "--quiet-notes"])
            print(f"{what:<44}{time.perf_counter() - start:7.2f}")


def table() -> None:
    """Print each published number beside the computed one."""
    rows = [*end_gauge(), *impedance(), *additive(), *mass(), *loss(), *gauge_block()]
    print(f"{'JCGM example':<26}{'number':<26}{'published':>12}{'computed':>14}")
    for row in rows:
        met = "" if abs(row.published - row.computed) <= row.allowed * (1 + 1e-9) else "  differs"
        print(f"{row.example:<26}{row.what:<26}{row.published:>12.10g}{row.computed:>14.7g}{met}")
    missed = sum(abs(row.published - row.computed) > row.allowed * (1 + 1e-9) for row in rows)
    print(f"\n{len(rows) - missed} of {len(rows)} numbers agree in their last digit or within the spread of trials")


if __name__ == "__main__":
    table()
    times()
