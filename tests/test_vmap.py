"""``vmap`` of every declared function, compared with a loop over the examples."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from tests.points import samples_of
from tests.test_declarations import _arguments, _scalar

assert ad.sin is not None  # declares the functions
OPS = [op for op in {op.name: op for op in FUNCTIONS.values()}.values() if samples_of(op)]
EACH = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
FACTORS = (1.0, 1.0009765625, 0.9990234375)
"""Three examples near each sample, so that they stay inside the domain."""


def _batched(value: Any) -> Any:
    """Three examples of an argument; whole numbers and booleans are repeated."""
    factors = np.array(FACTORS).reshape(-1, *(1,) * len(value.shape))
    data = value.detach().numpy()
    return ad.tensor(data * factors if data.dtype.kind == "f" else np.stack([data] * 3))


def _choices(op: FunctionInfo, sample: tuple[Any, ...]) -> list[list[Any]]:
    """The arguments of a sample, with each non-empty set of the tensors as a batch; other tensors have dimension None.

    A mask that differs between examples is left out where the shape of the result depends on it.
    """
    plain = [a.detach() if isinstance(a, Tensor) else a for a in _arguments(op, sample)]
    at = [i for i, a in enumerate(plain) if isinstance(a, Tensor)]
    sets = [set(each) for n in range(1, len(at) + 1) for each in itertools.combinations(at, n)]
    if op.name == "masked_select":
        sets = [chosen for chosen in sets if 1 not in chosen]
    return [[(_batched(a), 0) if i in chosen else (a, None) for i, a in enumerate(plain)] for chosen in sets]


def _parts(result: Any) -> list[Any]:
    return [part for part in result if part is not None] if isinstance(result, (tuple, list)) else [result]


def _compare(function: Callable[..., Any], choice: Sequence[tuple[Any, int | None]], rtol: float) -> None:
    """Compare ``vmap`` with a loop; tensors are passed to ``vmap``, other arguments in a closure."""
    tensors = [(i, value, dim) for i, (value, dim) in enumerate(choice) if isinstance(value, Tensor)]

    def of_tensors(*given: Any) -> Any:
        arguments = [value for value, _ in choice]
        for (i, _, _), value in zip(tensors, given, strict=True):
            arguments[i] = value
        return tuple(_parts(function(*arguments)))

    found = ad.vmap(of_tensors, in_dims=tuple(dim for _, _, dim in tensors))(*[value for _, value, _ in tensors])
    loop = [of_tensors(*[value if dim is None else value[k] for _, value, dim in tensors]) for k in range(3)]
    for part, each in zip(found, zip(*loop, strict=True), strict=True):
        expected = np.stack([one.detach().numpy() for one in each])
        assert part.dtype is each[0].dtype
        np.testing.assert_allclose(part.detach().numpy(), expected, rtol=rtol, atol=1e-13)


@pytest.mark.sampled(4)
@EACH
def test_values(op: FunctionInfo) -> None:
    for sample in samples_of(op):
        for choice in _choices(op, sample):
            _compare(op.function, choice, 1e-12)


@pytest.mark.sampled(12)
@EACH
def test_gradients_of_each_example(op: FunctionInfo) -> None:
    for sample in samples_of(op):
        for choice in _choices(op, sample):
            inner = tuple(i for i, (value, _) in enumerate(choice) if isinstance(value, Tensor) and value.is_floating_point())
            if inner:
                _compare(lambda *given, inner=inner: ad.func.grad(lambda *a: _scalar(op.function(*a)), inner)(*given), choice, 1e-9)


@pytest.mark.sampled(6)
@EACH
def test_backward_passes_with_a_batch_of_cotangents(op: FunctionInfo) -> None:
    for sample in samples_of(op):
        arguments = _arguments(op, sample)
        inputs = [a for a in arguments if isinstance(a, Tensor) and a.requires_grad]
        outputs = [o for o in _parts(op.function(*arguments)) if o.requires_grad]
        starts = [ad.tensor(np.random.default_rng(k).standard_normal((3, *o.shape))) for k, o in enumerate(outputs)]
        together = ad.autograd.grad(outputs, inputs, starts, retain_graph=True, allow_unused=True, is_grads_batched=True)
        for k in range(3):
            one = ad.autograd.grad(outputs, inputs, [s[k] for s in starts], retain_graph=True, allow_unused=True)
            for a, b in zip(together, one, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_allclose(a[k].numpy(), b.numpy(), rtol=1e-9, atol=1e-13)
