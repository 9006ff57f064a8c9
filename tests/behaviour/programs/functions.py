"""``autograd.Function``: derivatives written by hand."""

import gc
import weakref

from tests.behaviour import Function, const, leaf, quiet, shape, torch

autograd = torch.autograd


class Double(Function):
    def forward(ctx, x):
        return x * 2

    def backward(ctx, g):
        return g * 2


class Square(Function):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


class Exp(Function):
    def forward(ctx, x):
        result = torch.exp(x)
        ctx.save_for_backward(result)
        return result

    def backward(ctx, g):
        (result,) = ctx.saved_tensors
        return g * result


class Two(Function):
    """x + y and x * y."""

    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x + y, x * y

    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g + h * y, g + h * x


class Nothing(Square):
    def backward(ctx, g):
        return None


class DoubleInPlace(Function):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    def backward(ctx, g):
        return g * 2


def slope(function, at):
    """The gradient of the sum of what a custom function gives."""
    x = leaf(at)
    function.apply(x).sum().backward()
    return x.grad

## forward and backward
x = leaf([1.0, 2.0])
y = Square.apply(x)
y, y.requires_grad, y.is_leaf  # ([1.0, 4.0], True, False)
y.grad_fn.name(), type(y.grad_fn).__name__  # ('SquareBackward', 'SquareBackward')
y.sum().backward()
x.grad  # [2.0, 4.0]

## nothing is recorded for constants and under no_grad
y = Square.apply(const(3.0))
y.requires_grad, y.grad_fn  # (False, None)
with torch.no_grad(): Square.apply(leaf(3.0)).requires_grad  # False

## forward runs with recording off
modes = []
class Spy(Double):
    def forward(ctx, x):
        modes.append((torch.is_grad_enabled(), (x * 2).requires_grad))
        return x * 2
Spy.apply(leaf(1.0))
modes  # [(False, False)]

## backward runs with recording as create_graph says
modes = []
class Spy(Double):
    def backward(ctx, g):
        modes.append(torch.is_grad_enabled())
        return g * 2
x = leaf(1.0)
autograd.grad(Spy.apply(x), x)
autograd.grad(Spy.apply(x), x, create_graph=True)
modes  # [False, True]

## several arguments
x, y = leaf(2.0), leaf(5.0)
total, product = Two.apply(x, y)
(total + product * 10).backward()
x.grad, y.grad  # (51.0, 21.0)

## several outputs come as a tuple
result = Two.apply(leaf(2.0), leaf(5.0))
type(result), [t.output_nr for t in result], result[0].grad_fn is result[1].grad_fn  # (<class 'tuple'>, [0, 1], True)

## an unused output gets zeros
x, y = leaf(2.0), leaf(5.0)
total, _ = Two.apply(x, y)
total.backward()
x.grad, y.grad  # (1.0, 1.0)

## an unused output gets None without materialize_grads
seen = []
class Loose(Function):
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3
    def backward(ctx, a, b):
        seen.append((a is None, b is None))
        return a * 2 if b is None else b * 3
x = leaf(1.0)
first, _ = Loose.apply(x)
first.backward()
seen, x.grad  # ([(False, True)], 2.0)

## materialized zeros have the shape and type of their output
seen = []
class Shapes(Function):
    def forward(ctx, x): return x.sum(), x.float()
    def backward(ctx, a, b):
        seen.append((shape(b), b.dtype, b.tolist()))
        return torch.ones(2, dtype=torch.float64) * a
x = leaf([1.0, 2.0])
Shapes.apply(x)[0].backward()
seen  # [([2], torch.float32, [0.0, 0.0])]

## arguments that are not tensors get None
class Scale(Function):
    def forward(ctx, x, factor, name):
        ctx.factor, ctx.name_given = factor, name
        return x * factor
    def backward(ctx, g):
        assert ctx.name_given == "n"
        return g * ctx.factor, None, None
x = leaf(2.0)
Scale.apply(x, 3.0, "n").backward()
x.grad  # 3.0

## trailing Nones are allowed
class Extra(Double):
    def backward(ctx, g): return g * 2, None, None
slope(Extra, 2.0)  # 2.0

## wrong gradients are refused
class Short(Two):
    def backward(ctx, g, h): return g
class Long(Double):
    def backward(ctx, g): return g, g
class Wrong(Double):
    def backward(ctx, g): return torch.ones(3, dtype=torch.float64)
