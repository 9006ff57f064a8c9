"""Exported functions of vectors and matrices, run in their own libraries, compared with the engine."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.cli.main import main
from autodiff_cli.compiler.program import Term
from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.language.parser import parse
from autodiff_cli.symbolic.matrices.diff import numbers_of_engine
from tests.matrix_tables import Row, rows
from tests.test_matrix_formulas import random_point

LOSSES = {
    "logistic": Row("mean(log1p(exp(-y*(X @ w)))) + c*sum(w**2)", ("w", "w"), {"X": "m,n", "w": "n", "y": "m"}, (), ""),
    "network": Row(
        "sum((tanh(X @ W + b) @ v - y)**2)", ("W", "b", "v"), {"X": "m,n", "W": "n,k", "b": "k", "v": "k", "y": "m"}, (), ""
    ),
    "factorization": Row("sum((T - U @ V.T)**2)", ("U", "V"), {"T": "m,n", "U": "m,k", "V": "n,k"}, (), ""),
    "gaussian": Row("logdet(S) + (x - m) @ inv(S) @ (x - m)", ("m", "x"), {"S": "n,n", "x": "n", "m": "n"}, ("S",), ""),
    "scaled": Row("logsumexp(A @ diag(s) @ x)*2", ("x", "s"), {"A": "m,n", "s": "n", "x": "n"}, (), ""),
    "classes": Row("-sum(Y*log_softmax(X @ W, 1)) + trace(W.t() @ W)", ("W", "W"), {"X": "m,n", "W": "n,k", "Y": "m,k"}, (), ""),
}
CASES = [pytest.param(row, id=name) for name, row in LOSSES.items()] + [
    pytest.param(row, id=f"{row.expression}-{','.join(row.wrt)}") for row in rows("derivatives")
]


def function(row: Row, to: str, folder: Path) -> Callable[..., Any]:
    order = min(len(row.wrt), 2)
    by = list(dict.fromkeys(row.wrt))
    source = ad.export(row.expression, to, wrt=by, order=order, shape=row.shape, symmetric=row.symmetric)
    (folder / "exported.py").write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("exported", folder / "exported.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f  # type: ignore[no-any-return]


def arguments(row: Row) -> dict[str, np.ndarray]:
    values = random_point(row, 2)
    return {name: values[name] for name in free_names(parse(row.expression))}


def compare(row: Row, results: Any) -> None:
    values, by = arguments(row), list(dict.fromkeys(row.wrt))

    def check(found: Any, term: Term) -> None:
        exactly = np.asarray(ad.evaluate(row.expression, const=values).value) if not term else number(term)
        np.testing.assert_allclose(np.asarray(found), exactly, rtol=1e-8, atol=1e-10, err_msg=str(term))

    def number(term: Term) -> Any:
        return numbers_of_engine(row.expression, term, values)

    check(results[0], ())
    for own, found in zip(by, [results[1]] if len(by) == 1 else results[1], strict=True):
        check(found, (own,))
    for own, line in zip(by, ([[results[2]]] if len(by) == 1 else results[2]) if len(row.wrt) > 1 else [], strict=False):
        for other, found in zip(by, line, strict=True):
            check(found, (own, other))


@pytest.mark.parametrize("row", CASES)
def test_numpy(row: Row, tmp_path: Path) -> None:
    exported = function(row, "numpy", tmp_path)
    assert "scipy" not in (tmp_path / "exported.py").read_text()
    compare(row, exported(**arguments(row)))


@pytest.mark.peers
@pytest.mark.parametrize("row", CASES)
def test_torch(row: Row, tmp_path: Path) -> None:
    import torch

    compare(row, function(row, "torch", tmp_path)(**{name: torch.tensor(value) for name, value in arguments(row).items()}))


@pytest.mark.peers
@pytest.mark.parametrize("row", CASES)
def test_jax(row: Row, tmp_path: Path) -> None:
    import jax

    jax.config.update("jax_enable_x64", True)
    compare(row, jax.jit(function(row, "jax", tmp_path))(**arguments(row)))


def source(expression: str, **shape: str) -> str:
    return ad.export(expression, "numpy", wrt=["w"], order=2, shape=shape)


def test_common_parts_are_computed_once_and_products_are_cheap() -> None:
    text = source("mean(log1p(exp(-y*(X @ w)))) + c*sum(w**2)", X="m,n", w="n", y="m")
    assert text.count("X @ w") == 2 + 1  # in the two docstrings, and once in the code
    assert text.count("*X)") == 1
    text = source("w @ (A.T @ diag(s) @ A) @ w", A="m,n", s="m", w="n")
    assert "np.diag" not in text.partition('    """\n')[2]
    text = source("sum((A @ B @ w)**2) + w @ inv(S) @ w", A="k,m", B="m,n", w="n", S="n,n")
    assert "A @ (B @ w)" in text
    assert "np.linalg.solve(S, w)" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "c"], "the functions of 'c' are functions of numbers"),
        (["--to", "numpy", "--const", "A=[[1,2],[3,4]]"], "the constant 'A' is an array"),
        (["--to", "numpy", "--shape", "z=n"], "the expression has no variable 'z'"),
        (["--to", "jax", "--shape", "A=0,n"], "'0' is not a length"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_words(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "sum(A @ x)", "--wrt", "x", "--shape", "x=n", *arguments]) in (2, 3)
    assert message in capsys.readouterr().err


def test_the_command_writes_the_function(capsys: pytest.CaptureFixture[str]) -> None:
    shapes = ["--shape", "A=m,n", "--shape", "x=n"]
    assert main(["export", "sum(exp(A @ x))*c", "--to", "numpy", "--wrt", "x", "--const", "c=3", *shapes]) == 0
    text = capsys.readouterr().out
    assert "def f(A, x):" in text
    assert "d_x = 3*(A.T @ v1)" in text
    with pytest.raises(AutodiffError, match="no formula"):
        ad.export("sum(sort(x))", "numpy", shape={"x": "n"})
