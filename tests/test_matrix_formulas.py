"""Derivatives of vectors and matrices: right, and as short as a person writes them."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.cli.main import main
from autodiff_cli.errors import AutodiffError
from autodiff_cli.language.parser import parse
from autodiff_cli.symbolic.differentiate import diff
from autodiff_cli.symbolic.matrices import diff as matrices
from autodiff_cli.symbolic.matrices.latex import matrix_latex
from tests.explore_matrices import outcome
from tests.matrix_tables import Row, rows

SIZES = {"m": 4, "n": 3, "k": 2, "l": 5}


ROWS = [row for name in ("derivatives", "losses", "cookbook") for row in rows(name)]


def random_point(row: Row, seed: int) -> dict[str, np.ndarray]:
    names = dict.fromkeys(re.findall(r"\b[A-Za-z]\b", row.expression.replace(".T", "")))
    rng, values = np.random.default_rng(seed), {}
    for name in names:
        shape = [
            math.prod(SIZES[factor] for factor in length.split("*")) for length in row.shape.get(name, "").split(",") if length
        ]
        value = rng.uniform(0.2, 1, shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            value = value + 3 * np.eye(shape[0])
            value = value + value.T if name in row.symmetric else value
        values[name] = value
    return values


def _value(formula: str, point: dict[str, np.ndarray]) -> np.ndarray:
    used = {name: value for name, value in point.items() if re.search(rf"\b{name}\b", formula)}
    return np.asarray(ad.evaluate(formula, const=used).value)


@pytest.mark.parametrize("expression", ["sum(cholesky(S)) + a @ b", "a @ cholesky(S) @ b", "a @ solve(cholesky(S), b)"])
def test_derivatives_of_a_cholesky_factor(expression: str) -> None:
    """The matrix stays symmetric, so that differences of single elements do not exist: it changes in one direction."""
    row = Row(expression, ("S",), {"S": "n,n", "a": "n", "b": "n"}, ("S",), "")
    point = random_point(row, 3)
    direction = np.array([[1.0, 0.3, 0.1], [0.3, -0.5, 0.2], [0.1, 0.2, 0.7]])
    above, below = (_value(expression, {**point, "S": point["S"] + step * direction}) for step in (1e-5, -1e-5))
    np.testing.assert_allclose(np.sum(_value(row.derivative, point) * direction), (above - below) / 2e-5, rtol=1e-7)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.expression}-{','.join(row.wrt)}")
def test_formulas_have_the_numbers_of_differences(row: Row) -> None:
    """The written formulas are compared too, and with central differences of values, which use no derivative of autodiff."""
    point = random_point(row, 1)
    formula, written = _value(row.derivative, point), _value(row.written, point)
    np.testing.assert_allclose(formula, written, rtol=1e-10, atol=1e-12)
    name = row.wrt[-1]

    def value(x: np.ndarray) -> np.ndarray:
        if len(row.wrt) == 1:
            return _value(row.expression, {**point, name: x})
        first = diff(row.expression, wrt=[name], shape=row.shape, symmetric=row.symmetric).texts[name,]
        return _value(first, {**point, name: x})

    columns = []
    for place in np.ndindex(point[name].shape):
        step = np.zeros_like(point[name])
        step[place] = 1e-5
        columns.append((value(point[name] + step) - value(point[name] - step)) / 2e-5)
    differences = np.moveaxis(np.array(columns), 0, -1)
    np.testing.assert_allclose(formula.reshape(differences.shape), differences, rtol=1e-4, atol=1e-6)


def test_formulas_are_as_short_as_a_person_writes_them() -> None:
    longer = {(row.expression, row.wrt): row.derivative for row in ROWS if row.is_longer(1.35)}
    assert len(longer) <= 0.1 * len(ROWS), longer


def test_random_expressions_are_right_or_refused() -> None:
    """Each formula is compared with the engine inside; here the share that is refused is counted, and the numbers once more."""
    outcomes = [outcome(seed) for seed in range(60)]
    assert not [one for one in outcomes if one.verdict == "wrong"]
    assert len([one for one in outcomes if one.verdict == "refused"]) <= 1, outcomes


# The command


def test_the_command_prints_the_formula_its_shape_and_its_check(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["diff", "sum((A @ x - b)**2)", "--wrt", "x", "--shape", "A=m,n", "--shape", "x=n", "--shape", "b=m"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "2*A.T @ (A @ x - b)\n"
    assert main([*arguments, "--json"]) == 0
    (derivative,) = json.loads(capsys.readouterr().out)["derivatives"]
    assert derivative["expression"] == "2*A.T @ (A @ x - b)"
    assert derivative["shape"] == ["n"]
    assert derivative["verified"] < 1e-12


def test_values_give_the_lengths_and_the_numbers() -> None:
    at = {"A": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "x": [1.0, 2.0], "b": [1.0, 1.0, 1.0]}
    result = diff("sum((A @ x - b)**2)", at=at, wrt=["x"])
    assert result.texts["x",] == "2*A.T @ (A @ x - b)"
    assert np.asarray(result.values["x",]).tolist() == [228.0, 288.0]


def test_symmetric_matrices_need_no_transposes() -> None:
    result = diff("x @ S @ x", wrt=["x"], order=2, shape={"x": "n"}, symmetric=["S"])
    assert list(result.texts.values()) == ["2*S"]


def test_a_formula_is_an_expression_of_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    values = ["--at", "x=[1,2]", "--const", "A=[[1,2],[3,4],[5,6]],b=[1,1,1]"]
    assert main(["grad", "sum((A @ x - b)**2)", *values, "-q"]) == 0
    expected = capsys.readouterr().out
    assert main(["eval", "2*A.T @ (A @ x - b)", *(one.replace("--at", "--const") for one in values), "-q"]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("expression", "options", "expected"),
    [
        ("logsumexp(A @ x)", {"order": 2}, "p = softmax(A @ x); A.T @ (p[:, none]*A) - outer(A.T @ p, A.T @ p)"),
        ("logsumexp(A @ x)*p", {"order": 2}, "v1 = softmax(A @ x); p*A.T @ (v1[:, none]*A) - p*outer(A.T @ v1, A.T @ v1)"),
    ],
)
def test_common_parts_have_names(expression: str, options: dict[str, int], expected: str) -> None:
    shape = {"A": "m,n", "x": "n"}
    (text,) = diff(expression, wrt=["x"], shape=shape, **options).texts.values()
    assert text == expected
    rng = np.random.default_rng(0)
    point = {"A": rng.uniform(-1, 1, (4, 3)), "x": rng.uniform(-1, 1, 3), "p": np.asarray(0.7)}
    used = {name: value for name, value in point.items() if name in "Ax" or expression.endswith(name)}
    value = ad.evaluate(text, const=used).value
    engine = ad.hessian(expression, at={"x": used.pop("x")}, const=used).to_dict()["hessian"]["x"]["x"]
    np.testing.assert_allclose(np.asarray(value), np.asarray(engine), rtol=1e-9, atol=1e-12)


def test_a_softmax_is_over_one_dimension() -> None:
    (text,) = diff("log(sum(exp(X))) + sum(X)", shape={"X": "m,n"}).texts.values()
    assert text == "exp(X)/sum(exp(X)) + 1"


def test_conditions_are_factors_of_products_of_matrices_only() -> None:
    shape = {"A": "m,n", "x": "n", "b": "m"}
    assert list(diff("sum(relu(A @ x - b))", wrt=["x"], shape=shape).texts.values()) == ["A.T @ (A @ x - b > 0)"]
    assert list(diff("-sum(relu(b))", shape={"b": "m"}).texts.values()) == ["-1 if b > 0 else 0"]
    (text,) = diff("sum(x*log(x) if x > 0 else 0)", wrt=["x"], shape={"x": "n"}).texts.values()
    assert np.asarray(ad.evaluate(text, const={"x": [0.0, 1.0]}).value).tolist() == [0.0, 1.0]


def test_a_wrong_formula_is_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices.Writer, "tree", lambda self, array: ad.language.parser.parse("3*x"))
    with pytest.raises(AutodiffError, match="no formula was found"):
        diff("sum(x**2)", shape={"x": "n"})


@pytest.mark.parametrize(
    ("expression", "options", "message"),
    [
        ("x @ A", {"shape": {"x": "n", "A": "m,n"}}, "the lengths n and m do not match"),
        ("sort(x)", {"shape": {"x": "n"}}, "'sort' has no formula for vectors and matrices"),
        ("c @ x", {"shape": {"x": "n"}}, "@ takes vectors and matrices"),
        ("x + y", {"shape": {"x": "n", "y": "m"}}, "the lengths n and m do not match"),
        ("sum(x)", {"shape": {"x": "0"}}, "'0' is not a length"),
        ("sum(x)", {"shape": {"z": "n"}}, "no variable 'z'"),
        ("sum(x)", {"shape": {"x": "n"}, "order": 3}, "order 3 has no formula"),
        ("sum(x)", {"at": {"x": [1.0, 2.0]}, "shape": {"x": "m,n"}}, "the value of 'x' has shape [2], not m,n"),
        ("sum(x)", {"at": {"x": [1.0, 2.0]}, "shape": {"x": "3"}}, "the value of 'x' has shape [2], not 3"),
        ("norm(x, inf)", {"shape": {"x": "n"}}, "only norms with a finite exponent have a formula"),
        ("max(x)", {"shape": {"x": "n"}}, "write logsumexp(k*x)/k for a smooth maximum"),
        ("cat([x, x])", {"shape": {"x": "n"}}, "'cat' has no formula for vectors and matrices"),
        ("kron(A, x)", {"shape": {"A": "m,n", "x": "n"}}, "kron takes arrays with equal numbers of dimensions"),
        ("kron(x[1:], x)", {"shape": {"x": "n"}}, "a product of lengths such as n-1 has no formula"),
        ("reshape(A, [m, k])", {"shape": {"A": "m,n"}}, "this is not a length"),
        ("reshape(A, [A.shape[0], A.shape[0]])", {"shape": {"A": "m,n"}}, "this shape has another number of elements"),
        ("reshape(A, [B.shape[0], -1])", {"shape": {"A": "m,n", "B": "k"}}, "the length m*n divided by k is not known"),
        ("cholesky(A)", {"shape": {"A": "m,n"}}, "this takes a square matrix"),
        ("sum(x[x > 0])", {"shape": {"x": "n"}}, "an index that depends on values has no formula"),
        ("x[::2]", {"shape": {"x": "n"}}, "the length of this slice is not known"),
        ("x[3]", {"shape": {"x": "3"}}, "the place 3 is outside of a dimension of the length 3"),
        ("x[0, 0]", {"shape": {"x": "n"}}, "2 indices for 1 dimensions"),
        ("A[1:, 0] @ b", {"shape": {"A": "m,n", "b": "k"}}, "the lengths m-1 and k do not match"),
        ("sum(x, 1)", {"shape": {"x": "n"}}, "dimension 1 of an array with 1 dimensions"),
        ("sum(x, k)", {"shape": {"x": "n"}}, "this must be a number, not the value of a variable"),
        ("sum(i=1..k, x[i])", {"shape": {"x": "n"}}, "this must be a number, not the value of a variable"),
        ("inv(A)", {"shape": {"A": "m,n"}}, "this takes a square matrix, not the dimensions m, n"),
        ("[c, x]", {"shape": {"x": "n"}}, "the elements of a list must have equal shapes"),
        ("eye(k) @ x", {"shape": {"x": "n"}}, "this is not a length"),
        ('einsum("ij,j->k", A, x)', {"shape": {"A": "m,n", "x": "n"}}, "does not name the dimensions"),
        ("softmax(x, -1) @ A.sum(dim=0, dtype=3)", {"shape": {"x": "n", "A": "m,n"}}, "a dtype is"),
        ("f(t) = f(t/2); sum(f(x))", {"shape": {"x": "n"}}, "calls are nested more than 100 deep"),
        ("matrix_norm(A)", {"shape": {"A": "m,n"}}, "'matrix_norm' has no formula for vectors and matrices"),
        ("betainc_slope(1, -1, 1)*x", {"shape": {"x": "n"}}, "the constant nan has no formula"),
        ("x @ A @ x", {"shape": {"x": "n"}}, "@ takes vectors and matrices"),
        ("trace(A)", {"shape": {"A": "m,n"}, "symmetric": ["A"]}, "so it is not symmetric"),
        ("f(t) = t**2 with grad (2*t); sum(f(x))", {"shape": {"x": "n"}}, "'f' has user-written derivatives"),
    ],
)
def test_errors(expression: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(AutodiffError, match=re.escape(message)):
        diff(expression, **options)


# LaTeX

LATEX = {
    "2*A.T @ (A @ x - b)": r"2 \mathbf{A}^{\top} (\mathbf{A} \mathbf{x} - \mathbf{b})",
    "x @ A.T @ b": r"\mathbf{x}^{\top} \mathbf{A}^{\top} \mathbf{b}",
    "outer(A @ x - b, x)": r"(\mathbf{A} \mathbf{x} - \mathbf{b}) \mathbf{x}^{\top}",
    "solve(S, x) + inv(S.T) @ x": r"\mathbf{S}^{-1} \mathbf{x} + \mathbf{S}^{-\top} \mathbf{x}",
    "x*y/norm(x)": r"\frac{\mathbf{x} \odot \mathbf{y}}{\lVert \mathbf{x} \rVert}",
    "norm(A)**2*logdet(S)": r"\lVert \mathbf{A} \rVert_{F}^{2} \, \log\det(\mathbf{S})",
    "x[:, none]*S - S*x": r"\operatorname{diag}(\mathbf{x}) \mathbf{S} - \mathbf{S} \operatorname{diag}(\mathbf{x})",
    "S/x[:, none]": r"\operatorname{diag}(\mathbf{x})^{-1} \mathbf{S}",
    "A + x": r"\mathbf{A} + \mathbf{1} \mathbf{x}^{\top}",
    "A - c": r"\mathbf{A} - c \, \mathbf{1} \mathbf{1}^{\top}",
    "x + 1": r"\mathbf{x} + \mathbf{1}",
    "x**3 + exp(x)": r"\mathbf{x}^{\odot 3} + \exp(\mathbf{x})",
    "c/x": r"c \oslash \mathbf{x}",
    "sum(A, 0) + A.T @ ones(A.shape[0])": r"\mathbf{A}^{\top} \mathbf{1} + \mathbf{A}^{\top} \mathbf{1}",
    "eye(x.shape[0])/x.shape[0]": r"\frac{\mathbf{I}}{n}",
    "sum((A @ x - b)**2)/A.shape[0]": r"\frac{\lVert \mathbf{A} \mathbf{x} - \mathbf{b} \rVert^{2}}{m}",
    "x[0]*A[0]": r"x_{0} \, \mathbf{A}_{0}",
    'einsum("ik,lj->ijkl", S, inv(S))': r"\left(S_{ik} \, \left(\mathbf{S}^{-1}\right)_{lj}\right)_{ijkl}",
    'einsum("ij,j,i->", S, x, y)': r"\sum_{i, j} S_{ij} \, x_{j} \, y_{i}",
    "r = A @ x - b; 2*A.T @ r": r"\mathbf{r} = \mathbf{A} \mathbf{x} - \mathbf{b}, \quad 2 \mathbf{A}^{\top} \mathbf{r}",
    "beta_1 @ x": r"\boldsymbol{\beta}_{1}^{\top} \mathbf{x}",
}


@pytest.mark.parametrize("formula", LATEX)
def test_latex_has_the_notation_of_mathematics(formula: str) -> None:
    dims = {"A": ("m", "n"), "S": ("n", "n"), "x": ("n",), "y": ("n",), "b": ("m",), "beta_1": ("n",), "c": ()}
    assert matrix_latex(parse(formula), dims) == LATEX[formula]


def test_the_command_prints_latex_from_shapes_and_from_values(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["diff", "sum((A @ x - b)**2)", "--wrt", "x", "--format", "latex"]
    shapes = ["--shape", "A=m,n", "--shape", "x=n", "--shape", "b=m"]
    for given in (shapes, ["--at", "x=[1,2]", "--const", "A=[[1,2],[3,4],[5,6]],b=[1,1,1]"]):
        assert main([*command, *given]) == 0
        assert capsys.readouterr().out == LATEX["2*A.T @ (A @ x - b)"] + "\n"
