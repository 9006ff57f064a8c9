"""The backward pass: which nodes run, in which order hooks see gradients, gradient edges, nested passes, threads."""

import threading
from collections import ChainMap
from types import MappingProxyType

from tests.behaviour import Function, const, leaf, quiet, torch

autograd = torch.autograd
graph = autograd.graph
edge_of = graph.get_gradient_edge
f32 = torch.float32


def numbers(gradients):
    """The values of gradients before they change."""
    return [None if gradient is None else gradient.tolist() for gradient in gradients]


class Copy(Function):
    def forward(ctx, x):
        return x.clone()

    def backward(ctx, grad):
        assert grad is not None
        return grad


class Stop(Copy):
    """Its gradient is undefined."""

    def backward(ctx, grad):
        return None


class Nested(Function):
    """The identity function; its backward pass runs another one through the next function, ``depth`` times."""

    def forward(ctx, x, depth):
        ctx.depth = depth
        return x.detach()

    def backward(ctx, grad):
        if ctx.depth == 0:
            return grad, None
        with torch.enable_grad():
            inner = leaf(2.0)
            Nested.apply(inner, ctx.depth - 1).backward()
        return grad * inner.grad, None


def in_threads(count, function):
    errors = []

    def run():
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


## an undefined gradient reaches hooks and functions
seen = []
x = leaf([1.0, 2.0])
a = Copy.apply(x)
b = a * 2
b.register_hook(lambda g: seen.append(("hook", g)))
b.grad_fn.register_prehook(lambda grads: seen.append(("prehook", grads)))
b.grad_fn.register_hook(lambda ins, outs: seen.append(("posthook", ins, outs)))
b.retain_grad()
a.register_hook(lambda g: seen.append(("a", g)))
Stop.apply(b).sum().backward()
seen, b.grad  # ([('hook', None), ('prehook', (None,)), ('posthook', (None, None), (None,)), ('a', None)], None)
x.grad  # [0.0, 0.0]

## a leaf with an undefined gradient stays without one
seen = []
x = leaf([1.0, 2.0])
x.register_hook(lambda g: seen.append(("hook", g)))
x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
node = edge_of(x).node
node.register_prehook(lambda grads: seen.append(("prehook", grads)))
node.register_hook(lambda ins, outs: seen.append(("posthook", ins, outs)))
Stop.apply(x).sum().backward()
x.grad, seen  # (None, [('hook', None), ('prehook', (None,)), 'accumulated', ('posthook', (), (None,))])

## a sum with an undefined gradient is the other gradient
x = leaf(3.0)
y = x * 2
(Stop.apply(y) + y * 5).backward()
x.grad  # 10.0

## an input with an undefined gradient is unused
x = leaf([1.0, 2.0])
y = Stop.apply(x * 2).sum()
autograd.grad(y, x, allow_unused=True, retain_graph=True)  # (None,)
autograd.grad(y, x)  # RuntimeError: The differentiated Tensor at index 0 appears to not have been used in the graph...

## the hook of an unused output gets None
seen = []
a, b = leaf([1.0, 2.0]).unbind()
a.register_hook(lambda g: seen.append(("a", g)))
b.register_hook(lambda g: seen.append(("b", g.item())))
a.retain_grad()
a.grad_fn.register_prehook(lambda grads: seen.append(numbers(grads)))
b.backward()
seen, a.grad  # ([('a', None), ('b', 1.0), [None, 1.0]], None)

## a hook cannot replace an undefined gradient
a, b = leaf([1.0, 2.0]).unbind()
a.register_hook(lambda g: const(5.0))
b.backward()  # RuntimeError: can't replace a None gradient with a non-None value

## a prehook may make the gradient undefined
x = leaf([1.0, 2.0])
y = x * 2
y.grad_fn.register_prehook(lambda grads: (None,))
y.sum().backward()
x.grad  # None

## wrong results of tensor hooks
def inner(made):
    y = leaf([1.0, 2.0]) * 2
    y.register_hook(lambda grad: made)
    y.sum().backward()
def outer(made):
    x = leaf([1.0, 2.0])
    x.register_hook(lambda grad: made)
    (x * 2).sum().backward()
