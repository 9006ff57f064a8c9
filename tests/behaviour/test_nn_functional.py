"""The functions of ``nn.functional``: values and gradients against their definitions in elementary operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from tests.behaviour import const, leaf, quiet, shape, torch

F: Any = import_module(f"{torch.__name__}.nn.functional")

ROWS = [[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.3], [-0.4, 0.2, 0.9, -2.1]]
OTHERS = [[0.3, 0.8, -0.2, 1.4], [1.1, -0.6, 0.4, -0.9], [0.6, -1.2, 0.7, 0.2]]
THIRD = [[1.2, -0.2, 1.5, 0.8], [0.5, 0.9, -0.8, 0.1], [-0.3, 0.5, 0.25, -1.1]]
WEIGHT, BIAS = [1.5, 0.5, -1.0, 2.0], [0.1, -0.2, 0.3, 0.4]
CLASSES = [2, 0, 3]


def _images() -> Any:
    return [[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.2, 0.4, -0.3], [0.9, -0.8, 0.6]]]


def compare(found: Callable[..., Any], wanted: Callable[..., Any], *inputs: Any) -> None:
    """Compare the values of two functions of tensors, and their derivatives of order 1 and 2."""
    results = []
    for function in (found, wanted):
        tensors = [leaf(value) for value in inputs]
        output = function(*tensors)
        weights = torch.linspace(0.5, 1.5, output.numel(), dtype=torch.float64).reshape(output.shape)
        first = torch.autograd.grad((output * weights).sum(), tensors, create_graph=True)
        total = sum(((g * g).sum() for g in first), const(0.0))
        second = torch.autograd.grad(total, tensors, allow_unused=True) if total.requires_grad else [None] * len(tensors)
        results.append((output, first, second))
    (values, first, second), (values_, first_, second_) = results
    assert shape(values) == shape(values_)
    assert torch.allclose(values, values_, rtol=1e-10, atol=1e-12)
    for one, other in zip(first, first_, strict=True):
        assert torch.allclose(one, other, rtol=1e-9, atol=1e-11)
    for one, other in zip(second, second_, strict=True):
        if one is not None and other is not None:
            assert torch.allclose(one, other, rtol=1e-8, atol=1e-10)
        else:
            rest = other if one is None else one
            assert rest is None or bool((rest == 0).all())


ACTIVATIONS: dict[str, tuple[Any, Any]] = {
    "hardswish": (F.hardswish, lambda x: x * torch.clamp(x + 3, 0, 6) / 6),
    "hardshrink": (F.hardshrink, lambda x: torch.where(x.abs() > 0.5, x, x * 0)),
    "hardshrink of 1": (lambda x: F.hardshrink(x, lambd=1.0), lambda x: torch.where(x.abs() > 1, x, x * 0)),
    "softshrink": (F.softshrink, lambda x: torch.where(x.abs() > 0.5, x - 0.5 * torch.sign(x), x * 0)),
    "threshold": (lambda x: F.threshold(x, 0.4, 20.0), lambda x: torch.where(x > 0.4, x, x * 0 + 20)),
    "tanhshrink": (F.tanhshrink, lambda x: x - torch.tanh(x)),
    "softmin": (lambda x: F.softmin(x, dim=1), lambda x: torch.softmax(-x, 1)),
    "glu": (F.glu, lambda x: x[:, :2] * torch.sigmoid(x[:, 2:])),
    "glu along the rows": (lambda x: F.glu(x[:2], 0), lambda x: x[:1] * torch.sigmoid(x[1:2])),
    "prelu": (lambda x: F.prelu(x, const([0.25])), lambda x: torch.where(x > 0, x, 0.25 * x)),
    "relu": (lambda x: F.relu(input=x), lambda x: torch.clamp(x, 0)),
    "normalize": (F.normalize, lambda x: x / (x * x).sum(1, keepdim=True).sqrt()),
    "normalize along the rows": (lambda x: F.normalize(x, p=1.0, dim=0), lambda x: x / x.abs().sum(0, keepdim=True)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_functions_of_one_tensor(name: str) -> None:
    found, wanted = ACTIVATIONS[name]
    compare(found, wanted, [[v + 0.01 for v in row] for row in ROWS])


def test_a_slope_for_each_channel() -> None:
    compare(F.prelu, lambda x, w: torch.where(x > 0, x, x * w), ROWS, WEIGHT)
    compare(F.prelu, lambda x, w: torch.where(x > 0, x, x * w.reshape(1, 2, 1)), _images(), [0.25, 0.5])


@pytest.mark.parametrize("name", ["relu", "relu6", "elu", "selu", "celu", "leaky_relu", "hardtanh", "silu", "mish", "hardswish"])
def test_in_place_activations(name: str) -> None:
    x = leaf([0.7, -0.4])
    y = x * 2
    assert getattr(F, name)(y, inplace=True) is y
    y.sum().backward()
    z = leaf([0.7, -0.4])
    getattr(F, name)(z * 2).sum().backward()
    assert x.grad.tolist() == z.grad.tolist()


def test_activations_that_are_named_in_place() -> None:
    x = const([0.7, -0.4])
    assert F.relu_(x) is x
    assert x.tolist() == [0.7, 0.0]
    assert F.leaky_relu_(const([1.0, -1.0]), 0.5).tolist() == [1.0, -0.5]
    assert F.threshold_(const([1.0, -1.0]), 0.0, 3.0).tolist() == [1.0, 3.0]


def _standard(x: Any, dims: Any, eps: float = 1e-5) -> Any:
    centered = x - x.mean(dims, keepdim=True)
    return centered / ((centered * centered).mean(dims, keepdim=True) + eps).sqrt()


def test_layer_norm() -> None:
    compare(lambda x: F.layer_norm(x, (4,)), lambda x: _standard(x, 1), ROWS)
    compare(lambda x: F.layer_norm(x, x.shape, eps=0.1), lambda x: _standard(x, (0, 1), 0.1), ROWS)
    compare(lambda x, w, b: F.layer_norm(x, [4], w, b), lambda x, w, b: _standard(x, 1) * w + b, ROWS, WEIGHT, BIAS)
    made = F.layer_norm(const(ROWS), [4], bias=const(BIAS))
    assert torch.allclose(made, _standard(const(ROWS), 1) + const(BIAS))


def test_rms_norm() -> None:
    def root(x: Any) -> Any:
        return ((x * x).mean(1, keepdim=True) + 1e-3).sqrt()

    compare(lambda x: F.rms_norm(x, (4,), eps=1e-3), lambda x: x / root(x), ROWS)
    compare(lambda x, w: F.rms_norm(x, (4,), w, 1e-3), lambda x, w: x / root(x) * w, ROWS, WEIGHT)
    assert torch.allclose(F.rms_norm(const(ROWS), (4,)), const(ROWS) / (const(ROWS) ** 2).mean(1, keepdim=True).sqrt())


def test_group_norm() -> None:
    def groups(x: Any) -> Any:
        return _standard(x.reshape(3, 2, 2), 2).reshape(3, 4)

    compare(lambda x: F.group_norm(x, 2), groups, ROWS)
    compare(lambda x, w, b: F.group_norm(x, 2, w, b), lambda x, w, b: groups(x) * w + b, ROWS, WEIGHT, BIAS)
    compare(lambda x, w: F.group_norm(x, 1, w), lambda x, w: _standard(x, (1, 2)) * w.reshape(2, 1), _images(), [1.5, 0.5])


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("function", [F.instance_norm, F.batch_norm], ids=["instance_norm", "batch_norm"])
def test_what_belongs_to_channels_has_as_many_numbers(function: Any, which: int) -> None:
    given = [const([0.1, 0.2]), const([1.0, 0.5]), const([1.0, 2.0]), const([0.3, 0.4])]
    function(const(_images()), *given, True)
    given[which] = const([1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match=r"should contain|one number for each of the 2 channels"):
        function(const(_images()), *given, True)


def test_instance_norm_follows_the_statistics_of_channels() -> None:
    x, mean, variance = const(_images()), const([0.0, 0.0]), const([1.0, 1.0])
    F.instance_norm(x, mean, variance, momentum=0.5)
    flat = x.flatten(2)
    assert mean.tolist() == pytest.approx((0.5 * flat.mean((0, 2))).tolist(), rel=1e-12)
    assert variance.tolist() == pytest.approx((0.5 + 0.5 * flat.var(2).mean(0)).tolist(), rel=1e-12)


def test_instance_norm() -> None:
    compare(F.instance_norm, lambda x: _standard(x, 2), _images())
    compare(
        lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
        lambda x, w, b: _standard(x, 2) * w.reshape(2, 1) + b.reshape(2, 1),
        _images(),
        [1.5, 0.5],
        [0.1, 0.2],
    )


def test_batch_norm_in_training() -> None:
    compare(lambda x: F.batch_norm(x, None, None, training=True), lambda x: _standard(x, 0), ROWS)
    compare(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        lambda x, w, b: _standard(x, (0, 2)) * w.reshape(2, 1) + b.reshape(2, 1),
        _images(),
        [1.5, 0.5],
        [0.1, 0.2],
    )


def test_batch_norm_follows_the_statistics() -> None:
    x, mean, var = const(ROWS), const([0.0] * 4), const([1.0] * 4)
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    assert torch.allclose(mean, 0.25 * x.mean(0))
    assert torch.allclose(var, 0.75 + 0.25 * x.var(0))
    y = F.batch_norm(x, mean, var)
    assert torch.allclose(y, (x - mean) / (var + 1e-5).sqrt())
    compare(lambda x, w: F.batch_norm(x, mean, var, w), lambda x, w: (x - mean) / (var + 1e-5).sqrt() * w, ROWS, WEIGHT)


@pytest.mark.parametrize(
    ("call", "node"),
    [
        (lambda x: F.layer_norm(x, (4,)), "NativeLayerNormBackward0"),
        (lambda x: F.group_norm(x, 2), "NativeGroupNormBackward0"),
        (lambda x: F.batch_norm(x, None, None, training=True), "NativeBatchNormBackward0"),
        (F.glu, "GluBackward0"),
        (F.hardswish, "HardswishBackward0"),
        (F.hardshrink, "HardshrinkBackward0"),
        (F.softshrink, "SoftshrinkBackward0"),
        (lambda x: F.threshold(x, 0.1, 1.0), "ThresholdBackward0"),
        (lambda x: F.prelu(x, const([0.25])), "PreluKernelBackward0"),
        (lambda x: F.embedding(torch.tensor([0, 1]), x), "EmbeddingBackward0"),
        (lambda x: F.soft_margin_loss(x, torch.sign(x.detach())), "SoftMarginLossBackward0"),
        (lambda x: F.nll_loss(x, torch.tensor(CLASSES), ignore_index=3), "NllLossBackward0"),
        (lambda x: F.dropout(x, 0.5), "MulBackward0"),
    ],
)
def test_names_of_nodes(call: Any, node: str) -> None:
    assert type(call(leaf(ROWS)).grad_fn).__name__ == node


# Attention, embeddings and vectors


def test_attention() -> None:
    def plain(q: Any, k: Any, v: Any) -> Any:
        return torch.softmax(q @ k.transpose(-2, -1) / 2, -1) @ v

    compare(F.scaled_dot_product_attention, plain, ROWS, OTHERS, THIRD)
    compare(F.scaled_dot_product_attention, plain, [ROWS, OTHERS], [OTHERS, THIRD], [THIRD, ROWS])
    compare(
        lambda q, k: F.scaled_dot_product_attention(q, k, k, scale=0.3),
        lambda q, k: torch.softmax(q @ k.T * 0.3, -1) @ k,
        ROWS,
        OTHERS,
    )


def test_attention_with_masks() -> None:
    earlier = torch.tensor([[True, False, False], [True, True, False], [True, True, True]])

    def masked(q: Any, k: Any, v: Any) -> Any:
        return torch.softmax((q @ k.T / 2).masked_fill(~earlier, -math.inf), -1) @ v

    compare(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), masked, ROWS, OTHERS, THIRD)
    compare(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=earlier), masked, ROWS, OTHERS, THIRD)
    shift = const([[0.0, -1.0, 0.5], [0.2, 0.0, -0.3], [1.0, 0.0, 0.0]])
    compare(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, shift),
        lambda q, k, v: torch.softmax(q @ k.T / 2 + shift, -1) @ v,
        ROWS,
        OTHERS,
        THIRD,
    )


def test_a_query_without_any_key_gives_zero() -> None:
    q = leaf(ROWS)
    mask = torch.tensor([[True, True, True], [False, False, False], [True, False, True]])
    made = F.scaled_dot_product_attention(q, const(OTHERS), const(THIRD), mask)
    assert made[1].tolist() == [0, 0, 0, 0]
    made.sum().backward()
    assert q.grad[1].tolist() == [0, 0, 0, 0]
    assert bool(torch.isfinite(q.grad).all())


def test_embedding() -> None:
    positions = torch.tensor([[2, 0], [2, 2]])
    compare(lambda w: F.embedding(positions, w), lambda w: w[positions], ROWS)
    w = leaf(ROWS)
    F.embedding(positions, w, padding_idx=2).sum().backward()
    assert w.grad.tolist() == [[1.0] * 4, [0.0] * 4, [0.0] * 4]


def test_one_hot() -> None:
    assert F.one_hot(torch.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert F.one_hot(torch.tensor([[1]]), num_classes=4).tolist() == [[[0, 1, 0, 0]]]
    assert F.one_hot(torch.tensor(2)).tolist() == [0, 0, 1]
    assert F.one_hot(torch.tensor([1])).dtype == torch.int64


def test_similarity_and_distance() -> None:
    def cosine(x: Any, y: Any) -> Any:
        return (x * y).sum(1) / ((x * x).sum(1).sqrt() * (y * y).sum(1).sqrt())

    compare(F.cosine_similarity, cosine, ROWS, OTHERS)
    compare(F.pairwise_distance, lambda x, y: ((x - y + 1e-6) ** 2).sum(1).sqrt(), ROWS, OTHERS)
    compare(
        lambda x, y: F.pairwise_distance(x, y, p=1.0, keepdim=True),
        lambda x, y: (x - y + 1e-6).abs().sum(1, keepdim=True),
        ROWS,
        OTHERS,
    )


def test_distances_of_rows() -> None:
    x, y = leaf(ROWS), leaf(ROWS)
    found = F.pdist(x)
    wanted = torch.stack([(y[0] - y[1]).norm(), (y[0] - y[2]).norm(), (y[1] - y[2]).norm()])
    assert torch.allclose(found, wanted)
    found.sum().backward()
    wanted.sum().backward()
    assert torch.allclose(x.grad, y.grad)


def test_linear_and_bilinear() -> None:
    compare(lambda x, w, b: F.linear(x, w, b), lambda x, w, b: x @ w.T + b, ROWS, OTHERS, [0.1, 0.2, 0.3])
    weight = [[[0.3, 0.8], [-0.2, 0.4], [1.1, -0.6], [0.4, 0.9]]] * 2
    compare(
        F.bilinear,
        lambda x, y, w, b: torch.stack([((x @ w[k]) * y).sum(1) + b[k] for k in range(2)], 1),
        ROWS,
        [row[:2] for row in OTHERS],
        weight,
        [0.1, -0.3],
    )


# Losses


def _mean(loss: Callable[..., Any], reduction: str) -> Callable[..., Any]:
    return lambda *inputs: loss(*inputs) if reduction == "none" else getattr(loss(*inputs), reduction)()


SIGNS = [[1.0, -1.0, 1.0, 1.0], [-1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]]


def _log_sigmoid(x: Any) -> Any:
    return -torch.log(1 + torch.exp(-x))


def _signs() -> Any:
    return const(SIGNS)


LOSSES: dict[str, tuple[Any, Any, Any]] = {
    "mse_loss": (F.mse_loss, lambda x, y: (x - y) ** 2, (ROWS, OTHERS)),
    "l1_loss": (F.l1_loss, lambda x, y: (x - y).abs(), (ROWS, OTHERS)),
    "huber_loss": (
        lambda x, y, reduction: F.huber_loss(x, y, reduction, 0.7),
        lambda x, y: torch.where((x - y).abs() < 0.7, 0.5 * (x - y) ** 2, 0.7 * ((x - y).abs() - 0.35)),
        (ROWS, OTHERS),
    ),
    "smooth_l1_loss": (
        lambda x, y, reduction: F.smooth_l1_loss(x, y, reduction=reduction, beta=0.7),
        lambda x, y: torch.where((x - y).abs() < 0.7, (x - y) ** 2 / 1.4, (x - y).abs() - 0.35),
        (ROWS, OTHERS),
    ),
    "binary_cross_entropy": (
        lambda x, reduction: F.binary_cross_entropy(torch.sigmoid(x), _signs() / 2 + 0.5, const(WEIGHT), reduction=reduction),
        lambda x: -_log_sigmoid(x * _signs()) * const(WEIGHT),
        (ROWS,),
    ),
    "binary_cross_entropy_with_logits": (
        lambda x, reduction: F.binary_cross_entropy_with_logits(
            x, _signs() / 2 + 0.5, reduction=reduction, pos_weight=const([3.0, 0.5, 2.0, 1.0])
        ),
        lambda x: -_log_sigmoid(x * _signs()) * torch.where(_signs() > 0, const([3.0, 0.5, 2.0, 1.0]), 1.0),
        (ROWS,),
    ),
    "weighted logits": (
        lambda x, reduction: F.binary_cross_entropy_with_logits(x, _signs() / 2 + 0.5, const(WEIGHT), reduction=reduction),
        lambda x: -_log_sigmoid(x * _signs()) * const(WEIGHT),
        (ROWS,),
    ),
    "kl_div": (
        lambda x, reduction: F.kl_div(x, torch.softmax(const(OTHERS), 1), reduction=reduction),
        lambda x: torch.softmax(const(OTHERS), 1) * (torch.log_softmax(const(OTHERS), 1) - x),
        (ROWS,),
    ),
    "gaussian_nll_loss": (
        lambda x, y, s, reduction: F.gaussian_nll_loss(x, y, s * s, reduction=reduction),
        lambda x, y, s: 0.5 * (torch.log(s * s) + (x - y) ** 2 / (s * s)),
        (ROWS, OTHERS, THIRD),
    ),
    "gaussian_nll_loss of rows": (
        lambda x, y, s, reduction: F.gaussian_nll_loss(x, y, s, full=True, reduction=reduction),
        lambda x, y, s: 0.5 * (torch.log(s.reshape(3, 1)) + (x - y) ** 2 / s.reshape(3, 1) + math.log(2 * math.pi)),
        (ROWS, OTHERS, [0.5, 1.5, 2.0]),
    ),
    "poisson_nll_loss": (
        lambda x, reduction: F.poisson_nll_loss(x, const(SIGNS) + 1, reduction=reduction),
        lambda x: torch.exp(x) - (const(SIGNS) + 1) * x,
        (ROWS,),
    ),
    "poisson_nll_loss of rates": (
        lambda x, reduction: F.poisson_nll_loss(torch.exp(x), const(SIGNS) + 1, log_input=False, eps=0.1, reduction=reduction),
        lambda x: torch.exp(x) - (const(SIGNS) + 1) * torch.log(torch.exp(x) + 0.1),
        (ROWS,),
    ),
    "hinge_embedding_loss": (
        lambda x, reduction: F.hinge_embedding_loss(x, _signs(), margin=0.6, reduction=reduction),
        lambda x: torch.where(_signs() > 0, x, torch.clamp(0.6 - x, 0)),
        (ROWS,),
    ),
    "margin_ranking_loss": (
        lambda x, y, reduction: F.margin_ranking_loss(x, y, _signs(), 0.35, reduction=reduction),
        lambda x, y: torch.clamp(0.35 - _signs() * (x - y), 0),
        (ROWS, OTHERS),
    ),
    "soft_margin_loss": (
        lambda x, reduction: F.soft_margin_loss(x, _signs(), reduction=reduction),
        lambda x: torch.log(1 + torch.exp(-_signs() * x)),
        (ROWS,),
    ),
    "cosine_embedding_loss": (
        lambda x, y, reduction: F.cosine_embedding_loss(x, y, const([1.0, -1.0, -1.0]), 0.1, reduction=reduction),
        lambda x, y: torch.where(
            const([1.0, -1.0, -1.0]) > 0,
            1 - F.cosine_similarity(x, y, eps=1e-30),
            torch.clamp(F.cosine_similarity(x, y, eps=1e-30) - 0.1, 0),
        ),
        (ROWS, OTHERS),
    ),
    "triplet_margin_loss": (
        lambda a, p, n, reduction: F.triplet_margin_loss(a, p, n, reduction=reduction),
        lambda a, p, n: torch.clamp(F.pairwise_distance(a, p) - F.pairwise_distance(a, n) + 1, 0),
        (ROWS, OTHERS, THIRD),
    ),
    "triplet_margin_loss with swap": (
        lambda a, p, n, reduction: F.triplet_margin_loss(a, p, n, margin=0.5, swap=True, reduction=reduction),
        lambda a, p, n: torch.clamp(
            F.pairwise_distance(a, p) - torch.minimum(F.pairwise_distance(a, n), F.pairwise_distance(p, n)) + 0.5, 0
        ),
        (ROWS, OTHERS, THIRD),
    ),
    "multilabel_soft_margin_loss": (
        lambda x, reduction: F.multilabel_soft_margin_loss(x, _signs() / 2 + 0.5, const(WEIGHT), reduction=reduction),
        lambda x: -(_log_sigmoid(x * _signs()) * const(WEIGHT)).mean(1),
        (ROWS,),
    ),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str, reduction: str) -> None:
    found, wanted, inputs = LOSSES[name]
    with quiet():  # PyTorch warns of the mean of kl_div
        compare(lambda *given: found(*given, reduction=reduction), _mean(wanted, reduction), *inputs)


@pytest.mark.parametrize("p", [1, 2])
def test_multi_margin_loss(p: int) -> None:
    def wanted(x: Any) -> Any:
        losses = [sum(torch.clamp(0.9 - x[i, c] + x[i, j], 0) ** p for j in range(4) if j != c) / 4 for i, c in enumerate(CLASSES)]
        return torch.stack(losses).mean()

    x, y = leaf(ROWS), leaf(ROWS)
    found, other = F.multi_margin_loss(x, torch.tensor(CLASSES), p=p, margin=0.9), wanted(y)
    assert found.item() == pytest.approx(other.item(), rel=1e-12)
    found.backward()
    other.backward()
    assert torch.allclose(x.grad, y.grad, rtol=1e-10)


def test_multilabel_margin_loss() -> None:
    x = leaf([0.1, 0.2, 0.4, 0.8])
    loss = F.multilabel_margin_loss(x, torch.tensor([3, 0, -1, 1]))
    # The labels are 3 and 0, and the other classes 1 and 2.
    expected = sum(max(0, 1 - (label - other)) for label in (0.8, 0.1) for other in (0.2, 0.4)) / 4
    assert loss.item() == pytest.approx(expected)
    loss.backward()
    assert x.grad.tolist() == pytest.approx([-0.5, 0.5, 0.5, -0.5])


def _nll(x: Any, classes: list[int], weights: list[float], reduction: str) -> Any:
    losses = [-x[i, c] * weights[c] for i, c in enumerate(classes) if c >= 0]
    total = sum(losses[1:], losses[0])
    return total / sum(weights[c] for c in classes if c >= 0) if reduction == "mean" else total


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_losses_of_classes(reduction: str) -> None:
    weights = [0.5, 1.5, 2.0, 1.0]
    classes = torch.tensor(CLASSES)
    compare(
        lambda x: F.nll_loss(x, classes, const(weights), reduction=reduction), lambda x: _nll(x, CLASSES, weights, reduction), ROWS
    )
    compare(
        lambda x: F.nll_loss(x, torch.tensor([2, -100, 3]), reduction=reduction),
        lambda x: _nll(x, [2, -100, 3], [1.0] * 4, reduction),
        ROWS,
    )
    compare(
        lambda x: F.cross_entropy(x, classes, weight=const(weights), reduction=reduction),
        lambda x: _nll(torch.log_softmax(x, 1), CLASSES, weights, reduction),
        ROWS,
    )
    compare(
        lambda x: F.cross_entropy(x, torch.tensor([2, 1, 3]), ignore_index=1, reduction=reduction),
        lambda x: _nll(torch.log_softmax(x, 1), [2, -1, 3], [1.0] * 4, reduction),
        ROWS,
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_smoothed_labels(reduction: str) -> None:
    def smooth(x: Any) -> Any:
        soft = F.one_hot(torch.tensor(CLASSES), 4).double() * 0.9 + 0.1 / 4
        return -(torch.log_softmax(x, 1) * soft).sum(1)

    compare(
        lambda x: F.cross_entropy(x, torch.tensor(CLASSES), reduction=reduction, label_smoothing=0.1),
        _mean(smooth, reduction),
        ROWS,
    )
    target = torch.softmax(const(OTHERS), 1)
    compare(
        lambda x: F.cross_entropy(x, target, reduction=reduction, label_smoothing=0.2),
        _mean(lambda x: -(torch.log_softmax(x, 1) * (target * 0.8 + 0.05)).sum(1), reduction),
        ROWS,
    )


def test_smoothed_labels_with_weights() -> None:
    weights = const([0.5, 1.5, 2.0, 1.0])

    def wanted(x: Any) -> Any:
        logs = torch.log_softmax(x, 1)
        exact = _nll(logs, [2, -1, 3], weights.tolist(), "mean")
        spread = -(logs * weights).sum(1)
        return 0.9 * exact + 0.1 / 4 * (spread[0] + spread[2]) / 3.0

    compare(lambda x: F.cross_entropy(x, torch.tensor([2, 1, 3]), weights, ignore_index=1, label_smoothing=0.1), wanted, ROWS)
    target = torch.softmax(const(OTHERS), 1)
    compare(lambda x: F.cross_entropy(x, target, weights), lambda x: -(torch.log_softmax(x, 1) * target * weights).sum() / 3, ROWS)


def test_a_loss_without_any_class() -> None:
    assert math.isnan(F.nll_loss(const(ROWS), torch.tensor([-100] * 3)).item())
    assert F.nll_loss(const(ROWS), torch.tensor([-100] * 3), reduction="sum").item() == 0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: F.glu(x[:, :3]), RuntimeError, "Halving dimension must be even, but dimension 1 is size 3"),
        (lambda x: F.layer_norm(x, (3,)), RuntimeError, r"Given normalized_shape=\[3\], expected input with shape \[\*, 3\]"),
        (lambda x: F.layer_norm(x, (4,), const([1.0])), RuntimeError, "Expected weight to be of same shape as normalized_shape"),
        (lambda x: F.group_norm(x, 3), RuntimeError, "Expected number of channels in input to be divisible by num_groups"),
        (
            lambda x: F.batch_norm(x[:1], None, None, training=True),
            ValueError,
            "Expected more than 1 value per channel when training",
        ),
        (lambda x: F.batch_norm(x, None, None), RuntimeError, "running_mean must be defined in evaluation mode"),
        (lambda x: F.instance_norm(x.reshape(3, 4, 1)), ValueError, "Expected more than 1 spatial element when training"),
        (lambda x: F.embedding(torch.tensor([5]), x), IndexError, "index out of range in self"),
        (lambda x: F.one_hot(torch.tensor([-1])), RuntimeError, "Class values must be non-negative."),
        (lambda x: F.one_hot(torch.tensor([3]), 2), RuntimeError, "Class values must be smaller than num_classes."),
        (
            lambda x: F.scaled_dot_product_attention(x, x, x, torch.ones(3, 3, dtype=torch.bool), is_causal=True),
            RuntimeError,
            "Explicit attn_mask should not be set when is_causal=True",
        ),
        (lambda x: F.dropout(x, 1.5), ValueError, "dropout probability has to be between 0 and 1, but got 1.5"),
        (lambda x: F.gaussian_nll_loss(x, x, -x * x), ValueError, "var has negative entry/entries"),
        (lambda x: F.gaussian_nll_loss(x, x, const([1.0, 1.0])), ValueError, "var is of incorrect size"),
        (lambda x: F.margin_ranking_loss(x, x, x[0]), RuntimeError, "All input tensors should have same dimension but got sizes"),
        (lambda x: F.triplet_margin_loss(x, x, x[0]), RuntimeError, "are expected to have the same number of dimensions"),
        (lambda x: F.triplet_margin_loss(x, x, x, margin=-1), ValueError, "margin must be greater than 0, got -1"),
        (lambda x: F.multi_margin_loss(x, torch.tensor([0, 1, 2]), p=3), ValueError, "only p == 1 and p == 2 supported"),
        (lambda x: F.cross_entropy(x, torch.tensor(CLASSES), label_smoothing=2.0), RuntimeError, "label_smoothing must be between"),
        (
            lambda x: F.nll_loss(x, torch.tensor(CLASSES), const([1.0])),
            RuntimeError,
            "weight tensor should be defined either for all 4 classes or no classes",
        ),
        (
            lambda x: F.cross_entropy(x, torch.tensor([0])),
            ValueError,
            r"Expected input batch_size \(3\) to match target batch_size",
        ),
        (lambda x: F.prelu(x, const([1.0, 1.0])), RuntimeError, "Mismatch of parameter numbers and input channel size"),
        (lambda x: F.mse_loss(x, x, reduction="foo"), ValueError, "foo is not a valid value for reduction|'foo' is not a valid"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(leaf(ROWS))


# Random functions


def test_dropout() -> None:
    torch.manual_seed(0)
    x = leaf([1.0] * 1000)
    y = F.dropout(x, 0.25)
    assert set(y.tolist()) == {0.0, 1 / 0.75}
    assert y.tolist().count(0.0) / 1000 == pytest.approx(0.25, abs=0.05)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    assert F.dropout(x, 0.5, training=False).tolist() == x.tolist()
    assert F.dropout(x, 1.0).sum().item() == 0.0


def test_gumbel_softmax() -> None:
    torch.manual_seed(0)
    logits = leaf([[0.0, math.log(3.0)]] * 2000)
    smooth = F.gumbel_softmax(logits, tau=0.5)
    assert torch.allclose(smooth.sum(1), const([1.0] * 2000))
    hard = F.gumbel_softmax(logits, hard=True)
    assert hard.detach().round().eq(hard.detach()).float().mean().item() > 0.99
    assert hard[:, 1].mean().item() == pytest.approx(0.75, abs=0.04)
    hard[:, 0].sum().backward()
    assert bool((logits.grad[:, 0] >= 0).all())
    assert logits.grad.abs().sum().item() > 0


def test_a_framework_s_part_is_not_hidden() -> None:
    if torch.__name__ == "autodiff_cli":
        for name in ("conv2d", "max_pool2d", "interpolate"):
            assert not hasattr(F, name)
            with pytest.raises(AttributeError, match="convolutions, pooling and images are not part of autodiff"):
                getattr(F, name)