class Number(Double):
    def backward(ctx, g): return 3.0
Short.apply(leaf(2.0), leaf(3.0))[0].backward()  # RuntimeError: function ShortBackward returned an incorrect number of gradients (expected 2, got 1)
slope(Long, 2.0)  # RuntimeError: function LongBackward returned an incorrect number of gradients (expected 1, got 2)
slope(Wrong, [1.0, 2.0])  # RuntimeError: Function WrongBackward returned an invalid gradient at index 0 - got [3]...
slope(Number, 2.0)  # ...Error: ...expected Variable...

## a gradient that broadcasts is summed
class Wide(Double):
    def backward(ctx, g): return torch.ones(3, 2, dtype=torch.float64)
slope(Wide, [1.0, 2.0])  # [3.0, 3.0]

## a gradient of another type is converted
class Single(Double):
    def backward(ctx, g): return torch.tensor([2.0, 3.0], dtype=torch.float32)
slope(Single, [1.0, 2.0])  # [2.0, 3.0]
slope(Single, [1.0, 2.0]).dtype  # torch.float64

## None as the only gradient
x, y = leaf(2.0), leaf(3.0)
(Nothing.apply(x) + y).backward()
x.grad, y.grad  # (None, 1.0)
(Nothing.apply(x * 3) + x * 5).backward()
x.grad  # 5.0
autograd.grad(Nothing.apply(x), x, allow_unused=True)  # (None,)

## a gradient for an argument that requires none is ignored
x, y = leaf(2.0), const(5.0)
Two.apply(x, y)[1].backward()
x.grad, y.grad  # (5.0, None)

## needs_input_grad
seen = []
class Ask(Function):
    def forward(ctx, x, y, n):
        seen.append(tuple(ctx.needs_input_grad))
        return x * y * n
    def backward(ctx, g):
        seen.append(tuple(ctx.needs_input_grad))
        return g, None, None
Ask.apply(leaf(1.0), const(2.0), 3).backward()
seen  # [(True, False, False), (True, False, False)]

## needs_input_grad in backward is what forward saw
# Gradients by some inputs only: the others are still said to need one.
seen = []
class Ask(Function):
    def forward(ctx, x, y): return x + y
    def backward(ctx, g):
        seen.append(tuple(ctx.needs_input_grad))
        return g, g
x, y = leaf(1.0), leaf(2.0)
z = Ask.apply(x, y)
autograd.grad(z, x, retain_graph=True)
autograd.grad(z, y, retain_graph=True)
z.backward()
seen  # [(True, True), (True, True), (True, True)]

## save_for_backward keeps None
class Optional(Function):
    def forward(ctx, x, y):
        ctx.save_for_backward(x, None, y)
        return x * x
    def backward(ctx, g):
        x, nothing, also_nothing = ctx.saved_tensors
        assert nothing is None
        assert also_nothing is None
        return g * 2 * x, None
x = leaf(3.0)
Optional.apply(x, None).backward()
x.grad  # 6.0

## save_for_backward takes tensors only
class Wrong(Double):
    def forward(ctx, x):
        ctx.save_for_backward(3)
        return x * 2
Wrong.apply(leaf(3.0))  # TypeError: save_for_backward can only save variables, but argument 0 is of type int

## nothing saved is an empty tuple, and a saved input is the same tensor
seen = []
class Plain(Double):
    def backward(ctx, g): return seen.append(ctx.saved_tensors)
class Keep(Function):
    forward = Square.forward
    def backward(ctx, g): return seen.append([(x.requires_grad, x.is_leaf, x.item()) for x in ctx.saved_tensors])
Plain.apply(leaf(1.0)).backward()
Keep.apply(leaf(3.0)).backward()
seen  # [(), [(True, True, 3.0)]]

## saved tensors are gone after backward
y = Square.apply(leaf(3.0))
y.grad_fn.saved_tensors  # (3.0,)
y.backward()
y.backward()  # RuntimeError: Trying to backward through the graph a second time...
y.grad_fn.saved_tensors  # RuntimeError: ...second time...

## attributes of ctx stay after backward
class Note(Double):
    def forward(ctx, x):
        ctx.note = "kept"
        return x * 2
    def backward(ctx, g):
        ctx.swept = True
        return g * 2
y = Note.apply(leaf(1.0))
y.backward()
y.grad_fn.note, y.grad_fn.swept  # ('kept', True)

