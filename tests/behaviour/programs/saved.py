"""Saved tensors: what nodes save and under which names, and the hooks that store the values in another form."""

import gc
import tempfile
import threading
import weakref
from pathlib import Path

from tests.behaviour import Function, const, leaf, quiet, torch

autograd = torch.autograd
graph = autograd.graph
hooks = graph.saved_tensors_hooks


class Cube(Function):
    def forward(ctx, x, save=True):
        out = x**3
        if save:
            ctx.save_for_backward(x, None, out)
        return out

    def backward(ctx, g):
        x, nothing, _ = ctx.saved_tensors
        assert nothing is None
        return 3 * x**2 * g, None


class Log:
    """A pair of hooks that keep the tensors and note what they see."""

    def __init__(self, packed=1.0, unpacked=1.0):
        self.packs = []
        self.unpacks = []
        self.factors = packed, unpacked

    def pack(self, tensor):
        self.packs.append(tensor.tolist())
        return tensor.detach() * self.factors[0]

    def unpack(self, packed):
        self.unpacks.append(packed.tolist())
        return packed * self.factors[1]

    def on(self):
        return hooks(self.pack, self.unpack)


class Kept:
    """A packed value that a weak reference can refer to."""

    def __init__(self, x):
        self.x = x.detach()


def same(x):
    return x


def doubled(x):
    return x * 2


def keeping():
    """Hooks that change nothing."""
    return hooks(same, same)

## saved tensors have these names
x, y = leaf([[2.0, 0.5], [0.5, 1.0]]), leaf([[1.0, 2.0], [3.0, 4.0]])
F = torch.nn.functional
def saved(out, *names):
    """Whether these are tensors."""
    return all(isinstance(getattr(out.grad_fn, f"_saved_{name}"), torch.Tensor) for name in names)
saved(x.sin(), "self"), saved(x.cos(), "self"), saved(x.log(), "self"), saved(x.abs(), "self"), saved(x.erf(), "self")  # (True, True, True, True, True)
saved(x.exp(), "result"), saved(x.sqrt(), "result"), saved(x.rsqrt(), "result"), saved(x.reciprocal(), "result")  # (True, True, True, True)
saved(x.tan(), "result"), saved(x.tanh(), "result"), saved(x.sigmoid(), "result"), saved(x.relu(), "result")  # (True, True, True, True)
saved(x * y, "self", "other"), saved(x / y, "self", "other"), saved(torch.atan2(x, y), "self", "other")  # (True, True, True)
saved(x**y, "self", "exponent", "result"), saved(2**x, "exponent", "result"), saved(x**3, "self")  # (True, True, True)
saved(x @ y, "self", "mat2"), saved(x @ y[0], "self", "vec"), saved(x[0].dot(y[0]), "self", "tensor")  # (True, True, True)
saved(torch.bmm(x[None], y[None]), "self", "mat2")  # True
saved(x.softmax(0), "result"), saved(x.log_softmax(0), "result"), saved(x.logsumexp(0), "self", "result")  # (True, True, True)
saved(x.amax(0), "self", "result"), saved(x.max(), "self", "result"), saved(x.max(0).values, "indices")  # (True, True, True)
saved(x.sort().values, "indices"), saved(torch.maximum(x, y), "self", "other"), saved(torch.where(x > 1, x, y), "condition")  # (True, True, True)
saved(x.gather(0, torch.tensor([[0, 1]])), "index"), saved(x.index_select(0, torch.tensor([1])), "index")  # (True, True)
saved(x.cumprod(0), "self", "result"), saved(x.std(), "self", "result"), saved(x.norm(), "self", "result")  # (True, True, True)
saved(torch.linalg.inv(x), "inverse"), saved(torch.linalg.cholesky(x), "L"), saved(F.mse_loss(x, y), "self", "target")  # (True, True, True)
saved(F.softplus(x), "self"), saved(x.clamp(0, 1), "self")  # (True, True)

