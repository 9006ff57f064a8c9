"""Random autograd programs: a list of statements over the names ``x0``, ``x1``, ...

In a template, ``{u}`` is one of the latest tensors, ``{v}`` any tensor and ``{w}`` the new name.  ``R`` records its arguments.
"""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.sections import sections

SHAPES = ((2, 3), (3,), (), (2, 3), (3, 3), (1, 3), (0,))

ARITHMETIC = ("{w} = {u} + {v}", "{w} = {u} - {v}", "{w} = {u} * {v}")

ELEMENTWISE = tuple(
    f"{{w}} = {{u}}.{name}()" for name in ("sin", "exp", "tanh", "relu", "abs", "neg", "sigmoid", "square", "cos", "clone")
)

_TEMPLATES = sections(Path(__file__).with_name("templates.txt"))
VIEWS, OTHERS, IN_PLACE, HOOKS, DERIVATIVES = _TEMPLATES.values()

MODES = ("torch.no_grad()", "torch.no_grad()", "torch.enable_grad()", "torch.inference_mode()", "packed()")

PARTS = (
    (ELEMENTWISE, 0.15),
    (ARITHMETIC, 0.15),
    (VIEWS, 0.15),
    (OTHERS, 0.12),
    (IN_PLACE, 0.2),
    (HOOKS, 0.08),
    (DERIVATIVES, 0.15),
)

HELPERS = """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, g):
        R(g.detach())
        return g * 2

class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.mark_dirty(a)
        return a.mul_(3)
    @staticmethod
    def backward(ctx, g):
        return g * 3

class Saved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b.sum()
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        R(ctx.needs_input_grad)
        return (g * b.sum() if ctx.needs_input_grad[0] else None,
                ((g * a).sum() * torch.ones_like(b)) if ctx.needs_input_grad[1] else None)

def packed():
    return torch.autograd.graph.saved_tensors_hooks(lambda a: (R(list(a.shape)), a)[1], lambda a: a)

def dual(u, v):
    ad = torch.autograd.forward_ad
    with ad.dual_level():
        a = ad.make_dual(u.detach(), v.detach())
        return ad.unpack_dual((a * a).sin()).tangent
"""
"""What every program may use: custom functions, hooks of saved tensors, forward mode."""


class _Names(NamedTuple):
    """The tensors of a program so far."""

    all: list[str]

    def new(self) -> str:
        return f"x{len(self.all)}"


def program(seed: int) -> list[str]:
    """The program of this number: 5 to 14 statements."""
    random = Random(seed)
    names = _Names([])
    lines = [_leaf(random, names), _leaf(random, names)]
    for _ in range(random.randint(3, 12)):
        lines.append(_leaf(random, names) if random.random() < 0.05 else _statement(random, names))
    return lines


def _leaf(random: Random, names: _Names) -> str:
    shape = random.choice(SHAPES)
    requires = random.random() < 0.7
    name = names.new()
    names.all.append(name)
    values = ", ".join(f"{random.uniform(-2, 2):.2f}" for _ in range(math.prod(shape)))
    # A copy, because PyTorch loses the gradient of a leaf that is a view of another tensor when the leaf is changed.
    return f"{name} = torch.tensor([{values}], dtype=torch.float64).reshape({list(shape)}).clone().requires_grad_({requires})"


def _statement(random: Random, names: _Names) -> str:
    (part,) = random.choices([part for part, _ in PARTS], [weight for _, weight in PARTS])
    template = random.choice(part)
    u, v, w = random.choice(names.all[-4:]), random.choice(names.all), names.new()
    if template.startswith("{w} ="):
        names.all.append(w)
    statement = template.format(u=u, v=v, w=w)
    return f"with {random.choice(MODES)}: {statement}" if random.random() < 0.12 else statement
