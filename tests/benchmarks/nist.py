"""Accuracy of nonlinear regression on NIST's 27 certified data sets, from both starting points, beside the peers.

Run it with ``python tests/benchmarks/nist.py``.  Peers, where they are installed: SciPy's ``curve_fit``, SciPy with exact
derivatives from autodiff and the tightest tolerances, lmfit, and gnuplot.  A number of digits is the log relative error of the
worst parameter, at most 11, the number of certified digits; a fit is solved from 4 digits on, and quietly wrong if it has fewer
digits and no error was raised.

``--logs FILE`` writes a page with a log of every fit, ``--rows`` compares the time for 1,000,000 rows with SciPy's.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import autodiff_cli as ad
from tests.nist_regression import MODELS, Regression, regression, right_digits
from tests.shell import streams

Found = tuple[list[float], list[float]]
"""The parameters and their standard errors, in the order of the starts."""
Peer = Callable[[Regression, dict[str, float]], Found]

SOLVED = 4.0


def autodiff(data: Regression, start: dict[str, float]) -> Found:
    found = ad.fit(data.model, data.columns, at=start)
    if not found.converged:
        raise RuntimeError(found.reason)
    return [found.values[name] for name in start], [found.errors[name] for name in start]


def _functions(data: Regression, start: dict[str, float]) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """Return the right side of a model and its Jacobian as functions of parameters, and the left side."""
    left, _, right = data.model.partition(" = ")
    value = ad.compile(right, order=0, variables=list(start))
    slopes = ad.compile(right, list(start), variables=list(start))
    columns = {name: column for name, column in data.columns.items() if name in value.variables}
    y = np.log(data.columns["y"]) if left == "log(y)" else data.columns["y"]

    def model(_: Any, *p: float) -> Any:
        return value(**columns, **dict(zip(start, p, strict=True)))["value"] + np.zeros(len(y))

    def jacobian(_: Any, *p: float) -> Any:
        out = slopes(**columns, **dict(zip(start, p, strict=True)))
        return np.array([out[f"d_{name}"] + np.zeros(len(y)) for name in start]).T

    return model, jacobian, y


def curve_fit(data: Regression, start: dict[str, float]) -> Found:
    model, _, y = _functions(data, start)
    found, covariance = import_module("scipy.optimize").curve_fit(model, np.arange(len(y)), y, list(start.values()))
    return list(found), list(np.sqrt(np.diag(covariance)))


def curve_fit_exact(data: Regression, start: dict[str, float]) -> Found:
    model, jacobian, y = _functions(data, start)
    tight = dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15)
    found, covariance = import_module("scipy.optimize").curve_fit(
        model, np.arange(len(y)), y, list(start.values()), jac=jacobian, method="trf", x_scale="jac", max_nfev=100_000, **tight
    )
    return list(found), list(np.sqrt(np.diag(covariance)))


def lmfit(data: Regression, start: dict[str, float]) -> Found:
    module = import_module("lmfit")
    model, _, y = _functions(data, start)
    parameters = module.Parameters()
    for name, value in start.items():
        parameters.add(name, value=value)
    found = module.minimize(lambda p: model(None, *(p[name].value for name in start)) - y, parameters)
    return [found.params[name].value for name in start], [found.params[name].stderr or np.nan for name in start]


def gnuplot(data: Regression, start: dict[str, float]) -> Found:
    left, _, right = data.model.partition(" = ")
    names = [name for name in data.columns if name != "y"]
    right = re.sub(r"\bx1\b", "x", re.sub(r"\bx2\b", "y", right)) if len(names) > 1 else right
    using = ":".join([*(str(i + 2) for i in range(len(names))), "(log($1))" if left == "log(y)" else "1"])
    with tempfile.TemporaryDirectory() as folder:
        rows = "\n".join(" ".join(map(repr, map(float, row))) for row in zip(*data.columns.values(), strict=True))
        Path(folder, "data").write_text(rows)
        script = [f"{name} = {value!r}" for name, value in start.items()]
        script += ["set fit quiet logfile '/dev/null' errorvariables", f"f({'x,y' if len(names) > 1 else 'x'}) = {right}"]
        script += [f"fit f({'x,y' if len(names) > 1 else 'x'}) 'data' using {using} via {','.join(start)}", "set print '-'"]
        script += [f"print sprintf('%.17g %.17g', {name}, {name}_err)" for name in start]
        run = subprocess.run(["gnuplot"], input="\n".join(script), capture_output=True, text=True, cwd=folder, check=True)
    pairs = [list(map(float, line.split())) for line in run.stdout.splitlines()]
    return [value for value, _ in pairs], [error for _, error in pairs]


PEERS: dict[str, tuple[Peer, str]] = {
    "autodiff fit": (autodiff, "autodiff_cli"),
    "SciPy curve_fit": (curve_fit, "scipy"),
    "SciPy trf, exact J, 1e-15": (curve_fit_exact, "scipy"),
    "lmfit": (lmfit, "lmfit"),
    "gnuplot": (gnuplot, ""),
}


def installed(name: str, module: str) -> bool:
    if not module:
        return shutil.which(name) is not None
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def accuracy() -> None:
    data = [regression(name) for name in MODELS]
    digits: dict[str, list[float]] = {}
    print(
        f"{'peer':26} {'solved':>7} {'>= 9':>5} {'mean':>6} {'least':>6} {'errors >= 9':>12} {'quietly wrong':>14} {'seconds':>8}"
    )
    for name, (peer, module) in PEERS.items():
        if not installed(name, module):
            continue
        found, errors, wrong = [], [], 0
        begun = time.perf_counter()
        for one in data:
            for start in one.starts:
                try:
                    with warnings.catch_warnings(), np.errstate(all="ignore"):
                        warnings.simplefilter("ignore")
                        values, spreads = peer(one, start)
                    found.append(_worst(values, one.values, start))
                    errors.append(_worst(spreads, one.errors, start))
                    wrong += found[-1] < SOLVED
                except Exception:
                    found.append(0.0)
                    errors.append(0.0)
        seconds = time.perf_counter() - begun
        digits[name] = found
        counts = [sum(d >= least for d in found) for least in (SOLVED, 9.0)]
        good = sum(d >= 9 for d in errors)
        print(
            f"{name:26} {counts[0]:4}/{len(found)} {counts[1]:5} {np.mean(found):6.2f} {min(found):6.2f} {good:12} {wrong:14}"
            f" {seconds:8.1f}",
            flush=True,
        )
    print(f"\n{'digits from start 1 and 2':26} {'  '.join(f'{name[:13]:>13}' for name in digits)}")
    for i, name in enumerate(MODELS):
        cells = [f"{found[2 * i]:5.1f} / {found[2 * i + 1]:4.1f}" for found in digits.values()]
        print(f"{name:26} {'  '.join(f'{cell:>13}' for cell in cells)}")


def _worst(found: list[float], certified: dict[str, float], start: dict[str, float]) -> float:
    pairs = zip(found, (certified[name] for name in start), strict=True)
    return min(right_digits(float(value), known) if np.isfinite(value) else 0.0 for value, known in pairs)


_INTRODUCTION = """\
# NIST's certified regressions