## other saved values have these names
x = leaf([[1.0, 2.0], [3.0, 4.0]])
(x**3).grad_fn._saved_exponent  # 3
(2**x).grad_fn._saved_self  # 2
x.sum().grad_fn._saved_self_sym_sizes, x.mean().grad_fn._saved_self_sym_sizes  # ((2, 2), (2, 2))
x.mean().grad_fn._saved_self_sym_numel  # 4
x.sum(0).grad_fn._saved_dim  # (0,)
x.softmax(0).grad_fn._saved_dim  # 0
torch.stack([x, x], dim=1).grad_fn._saved_dim  # 1
x.view(4).grad_fn._saved_self_sym_sizes  # (2, 2)
x[1].grad_fn._saved_index, x[1:].grad_fn._saved_start, x[:1].grad_fn._saved_end  # (1, 1, 1)
x.clamp(0, 1).grad_fn._saved_max  # 1

## a number is saved as a tensor
other = (leaf([1.0, 2.0]) * 3).grad_fn._saved_other
isinstance(other, torch.Tensor)  # True
other  # 3

## an index is saved as tensors
x = leaf([[1.0, 2.0], [3.0, 4.0]])
saved = x[:, torch.tensor([0, 1])].grad_fn._saved_indices
saved[0], saved[1]  # (None, [0, 1])

## a saved input is the tensor itself, and an output is not
a = leaf([1.0, 2.0])
b = a * a
c, d = a * b, a.exp()
b.grad_fn._saved_self is a, b.grad_fn._saved_other is a, c.grad_fn._saved_other is b  # (True, True, True)
saved = d.grad_fn._saved_result
torch.equal(saved, d), saved is d, saved.grad_fn is d.grad_fn  # (True, False, True)

## a value that no derivative needs is None
node = (leaf([1.0]) * const([2.0])).grad_fn
node._saved_self, node._saved_other  # (None, [2.0])

## an unknown name is an AttributeError
node = leaf(1.0).sin().grad_fn
node._saved_foo  # AttributeError: 'SinBackward0' object has no attribute '_saved_foo'...
node._saved_exponent  # AttributeError: 'SinBackward0' object has no attribute '_saved_exponent'...

## saved values are freed by backward but sizes are not
x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
out = x * y
together = torch.stack([x, y])
out.sum().backward()
together.sum().backward()
out.grad_fn._saved_self  # RuntimeError: ...after they have already been freed...
together.grad_fn._saved_dim  # 0

## a saved input that changed cannot be looked at
x = leaf([1.0, 2.0]).clone()
y = x.sin()
x.mul_(2)
y.grad_fn._saved_self  # RuntimeError: ...modified by an inplace operation...

## a saved output shares the version of the output
b = leaf([1.0, 2.0]).exp()
saved = b.grad_fn._saved_result
b._version, saved._version  # (0, 0)
with torch.no_grad():
    b += 1
    b += 1
torch.equal(saved, b), b._version, saved._version  # (True, 2, 2)
b.sum().backward()  # RuntimeError: ...is at version 2; expected version 0 instead...

## errors of hooks
a = leaf([1.0])
with hooks(1, 2): pass  # TypeError: ...incompatible function arguments...
with hooks(same, lambda x: 1): y = a * a
y.grad_fn._saved_self  # TypeError: Output of saved tensor unpack_hook expected to be a Tensor but got result of type int
y.sum().backward()  # TypeError: Output of saved tensor unpack_hook expected to be a Tensor but got result of type int

## a pack hook must not change its input
def change(x):
    x *= 2
    return x
a = leaf([1.0, 2.0])
with hooks(change, same): a.exp()  # RuntimeError: A saved tensor pack hook is modifying its input in place....
with hooks(change, same): a.sin()  # RuntimeError: A saved tensor pack hook is modifying its input in place....

## hooks in a block run once for each saved value
log = Log()
a = leaf([1.0, 2.0])
with log.on():
    y = a * a
    log.packs  # [[1.0, 2.0], [1.0, 2.0]]
a.sin()
len(log.packs)  # 2
log.unpacks  # []
y.sum().backward()
len(log.unpacks)  # 2
a.grad  # [2.0, 4.0]

## the order of packing
def order(make):
    log, x, y = Log(), leaf([2.0]), leaf([3.0])
    with log.on():
        out = make(x, y)
    packs = list(log.packs)
    out.sum().backward()
    return packs, log.unpacks
