"""Random autograd programs: a list of statements over the names ``x0``, ``x1``, ...

In a template, ``{u}`` is one of the latest tensors, ``{v}`` any tensor and ``{w}`` the new name.  ``R`` records its arguments.
"""

from __future__ import annotations

import math
from random import Random
from typing import NamedTuple

SHAPES = ((2, 3), (3,), (), (2, 3), (3, 3), (1, 3), (0,))

ARITHMETIC = ("{w} = {u} + {v}", "{w} = {u} - {v}", "{w} = {u} * {v}")

ELEMENTWISE = tuple(
    f"{{w}} = {{u}}.{name}()" for name in ("sin", "exp", "tanh", "relu", "abs", "neg", "sigmoid", "square", "cos", "clone")
)

VIEWS = (
    "{w} = {u}[0]",
    "{w} = {u}[:, 1]",
    "{w} = {u}[1:]",
    "{w} = {u}[..., ::2]",
    "{w} = {u}[None]",
    "{w} = {u}.t()",
    "{w} = {u}.T",
    "{w} = {u}.view(-1)",
    "{w} = {u}.view_as({u})",
    "{w} = {u}.reshape(-1)",
    "{w} = {u}.flatten()",
    "{w} = {u}.transpose(0, 1)",
    "{w} = {u}.permute(1, 0)",
    "{w} = {u}.movedim(0, -1)",
    "{w} = {u}.unsqueeze(0)",
    "{w} = {u}.squeeze()",
    "{w} = {u}.expand(2, 3)",
    "{w} = {u}.expand_as({v})",
    "{w} = {u}.unbind()[0]",
    "{w} = {u}.unbind()[1]",
    "{w} = {u}.split(1)[0]",
    "{w} = {u}.chunk(2)[1]",
    "{w} = {u}.diagonal()",
    "{w} = {u}.detach()",
    "{w} = {u}.narrow(0, 0, 1)",
    "{w} = {u}.select(0, 0)",
    "{w} = {u}.unfold(0, 2, 1)",
)

OTHERS = (
    "{w} = {u}.sum()",
    "{w} = {u}.sum(0)",
    "{w} = {u}.mean()",
    "{w} = {u}.mean(-1, keepdim=True)",
    "{w} = {u}.max()",
    "{w} = {u}.max(0)[0]",
    "{w} = {u}.min(-1).values",
    "{w} = {u}.prod()",
    "{w} = {u}.var()",
    "{w} = {u}.norm()",
    "{w} = {u}.logsumexp(-1)",
    "{w} = {u}.softmax(-1)",
    "{w} = {u}.cumsum(0)",
    "{w} = {u}.sort()[0]",
    "{w} = {u}[[0, 1]]",
    "{w} = {u}[{u} > 0]",
    "{w} = {u}.masked_fill({u} > 0, 1.0)",
    "{w} = {u}.gather(0, torch.tensor([0]))",
    "{w} = {u}.index_select(0, torch.tensor([0, 0]))",
    "{w} = {u}.clamp(-1, 1)",
    "{w} = {u}.flip(0)",
    "{w} = {u}.roll(1)",
    "{w} = {u}.repeat(2)",
    "{w} = {u}.triu()",
    "{w} = {u}.pow(3)",
    "{w} = 2.0 ** {u}",
    "{w} = {u} / {v}",
    "{w} = {u} @ {v}",
    "{w} = torch.where({u} > 0, {u}, {v})",
    "{w} = torch.stack([{u}, {v}])",
    "{w} = torch.cat([{u}, {v}])",
    "{w} = torch.lerp({u}, {v}, 0.5)",
    "{w} = torch.einsum('...i,...i->...', {u}, {v})",
    "{w} = torch.atan2({u}, {v})",
    "{w} = torch.maximum({u}, {v})",
    "{w} = {u}.float().double()",
    "{w} = {u}.to(torch.float32)",
    "{w} = ({u} > 0).double()",
    "{w} = {u}.detach().long()",
    "{w} = Twice.apply({u})",
    "{w} = InPlace.apply({u})",
    "{w} = Saved.apply({u}, {v})",
    "{w} = torch.utils.checkpoint.checkpoint(lambda a: (a * a).sin(), {u}, use_reentrant=False)",
    "{w} = torch.no_grad()(lambda a: a * 2)({u})",
    "{w} = torch.enable_grad()(lambda a: a * 2)({u})",
)