ones = const([1.0, 1.0])
inner(3)  # TypeError: expected Variable, but hook returned 'int'
outer(3)  # TypeError: expected Variable, but hook returned 'int'
inner((ones,))  # TypeError: expected Variable, but hook returned 'tuple'
outer((ones,))  # TypeError: expected Variable, but hook returned 'tuple'
inner(const([1.0, 1.0, 1.0]))  # RuntimeError: hook '<lambda>' has changed the size of value
outer(const([1.0, 1.0, 1.0]))  # RuntimeError: hook '<lambda>' has changed the size of value
inner(ones.to(f32))  # RuntimeError: hook '...' has changed the type of value (was torch.DoubleTensor got torch.FloatTensor)
outer(ones.to(f32))  # RuntimeError: hook '...' has changed the type of value (was torch.DoubleTensor got torch.FloatTensor)
inner(torch.tensor([1, 1]))  # RuntimeError: hook '...' has changed the type of value (was torch.DoubleTensor got torch.LongTensor)
outer(torch.tensor([1, 1]))  # RuntimeError: hook '...' has changed the type of value (was torch.DoubleTensor got torch.LongTensor)

## wrong results of prehooks
def prehook(made):
    y = leaf([1.0, 2.0]) * 2
    y.grad_fn.register_prehook(lambda grads: made)
    y.sum().backward()
ones = const([1.0, 1.0])
prehook(ones)  # TypeError: expected tuple, but hook returned 'Tensor'
prehook([ones])  # TypeError: expected tuple, but hook returned 'list'
prehook((1,))  # TypeError: expected Variable, but hook returned 'int'
prehook(())  # RuntimeError: hook '<lambda>' has returned an incorrect number of values (got 0, but expected 1)
prehook((ones, None))  # RuntimeError: hook '<lambda>' has returned an incorrect number of values (got 2, but expected 1)
prehook((const([1.0]),))  # RuntimeError: hook '<lambda>' has changed the size of value

## wrong results of posthooks
def posthook(made):
    y = leaf([1.0, 2.0]) * 2
    y.grad_fn.register_hook(lambda ins, outs: made)
    y.sum().backward()
ones = const([1.0, 1.0])
posthook(3)  # TypeError: expected tuple, but hook returned 'int'
posthook((ones,))  # RuntimeError: hook '<lambda>' has returned an incorrect number of values (got 1, but expected 2)
posthook((ones, ones))  # RuntimeError: can't replace a None gradient with a non-None value
posthook((const([1.0, 1.0, 1.0]), None))  # RuntimeError: hook '<lambda>' has changed the size of value
posthook((ones.to(f32), None))  # RuntimeError: ...has changed the type of value...

## posthooks see and replace one gradient for each input
x, y = leaf([1.0, 2.0]), leaf(3.0)
z = x * y
seen = []
def hook(ins, outs):
    seen.append((numbers(ins), numbers(outs)))
    return (ins[0] * 10, None)
z.grad_fn.register_hook(hook)
z.sum().backward()
seen, x.grad, y.grad  # ([([[3.0, 3.0], 3.0], [[1.0, 1.0]])], [30.0, 30.0], None)

## hooks of several outputs run in groups
order = []
a, b = leaf([1.0, 2.0]).unbind()
b.register_hook(lambda g: order.append("b1"))
a.register_hook(lambda g: order.append("a"))
b.register_hook(lambda g: order.append("b2"))
(a * b).backward()
order  # ['b1', 'b2', 'a']

## the order of all hooks
order = []
x = leaf(2.0)
y = x * 3
y.grad_fn.register_hook(lambda ins, outs: order.append("posthook"))
y.grad_fn.register_prehook(lambda grads: order.append("prehook"))
y.register_hook(lambda g: order.append("hook"))
node = edge_of(x).node
x.register_post_accumulate_grad_hook(lambda p: order.append("accumulated"))
node.register_hook(lambda ins, outs: order.append("leaf posthook"))
node.register_prehook(lambda grads: order.append("leaf prehook"))
x.register_hook(lambda g: order.append("leaf hook"))
y.backward()
order  # ['hook', 'prehook', 'posthook', 'leaf hook', 'leaf prehook', 'accumulated', 'leaf posthook']

## hooks run in the mode of the pass
modes = {}
def noting(name): return lambda *_: modes.update({name: torch.is_grad_enabled()})
x = leaf(2.0)
y = x * 3
y.register_hook(noting("hook"))
y.grad_fn.register_prehook(noting("prehook"))
y.grad_fn.register_hook(noting("posthook"))
x.register_hook(noting("leaf"))
x.register_post_accumulate_grad_hook(noting("accumulated"))
y.backward(retain_graph=True)
len(modes), set(modes.values())  # (5, {False})
with quiet(): y.backward(create_graph=True, retain_graph=True)
set(modes.values())  # {True}
with torch.no_grad(), quiet():
    y.backward(create_graph=True)
    torch.is_grad_enabled()  # False
