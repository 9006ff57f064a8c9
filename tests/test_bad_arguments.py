"""Functions refuse wrong arguments with an error of ours, in the language and in Python: no traceback, no warning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.errors import ArgumentError, AutodiffError, DtypeError, LinAlgError
from tests.fuzz.arguments import OPS, SHAPES, TEXTS, in_language, in_python, wrong


@pytest.mark.sampled(18)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_only_our_errors_come_out(op: FunctionInfo) -> None:
    """One in 59 of the calls in the language, of Python's one in 37; ``python -m tests.fuzz.arguments`` makes all."""
    calls = [*list(in_language(op, SHAPES, TEXTS))[::59], *list(in_python(op))[::37]]
    found = [one for one in map(wrong, calls) if one]
    assert not found, "\n".join(found[:5])


@pytest.mark.parametrize("value", [[1.0, 2.0], None, "text", {}, [[1.0], [2.0, 3.0]], 1j])
@pytest.mark.parametrize("name", ["sin", "sum", "prod", "softmax", "add", "svd", "square", "cond", "flip"])
def test_the_first_argument_is_a_tensor(name: str, value: Any) -> None:
    others = {"softmax": (0,), "add": (1.0,), "flip": (0,)}.get(name, ())
    with pytest.raises(DtypeError, match=rf"^{name}\(\): argument 'input' \(position 1\) must be Tensor, not \w+") as caught:
        getattr(ad, name)(value, *others)
    assert caught.value.hint


def test_arrays_and_numbers_are_computed_without_a_tensor() -> None:
    assert type(ad.sin(np.array([0.0, 1.0]))) is np.ndarray
    assert ad.exp(0) == 1.0
    with np.errstate(divide="ignore"):
        assert ad.reciprocal(0) == math.inf


def test_the_kind_of_each_plain_parameter_is_declared() -> None:
    missing = [(op.name, name) for op in OPS for name in op.parameters if name not in op.tensors and name not in op.kinds]
    assert missing == []


def test_python_gets_the_same_checks() -> None:
    x = ad.tensor([1.0, 2.0])
    with pytest.raises(ArgumentError, match=r"chunk: 'chunks' must be a whole number, not \[1\]"):
        ad.chunk(x, [1])
    with pytest.raises(ArgumentError, match="sum: 'dim'"):
        x.sum(dim="rows")
    with pytest.raises(ArgumentError, match="matmul: 'y' must be a number or a tensor, not a dict"):
        x @ {}
    with pytest.raises(ArgumentError, match=r"linalg.norm: 'keepdim' must be true or false, not \[\]"):
        ad.linalg.norm(x, keepdim=[])
    with pytest.raises(DtypeError, match="a tensor can only be combined with a number or a tensor, not none"):
        x + None
    with pytest.raises(ArgumentError, match="at most 64 bits, not 1,329"):
        x * 10**400
    assert ad.narrow(x, 0, ad.tensor(1), np.int64(1)).tolist() == [2.0]


@pytest.mark.parametrize(
    ("code", "x", "value"),
    [
        ("x.diagonal(5).sum()", [[1.0, 2.0], [3.0, 4.0]], 0.0),
        ("x.diagonal(-(2**40)).sum()", [[1.0, 2.0], [3.0, 4.0]], 0.0),
        ("sum(tril(x, 2**40))", [[1.0, 2.0], [3.0, 4.0]], 10.0),
        ("sum(triu(x, -(2**40)))", [[1.0, 2.0], [3.0, 4.0]], 10.0),
        ("sum(repeat_interleave(x, 3, dim=-1))", 1.5, 4.5),
        ("sum(x[true, 0])", [1.0, 2.0], 1.0),
        ("sum(x[:, true, 1])", [[1.0, 2.0], [3.0, 4.0]], 6.0),
        ("addcdiv(x, 1, 0)", 3.0, math.inf),
        ("sum(arange(3, -3))", 1.0, 0.0),
        ("addcmul(x, 10000000000, 10000000000)", 1.0, 1e20),
        ("cross_entropy(x, [])", [], 0.0),
    ],
)
def test_what_is_odd_and_has_an_answer(code: str, x: Any, value: float) -> None:
    assert ad.evaluate(code, {"x": x}).value == value