## what was saved and changed in place is noticed
x = leaf([1.0, 2.0]) * 1
y, z = Square.apply(x), Exp.apply(x)
with torch.no_grad():
    x.add_(1)
    z.add_(1)
y.sum().backward()  # RuntimeError: one of the variables needed for gradient computation has been modified...
z.sum().backward()  # RuntimeError: one of the variables needed for gradient computation has been modified...

## higher derivatives through saved tensors
x = leaf(3.0)
(g,) = autograd.grad(Square.apply(x), x, create_graph=True)
g, *autograd.grad(g, x)  # (6.0, 2.0)
x = leaf(0.5)
value = Exp.apply(x)
for _ in range(3):
    (value,) = autograd.grad(value, x, create_graph=True)
value  # ~1.6487212707001282
x = leaf(2.0)
(g,) = autograd.grad(Square.apply(x * x), x, create_graph=True)
g, *autograd.grad(g, x)  # (32.0, 48.0)

## gradcheck of functions
autograd.gradcheck(Square.apply, leaf([1.0, -2.0]))  # True
autograd.gradgradcheck(Exp.apply, leaf([1.0, -2.0]))  # True
autograd.gradcheck(Two.apply, (leaf([1.0, 2.0]), leaf([3.0, 4.0])))  # True

## once_differentiable refuses the second derivative
modes = []
class Once(Function):
    forward = Square.forward
    @autograd.function.once_differentiable
    def backward(ctx, g):
        modes.append(torch.is_grad_enabled())
        (x,) = ctx.saved_tensors
        return g * 2 * x
x = leaf(3.0)
autograd.grad(Once.apply(x), x)  # (6.0,)
autograd.grad(Once.apply(x), x, create_graph=True)  # (6.0,)
modes  # [False, False]
# The incoming gradient requires grad, so that the result would have a history.
(g,) = autograd.grad(Once.apply(x) ** 2, x, create_graph=True)
g.backward()  # RuntimeError: trying to differentiate twice a function that was marked with @once_differentiable

## mark_non_differentiable
class Sorted(Function):
    def forward(ctx, x):
        first, second = x * 2, x * 3
        ctx.mark_non_differentiable(second)
        return first, second
    def backward(ctx, g, h):
        assert h.item() == 0.0
        return g * 2
x = leaf(1.0)
first, second = Sorted.apply(x)
first.requires_grad, second.requires_grad, second.grad_fn  # (True, False, None)
(first + second).backward()
x.grad  # 2.0

## all outputs non-differentiable
class Constant(Double):
    def forward(ctx, x):
        result = x * 2
        ctx.mark_non_differentiable(result)
        return result
Constant.apply(leaf(1.0)).requires_grad  # False

## integer outputs require no grad
class Split(Function):
    def forward(ctx, x): return x.long(), x * 2
    def backward(ctx, g, h): return h * 2
x = leaf([1.5, 2.5])
whole, doubled = Split.apply(x)
whole, whole.requires_grad  # ([1, 2], False)
doubled.sum().backward()
x.grad  # [2.0, 2.0]

## outputs that are not tensors
class Mixed(Function):
    def forward(ctx, x): return "label", x * 2, None, 7
    def backward(ctx, *grads):
        assert [g is None for g in grads] == [True, False, True, True]
        return grads[1] * 2
x = leaf(1.0)
label, y, nothing, number = Mixed.apply(x)
label, nothing, number  # ('label', None, 7)
y.backward()
x.grad  # 2.0

## a list is not a tuple of outputs
class Listed(Double):
    def forward(ctx, x): return [x * 2]
try: required = Listed.apply(leaf(1.0))[0].requires_grad
except TypeError: required = False
required  # False

## returning the input itself
class Same(Function):
    def forward(ctx, x): return x
    def backward(ctx, g): return g * 10
x = leaf([1.0, 2.0])
y = Same.apply(x)
y is x, x.is_leaf, y.is_leaf  # (False, True, False)
y.sum().backward()
x.grad  # [10.0, 10.0]

## returning a view of the input
class Part(Function):
    def forward(ctx, x): return x[0]
    def backward(ctx, g): return torch.stack([g, torch.zeros_like(g)])
slope(Part, [1.0, 2.0])  # [1.0, 0.0]