`python tests/benchmarks/nist.py --logs docs/nist.md` writes this page. The National Institute of Standards and Technology publishes
27 data sets for nonlinear regression with two starts each and certified values of the parameters, their standard errors and the
residual sum of squares, computed with 128 bits. Every fit below uses default options; the report is that of the first start, and
the second one ends with the same numbers.

A number of digits is the log relative error of the worst parameter, at most 11, the number of certified digits. A fit is solved
from 4 digits on, and quietly wrong if it has fewer digits and no error was raised.
"""


def logs(path: Path) -> None:
    """Write the page with the table of peers and the log of every fit: the command, its report, and the digits that agree."""
    table = io.StringIO()
    with contextlib.redirect_stdout(table):
        accuracy()
    parts = [f"{_INTRODUCTION}\n```text\n{table.getvalue()}```\n"]
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            data = regression(name)
            file = Path(folder, f"{name}.csv")
            rows = (",".join(map(repr, map(float, row))) for row in zip(*data.columns.values(), strict=True))
            file.write_text("\n".join([",".join(data.columns), *rows, ""]))
            parts.append(f"## {name}\n")
            for number, start in enumerate(data.starts):
                at = ",".join(f"{key}={value!r}" for key, value in start.items())
                line = f'autodiff fit "{data.model}" {file} --at {at} --precision 11'
                out, err, code = streams(line)
                shown = (out + err).replace(f"{folder}/", "")
                found = autodiff(data, start)
                right = f"{_worst(found[0], data.values, start):.1f} digits of the parameters"
                right += f" and {_worst(found[1], data.errors, start):.1f} of the standard errors agree; exit code {code}"
                if number == 0:
                    parts.append(f"```text\n$ {line.replace(f'{folder}/', '')}\n{shown}```\n\n{right}.\n")
                else:
                    parts.append(f"From `--at {at}`, {right}.\n")
    path.write_text("\n".join(parts))


def rows(count: int = 1_000_000) -> None:
    """Compare the time of a long fit with five parameters with SciPy's, which is given the exact Jacobian."""
    least_squares = import_module("scipy.optimize").least_squares
    x = np.linspace(0, 10, count)
    noise = np.random.default_rng(0).standard_normal(count)
    y = 3 * np.exp(-0.7 * x) + 1.5 * np.exp(-0.1 * x) + 0.2 + 0.05 * noise
    model, start = "b1*exp(-b2*x) + b3*exp(-b4*x) + b5", {"b1": 2.0, "b2": 1.0, "b3": 1.0, "b4": 0.2, "b5": 0.1}
    value = ad.compile(f"{model} - y", order=0, variables=["y"])
    slopes = ad.compile(f"{model} - y", list(start), variables=["y"])

    def residuals(p: Any) -> Any:
        return value(x=x, y=y, **dict(zip(start, p, strict=True)))["value"]

    def jacobian(p: Any) -> Any:
        out = slopes(x=x, y=y, **dict(zip(start, p, strict=True)))
        return np.array([out[f"d_{name}"] for name in start]).T

    times: dict[str, list[float]] = {"autodiff": [], "scipy": []}
    for _ in range(3):
        begun = time.perf_counter()
        ours = ad.fit(f"y = {model}", {"x": x, "y": y}, at=start)
        times["autodiff"].append(time.perf_counter() - begun)
        begun = time.perf_counter()
        theirs = least_squares(residuals, list(start.values()), jacobian, method="lm")
        times["scipy"].append(time.perf_counter() - begun)
    best = {name: min(found) for name, found in times.items()}
    apart = max(abs(b / a - 1) for a, b in zip(ours.values.values(), theirs.x, strict=True))
    print(f"{count:,} rows, 5 parameters: autodiff fit {best['autodiff']:.2f} s, with {ours.digits} certain digits;", end=" ")
    print(f"SciPy least_squares(method='lm') with the exact Jacobian {best['scipy']:.2f} s, {apart:.0e} apart;", end=" ")
    print(f"ratio {best['autodiff'] / best['scipy']:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=Path, metavar="FILE", help="write a page with a log of every fit")
    parser.add_argument("--rows", action="store_true", help="compare the time for 1,000,000 rows")
    options = parser.parse_args()
    if options.logs:
        logs(options.logs)
    elif options.rows:
        rows()
    else:
        accuracy()
