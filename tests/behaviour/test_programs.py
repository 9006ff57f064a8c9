"""Small classic programs, written for PyTorch, with the numbers that PyTorch prints: models by hand, solvers, losses, tricks.

``python -m tests.behaviour.test_programs`` under ``AUTODIFF_PEER=torch`` records the numbers.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour import quiet, torch

F: Any = import_module(f"{torch.__name__}.nn.functional")
nn: Any = import_module(f"{torch.__name__}.nn")
optim: Any = import_module(f"{torch.__name__}.optim")

RECORDS = Path(__file__).parents[1] / "golden" / "programs.json"
Program = Callable[[], list[float]]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def wave(*size: int, rate: float = 1.0) -> Any:
    """Numbers without a pattern that are the same on both sides."""
    count = math.prod(size)
    return torch.tensor([math.sin(rate * (1.7 * i + 0.3 * i * i)) for i in range(count)], dtype=torch.float64).reshape(size)


@program
def bigrams() -> list[float]:
    words = ["emma", "olivia", "ava", "isabella"]
    letters = sorted(set("".join(words)))
    code = {letter: i + 1 for i, letter in enumerate(letters)}
    code["."] = 0
    xs, ys = [], []
    for word in words:
        text = [".", *word, "."]
        for one, other in itertools.pairwise(text):
            xs.append(code[one])
            ys.append(code[other])
    inputs, targets = torch.tensor(xs), torch.tensor(ys)
    W = wave(len(code), len(code)).requires_grad_()
    for _ in range(10):
        logits = F.one_hot(inputs, num_classes=len(code)).double() @ W
        counts = logits.exp()
        probs = counts / counts.sum(1, keepdim=True)
        loss = -probs[torch.arange(len(xs)), targets].log().mean() + 0.01 * (W**2).mean()
        W.grad = None
        loss.backward()
        W.data += -5 * W.grad
    return [loss.item(), W[0, 1].item()]


@program
def letters_with_an_embedding() -> list[float]:
    X = torch.tensor([[0, 0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 4], [0, 4, 1]])
    Y = torch.tensor([2, 3, 0, 4, 1, 0])
    C, W1, b1 = wave(5, 2), wave(6, 8, rate=0.9), wave(8, rate=0.8)
    W2, b2 = wave(8, 5, rate=1.1) * 0.1, torch.zeros(5)
    gain, shift = torch.ones(1, 8), torch.zeros(1, 8)
    parameters = [C, W1, b1, W2, b2, gain, shift]
    for p in parameters:
        p.requires_grad = True
    for i in range(20):
        hidden = C[X].view(X.shape[0], -1) @ W1 + b1
        hidden = gain * (hidden - hidden.mean(0, keepdim=True)) / (hidden.std(0, keepdim=True) + 1e-5) + shift
        loss = F.cross_entropy(torch.tanh(hidden) @ W2 + b2, Y)
        for p in parameters:
            p.grad = None
        loss.backward()
        rate = 0.5 if i < 10 else 0.05
        for p in parameters:
            p.data += -rate * p.grad
    return [loss.item(), sum(p.nelement() for p in parameters), C[1, 0].item()]


@program
def linear_regression_with_sgd() -> list[float]:
    x = torch.linspace(-1, 1, 20, dtype=torch.float64).unsqueeze(1)
    y = 3 * x - 0.5 + 0.1 * wave(20, 1)
    w, b = nn.Parameter(torch.zeros(1, 1, dtype=torch.float64)), nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = optim.SGD([w, b], lr=0.1, momentum=0.9)
    for _ in range(40):
        loss = F.mse_loss(F.linear(x, w, b), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [w.item(), b.item(), loss.item()]


@program
def logistic_regression_with_adam() -> list[float]:
    x = wave(30, 2)
    y = (x[:, 0] + 0.5 * x[:, 1] > 0.1).double()
    w, b = torch.zeros(2, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = optim.Adam([w, b], lr=0.05)
    for _ in range(50):
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(x @ w + b, y)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        accuracy = ((x @ w + b > 0).double() == y).double().mean()
    return [loss.item(), w[0].item(), accuracy.item()]


@program
def exclusive_or() -> list[float]:
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]], dtype=torch.float64)
    w1, b1 = wave(2, 4).requires_grad_(), torch.zeros(4, requires_grad=True)
    w2, b2 = wave(4, 1).requires_grad_(), torch.zeros(1, requires_grad=True)
    for _ in range(60):
        out = torch.sigmoid(torch.tanh(x @ w1 + b1) @ w2 + b2)
        loss = F.binary_cross_entropy(out, y)
        grads = torch.autograd.grad(loss, (w1, b1, w2, b2))
        with torch.no_grad():
            for p, g in zip((w1, b1, w2, b2), grads, strict=True):
                p -= 2.0 * g
    return [loss.item(), *out.detach().flatten().tolist()]


@program
def straight_through_estimator() -> list[float]:
    class Binary(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return (x > 0).to(x.dtype)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * (x.abs() <= 1)

    x = wave(6).requires_grad_()
    y = (Binary.apply(2 * x) * torch.arange(6.0, dtype=torch.float64)).sum()
    y.backward()
    first = x.grad.clone()
    x.grad.zero_()
    rounded = x + (x.round() - x).detach()
    (rounded**2).sum().backward()
    return [y.item(), *first.tolist(), *x.grad.tolist()]


@program
def gaussian_process() -> list[float]:
    x = torch.linspace(0, 3, 8, dtype=torch.float64)
    y = torch.sin(2 * x)
    raw = torch.tensor([0.1, -0.3, -1.0], dtype=torch.float64, requires_grad=True)
    optimizer = optim.Adam([raw], lr=0.1)
    for _ in range(15):
        optimizer.zero_grad()
        length, height, noise = F.softplus(raw)
        distance = (x[:, None] - x[None, :]) ** 2
        K = height * torch.exp(-0.5 * distance / length**2) + (noise + 1e-4) * torch.eye(8, dtype=torch.float64)
        L = torch.linalg.cholesky(K)
        alpha = torch.linalg.solve(K, y)
        loss = 0.5 * y @ alpha + torch.log(torch.diagonal(L)).sum() + 4 * math.log(2 * math.pi)
        loss.backward()
        optimizer.step()
    return [loss.item(), *raw.tolist()]


@program
def neural_ode_with_euler_steps() -> list[float]:
    W1, W2 = (0.5 * wave(2, 6)).requires_grad_(), (0.5 * wave(6, 2, rate=0.7)).requires_grad_()
    target = torch.tensor([[0.0, 1.0]], dtype=torch.float64)

    def flow(state: Any) -> Any:
        for _ in range(20):
            state = state + 0.05 * (torch.tanh(state @ W1) @ W2)
        return state

    for _ in range(10):
        loss = ((flow(torch.tensor([[1.0, 0.0]], dtype=torch.float64)) - target) ** 2).sum()
        gradients = torch.autograd.grad(loss, [W1, W2])
        with torch.no_grad():
            for p, g in zip([W1, W2], gradients, strict=False):
                p.sub_(0.5 * g)
    return [loss.item(), W1[0, 0].item(), W2.norm().item()]


@program
def implicit_differentiation() -> list[float]:
    a = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    x = torch.ones(2, dtype=torch.float64)
    with torch.no_grad():
        for _ in range(30):
            x = x - (x**3 + a * x - 5) / (3 * x**2 + a)
    x.requires_grad_()
    residual = x**3 + a * x - 5
    by_x = torch.autograd.functional.jacobian(lambda t: t**3 + a.detach() * t - 5, x.detach())
    adjoint = torch.linalg.solve(by_x.T, torch.ones(2, dtype=torch.float64))
    (gradient,) = torch.autograd.grad(residual, a, grad_outputs=-adjoint)
    return [*x.tolist(), *gradient.tolist()]


@program
def newton() -> list[float]:
    def function(x: Any) -> Any:
        return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

    x = torch.tensor([-1.2, 1.0], dtype=torch.float64)
    for _ in range(5):
        gradient = torch.autograd.functional.jacobian(function, x)
        hessian = torch.autograd.functional.hessian(function, x)
        x = x - torch.linalg.solve(hessian, gradient)
    return x.tolist()  # type: ignore[no-any-return]


@program
def recurrent_cell() -> list[float]:
    Wx, Wh, b = wave(3, 4).requires_grad_(), (0.5 * wave(4, 4, rate=0.6)).requires_grad_(), torch.zeros(4, requires_grad=True)
    h = torch.zeros(2, 4, dtype=torch.float64)
    losses = []
    for step in wave(7, 2, 3, rate=0.4):
        h = torch.tanh(torch.addmm(b, step, Wx) + h @ Wh)
        losses.append(h.pow(2).mean())
    loss = torch.stack(losses).mean()
    loss.backward()
    norm = nn.utils.clip_grad_norm_([Wx, Wh, b], max_norm=0.05)
    return [loss.item(), norm.item(), Wx.grad[0, 0].item(), Wh.grad.abs().sum().item(), b.grad[1].item()]


@program
def long_short_term_memory() -> list[float]:
    weight, bias = (0.4 * wave(7, 16)).requires_grad_(), torch.zeros(16, requires_grad=True)
    h = c = torch.zeros(2, 4, dtype=torch.float64)
    outputs = []
    for step in torch.unbind(wave(5, 2, 3, rate=0.4), dim=0):
        i, f, g, o = torch.chunk(torch.cat([step, h], dim=1) @ weight + bias, 4, dim=1)
        c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        outputs.append(h)
    y = torch.stack(outputs, dim=1)
    y.square().sum().backward()
    return [*y.shape, y.sum().item(), weight.grad.norm().item(), bias.grad[5].item()]


@program
def transformer_block() -> list[float]:
    batch, length, width, heads = 2, 4, 8, 2
    x = wave(batch, length, width)
    qkv, out = (0.3 * wave(width, 3 * width)).requires_grad_(), (0.3 * wave(width, width, rate=0.7)).requires_grad_()
    up, down = (0.3 * wave(width, 16, rate=0.8)).requires_grad_(), (0.3 * wave(16, width, rate=0.9)).requires_grad_()
    gain, shift = torch.ones(width, requires_grad=True), torch.zeros(width, requires_grad=True)
    q, k, v = (F.layer_norm(x, (width,), gain, shift) @ qkv).split(width, dim=2)
    q, k, v = (t.view(batch, length, heads, width // heads).transpose(1, 2) for t in (q, k, v))
    scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    mask = torch.tril(torch.ones(length, length)).view(1, 1, length, length)
    weights = F.softmax(scores.masked_fill(mask == 0, float("-inf")), dim=-1)
    y = (weights @ v).transpose(1, 2).contiguous().view(batch, length, width) @ out
    fused = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y = x + F.dropout(y, 0.1, training=False)
    y = y + F.gelu(F.layer_norm(y, (width,)) @ up) @ down
    loss = y.pow(2).mean()
    loss.backward()
    gap = (fused - weights @ v).abs().max().item()
    return [loss.item(), round(gap, 12), *(p.grad.norm().item() for p in (qkv, out, up, down, gain, shift))]


@program
def variational_autoencoder_loss() -> list[float]:
    x = torch.sigmoid(2 * wave(5, 6))
    encoder, decoder = wave(6, 4).requires_grad_(), wave(2, 6, rate=0.8).requires_grad_()
    mean, log_variance = (x @ encoder).chunk(2, dim=-1)
    std = torch.exp(0.5 * log_variance)
    z = mean + wave(5, 2, rate=0.5) * std
    reconstruction = F.binary_cross_entropy(torch.sigmoid(z @ decoder), x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    loss = reconstruction + divergence
    loss.backward()
    return [reconstruction.item(), divergence.item(), encoder.grad.norm().item(), decoder.grad.norm().item()]


@program
def policy_gradient() -> list[float]:
    logits = torch.zeros(3, requires_grad=True)
    rewards = torch.tensor([0.1, 1.0, 0.4])
    optimizer = optim.SGD([logits], lr=0.5, maximize=True)
    for step in range(12):
        action = torch.tensor([step * 7 % 3])
        log_probability = F.log_softmax(logits, dim=0).gather(0, action)
        advantage = rewards[action] - rewards.mean()
        entropy = -(F.softmax(logits, dim=0) * F.log_softmax(logits, dim=0)).sum()
        objective = (log_probability * advantage.detach()).sum() + 0.01 * entropy
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()
    return [objective.item(), *logits.softmax(0).tolist()]


@program
def physics_informed_network() -> list[float]:
    w1, b1, w2 = wave(1, 8).requires_grad_(), wave(8, rate=0.9).requires_grad_(), (0.5 * wave(8, 1, rate=0.7)).requires_grad_()
    x = torch.linspace(0, 1, 11).double().reshape(-1, 1).requires_grad_(True)
    optimizer = optim.Adam([w1, b1, w2], lr=0.02)
    for _ in range(20):
        u = x * (1 - x) * (torch.tanh(x @ w1 + b1) @ w2)
        du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
        ddu = torch.autograd.grad(du.sum(), x, create_graph=True)[0]
        loss = torch.mean((ddu + torch.pi**2 * torch.sin(torch.pi * x)) ** 2)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return [loss.item(), w1[0, 0].item(), u[5].item()]


@program
def spring_fit() -> list[float]:
    stiffness = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    damping = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)

    def positions(k: Any, d: Any) -> Any:
        x, v, path = torch.tensor(1.0).double(), torch.tensor(0.0).double(), []
        for _ in range(30):
            v = v + 0.1 * (-k * x - d * v)
            x = x + 0.1 * v
            path.append(x)
        return torch.stack(path)

    data = positions(torch.tensor(2.5).double(), torch.tensor(0.3).double()).detach()
    optimizer = optim.Adam([{"params": [stiffness], "lr": 0.2}, {"params": [damping]}], lr=0.05)
    for _ in range(15):
        loss = F.l1_loss(positions(stiffness, damping), data)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [loss.item(), stiffness.item(), damping.item()]


@program
def mixture_of_gaussians() -> list[float]:
    x = torch.cat([wave(10) - 2, wave(10, rate=0.6) + 2])
    means, log_std, weights = (torch.tensor(v).double().requires_grad_() for v in ([-1.0, 1.0], [0.0, 0.0], [0.0, 0.5]))

    def log_likelihood() -> Any:
        parts = -0.5 * ((x[:, None] - means) / log_std.exp()) ** 2 - log_std - 0.5 * math.log(2 * math.pi)
        return torch.logsumexp(parts + F.log_softmax(weights, 0), dim=1).mean()

    for _ in range(10):
        value = log_likelihood()
        gradients = torch.autograd.grad(value, (means, log_std, weights))
        with torch.no_grad():
            for p, g in zip((means, log_std, weights), gradients, strict=True):
                p.add_(g, alpha=0.5)
    return [value.item(), *means.tolist(), *log_std.tolist(), *F.softmax(weights, 0).tolist()]


@program
def langevin_dynamics() -> list[float]:
    x = torch.tensor([2.0, -1.0]).double()
    noise = wave(25, 2)
    for kick in noise:
        x = x.detach().requires_grad_(True)
        energy = (x**4 / 4 - x**2 / 2).sum() + 0.5 * x.prod()
        energy.backward()
        with torch.no_grad():
            x = x - 0.05 * x.grad + math.sqrt(0.1) * kick
    return x.tolist()  # type: ignore[no-any-return]


@program
def gradient_penalty() -> list[float]:
    w1, w2 = wave(3, 5).requires_grad_(), wave(5, 1, rate=0.8).requires_grad_()
    real, fake = wave(4, 3), wave(4, 3, rate=0.6)
    share = torch.linspace(0.1, 0.9, 4).double()[:, None]
    mixed = (share * real + (1 - share) * fake).requires_grad_(True)
    score = F.leaky_relu(mixed @ w1, 0.2) @ w2
    (gradient,) = torch.autograd.grad(
        outputs=score, inputs=mixed, grad_outputs=torch.ones_like(score), create_graph=True, retain_graph=True
    )
    penalty = ((gradient.norm(2, dim=1) - 1) ** 2).mean()
    loss = score.mean() + 10 * penalty
    loss.backward()
    return [penalty.item(), w1.grad.norm().item(), w2.grad.norm().item()]


@program
def meta_learning() -> list[float]:
    w = torch.tensor([0.5, -0.3], dtype=torch.float64, requires_grad=True)
    outer = optim.Adam([w], lr=0.05)
    for _ in range(5):
        outer.zero_grad()
        total: Any = 0.0
        for task in (1.0, 2.0, -1.0):
            x = torch.linspace(-1, 1, 5).double()
            y = task * x + 0.5
            inner = ((w[0] * x + w[1] - y) ** 2).mean()
            (g,) = torch.autograd.grad(inner, w, create_graph=True)
            fast = w - 0.3 * g
            total = total + ((fast[0] * x + fast[1] - y) ** 2).mean()
        total.backward()
        outer.step()
    return [total.item(), *w.tolist()]


@program
def hypergradient() -> list[float]:
    x, y = wave(12, 3), wave(12, rate=0.6)
    log_decay = torch.tensor(-1.0).double().requires_grad_()
    for _ in range(6):
        train, valid = slice(0, 8), slice(8, None)
        A = x[train].T @ x[train] + log_decay.exp() * torch.eye(3).double()
        w = torch.linalg.solve(A, x[train].T @ y[train])
        loss = ((x[valid] @ w - y[valid]) ** 2).mean()
        if log_decay.grad is not None:
            log_decay.grad.zero_()
        loss.backward()
        log_decay.data.sub_(log_decay.grad, alpha=1.0)
    return [loss.item(), log_decay.item(), *w.tolist()]


@program
def hopfield_memory() -> list[float]:
    patterns = torch.sign(wave(3, 10))
    W = patterns.t() @ patterns / 10
    W.fill_diagonal_(0.0)
    state = patterns[0].clone()
    state[:2] *= -1
    before = -0.5 * state @ W @ state
    for _ in range(3):
        state = torch.sign(W @ state + 1e-9)
    soft = wave(10, rate=0.5).requires_grad_()
    energy = -torch.logsumexp(patterns @ soft, 0) + 0.5 * soft.dot(soft)
    (g,) = torch.autograd.grad(energy, soft)
    return [before.item(), (state == patterns[0]).sum().item(), energy.item(), g.norm().item()]


@program
def word_vectors() -> list[float]:
    center, context = (0.5 * wave(6, 3)).requires_grad_(), (0.5 * wave(6, 3, rate=0.7)).requires_grad_()
    pairs = torch.tensor([[0, 1], [1, 2], [2, 3], [4, 5], [1, 0]])
    negatives = torch.tensor([[3, 4], [5, 0], [1, 1], [2, 0], [4, 3]])
    optimizer = optim.SGD([center, context], lr=0.5)
    for _ in range(8):
        v, u = F.embedding(pairs[:, 0], center), F.embedding(pairs[:, 1], context)
        positive = F.logsigmoid((v * u).sum(-1))
        negative = F.logsigmoid(-torch.bmm(context[negatives], v.unsqueeze(2)).squeeze(-1)).sum(1)
        loss = -(positive + negative).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    similarity = F.cosine_similarity(center[0:1], center[1:2])
    return [loss.item(), similarity.item()]


@program
def matrix_factorisation() -> list[float]:
    truth = wave(6, 2) @ wave(2, 5, rate=0.8)
    known = torch.tensor([[(i + 2 * j) % 3 != 0 for j in range(5)] for i in range(6)])
    U, V = (0.3 * wave(6, 2, rate=0.5)).requires_grad_(), (0.3 * wave(5, 2, rate=0.4)).requires_grad_()
    optimizer = optim.Adam([U, V], lr=0.1, weight_decay=1e-3)
    for _ in range(25):
        loss = F.mse_loss((U @ V.T)[known], truth[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [loss.item(), torch.masked_select(U @ V.T - truth, ~known).abs().mean().item()]


@program
def softmax_regression() -> list[float]:
    x, y = wave(15, 4), torch.arange(15) % 3
    W, b = torch.zeros(4, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
    optimizer = optim.SGD([W, b], lr=0.5, momentum=0.9, nesterov=True, weight_decay=1e-3)
    for epoch in range(6):
        for rows in torch.arange(15).split(5):
            loss = F.cross_entropy(x[rows] @ W + b, y[rows], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        for group in optimizer.param_groups:
            group["lr"] = 0.5 * 0.8 ** (epoch + 1)
    predictions = (x @ W + b).argmax(dim=1)
    return [loss.item(), (predictions == y).sum().item(), W.norm().item()]


@program
def kernel_ridge_regression() -> list[float]:
    x, y = wave(8, 2), wave(8, rate=0.5)
    log_width = torch.zeros((), requires_grad=True)

    def kernel(a: Any, b: Any) -> Any:
        return torch.exp(-torch.cdist(a, b).pow(2) * log_width.exp())

    K = kernel(x, x + 0.0) + 0.1 * torch.eye(8)
    alpha = torch.linalg.solve(K, y)
    inverse = torch.linalg.inv(K)
    left_out = (alpha / torch.diagonal(inverse)).pow(2).mean()
    left_out.backward()
    return [left_out.item(), log_width.grad.item(), (kernel(x[:1] + 0.1, x) @ alpha).item()]


@program
def kalman_filter_likelihood() -> list[float]:
    log_q, log_r = torch.tensor(-1.0).double().requires_grad_(), torch.tensor(0.0).double().requires_grad_()
    A, H = torch.tensor([[1.0, 0.1], [0.0, 1.0]]).double(), torch.tensor([[1.0, 0.0]]).double()
    x, P = torch.zeros(2, 1).double(), torch.eye(2).double()
    total = torch.zeros(()).double()
    for z in wave(10):
        x, P = A @ x, A @ P @ A.T + log_q.exp() * torch.eye(2)
        innovation = z - (H @ x).squeeze()
        S = (H @ P @ H.mT + log_r.exp()).squeeze()
        gain = P @ H.T / S
        x, P = x + gain * innovation, (torch.eye(2) - gain @ H) @ P
        total = total - 0.5 * (torch.log(2 * torch.pi * S) + innovation**2 / S)
    total.backward()
    return [total.item(), log_q.grad.item(), log_r.grad.item()]


@program
def hidden_markov_model() -> list[float]:
    start, moves, emissions = (v.requires_grad_() for v in (wave(3), wave(3, 3, rate=0.7), wave(3, 4, rate=0.6)))
    seen = [0, 2, 1, 3, 3, 0]
    log_start, log_moves = F.log_softmax(start, dim=0), F.log_softmax(moves, dim=1)
    log_emissions = F.log_softmax(emissions, dim=1)
    alpha = log_start + log_emissions[:, seen[0]]
    for symbol in seen[1:]:
        alpha = torch.logsumexp(alpha.unsqueeze(1) + log_moves, dim=0) + log_emissions[:, symbol]
    value = torch.logsumexp(alpha, dim=0)
    (expected,) = torch.autograd.grad(value, log_emissions, retain_graph=True)
    value.backward()
    return [value.item(), *expected.sum(1).tolist(), start.grad[0].item(), moves.grad[1, 2].item()]


@program
def alignment_of_labels() -> list[float]:
    logits = wave(8, 4).requires_grad_()
    labels = [0, 1, 0, 2, 0, 2, 0]
    log_probabilities = F.log_softmax(logits, dim=-1)
    never = torch.tensor(float("-inf")).double()
    alpha = [log_probabilities[0, labels[s]] if s < 2 else never for s in range(len(labels))]
    for t in range(1, 8):
        following = []
        for s, label in enumerate(labels):
            parts = [alpha[s]] + ([alpha[s - 1]] if s else [])
            if s > 1 and label and label != labels[s - 2]:
                parts.append(alpha[s - 2])
            finite = [part for part in parts if part.item() > -math.inf]
            following.append(torch.logsumexp(torch.stack(finite), 0) + log_probabilities[t, label] if finite else never)
        alpha = following
    loss = -torch.logaddexp(alpha[-1], alpha[-2])
    loss.backward()
    return [loss.item(), logits.grad.norm().item(), *logits.grad.sum(1).abs().max().round(decimals=12).reshape(1).tolist()]


@program
def spline_fit() -> list[float]:
    knots = torch.linspace(0, 1, 6).double()
    x = torch.linspace(0.02, 0.98, 25).double()
    y = torch.sin(6 * x)
    values = torch.zeros(6, requires_grad=True)

    def spline(at: Any) -> Any:
        interval = torch.clamp((at * 5).floor().long(), 0, 4)
        share = at * 5 - interval.double()
        return values[interval] * (1 - share) + values[interval + 1] * share

    optimizer = optim.Adam([values], lr=0.2)
    for _ in range(30):
        bend = (values[2:] - 2 * values[1:-1] + values[:-2]).pow(2).sum()
        loss = F.mse_loss(spline(x), y) + 1e-3 * bend
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [loss.item(), *values.tolist(), knots[1].item()]


@program
def huber_regression() -> list[float]:
    x = torch.linspace(-1, 1, 15).double()
    y = 2 * x + 1 + 0.1 * wave(15)
    y[3] += 8.0
    y[-2] -= 6.0
    theta = torch.zeros(2, requires_grad=True)
    optimizer = optim.SGD([theta], lr=0.3, momentum=0.5)
    for _ in range(40):
        loss = F.huber_loss(theta[0] * x + theta[1], y, delta=0.5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    squares = torch.linalg.lstsq(torch.stack([x, torch.ones_like(x)], dim=1), y.unsqueeze(1)).solution
    return [loss.item(), *theta.tolist(), *squares.flatten().tolist()]


@program
def lagrange_multipliers() -> list[float]:
    z = torch.tensor([1.0, 0.5, 0.1]).double()

    def lagrangian(z: Any) -> Any:
        x, y, multiplier = z
        return x + 2 * y + multiplier * (x**2 + y**2 - 1)

    for _ in range(8):
        z.requires_grad_(True)
        (g,) = torch.autograd.grad(lagrangian(z), z, create_graph=True)
        H = torch.stack([torch.autograd.grad(g[i], z, retain_graph=True)[0] for i in range(3)])
        z = (z - torch.linalg.solve(H, g)).detach()
    return z.tolist()  # type: ignore[no-any-return]


@program
def contrastive_learning() -> list[float]:
    w = wave(4, 3).requires_grad_()
    first, second = wave(6, 4), wave(6, 4) + 0.1 * wave(6, 4, rate=0.3)
    a, b = F.normalize(first @ w, dim=-1), F.normalize(second @ w, dim=-1)
    logits = a @ b.t() / 0.2
    targets = torch.arange(6)
    loss = (F.cross_entropy(logits, targets) + F.cross_entropy(logits.t(), targets)) / 2
    triplet = F.triplet_margin_loss(a, b, b.roll(1, 0))
    (loss + triplet).backward()
    return [loss.item(), triplet.item(), w.grad.norm().item()]


@program
def distillation() -> list[float]:
    teacher, student = wave(4, 5), wave(4, 5, rate=0.7).requires_grad_()
    soft = F.kl_div(F.log_softmax(student / 2, dim=1), F.softmax(teacher / 2, dim=1), reduction="batchmean") * 4
    hard = F.nll_loss(F.log_softmax(student, dim=1), teacher.argmax(1))
    (0.7 * soft + 0.3 * hard).backward()
    return [soft.item(), hard.item(), student.grad.norm().item()]


@program
def fisher_information() -> list[float]:
    theta = torch.tensor([0.3, -0.2]).double().requires_grad_()
    x = wave(6, 2)
    scores = []
    for row in x:
        log_likelihood = F.logsigmoid(row @ theta)
        scores.append(torch.autograd.grad(log_likelihood, theta)[0])
    G = torch.stack(scores)
    fisher = G.T @ G / len(x)
    loss = -F.logsigmoid(x @ theta).mean()
    (g,) = torch.autograd.grad(loss, theta)
    natural = torch.linalg.solve(fisher + 1e-3 * torch.eye(2), g)
    return [loss.item(), *natural.tolist(), torch.linalg.eigvalsh(fisher).min().item()]


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    with quiet():
        yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_are_pytorch_s(name: str) -> None:
    recorded = json.loads(RECORDS.read_text(encoding="utf-8"))[name]
    assert PROGRAMS[name]() == pytest.approx(recorded, rel=1e-9, abs=1e-11)


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    RECORDS.write_text(json.dumps({name: each() for name, each in PROGRAMS.items()}, indent=1) + "\n", encoding="utf-8")