## reversing gradients
class Reverse(Function):
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.clone()
    def backward(ctx, g): return -ctx.weight * g, None
x = leaf([1.0, 2.0])
(Reverse.apply(x, 0.5) * const([1.0, 10.0])).sum().backward()
x.grad  # [-0.5, -5.0]

## straight through rounding
class Round(Function):
    def forward(ctx, x): return torch.round(x)
    def backward(ctx, g): return g
x = leaf([1.2, 2.7])
y = Round.apply(x)
y  # [1.0, 3.0]
(y * y).sum().backward()
x.grad  # [2.0, 6.0]

## mark_dirty changes the tensor itself
x, c = leaf([1.0, 2.0]), const([1.0, 2.0])
inner = x * 3
DoubleInPlace.apply(inner) is inner, inner, inner.grad_fn.name()  # (True, [6.0, 12.0], 'DoubleInPlaceBackward')
inner.sum().backward()
x.grad  # [6.0, 6.0]
DoubleInPlace.apply(c) is c, c  # (True, [2.0, 4.0])
DoubleInPlace.apply(x)  # RuntimeError: a leaf Variable that requires grad has been used in an in-place operation.

## mark_dirty needs the tensor as an output
class Forgets(Double):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.clone()
Forgets.apply(leaf([1.0, 2.0]) * 1)  # RuntimeError: Some elements marked as dirty during the forward method were not returned as output...

## setup_context apart from forward
class Cube(Function):
    def forward(x, factor): return x * x * x * factor
    def setup_context(ctx, inputs, output):
        x, factor = inputs
        ctx.save_for_backward(x)
        ctx.factor = factor
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x * ctx.factor, None
x = leaf(2.0)
y = Cube.apply(x, 0.5)
y.backward()
y, x.grad  # (4.0, 6.0)

## setup_context is handed the outputs
seen = []
class Pair(Function):
    def forward(x): return torch.exp(x), x + 1
    def setup_context(ctx, inputs, output):
        seen.append((len(inputs), len(output), tuple(ctx.needs_input_grad)))
        ctx.save_for_backward(output[0])
    def backward(ctx, g, h):
        (result,) = ctx.saved_tensors
        return g * result + h
x = leaf(0.0)
a, b = Pair.apply(x)
(a * 2 + b).backward()
x.grad, seen  # (3.0, [(1, 2, (True,))])

## keyword arguments count as arguments
class Scale(Function):
    def forward(ctx, x, factor=2.0):
        ctx.factor = factor
        assert tuple(ctx.needs_input_grad) == (True, False)
        return x * factor
    def backward(ctx, g): return g * ctx.factor, None
x = leaf(2.0)
Scale.apply(x, factor=3.0).backward()
x.grad  # 3.0

## errors come out
class Forward(Double):
    def forward(ctx, x): raise ValueError("forward failed")
class Backward(Double):
    def backward(ctx, g): raise KeyError("backward failed")
x = leaf(1.0)
Forward.apply(x)  # ValueError: forward failed
torch.is_grad_enabled()  # True
y = Backward.apply(x)
y.backward()  # KeyError: 'backward failed'
x.grad, torch.is_grad_enabled()  # (None, True)

## a missing method is said
class NoBackward(Function):
    def forward(ctx, x): return x * 2
class NoForward(Function):
    def backward(ctx, g): return g
NoBackward.apply(leaf(1.0)).backward()  # NotImplementedError: You must implement either the backward or vjp method...
NoForward.apply(leaf(1.0))  # NotImplementedError: You must implement the forward function for custom autograd.Function.

## a function cannot be instantiated and called
with quiet(): Square()(leaf(1.0))  # ...Error: ...