IN_PLACE = (
    "{u}.add_({v})",
    "{u}.sub_({v})",
    "{u}.mul_(2)",
    "{u}.div_({v})",
    "{u}.pow_(2)",
    "{u} += {v}",
    "{u} *= 2",
    "{u}.sin_()",
    "{u}.exp_()",
    "{u}.tanh_()",
    "{u}.relu_()",
    "{u}.clamp_(-1, 1)",
    "{u}.zero_()",
    "{u}.fill_(3.0)",
    "{u}.fill_({v})",
    "{u}.copy_({v})",
    "{u}[0] = {v}",
    "{u}[0] = 1.0",
    "{u}[:, 0] = 5.0",
    "{u}[{u} > 0] = 0.0",
    "{u}[[0]] = {v}",
    "{u}.masked_fill_({u} > 0, 0.5)",
    "{u}.index_fill_(0, torch.tensor([0]), 2.0)",
    "{u}.t_()",
    "{u}.transpose_(0, 1)",
    "{u}.unsqueeze_(0)",
    "{u}.squeeze_()",
    "{u}.detach_()",
    "{u}.requires_grad_()",
    "{u}.requires_grad_(False)",
    "{u}.requires_grad = True",
    "{u}.data.mul_(2)",
    "{u}.data = {v}.data",
    "{u}.detach().add_(1)",
)

HOOKS = (
    "{u}.retain_grad()",
    "{u}.register_hook(lambda g: g * 2)",
    "{u}.register_hook(lambda g: R(g.detach()))",
    "{u}.register_post_accumulate_grad_hook(lambda p: R(p.grad))",
    "{u}.grad_fn.register_hook(lambda gi, go: R(len(gi), len(go)))",
    "{u}.grad_fn.register_prehook(lambda go: R(len(go)))",
    "torch.autograd.graph.register_multi_grad_hook([{u}, {v}], lambda gs: R([None if g is None else g.detach() for g in gs]))",
    "torch.autograd.graph.register_multi_grad_hook([{u}, {v}], lambda g: R(g.detach()), mode='any')",
)

DERIVATIVES = (
    "{u}.sum().backward()",
    "{u}.sum().backward(retain_graph=True)",
    "{u}.sum().backward(create_graph=True)",
    "{u}.sum().backward(inputs=[{v}])",
    "{u}.backward()",
    "{u}.backward(torch.ones_like({u}))",
    "{u}.backward({v}.detach())",
    "R(torch.autograd.grad({u}.sum(), {v}))",
    "R(torch.autograd.grad({u}.sum(), {v}, allow_unused=True))",
    "R(torch.autograd.grad({u}.sum(), {v}, retain_graph=True, allow_unused=True))",
    "R(torch.autograd.grad({u}.sum(), {v}, materialize_grads=True))",
    "R(torch.autograd.grad({u}.sum(), torch.autograd.graph.get_gradient_edge({v}), retain_graph=True))",
    "torch.autograd.backward(torch.autograd.graph.get_gradient_edge({u}), torch.ones_like({u}).detach())",
    "{w} = torch.autograd.grad({u}.sum(), {v}, create_graph=True)[0]",
    "R(torch.autograd.grad(torch.autograd.grad({u}.sum(), {v}, create_graph=True)[0].sum(), {v}, allow_unused=True))",
    "{u}.grad = None",
    "{u}.grad.zero_()",
    "{u}.grad = {v}.detach()",
    "{w} = {u}.grad",
    "{w} = torch.autograd.functional.jacobian(lambda a: (a * a).sin(), {u})",
    "R(torch.autograd.functional.hvp(lambda a: (a * a).sin().sum(), {u}, torch.ones_like({u}).detach()))",
    "R(torch.autograd.functional.vjp(lambda a: a.exp().sum(), {u}))",
    "{w} = torch.func.grad(lambda a: (a * a).sum())({u})",
    "R(torch.func.jvp(torch.sin, ({u}.detach(),), (torch.ones_like({u}).detach(),)))",
    "{w} = torch.func.jacrev(torch.tanh)({u})",
    "{w} = torch.func.vmap(lambda a: a * 2)({u})",
    "R(dual({u}, {v}))",
)

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