order(lambda x, y: x * y)  # ([[3.0], [2.0]], [[3.0], [2.0]])
order(lambda x, y: x * y.detach())  # ([[3.0]], [[3.0]])
order(lambda x, y: x * 3)  # ([], [])
order(lambda x, y: (x + y).sum() - 1)  # ([], [])
order(lambda x, y: x**y)  # ([[3.0], [2.0], [8.0]], [[3.0], [2.0], [8.0]])
order(lambda x, y: (x + 4).relu())  # ([[6.0]], [[6.0]])
order(lambda x, y: x.view(1, 1)[0].t())  # ([], [])
order(lambda x, y: x @ y)  # ([[2.0], [3.0]], [[2.0], [3.0]])

## a pack hook sees the history and runs without recording
seen = []
def pack(x):
    seen.append((x.is_leaf, x.requires_grad, torch.is_grad_enabled(), (x * 2).requires_grad))
    return x.detach()
a = leaf([1.0])
with hooks(pack, same):
    (a * 2).sin().exp()
    a.cos()
seen  # [(False, True, False, False), (False, True, False, False), (True, True, False, False)]

## an unpack hook runs in the mode of the backward pass
modes = []
def unpack(x):
    modes.append(torch.is_grad_enabled())
    return x
a = leaf([1.0])
with hooks(same, unpack): y = a.sin().sum()
autograd.grad(y, a, retain_graph=True)
autograd.grad(y, a, create_graph=True)
modes  # [False, True]

## the backward pass uses what the hooks return
def used(packed, unpacked):
    a = leaf([1.0, 3.0])
    with Log(packed, unpacked).on():
        y = a * a
        saved = y.grad_fn._saved_self
        y.sum().backward()
    return saved, a.grad
used(1.0, 1.0)  # ([1.0, 3.0], [2.0, 6.0])
used(2.0, 0.5)  # ([1.0, 3.0], [2.0, 6.0])
used(2.0, 1.0)  # ([2.0, 6.0], [4.0, 12.0])

## the innermost pair is used
a, b = leaf([1.0]), leaf([1.0])
with Log(3.0, 3.0).on():
    with Log(5.0, 5.0).on(): y = a * a
    z = b * b
y.sum().backward()
z.sum().backward()
a.grad, b.grad  # ([50.0], [18.0])

## hooks and derivatives of order two
a = leaf([1.0, 2.0])
with Log(2.0).on(): y = (a**3).sum()
(g,) = autograd.grad(y, a, create_graph=True)
autograd.grad(g.sum(), a)  # ([12.0, 24.0],)
y = (a**3).sum()
with Log(2.0).on():
    (g,) = autograd.grad(y, a, create_graph=True)
    autograd.grad(g.sum(), a)  # ([24.0, 48.0],)
    y = (a**3).sum()
    (g,) = autograd.grad(y, a, create_graph=True)
    autograd.grad(g.sum(), a)  # ([48.0, 96.0],)

## retain_graph unpacks again, and freeing drops the packed values
packed, unpacks = [], []
def pack(x):
    kept = Kept(x)
    packed.append(weakref.ref(kept))
    return kept
def unpack(kept):
    unpacks.append(1)
    return kept.x
with hooks(pack, unpack): y = leaf([1.0]).sin()
y.sum().backward(retain_graph=True)
packed[0]() is None  # False
y.sum().backward()
len(unpacks)  # 2
gc.collect()
packed[0]()  # None
y.sum().backward()  # RuntimeError: Trying to backward through the graph a second time...
with hooks(pack, unpack): y = leaf([1.0]).sin().exp()
[reference() is None for reference in packed]  # [True, False, False]
del y
[reference() is None for reference in packed]  # [True, True, True]

## an unpacked leaf is a leaf with the same accumulator
a = leaf([2.0])
with Log().on(): y = a * a
saved = y.grad_fn._saved_self
saved is a, saved.is_leaf, saved.requires_grad  # (False, True, True)
(saved * 3).sum().backward()
a.grad, saved.grad  # ([3.0], None)

## a constant is returned as it is
b = const([2.0])
with keeping(): y = leaf([1.0]) * b
y.grad_fn._saved_other is b  # True

## a packed input may change afterwards
a = leaf([1.0, 2.0])
b = a * 1
with hooks(lambda x: x.detach().clone(), same): y = b.sin()
b.mul_(0)
y.sum().backward()
torch.equal(a.grad, a.detach().cos())  # True

## the unpacked tensor does not share the version of the saved tensor
a = leaf([1.0, 2.0])
replacement = a.clone()
class Changing(Function):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        x.add_(1)
        return g