set(modes.values())  # {True}

## a hook after accumulation may change the leaf
x = leaf([1.0, 2.0])
x.register_post_accumulate_grad_hook(lambda p: p.sub_(p.grad))
(x * x).sum().backward()
x, x.requires_grad, x.is_leaf  # ([-1.0, -2.0], True, True)

## a hook after accumulation may free the gradient
x, y = leaf(2.0), leaf(3.0)
x.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
(x * y).backward()
x.grad, y.grad  # (None, 2.0)

## a hook after accumulation returns nothing
x, y = leaf(2.0), leaf(1.0)
x.register_post_accumulate_grad_hook(lambda p: 3)
(x * 2).backward()  # TypeError: expected Variable, but hook returned 'int'
y.register_post_accumulate_grad_hook(lambda p: p.grad)
y.backward()  # RuntimeError: Tensor post accumulate grad hooks should return None.

## a captured gradient is that before the hooks if more is needed
x = leaf(2.0)
y = x * 2
y.register_hook(lambda g: g * 10)
z = y * 3
autograd.grad(z, [y, x], retain_graph=True)  # (3.0, 60.0)
autograd.grad(z, [y], retain_graph=True)  # (30.0,)

## grad does not run the node of an input
ran = []
x = leaf(2.0)
y = x * 2
y.grad_fn.register_prehook(lambda grads: ran.append("pre"))
y.grad_fn.register_hook(lambda ins, outs: ran.append("post"))
y.register_hook(lambda g: ran.append("hook"))
z = y * 3
autograd.grad(z, y, retain_graph=True)
ran  # ['hook']
autograd.grad(z, [y, x], retain_graph=True)
ran  # ['hook', 'hook', 'pre', 'post']
z.backward(inputs=(y,), retain_graph=True)
ran  # ['hook', 'hook', 'pre', 'post', 'hook', 'pre', 'post']
z.backward()
ran  # ['hook', 'hook', 'pre', 'post', 'hook', 'pre', 'post', 'hook', 'pre', 'post']

## backward into a tensor that is not a leaf retains its gradient
x = leaf(2.0)
y = x * x
y.register_hook(lambda g: g * 10)
z = y * 3
z.backward(inputs=y, retain_graph=True)
y.retains_grad  # True
y.grad, x.grad  # (30.0, None)
z.backward(inputs=[x, y, x])
y.grad, x.grad  # (60.0, 120.0)
y.backward()  # RuntimeError: ...backward through the graph a second time...

## backward into an input frees its node
x = leaf(2.0)
y = x * x
(y * 3).backward(inputs=y)
y.backward()  # RuntimeError: ...backward through the graph a second time...

## backward into a leaf runs its hooks
order = []
x = leaf(2.0)
node = edge_of(x).node
node.register_prehook(lambda grads: order.append("pre"))
node.register_hook(lambda ins, outs: order.append("post"))
x.register_post_accumulate_grad_hook(lambda p: order.append("accumulated"))
x.register_hook(lambda g: order.append("hook"))
y = x * 3
y.backward(inputs=x, retain_graph=True)
order  # ['hook', 'pre', 'accumulated', 'post']
order.clear()
autograd.grad(y, x)
order  # ['hook']

## an input that is not reached stays without a gradient
x, y = leaf(1.0), leaf(2.0)
(x * 2).backward(inputs=[y])
x.grad, y.grad  # (None, None)

