"""Every declared function: derivatives at orders 1 to 3 on its samples, and a complete declaration."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.checks.gradcheck import gradcheck, gradgradcheck
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES, argument_names
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.code_generation.targets import TARGETS
from autodiff_cli.errors import ArgumentError, GradcheckError
from tests.points import edges_of, samples_of

assert ad.sin is not None  # declares the functions
OPS = list({op.name: op for op in FUNCTIONS.values()}.values())
DIFFERENTIABLE = [op for op in OPS if samples_of(op)]
EDGES = [(op, edge) for op in OPS for edge in edges_of(op)]
EACH = pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)


def _arguments(op: FunctionInfo, sample: tuple[Any, ...]) -> list[Any]:
    arguments: list[Any] = []
    for i, value in enumerate(sample):
        takes_tensor = op.variadic or op.parameters[min(i, len(op.parameters) - 1)] in op.tensors
        if not takes_tensor or value is None:
            arguments.append(value)
            continue
        data = np.array(value)
        if op.name == "clamp" and i > 0:
            arguments.append(value)
        else:
            arguments.append(new_tensor(data, requires_grad=data.dtype.kind == "f"))
    return arguments


def _failures(op: FunctionInfo, check: Callable[[tuple[Any, ...]], bool]) -> list[str]:
    """What is wrong at each of the samples of a function."""
    found = []
    for sample in samples_of(op):
        try:
            if not check(sample):
                found.append(f"{op.name}{sample}")
        except GradcheckError as error:
            found.append(f"{op.name}{sample}: {error}")
    return found


@EACH
def test_first_derivative(op: FunctionInfo) -> None:
    assert _failures(op, lambda sample: gradcheck(op.function, _arguments(op, sample), atol=1e-7, rtol=1e-6)) == []


@pytest.mark.sampled(3)
@EACH
def test_second_derivative(op: FunctionInfo) -> None:
    def check(sample: tuple[Any, ...]) -> bool:
        return gradgradcheck(op.function, _arguments(op, sample), atol=1e-7, rtol=1e-6)

    assert _failures(op, check) == []


@pytest.mark.sampled(6)
@EACH
def test_third_derivative(op: FunctionInfo) -> None:
    def second(*arguments: Any) -> Any:
        inputs = [a for a in arguments if isinstance(a, Tensor) and a.requires_grad]
        first = grad(_scalar(op.function(*arguments)), inputs, create_graph=True, allow_unused=True)
        total = _total(first)
        return tuple(inputs) if total is None else _total(grad(total, inputs, create_graph=True, allow_unused=True))

    def check(sample: tuple[Any, ...]) -> bool:
        result = second(*_arguments(op, sample))
        if not isinstance(result, Tensor) or not result.requires_grad:
            return True  # the second derivative is constant
        return gradcheck(second, _arguments(op, sample), atol=1e-6, rtol=1e-5)

    assert _failures(op, check) == []


def _scalar(output: Any) -> Tensor:
    """A scalar that weighs the elements differently, so that none can hide behind another."""
    if isinstance(output, tuple):
        total = _total(output)
        assert total is not None
        return total
    weights = np.linspace(0.5, 1.5, output.numel()).reshape(output.shape)
    return (output * weights).sum()


def _total(parts: Any) -> Tensor | None:
    used = [_scalar(part) for part in parts if part is not None and part.requires_grad]
    total = None
    for part in used:
        total = part if total is None else total + part
    return total


def test_only_views_share_memory_with_their_arguments() -> None:
    wrong = []
    for op in DIFFERENTIABLE:
        for sample in samples_of(op):
            arguments = _arguments(op, sample)
            result = op.function(*arguments)
            for made in result if isinstance(result, (list, tuple)) else [result]:
                shared = [a for a in arguments if isinstance(a, Tensor) and np.shares_memory(a._data, made._data)]
                wrong += [f"{op.name} {sample}" for a in shared if made is not a and not made._is_view()]
    assert wrong == []


def test_each_says_what_it_is() -> None:
    assert [op.name for op in OPS if not (op.summary and op.section and op.signature.startswith(op.name))] == []


def test_edges_are_evaluated_and_documented() -> None:
    for op, edge in EDGES:
        assert op.domain or op.convention, op.name
        arguments = _arguments(op, edge)
        output = op.function(*arguments)
        inputs = [a for a in arguments if isinstance(a, Tensor) and a.requires_grad]
        if isinstance(output, Tensor) and output.requires_grad:
            found = grad(output.sum(), inputs)
            assert all(f is not None and f.shape == a.shape for f, a in zip(found, inputs, strict=True)), (op.name, edge)


INFINITE = {("logit", (0.0,)), ("logit", (1.0,)), ("ellipk", (1.0,)), ("voigt", (0.0, 0.0, 0.0))}
"""Edges that belong to the domain of a function, where its limit is infinite."""


def test_inside_its_domain_a_function_is_finite() -> None:
    outside = 0
    for op, edge in EDGES:
        if op.inside is None:
            continue
        with np.errstate(all="ignore"):
            inside = op.mask(op.inside, [np.asarray(one) if isinstance(one, (float, list)) else one for one in edge], {})
            value = op.function(*_arguments(op, edge)).detach().numpy()
        if np.all(inside):
            assert np.isfinite(value).all() or (op.name, edge) in INFINITE, (op.name, edge)
        else:
            outside += 1
    assert outside > 80


WITHOUT_DERIVATIVE = {
    *("all", "allclose", "any", "equal", "isclose"),
    *("lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite"),
    *("zeros", "ones", "full", "eye", "arange", "linspace", "logspace", "tril_indices", "triu_indices", "zeros_like", "ones_like"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift"),
    *("signbit", "matrix_rank"),
    *("argwhere", "nonzero", "bincount", "bucketize", "searchsorted", "isin", "unique", "unique_consecutive"),
    *("argmax", "argmin", "argsort", "count_nonzero", "one_hot"),
    *("detach", "no_grad"),
}


def test_every_differentiable_function_has_samples() -> None:
    assert {op.name for op in OPS} - {op.name for op in DIFFERENTIABLE} == WITHOUT_DERIVATIVE


def test_a_row_has_the_defaults_of_its_python_function() -> None:
    wrong = []
    for op in OPS:
        written = inspect.signature(inspect.unwrap(op.function)).parameters
        if op.function in PRIMITIVES or op.spread or ".ops.rules" in op.function.__module__:
            continue
        for name, default in zip(op.parameters[op.required :], op.defaults, strict=True):
            if name not in written or repr(written[name].default) != repr(default):
                wrong.append(f"{op.name}: {name}={default!r}")
    assert wrong == []


NO_POINT_OUTSIDE = {"sec", "tan", "binary_cross_entropy", "gaussian_nll_loss"}
"""Functions whose domain leaves out points that are no floating-point numbers, or that are refused."""


def _plain(arguments: tuple[Any, ...]) -> list[Any]:
    return [np.array(value) if isinstance(value, (list, float)) else value for value in arguments]


def _meets(op: FunctionInfo, predicate: Any, arguments: tuple[Any, ...]) -> bool:
    return predicate is not None and bool(np.any(op.mask(predicate, _plain(arguments), {})))


def _is_outside(op: FunctionInfo, arguments: tuple[Any, ...]) -> bool:
    return op.inside is not None and not np.all(op.mask(op.inside, _plain(arguments), {}))


def missing(op: FunctionInfo) -> list[str]:
    """What a declaration should say and does not."""
    everywhere = ("", "everywhere")
    lacks = []
    # A matrix as a whole has a domain: outside of it there is an error, and no value to be noted.
    of_matrices = op.section in ("matrices", "decompose")
    if op.inside is not None and op.domain in everywhere:
        lacks.append("domain=: it has inside=, so say in words where the value exists")
    if op.inside is None and op.domain not in everywhere and not of_matrices:
        lacks.append(f"inside=: a predicate on arrays for its domain, '{op.domain}'")
    if op.kink is not None and op.smooth in everywhere:
        lacks.append("smooth=: it has kink=, so say in words where the derivative exists")
    if op.kink is None and op.smooth not in (*everywhere, op.domain) and not of_matrices:
        lacks.append(f"kink=: a predicate on arrays, for the derivative exists only where '{op.smooth}'")
    if (op.kink is not None or op.second_kink is not None) and "PyTorch" not in op.convention:
        lacks.append("convention=: what is answered at the kink and where that comes from; '(PyTorch)' if it is PyTorch's")
    if op.inside is not None and op.name not in NO_POINT_OUTSIDE and not any(_is_outside(op, edge) for edge in edges_of(op)):
        lacks.append("edges=: no point outside of inside= is among them")
    for predicate, name in ((op.kink, "kink"), (op.second_kink, "second_kink")):
        if predicate is not None and not any(_meets(op, predicate, edge) for edge in edges_of(op)):
            lacks.append(f"edges=: no point where {name}= holds is among them")
    for edge in edges_of(op):
        if not (_is_outside(op, edge) or _meets(op, op.kink, edge) or _meets(op, op.second_kink, edge) or op.convention):
            lacks.append(f"kink=, inside= or convention=: nothing is said about the edge {edge}")
    for sample in samples_of(op):
        if _is_outside(op, sample):
            lacks.append(f"inside=: the sample {sample} is outside")
        if _meets(op, op.kink, sample) or _meets(op, op.second_kink, sample):
            lacks.append(f"samples=: {sample} is at a kink, and belongs to edges=")
    if not samples_of(op) and op.name not in WITHOUT_DERIVATIVE:
        lacks.append("samples=: arguments inside the domain and away from kinks (or put it into WITHOUT_DERIVATIVE)")
    if not op.summary:
        lacks.append("summary=: one line that describes the function")
    primitive = PRIMITIVES.get(op.function)
    everywhere_known = all(target.has(op.name) for target in TARGETS.values())
    if primitive is not None and primitive.elementwise and primitive.decomposition is None and not everywhere_known:
        lacks.append("decomposition=: an expression over simpler functions, for targets of export that do not have it")
    return lacks


def test_each_declaration_is_whole() -> None:
    with np.errstate(all="ignore"):
        lacks = {op: missing(op) for op in OPS}
    told = [f"that of {op.name} in ops/{op.section}.py lacks\n  " + "\n  ".join(each) for op, each in lacks.items() if each]
    assert not told, "\n".join(told)


def test_outside_the_value_is_no_number() -> None:
    for op, edge in EDGES:
        if _is_outside(op, edge):
            try:
                with np.errstate(all="ignore"):
                    value = op.function(*_plain(edge))
            except ArgumentError:
                continue
            assert not np.all(np.isfinite(value)), (op.name, edge)


ONE_NUMBER = [(op, edge) for op in DIFFERENTIABLE if len(op.tensors) == 1 for edge in edges_of(op) if type(edge[0]) is float]


@pytest.mark.parametrize(("op", "edge"), ONE_NUMBER, ids=lambda value: getattr(value, "name", str(value)))
def test_where_slopes_from_both_sides_differ_is_a_kink(op: FunctionInfo, edge: tuple[Any, ...]) -> None:
    at, *rest = edge
    step = 1e-6 * max(1.0, abs(at))
    with np.errstate(all="ignore"):
        left, here, right = (float(op.function(np.array(at + shift), *rest)) for shift in (-step, 0.0, step))
    slopes = (here - left) / step, (right - here) / step
    if np.all(np.isfinite(slopes)) and abs(slopes[1] - slopes[0]) > 1e-3 * (1 + min(map(abs, slopes))):
        assert _meets(op, op.kink, edge) or _is_outside(op, edge)


def test_the_arguments_of_a_partial_are_not_its_variables() -> None:
    def partial(g: Any, x: Any) -> Any:
        twice = 2 * x
        return g * twice

    assert argument_names(partial) == ("g", "x")


def test_aliases_are_the_same_function() -> None:
    assert FUNCTIONS["arcsin"] is FUNCTIONS["asin"]
    assert FUNCTIONS["ln"] is FUNCTIONS["log"]
    assert not ({"sinh", "cosh"} & set(FUNCTIONS["sin"].aliases))