with hooks(lambda x: replacement, same): y = Changing.apply(a)
y.sum().backward()
a._version  # 0

## an unpacked tensor of another shape or type
a = leaf([1.0, 2.0])
with hooks(same, lambda x: const([1.0, 2.0, 3.0])): y = a.sin()
y.sum().backward()  # RuntimeError: ...
with hooks(same, lambda x: None): y = a.sin()
y.sum().backward()  # TypeError: ...got result of type NoneType
with hooks(same, lambda x: x.float()): y = a.sin()
y.sum().backward()
a.grad.dtype  # torch.float64
torch.allclose(a.grad, a.detach().cos(), atol=1e-6)  # True

## errors of hooks come through
class Boom(Exception): pass
def fails(x): raise Boom("here")
a = leaf(1.0)
with hooks(fails, same): a.sin()  # Boom: here
with hooks(same, fails): y = a.sin()
y.backward()  # Boom: here
a.sin().backward()
a.grad is None  # False

## hooks can be inherited from
class Halved(hooks):
    def __init__(self): super().__init__(lambda x: x.detach() / 2, lambda x: x * 2)
a = leaf([3.0])
with Halved(): y = a.sin()
y.sum().backward()
torch.allclose(a.grad, a.detach().cos())  # True

## hooks belong to the thread
log = Log()
a = leaf([1.0])
with log.on():
    thread = threading.Thread(target=lambda: (a * a).sum().backward())
    thread.start()
    thread.join()
    log.packs  # []
    a.sin()
len(log.packs)  # 1

## hooks entered while unpacking do not stay
def scope():
    def unpack(x):
        entered().__enter__()
        return x
    made = hooks(same, unpack)
    entered = weakref.ref(made)
    with made:
        leaf([1.0]).sin().sum().backward()
    return weakref.ref(unpack)
gc.collect()
scope()()  # None

## hooks apply to operations in place
log = Log()
a = leaf([1.0, 2.0])
with log.on():
    b = a * 1
    b.mul_(b.detach())
log.packs  # [[1.0, 2.0]]
b.sum().backward()
a.grad  # [1.0, 2.0]

## several outputs
a = leaf([3.0, 1.0, 2.0])
with keeping(): values, order = a.sort()
(values * const([1.0, 10.0, 100.0])).sum().backward()
a.grad, order  # ([100.0, 1.0, 10.0], [1, 2, 0])

## a longer computation under hooks
def derivative(order, hooks):
    x = leaf([0.5, 1.5])
    with hooks:
        y = torch.stack([x.sin(), x.exp() / (1 + x**2), (x * x).sqrt()])
        found = (y.softmax(0) * y.cumsum(0)).pow(2).sum().log()
        for _ in range(order):
            (found,) = autograd.grad(found.sum(), x, create_graph=True)
    return found
def as_lists(): return hooks(lambda x: x.detach().tolist(), const)
derivative(1, keeping())  # ~[0.32430986947147306, 0.8304563900755907]
derivative(1, as_lists())  # ~[0.32430986947147306, 0.8304563900755907]
derivative(2, keeping())  # ~[-0.7031403274113704, 0.2340489830475576]
derivative(2, as_lists())  # ~[-0.7031403274113704, 0.2340489830475576]
derivative(3, keeping())  # ~[2.379091668651198, -0.35797436825646217]
derivative(3, as_lists())  # ~[2.379091668651198, -0.35797436825646217]

## saved tensors of a custom function
log = Log()
a = leaf([2.0])
with log.on(): y = Cube.apply(a)
log.packs  # [[2.0], [8.0]]
y.sum().backward()
log.unpacks, a.grad  # ([[2.0], [8.0]], [12.0])

## a leaf that a custom function made is packed
class Made(Function):
    def forward(ctx, x):
        ctx.save_for_backward(x.exp().clone().detach_().requires_grad_(True))
        return x.exp()
    def backward(ctx, g):
        (saved,) = ctx.saved_tensors
        return g * saved
a = leaf(1.0)
with keeping(): y = Made.apply(a)
y.backward()
a.grad  # ~2.718281828459045

## second derivatives of a custom function under hooks
a = leaf([2.0])
with keeping():
    y = Cube.apply(a)
    (g,) = autograd.grad(y.sum(), a, create_graph=True)
g.sum().backward()
a.grad  # [12.0]