def test_a_mask_beside_a_number_is_counted() -> None:
    result = ad.evaluate("binomial_logpmf(x, 10, x > 0)", {"x": 10.0})
    assert result.value == 0.0
    assert ad.evaluate("atan2(x > 0, x)", {"x": 2.0}).grad["x"] == pytest.approx(-0.2)


NAN = [[[math.nan, 1.0], [1.0, 2.0]], [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, math.nan]]]


@pytest.mark.parametrize("matrix", NAN)
@pytest.mark.parametrize("code", ["det(A)", "logdet(A)", "slogdet(A)[1]", "slogdet(A).sign"])
def test_the_determinant_of_a_matrix_with_nan_is_nan(code: str, matrix: Any) -> None:
    result = ad.evaluate(code, {"A": matrix}, order=2)
    assert math.isnan(result.value)
    if "sign" not in code:
        assert np.all(np.isnan(result.grad["A"]))


def test_one_matrix_with_nan_leaves_the_others_of_its_batch_alone() -> None:
    result = ad.evaluate("sum(det(A))", {"A": [[[math.nan, 1.0], [1.0, 2.0]], [[3.0, 1.0], [1.0, 2.0]]]}, order=2)
    assert np.allclose(result.grad["A"][1], [[2.0, -1.0], [-1.0, 3.0]], rtol=1e-15)


@pytest.mark.parametrize("code", ["svdvals(A)[0]", "sum(pinv(A))", "matrix_norm(A, 2)"])
def test_singular_values_of_nan_are_refused_as_pytorch_does(code: str) -> None:
    with pytest.raises(AutodiffError, match="failed to converge because the input matrix contained non-finite values"):
        ad.evaluate(code, {"A": NAN[0]})


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("count_nonzero([x, 2])**100", 2.0**100),
        ("count_nonzero([x, 2])**63", 2.0**63),
        ("sum([x, 2] > 0)**63", 2.0**63),
        ("(3*(x > 0))**100", 3.0**100),
        ("prod(argsort([x, 2, 3]) + 10000000000)", (1e10) * (1e10 + 1) * (1e10 + 2)),
        ("cumprod((argmax([x, 2]) + 9)*ones(30))[-1]", 1e30),
        ("matmul(argsort([x, 2])*1000000000, argsort([x, 2])*1000000000)**2", 1e36),
    ],
)
def test_whole_numbers_do_not_wrap_round_in_the_language(code: str, value: float) -> None:
    for result in (ad.evaluate(code, {"x": 1.0}).value, ad.compile(code)(x=1.0)["value"]):
        assert float(result) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("[x, 2][argmax([x, 2])]", 2.0),
        ("[x, 2][-argmax([x, 2])]", 2.0),
        ("sum([x, 2, 3][argsort([x, 2, 3])*1])", 6.0),
        ("sum(gather([x, 2, 3], 0, argsort([x, 2, 3])//2))", 4.0),
        ("sum(narrow([x, 2, 3], 0, argmax([x, 2])*1, 2))", 5.0),
        ("sum([x, 2, 3][:count_nonzero([x, 0, 3])])", 3.0),
        ("argmax([x, 2])", 1),
    ],
)
def test_whole_numbers_are_positions_still(code: str, value: float) -> None:
    assert ad.evaluate(code, {"x": 1.0}).value == value


def test_python_keeps_integers_of_64_bits() -> None:
    assert (ad.count_nonzero(ad.tensor([1.0, 2.0])) ** 63).item() == -(2**63)  # as in PyTorch


@pytest.mark.parametrize("function", ["svd", "svdvals", "eigh", "eigvalsh", "pinv"])
@pytest.mark.parametrize("wrong", ["inf", "-inf", "nan"])
def test_what_lapack_may_never_finish_is_not_begun(function: str, wrong: str) -> None:
    with pytest.raises(LinAlgError, match="contained non-finite values"):
        ad.evaluate(f"{function}([[-1.88, -1.66, 1], [{wrong}, 2**53 + 1, -1], [0.7, 0, -0.789]])")