## wrong arguments
x, v = leaf(1.0), leaf([1.0, 2.0])
x.backward(inputs=[])  # RuntimeError: `inputs` argument to `backward()` cannot be empty.
autograd.grad(x, [])  # RuntimeError: `inputs` argument to `grad()` cannot be empty.
autograd.grad(x, {})  # RuntimeError: `inputs` argument to `grad()` cannot be empty.
x.backward(inputs=[const(1.0)])  # RuntimeError: can't retain_grad on Tensor that has requires_grad=False
autograd.grad(x, const(1.0))  # RuntimeError: One of the differentiated Tensors does not require grad
autograd.grad(x * 2, [3])  # RuntimeError: all inputs have to be Tensors or GradientEdges, but got int
autograd.grad(x, ChainMap({"a": x}))  # TypeError: `inputs` argument to `grad()` must be a dict, not ChainMap. Other Mapping types are not supported.
x.backward(inputs=MappingProxyType({"a": x}))  # TypeError: `inputs` argument to `backward()` must be a dict, not mappingproxy. Other Mapping types are not supported.
autograd.grad(x, leaf(1.0), allow_unused=False, materialize_grads=True)  # ValueError: Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.
autograd.backward([x, const(1.0)])  # RuntimeError: element 1 of tensors does not require grad and does not have a grad_fn
(v * 2).backward()  # RuntimeError: grad can be implicitly created only for scalar outputs
v.backward([1, 2])  # TypeError: gradients can be either Tensors or None, but got int
x.backward("a")  # TypeError: gradients can be either Tensors or None, but got str
autograd.backward([x, leaf(2.0)], [None])  # RuntimeError: got 2 tensors and 1 gradients
v.backward(torch.ones(3))  # RuntimeError: Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of torch.Size([2]).
autograd.grad([leaf(2.0), leaf([[1.0]])], [x], [None, torch.ones(1)])  # RuntimeError: Mismatch in shape: grad_output[1] has a shape of torch.Size([1]) and output[1] has a shape of torch.Size([1, 1]).
autograd.grad(v, x, torch.ones(3, 3), is_grads_batched=True)  # RuntimeError: ...we interpret the first dimension of each grad_output as the batch dimension...a mismatch was detected: grad_output...If you only want some tensors in `grad_output` to be considered batched, consider using vmap.

## surplus gradients are ignored
x = leaf(1.0)
autograd.backward([x * 2], [None, None])
x.grad  # 2.0

## a gradient gets the type of its output
x = leaf([1.0, 2.0])
(x * 2).backward(torch.tensor([1, 2]))
x.grad, x.grad.dtype  # ([2.0, 4.0], torch.float64)
(x * 2).backward(torch.ones(2, dtype=f32))
x.grad.dtype  # torch.float64

## inputs may be a dictionary
x = leaf(2.0)
autograd.grad(x * 2, {"x": x})  # {'x': 2.0}
(x * 3).backward(inputs={"x": x})
x.grad  # 3.0

## an edge is an output
x = leaf(2.0)
y = x * 3
edge = edge_of(y)
autograd.grad(edge, x, retain_graph=True)[0]  # 3.0
autograd.grad(outputs=[edge], inputs=[x], grad_outputs=[const(2.0)], retain_graph=True)[0]  # 6.0
autograd.backward([edge], retain_graph=True)
x.grad  # 3.0
autograd.backward(edge, const(2.0), inputs=x)
x.grad  # 9.0

## an edge keeps the graph alive
x = leaf(2.0)
edge = edge_of(Copy.apply(x) * 3)
autograd.grad(edge, x)[0]  # 3.0

## an edge is an input
x = leaf(2.0)
y = x * 3
z = y * 2
inner, end = edge_of(y), edge_of(x)
autograd.grad(z, [inner, end, x], retain_graph=True)  # (2.0, 6.0, 6.0)
z.backward(inputs=end, retain_graph=True)
x.grad  # 6.0
z.backward(inputs=inner)
x.grad, y.retains_grad  # (6.0, False)

## the edge of one output
x = leaf([1.0, 2.0])
a, b = x.unbind()
edge = edge_of(b)
edge.output_nr  # 1
autograd.grad(a * b, [edge], retain_graph=True)  # (1.0,)
autograd.grad(edge, x)  # ([0.0, 1.0],)

## wrong uses of edges
x = leaf([2.0, 1.0])
edge = edge_of(x * 3)
autograd.grad(edge, x)  # RuntimeError: grad can be implicitly created only for scalar outputs
autograd.grad(edge, x, torch.ones(3))  # RuntimeError: Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of torch.Size([2]).
autograd.grad(edge, x, torch.ones(3, 3), is_grads_batched=True)  # RuntimeError: Batched grads are not supported with GradientEdge
autograd.grad(x.sum(), [x, edge], materialize_grads=True)  # RuntimeError: materialize_grads cannot be used when the given input is a GradientEdge
edge_of(const(1.0))  # RuntimeError: It is not possible to get the gradient edge for a Tensor that does not require gradients