## a saved view that was changed is not kept alive
class InPlace(Function):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x
    def backward(ctx, g): return g
def scope():
    x = leaf(1.0).clone()
    x = x.view_as(x)
    InPlace.apply(x)
    return weakref.ref(x)
gc.collect()
scope()()  # None

## save_on_cpu changes no gradient
def gradients(**options):
    a, b, c = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([5.0, 6.0])
    first = a * b
    with graph.save_on_cpu(**options):
        second = first * c
    (second * a).sum().backward()
    return a.grad, b.grad, c.grad
gradients()  # ([30.0, 96.0], [5.0, 24.0], [3.0, 16.0])
gradients(pin_memory=False)  # ([30.0, 96.0], [5.0, 24.0], [3.0, 16.0])

## disabling hooks
disable = graph.disable_saved_tensors_hooks
with disable("not here"):
    with keeping(): pass  # RuntimeError: not here
    with graph.save_on_cpu(): pass  # RuntimeError: not here
with keeping(): pass
with keeping(), disable("not here"): pass  # RuntimeError: not here
with disable("outer"):
    with disable("inner"), keeping(): pass  # RuntimeError: inner
    with keeping(): pass  # RuntimeError: outer

## hooks write to disk
folder = tempfile.TemporaryDirectory()
def pack(x):
    path = Path(folder.name, f"{len(list(Path(folder.name).iterdir()))}.txt")
    path.write_text(repr(x.tolist()))
    return path
def unpack(path): return const([float(number) for number in path.read_text().strip("[]").split(", ")])
a, b = leaf([0.5, 1.5]), leaf([0.5, 1.5])
with hooks(pack, unpack): y = (a.sin() * a.exp()).sqrt()
len(list(Path(folder.name).iterdir()))  # 5
y.sum().backward()
(b.sin() * b.exp()).sqrt().sum().backward()
torch.equal(a.grad, b.grad)  # True
folder.cleanup()

## hooks and anomaly mode
a = leaf([1.0])
with quiet(), autograd.detect_anomaly(), keeping(): (a.sin() * a).exp().sum().backward()
a.grad is None  # False

## hooks and a hook of a node
seen = []
a = leaf([1.0, 2.0])
with keeping(): y = a * a
y.grad_fn.register_hook(lambda inputs, outputs: seen.append([x.tolist() for x in inputs]))
y.sum().backward()
seen  # [[[1.0, 2.0], [1.0, 2.0]]]

## hooks and gradients of some inputs
a, b = leaf([2.0]), leaf([3.0])
with Log().on(): y = (a * b).sin()
autograd.grad(y.sum(), a, retain_graph=True)  # ~([2.880510859951098],)
y.sum().backward(inputs=[b])
a.grad, b.grad  # ~(None, [1.920340573300732])

## functions under hooks have the same gradients
def agree(make):
    def gradients(hooks):
        x = leaf([0.1, 0.5, 0.9])
        with hooks:
            (g,) = autograd.grad(make(x).sum(), x, create_graph=True)
            (h,) = autograd.grad((g * const([1.0, 2.0, 3.0])).sum(), x, allow_unused=True)
        return g, h
    (g, h), (plain_g, plain_h) = gradients(hooks(lambda x: x.detach().clone(), same)), gradients(quiet())
    return torch.equal(g, plain_g), (h is None and plain_h is None) or torch.allclose(h, plain_h, rtol=1e-12)
agree(lambda x: torch.where(x > 0.3, x.sqrt(), x))  # (True, True)
agree(lambda x: torch.maximum(x, 1 - x) * x)  # (True, True)
agree(lambda x: x.clamp(0.2, 0.6) ** 2)  # (True, True)
agree(lambda x: x.max() * x.min() + x.median())  # (True, True)
agree(lambda x: x.sort().values.cumsum(0).prod())  # (True, True)
agree(lambda x: torch.stack([x, x * x]).amax(0))  # (True, True)
agree(lambda x: x[torch.tensor([2, 0])].exp())  # (True, True)
agree(lambda x: (x.outer(x) + torch.eye(3, dtype=torch.float64)).inverse().det())  # (True, True)
agree(lambda x: torch.cat([x.softmax(0), x.log_softmax(0)]).norm())  # (True, True)
agree(lambda x: torch.nn.functional.gelu(x).std())  # (True, True)