## vjp is another name of backward
class Other(Function):
    forward = Square.forward
    def vjp(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x
slope(Other, 3.0)  # 6.0

## backward in forward
class Inner(Function):
    def forward(ctx, x):
        with torch.enable_grad():
            own = x.detach().requires_grad_()
            (slope,) = autograd.grad((own**3).sum(), own)
        ctx.save_for_backward(slope)
        return x**3
    def backward(ctx, g): return g * ctx.saved_tensors[0]
slope(Inner, [1.0, 2.0])  # [3.0, 12.0]

## backward in backward
def wave(x): return torch.sin(x) * x
class Checkpoint(Function):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return wave(x)
    def backward(ctx, g):
        own = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad(): again = wave(own)
        again.backward(g)
        return own.grad
x, same = leaf([0.5, 1.0]), leaf([0.5, 1.0])
Checkpoint.apply(Checkpoint.apply(x)).sum().backward()
wave(wave(same)).sum().backward()
x.grad  # ~[0.4318209261858077, 1.8050828865248598]
same.grad  # ~[0.4318209261858077, 1.8050828865248598]

## backward in backward fills other leaves
weight = leaf(3.0)
class Uses(Double):
    def backward(ctx, g):
        with torch.enable_grad(): (weight * weight).backward()
        return g
x = leaf(1.0)
Uses.apply(x).backward()
x.grad, weight.grad  # (1.0, 6.0)

## a function used twice in one graph, and one whose arguments are the same tensor
x = leaf(2.0)
Square.apply(Square.apply(x)).backward()
x.grad  # 32.0
x = leaf(3.0)
Two.apply(x, x)[1].backward()
x.grad  # 6.0

## the graph of a function
x = leaf(2.0)
edges = Two.apply(x, const(5.0))[0].grad_fn.next_functions
len(edges), edges[0][0].variable is x, edges[1][0]  # (2, True, None)

## what a function saved dies with its graph
inner = leaf([1.0, 2.0]) * 2
reference = weakref.ref(inner)
y = Square.apply(inner)
del inner
gc.collect()
y.sum().backward()
gc.collect()
reference()  # None

## hooks on the node of a function
x = leaf(3.0)
y = Square.apply(x)
seen = []
y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].item(), outputs[0].item())))
y.backward(const(2.0))
seen  # [(12.0, 2.0)]

## gradients arrive as tensors
seen = []
class Look(Double):
    def backward(ctx, g):
        seen.append((isinstance(g, torch.Tensor), g.dtype, shape(g)))
        return g
Look.apply(leaf([1.0, 2.0])).sum().backward()
seen  # [(True, torch.float64, [2])]

## tensors in lists are not seen
class Total(Function):
    def forward(ctx, x, others):
        assert tuple(ctx.needs_input_grad) == (True, False)
        return x + others[0]
    def backward(ctx, g): return g, None
x, y = leaf(1.0), leaf(2.0)
Total.apply(x, [y]).backward()
x.grad, y.grad  # (1.0, None)

## a tensor without elements is joined with every shape
empty, x = torch.zeros(0, dtype=torch.float64, requires_grad=True), leaf([[1.0, 2.0]])
def join(*parts): return torch.cat(parts)
joined = torch.cat((empty, x, empty, x), -1)
joined  # [[1.0, 2.0, 1.0, 2.0]]
joined.backward(const([[1.0, 2.0, 3.0, 4.0]]))
x.grad, shape(empty.grad), shape(join(empty, empty))  # ([[4.0, 6.0]], [0], [0])
autograd.gradcheck(join, (empty, x)), autograd.gradgradcheck(join, (empty, x))  # (True, True)

## a measure and the mean are outputs of one node
x = leaf([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]])
def outputs(function):
    measure, mean = function(x, dim=1)
    same = measure.grad_fn is mean.grad_fn
    mean.grad_fn.register_prehook(lambda grads: tuple(2 * g for g in grads))
    (twice,) = autograd.grad((measure + mean).sum(), x)
    (once,) = autograd.grad(sum(part.sum() for part in function(x, dim=1)), x)
    return same, type(mean.grad_fn).__name__, measure.output_nr, mean.output_nr, torch.allclose(twice, 2 * once)
def checked(function, **options):
    both = lambda x: function(x, **options)
    parts = both, lambda x: both(x)[0], lambda x: both(x)[1]
    return all(autograd.gradcheck(part, x) for part in parts) and autograd.gradgradcheck(both, x)
outputs(torch.var_mean)  # (True, 'VarMeanBackward0', 0, 1, True)
outputs(torch.std_mean)  # (True, 'StdMeanBackward0', 0, 1, True)
checked(torch.var_mean), checked(torch.var_mean, dim=0, keepdim=True)  # (True, True)
checked(torch.std_mean), checked(torch.std_mean, dim=0, keepdim=True)  # (True, True)
checked(torch.var_mean, dim=1, correction=0), checked(torch.var_mean, unbiased=False)  # (True, True)
checked(torch.std_mean, dim=1, correction=0), checked(torch.std_mean, unbiased=False)  # (True, True)
