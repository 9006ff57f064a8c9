"""In-place changes between a transformation and the backward pass: an error, or the gradient without the change."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any

import pytest

from tests.behaviour import leaf, torch

func: Any = import_module(f"{torch.__name__}.func")
functional: Any = import_module(f"{torch.__name__}.autograd.functional")

Function = Callable[[Any], Any]
Program = Callable[[Function, Any, Any], Any]
"""A program computes a tensor from a function, its argument and a vector of the same shape."""


class Square(torch.autograd.Function):  # type: ignore[misc,name-defined]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 * x


PROGRAMS: dict[str, Program] = {
    "grad": lambda f, x, v: func.grad(lambda z: f(z).sum())(x),
    "grad_and_value": lambda f, x, v: torch.cat([t.reshape(-1) for t in func.grad_and_value(lambda z: f(z).sum())(x)]),
    "jacrev": lambda f, x, v: func.jacrev(f)(x),
    "jacrev in chunks": lambda f, x, v: func.jacrev(f, chunk_size=1)(x),
    "jacfwd": lambda f, x, v: func.jacfwd(f)(x),
    "hessian": lambda f, x, v: func.hessian(lambda z: f(z).sum())(x),
    "vjp": lambda f, x, v: func.vjp(f, x)[1](v)[0],
    "jvp": lambda f, x, v: func.jvp(f, (x,), (v,))[1],
    "vmap": lambda f, x, v: func.vmap(lambda z, w: f(z) * w)(x, v),
    "vmap of grad": lambda f, x, v: func.vmap(func.grad(lambda z: (f(z) * v).sum()))(x),
    "vmap of jvp": lambda f, x, v: func.vmap(lambda z, w: func.jvp(f, (z,), (w,))[1])(x, v),
    "grad of vmap": lambda f, x, v: func.grad(lambda z: (func.vmap(f)(z) * v).sum())(x),
    "grad of grad": lambda f, x, v: func.grad(lambda z: (func.grad(lambda w: f(w).sum())(z) * v).sum())(x),
    "jacfwd of jacfwd": lambda f, x, v: func.jacfwd(func.jacfwd(lambda z: f(z).sum()))(x),
    "jacrev of jacfwd": lambda f, x, v: func.jacrev(func.jacfwd(lambda z: f(z).sum()))(x),
    "jvp of grad": lambda f, x, v: func.jvp(func.grad(lambda z: f(z).sum()), (x,), (v,))[1],
    "functional.jacobian": lambda f, x, v: functional.jacobian(f, x, create_graph=True),
    "functional.vjp": lambda f, x, v: functional.vjp(f, x, v, create_graph=True)[1],
    "functional.jvp": lambda f, x, v: functional.jvp(f, x, v, create_graph=True)[1],
    "functional.hvp": lambda f, x, v: functional.hvp(lambda z: f(z).sum(), x, v, create_graph=True)[1],
}
CHANGES: tuple[Callable[[Any], Any], ...] = (
    lambda x: x.mul_(1.5),
    lambda x: x.copy_(x + 0.25),
    lambda x: x[:1].add_(0.5),
    lambda x: x.detach().sub_(0.5),
    lambda x: x.__setitem__(0, 2.0),
)


def drawn(random: Random, captured: Any) -> Function:
    """Return a random elementwise function of a vector, which also uses a captured tensor."""
    chosen = [random.choice((torch.sin, torch.tanh, torch.exp, lambda z: z * z, lambda z: z * captured)) for _ in range(3)]

    def function(z: Any) -> Any:
        value = z * captured.sum() if random_start else z
        for step in chosen:
            value = step(value)
        return value * z

    random_start = random.random() < 0.5
    return function


def gradient(name: str, seed: int, change: bool) -> tuple[Any, ...] | None:
    """Return the gradients of a drawn program; ``None`` if the backward pass notices the change."""
    random = Random(f"{name} {seed}")
    given = [leaf([random.uniform(-1.0, 1.0) for _ in range(3)]) for _ in range(3)]
    x, v, captured = (one * 1.0 if random.random() < 0.7 else one.detach().clone() for one in given)
    result = PROGRAMS[name](drawn(random, captured), x, v)
    changed, how = random.choice((x, x, v, captured)), random.choice(CHANGES)
    if change:
        with torch.no_grad():
            how(changed)
    if not result.requires_grad:
        return ()
    try:
        return tuple(torch.autograd.grad((result * result).sum(), given, allow_unused=True))
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return None


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_change_before_the_backward_pass_is_noticed_or_harmless(name: str) -> None:
    noticed = 0
    for seed in range(24):
        expected, found = gradient(name, seed, change=False), gradient(name, seed, change=True)
        assert expected is not None
        if found is None:
            noticed += 1
            continue
        for one, other in zip(expected, found, strict=True):
            assert (one is None) == (other is None), seed
            assert one is None or torch.allclose(one, other, rtol=1e-12, atol=1e-12), seed
    assert noticed, "no change was noticed: the programs do not test anything"


def test_a_saved_input_of_a_custom_function_that_was_detached_in_place() -> None:
    x = leaf([0.5, 2.0])
    before = x * 3
    after = Square.apply(before)
    before.detach_()
    after.sum().backward()
    assert x.grad.tolist() == [9.0, 36.0]