## edges take batched gradients and materialize
x = leaf([2.0, 1.0])
y = x * 3
autograd.grad(edge_of(y), x, const([[1.0, 1.0], [1.0, 2.0]]), is_grads_batched=True)  # ([[3.0, 3.0], [3.0, 6.0]],)
autograd.grad((x * 3).sum(), [edge_of(x), leaf([1.0])], materialize_grads=True)  # ([3.0, 3.0], [0.0])

## an edge is a named tuple
x = leaf(2.0)
edge = edge_of(x)
edge.output_nr, edge.node.variable is x, graph.GradientEdge(edge.node, 0) == edge  # (0, True, True)
del x
edge.node.variable  # 2.0

## passes nest to any depth
def nested(depth):
    x = leaf(5.0)
    Nested.apply(x, depth).backward()
    return x.grad
[nested(depth) for depth in (1, 19, 20, 21, 300, 3000)]  # [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]

## an error in a nested pass is an error of the outer pass
class Fails(Nested):
    def backward(ctx, grad):
        if not ctx.depth:
            raise ValueError("the innermost pass failed")
        with torch.enable_grad():
            Fails.apply(leaf(2.0), ctx.depth - 1).backward()
        return grad, None
Fails.apply(leaf(1.0), 70).backward()  # ValueError: the innermost pass failed
torch.is_grad_enabled()  # True

## hooks may run backward passes
x = leaf(2.0)
y, z = x * 3, x * 5
y.register_hook(lambda grad: z.backward())
y.backward()
x.grad  # 8.0

## a nested pass has its own mode
modes = []
x = leaf(2.0)
y, z = x * 3, x**2
def hook(grad):
    (inner,) = autograd.grad(z, x, create_graph=True)
    modes.append((inner.requires_grad, torch.is_grad_enabled()))
y.register_hook(hook)
y.backward()
modes  # [(True, False)]

## threads accumulate into the same leaf
x = leaf([1.0] * 5000)
def run():
    for _ in range(20):
        (x * 2).sum().backward()
in_threads(5, run)
set(x.grad.tolist())  # {200.0}

## threads share a graph that is retained
x = leaf([1.0, 2.0])
y = (x * x).sum()
in_threads(5, lambda: y.backward(retain_graph=True))
x.grad  # [10.0, 20.0]

## hooks of a thread run in it
found = []
def run():
    y, me = leaf(2.0) * 3, threading.get_ident()
    y.register_hook(lambda g: found.append(threading.get_ident() == me))
    y.backward()
in_threads(3, run)
found  # [True, True, True]

## a hook on several gradients waits for those of the pass
seen = []
a, b = leaf(2.0), leaf(3.0)
c, d = a * b, a * b
handle = graph.register_multi_grad_hook((a, b, c, d), lambda grads: seen.append(numbers(grads)))
(c * 1).backward(retain_graph=True)
(d * 1).backward(retain_graph=True)
(c + d).backward(retain_graph=True)
(c * 1).backward(inputs=(a,), retain_graph=True)
seen  # [[3.0, 2.0, 1.0, None], [3.0, 2.0, None, 1.0], [6.0, 4.0, 1.0, 1.0], [3.0, None, 1.0, None]]
handle.remove()
(c + d).backward()
len(seen)  # 4

## a hook on several gradients waits for those of grad
seen = []
a, b = leaf(2.0), leaf(3.0)
c, d = a * b, a * b
graph.register_multi_grad_hook((c, d), lambda grads: seen.append(numbers(grads)))
autograd.grad(c + d, [a], retain_graph=True)
autograd.grad(c + d, [d], retain_graph=True)
seen  # [[1.0, 1.0], [None, 1.0]]

## a hook on any gradient runs once a pass
seen = []
a, b = leaf(2.0), leaf(3.0)
c, d = a * b, a * b
handle = graph.register_multi_grad_hook((a, b, c, d, const(1.0)), lambda g: seen.append(g.item()), mode="any")
c.backward(retain_graph=True)
(c + 2 * d).backward(retain_graph=True)
seen  # [1.0, 2.0]
handle.remove()
c.backward()
len(seen)  # 2

## a hook on several gradients in nested passes
seen, depth = [], []
x = leaf(2.0)
y, z = x * 2, x * 3
graph.register_multi_grad_hook((y, z), lambda grads: seen.append(numbers(grads)))
def hook(grad):
    if not depth:
        depth.append(1)
        with torch.enable_grad(): (y * 10 + z * 20).backward(retain_graph=True)
