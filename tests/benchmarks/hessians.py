"""Hessians by formula: the functions that ``export`` writes for NumPy and JAX, beside ``torch.func.hessian`` and ``jax.hessian``.

``python tests/benchmarks/hessians.py`` runs on one thread and on all; PyTorch and JAX are in the extra ``bench``, and each is left
out if it is missing.  Logistic regression and matrix factorization follow Laue, Mitterreiter and Giesen, Computing Higher Order
Derivatives of Matrix and Tensor Expressions, NeurIPS 2018.  All programs must have the same numbers before times are taken.
A round runs each program once, one after the other; what is printed is the least of the rounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import autodiff_cli as ad
from tests.benchmarks.timing import in_turn, seconds

Run = Callable[[], Any]
OURS = "export numpy"
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PATIENT = {"OMP_WAIT_POLICY": "PASSIVE"}
"""Threads of PyTorch that wait for work do not take a processor from the program that runs next."""


class Problem(NamedTuple):
    """A function of the comparison.

    Attributes:
        expression: the function in our language.
        formula: the same for PyTorch and JAX, a function of the library and the arrays.
        shape: the dimensions of the arrays, by name, in the order of the arguments of ``formula``.
        wrt: the variables of the Hessian.
        arrays: the function that returns the arrays.
    """

    expression: str
    formula: Callable[..., Any]
    shape: dict[str, str]
    wrt: list[str]
    arrays: Callable[[np.random.Generator], dict[str, np.ndarray]]


def regression(rng: np.random.Generator) -> dict[str, np.ndarray]:
    X = rng.normal(size=(2000, 200))
    return {"X": X, "y": np.sign(X.sum(1) + rng.normal(size=2000)), "w": rng.normal(size=200) / 20}


def factors(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"T": rng.normal(size=(60, 60)), "U": rng.normal(size=(60, 5)), "V": rng.normal(size=(60, 5))}


def layers(rng: np.random.Generator) -> dict[str, np.ndarray]:
    X = rng.normal(size=(200, 20))
    return {"X": X, "W": rng.normal(size=(20, 16)) / 5, "v": rng.normal(size=16), "y": rng.normal(size=200)}


def sample(rng: np.random.Generator) -> dict[str, np.ndarray]:
    Y = rng.normal(size=(500, 50)) @ rng.normal(size=(50, 50))
    return {"Y": Y, "mu": rng.normal(size=50), "S": np.cov(Y.T)}


def covariances(rng: np.random.Generator) -> dict[str, np.ndarray]:
    Y = rng.normal(size=(500, 30))
    return {"S": np.cov(Y.T) + np.eye(30), "C": np.cov(Y.T)}


FACTORIZATION = "sum((T - U @ V.T)**2)"
FACTORS = {"T": "m,n", "U": "m,k", "V": "n,k"}


def factorization(lib: Any, T: Any, U: Any, V: Any) -> Any:
    return ((T - U @ V.T) ** 2).sum()


PROBLEMS = {
    "logistic regression, 2000 x 200": Problem(
        "mean(log1p(exp(-y*(X @ w))))",
        lambda lib, X, y, w: lib.log1p(lib.exp(-y * (X @ w))).mean(),
        {"X": "m,n", "y": "m", "w": "n"},
        ["w"],
        regression,
    ),
    "factorization 60 x 60 x 5, U": Problem(FACTORIZATION, factorization, FACTORS, ["U"], factors),
    "factorization 60 x 60 x 5, U and V": Problem(FACTORIZATION, factorization, FACTORS, ["U", "V"], factors),
    "network 20-16-1, 200 rows": Problem(
        "mean((tanh(X @ W) @ v - y)**2)",
        lambda lib, X, W, v, y: ((lib.tanh(X @ W) @ v - y) ** 2).mean(),
        {"X": "m,n", "W": "n,k", "v": "k", "y": "m"},
        ["W"],
        layers,
    ),
    "Gaussian, mean of 50, 500 rows": Problem(
        "logdet(S)/2 + sum((Y - mu)*((Y - mu) @ inv(S)))/2",
        lambda lib, Y, mu, S: lib.linalg.slogdet(S)[1] / 2 + ((Y - mu) * ((Y - mu) @ lib.linalg.inv(S))).sum() / 2,
        {"Y": "m,n", "mu": "n", "S": "n,n"},
        ["mu"],
        sample,
    ),
    "Gaussian, covariance 30 x 30": Problem(
        "logdet(S)/2 + trace(inv(S) @ C)/2",
        lambda lib, S, C: lib.linalg.slogdet(S)[1] / 2 + lib.trace(lib.linalg.inv(S) @ C) / 2,
        {"S": "n,n", "C": "n,n"},
        ["S"],
        covariances,
    ),
}


# The programs


def exported(problem: Problem, to: str) -> Callable[..., Any]:
    """Return the function that ``export`` writes, imported from a file."""
    source = ad.export(problem.expression, to, wrt=problem.wrt, order=2, shape=problem.shape)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "exported.py"
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("exported", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module.f  # type: ignore[no-any-return]


def variables(problem: Problem) -> tuple[int, ...]:
    """Return the positions of the variables in the arguments of the formula."""
    return tuple(list(problem.shape).index(name) for name in problem.wrt)


def numpy_program(problem: Problem, arrays: dict[str, np.ndarray]) -> Run:
    """Return the program of the formula, which computes the value and the gradient, too."""
    function = exported(problem, "numpy")
    return lambda: function(**arrays)[2]


def jax_programs(problem: Problem, arrays: dict[str, np.ndarray]) -> dict[str, Run]:
    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    function = exported(problem, "jax")
    given = {name: jax.numpy.array(array) for name, array in arrays.items()}
    by_formula = jax.jit(lambda given: function(**given)[2])
    by_library = jax.jit(jax.hessian(lambda *a: problem.formula(jax.numpy, *a), variables(problem)))
    return {
        "export jax, jit": lambda: jax.block_until_ready(by_formula(given)),
        "jax.hessian, jit": lambda: jax.block_until_ready(by_library(*given.values())),
    }


def torch_program(problem: Problem, arrays: dict[str, np.ndarray]) -> Run:
    torch: Any = import_module("torch")
    given = [torch.tensor(array) for array in arrays.values()]
    hessian = torch.func.hessian(lambda *a: problem.formula(torch, *a), variables(problem))
    return lambda: hessian(*given)


def programs(problem: Problem) -> dict[str, Run]:
    """Return the programs that compute a Hessian, by name, as far as their libraries are installed."""
    values = problem.arrays(np.random.default_rng(0))
    arrays = {name: values[name] for name in problem.shape}
    works = {OURS: numpy_program(problem, arrays)}
    if find_spec("torch"):
        works["torch.func.hessian"] = torch_program(problem, arrays)
    if find_spec("jax"):
        works |= jax_programs(problem, arrays)
    return works


def blocks(hessian: Any) -> list[np.ndarray]:
    """Return the blocks of a Hessian, row after row."""
    return [block for row in hessian for block in blocks(row)] if isinstance(hessian, tuple) else [np.asarray(hessian)]


def check(works: dict[str, Run]) -> None:
    """Raise an error unless all programs have the numbers of ours, to 1e-8 of the largest of a block."""
    ours = blocks(works[OURS]())
    for name, work in works.items():
        for block, other in zip(ours, blocks(work()), strict=True):
            np.testing.assert_allclose(other, block, rtol=1e-8, atol=1e-8 * np.abs(block).max(), err_msg=name)


def compare(name: str, quick: bool) -> None:
    works = programs(PROBLEMS[name])
    check(works)
    once = sum(map(seconds, works.values()))
    times = {work: min(taken) for work, taken in in_turn(works, 3 if quick else int(min(200, max(7, 4 / once)))).items()}
    line = ", ".join(f"{work} {time * 1e3:.3f} ms ({time / times[OURS]:.3g})" for work, time in times.items())
    print(f"{name}: {line}", flush=True)


def measured(threads: int, quick: bool) -> None:
    """Print the comparison on some of the processors."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    print(f"\n{threads} threads; the time of each program, and its multiple of the time of {OURS}")
    for name in PROBLEMS:
        compare(name, quick)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three rounds")
    parser.add_argument("--threads", type=int, help="only this number of threads")
    options = parser.parse_args()
    if options.threads is not None:
        measured(options.threads, options.quick)
    else:
        for threads in sorted({1, len(os.sched_getaffinity(0))}):  # libraries start their threads when they are imported
            command = [sys.executable, __file__, *sys.argv[1:], "--threads", str(threads)]
            subprocess.run(command, check=True, env={**os.environ, **PATIENT, **dict.fromkeys(POOLS, str(threads))})


if __name__ == "__main__":
    main()