z.register_hook(hook)
(y * 1 + z * 1).backward()
seen  # [[10.0, 20.0], [1.0, 1.0]]

## the mode of a hook on several gradients is checked
graph.register_multi_grad_hook([leaf(1.0)], print, mode="foo")  # ValueError: Expects mode to be one of ('all', 'any') but got foo

## what a node tells
x = leaf([1.0, 2.0])
node = (x * 3).grad_fn
node.metadata  # {}
node.metadata["key"] = 1
node.metadata  # {'key': 1}

## types of nodes and of tensors
x = leaf(1.0)
isinstance((x * 2).grad_fn, graph.Node), isinstance(Copy.apply(x).grad_fn, graph.Node), isinstance(x, graph.Node)  # (True, True, False)
isinstance(const(1.0), autograd.Variable), isinstance(1.0, autograd.Variable)  # (True, False)
autograd.Variable(const(1.0), requires_grad=True).requires_grad  # True

## accumulation is in place, and a recorded one is not
x = leaf([1.0, 2.0])
(x * 2).sum().backward()
first = x.grad
(x * 2).sum().backward()
x.grad is first, first  # (True, [4.0, 4.0])
with quiet(): (x * x).sum().backward(create_graph=True)
x.grad is first, first, x.grad  # (False, [4.0, 4.0], [6.0, 8.0])

## a retained gradient is a new sum
y = leaf([1.0, 2.0]) * 2
y.retain_grad()
y.sum().backward(retain_graph=True)
first = y.grad
y.sum().backward()
first, y.grad  # ([1.0, 1.0], [2.0, 2.0])

## the initial gradient is not shared with the leaf
x = leaf([1.0, 2.0])
start = const([1.0, 1.0])
x.backward(start)
x.grad.mul_(5)
start  # [1.0, 1.0]

## a leaf is a root
seen = []
x = leaf(2.0)
x.register_hook(lambda g: seen.append(g.item()))
x.backward()
autograd.grad(x, x)[0]  # 1.0
x.backward(inputs=x)
x.grad  # 2.0
autograd.backward([x, x * 3])
x.grad, seen  # (6.0, [1.0, 1.0, 1.0, 4.0])

## saved positions and numbers are freed
def thrice(operation):
    y = operation(leaf([1.0, 2.0])).sum()
    y.backward(retain_graph=True)
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        return "backward through the graph a second time" in str(error)
thrice(lambda x: x[torch.tensor([0, 1])]), thrice(lambda x: x[x > 0]), thrice(lambda x: x.gather(0, torch.tensor([1])))  # (True, True, True)
thrice(lambda x: x.index_select(0, torch.tensor([1]))), thrice(lambda x: x.masked_fill(x > 1, 0.0))  # (True, True)
thrice(lambda x: torch.index_put(x, (torch.tensor([0]),), const([1.0]))), thrice(lambda x: x * 3), thrice(lambda x: x / 3)  # (True, True, True)

## a node that saves no tensor is not freed
def twice(operation):
    x = leaf([1.0, 2.0])
    y = operation(x).sum()
    y.backward()
    first = x.grad.clone()
    y.backward()
    return first, x.grad
twice(lambda x: x + 3)  # ([1.0, 1.0], [2.0, 2.0])
twice(lambda x: -x)  # ([-1.0, -1.0], [-2.0, -2.0])
twice(lambda x: x.sum())  # ([1.0, 1.0], [2.0, 2.0])
twice(lambda x: x[0])  # ([1.0, 0.0], [2.0, 0.0])
twice(lambda x: x[1:])  # ([0.0, 1.0], [0.0, 2.0])
twice(lambda x: x.reshape(2, 1))  # ([1.0, 1.0], [2.0, 2.0])
twice(lambda x: x.mean())  # ([0.5, 0.5], [1.0, 1.0])

## hooks after the first accumulation share the gradient
x = leaf([1.0, 2.0])
seen = []
def half(tensor): tensor.grad.add_(0.5)
x.register_post_accumulate_grad_hook(half)
node = x.view_as(x).grad_fn.next_functions[0][0]
node.register_hook(lambda inputs, outputs: seen.append(outputs[0].tolist()))
(x * 2).sum().backward()
x.grad = None
# An expanded gradient is copied.
x.sum().backward()
seen  # [[2.5, 2.5], [1.0, 1.0]]
