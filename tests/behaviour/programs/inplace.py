"""Changes in place: values, histories, versions, and views that take their base along."""

import math

from tests.behaviour import const, leaf, quiet, shape, torch

MATRIX = [[1.0, 2.0], [3.0, 4.0]]
WIDE = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def changed(change, values):
    """A product with 1 after a change, and the gradient of its sum."""
    x = leaf(values)
    y = x * 1
    change(y)
    y.sum().backward()
    return y, x.grad

## each change counts once
const([1.0])._version, (leaf([1.0]) * 2)._version  # (0, 0)
x = const([1.0, 2.0])
x.add_(1)
x._version  # 1
x.mul_(2)
x.zero_()
x._version  # 3
x += 1
x *= 2
x._version  # 5
x[0] = 5.0
x._version  # 6

## what does not count as a change, and who shares the count
x = const([1.0, 2.0])
_ = x + 1, x[0], x.clone(), x.sum()
x._version  # 0
x = const(MATRIX)
part = x[0]
part.add_(1)
x._version, part._version  # (1, 1)
x.add_(1)
x._version, part._version  # (2, 2)
x = leaf([1.0, 2.0]) * 1
d = x.detach()
d.add_(1)
x._version, d._version  # (1, 1)
x = const([1.0, 2.0])
y = x.clone()
y.add_(1)
x._version, y._version  # (0, 1)

## a saved input must not change
def change(make):
    y = leaf([1.0, 2.0]) * 2
    z = make(y).sum()
    y.add_(1)
    z.backward()
change(torch.sin)  # RuntimeError: ...modified by an inplace operation...
change(lambda y: y**2)  # RuntimeError: ...modified by an inplace operation...
change(torch.log)  # RuntimeError: ...modified by an inplace operation...
change(lambda y: y * y)  # RuntimeError: ...modified by an inplace operation...
change(lambda y: y * leaf([3.0, 4.0]))  # RuntimeError: ...modified by an inplace operation...

## a saved output must not change
def change(make):
    y = make(leaf([1.0, 2.0]))
    z = y * 1
    y.add_(1)
    (y + z).sum().backward()
change(torch.exp)  # RuntimeError: ...modified by an inplace operation...
change(torch.sqrt)  # RuntimeError: ...modified by an inplace operation...
change(torch.tanh)  # RuntimeError: ...modified by an inplace operation...
change(torch.sigmoid)  # RuntimeError: ...modified by an inplace operation...

## what was not saved may change
x = leaf([1.0, 2.0])
y = x * 2
z = (y + 1).sum()
y.mul_(100)
z.backward()
x.grad  # [2.0, 2.0]

## an input whose output was saved may change
x = leaf([0.0, 0.0])
y = x * 2
z = torch.exp(y).sum()
y.add_(100)
z.backward()
x.grad  # [2.0, 2.0]

## a change before the use does no harm
x = leaf([1.0, 2.0])
y = x * 2
y.add_(1)
(y * y).sum().backward()
x.grad  # [12.0, 20.0]

## a change through a detached tensor is noticed
y = leaf([1.0, 2.0]) * 2
z = (y * y).sum()
y.detach().zero_()
z.backward()  # RuntimeError: ...modified by an inplace operation...

## a change through a view is noticed
y = leaf([1.0, 2.0]) * 2
z = (y * y).sum()
with torch.no_grad(): y[0].zero_()
z.backward()  # RuntimeError: ...modified by an inplace operation...

## a change of a leaf under no_grad is noticed
w = leaf([1.0, 2.0])
y = (w * w).sum()
with torch.no_grad(): w.sub_(0.1)
y.backward()  # RuntimeError: ...modified by an inplace operation...

## a constant that was saved must not change
x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
y = (x * c).sum()
c.add_(1)
y.backward()  # RuntimeError: ...modified by an inplace operation...

## the message names type, shape and versions
y = leaf([1.0, 2.0]) * 2
z = torch.sin(y).sum()
y.add_(1)
z.backward()  # RuntimeError: ...[torch.DoubleTensor [2]], which is output 0 of Add..., is at version 1; expected version 0...

## values and gradients after a change
changed(lambda y: y.sin_(), [0.0, 1.0])  # ~([0.0, 0.8414709848078965], [1.0, 0.5403023058681398])
changed(lambda y: y.pow_(2), [1.0, 2.0])  # ([1.0, 4.0], [2.0, 4.0])
changed(lambda y: y.zero_(), [1.0, 2.0])  # ([0.0, 0.0], [0.0, 0.0])
changed(lambda y: y.masked_fill_(torch.tensor([True, False, True]), 0.0), [1.0, 2.0, 3.0])  # ([0.0, 2.0, 0.0], [0.0, 1.0, 0.0])
changed(lambda y: y.detach().fill_(100.0), [1.0, 2.0])  # ([100.0, 100.0], [1.0, 1.0])
changed(lambda y: y[0].zero_(), [1.0, 2.0, 3.0])  # ([0.0, 2.0, 3.0], [0.0, 1.0, 1.0])
changed(lambda y: y[0][1].mul_(5), MATRIX)  # ([[1.0, 10.0], [3.0, 4.0]], [[1.0, 5.0], [1.0, 1.0]])
changed(lambda y: y.t()[0].mul_(5), MATRIX)  # ([[5.0, 2.0], [15.0, 4.0]], [[5.0, 1.0], [5.0, 1.0]])
changed(lambda y: (y[:2].mul_(2), y[1:].mul_(3)), [1.0, 2.0, 3.0])  # ([2.0, 12.0, 9.0], [2.0, 6.0, 3.0])
changed(lambda y: y[[0, 2]].mul_(10), [1.0, 2.0, 3.0])  # ([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])

## multiplying a tensor by itself in place
x = leaf([2.0, 3.0])
y = x.clone()
y *= y
y.sum().backward()  # RuntimeError: ...modified by an inplace operation...

## the history after a change
x = leaf([1.0, 2.0])
y = x * 3
before = y.grad_fn
y.add_(1)
y.grad_fn is not before, y.grad_fn.name()  # (True, 'AddBackward0')
y.grad_fn.next_functions[0][0] is before  # True
y = leaf([1.0, 2.0]) * 3
y.add_(1) is y, y.mul_(2) is y, y.zero_() is y, y.fill_(3.0) is y, y.copy_(const([1.0, 2.0])) is y  # (True, True, True, True, True)

## a constant becomes an inner tensor
x = leaf([1.0, 2.0])
total = torch.zeros(2, dtype=torch.float64)
total += x * 3
total.requires_grad, total.is_leaf  # (True, False)
total.sum().backward()
x.grad  # [3.0, 3.0]

## an accumulating loop
x = leaf(2.0)
total = torch.zeros((), dtype=torch.float64)
for k in range(1, 4):
    total += x * k
total.backward()
x.grad  # 6.0

## arithmetic in place in a chain
x = leaf([1.0, 2.0])
y = x * 2
y += 1
y *= x
y -= x
y /= 2
y.sum().backward()
y, x.grad  # ([1.0, 4.0], [2.0, 4.0])

## fill with a tensor that requires grad
v = leaf(3.0)
y = torch.zeros(2, dtype=torch.float64)
y.fill_(v * 2)
y.sum().backward()
v.grad  # 4.0

## copy in place broadcasts and converts
v = torch.tensor([3.0], dtype=torch.float32, requires_grad=True)
y = torch.zeros(2, 3, dtype=torch.float64)
y.copy_(v)
y.sum().backward()
y.dtype, v.grad, v.grad.dtype  # (torch.float64, [6.0], torch.float32)

## a smaller operand broadcasts in place
x, v = leaf(MATRIX), leaf([10.0, 20.0])
y = x * 1
y.mul_(v)
y.sum().backward()
x.grad, v.grad  # ([[10.0, 20.0], [10.0, 20.0]], [4.0, 6.0])

## operands that do not fit are refused
y = const([1.0, 2.0])
y.add_(torch.ones(3, 2, dtype=torch.float64))  # RuntimeError: output with shape [2] doesn't match the broadcast shape [3, 2]
y  # [1.0, 2.0]
y = torch.tensor([1, 2])
y.mul_(0.5)  # RuntimeError: result type ... can't be cast to the desired output type...

## alpha, value and weight
x, d = leaf([1.0, 2.0]), leaf([3.0, 4.0])
y = x * 1
y.add_(d, alpha=-0.5)
y  # [-0.5, 0.0]
y.sum().backward()
d.grad  # [-0.5, -0.5]
x = const([1.0, 2.0])
x.addcmul_(const([1.0, 2.0]), const([3.0, 4.0]), value=2)
x  # [7.0, 18.0]
x.addcdiv_(const([1.0, 2.0]), const([2.0, 4.0]), value=-2)
x  # [6.0, 17.0]
x = const([1.0, 2.0])
x.lerp_(const([3.0, 4.0]), 0.5)
x  # [2.0, 3.0]

## in place equals the ordinary operation
def both(method):
    x, w = leaf([0.5, 1.5]), leaf([0.5, 1.5])
    y, z = w * 2, getattr(x * 2, method[:-1])()
    getattr(y, method)()
    y.sum().backward()
    z.sum().backward()
    return y.tolist() == z.tolist(), torch.allclose(w.grad, x.grad, rtol=1e-12, atol=0)
[both(name) for name in ("exp_", "sqrt_", "neg_", "reciprocal_")]  # [(True, True), (True, True), (True, True), (True, True)]
[both(name) for name in ("sigmoid_", "tanh_", "relu_", "abs_")]  # [(True, True), (True, True), (True, True), (True, True)]

## a leaf that requires grad is refused
x = leaf([1.0, 2.0])
x.add_(1)  # RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
x.zero_()  # RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
x.mul_(2)  # RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
x.copy_(const([3.0, 4.0]))  # RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
x.exp_()  # RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
x += 1  # RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
x[0] = 5.0  # RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
x[0:1] = 5.0  # RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
x[:] = 5.0  # RuntimeError: ...leaf Variable that requires grad is being used in an in-place operation...
x[torch.tensor([True, False])] = 5.0  # RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
x, x._version  # ([1.0, 2.0], 0)

## a view of a leaf is refused
x = leaf(MATRIX)
x[0].zero_()  # RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
x[:1].zero_()  # RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
x.view(4).zero_()  # RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
x.t().zero_()  # RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
x.unsqueeze(0).zero_()  # RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
x.transpose(0, 1).zero_()  # RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
x[0, 0].zero_()  # RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
x[...].zero_()  # RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
x[:].zero_()  # RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
x  # [[1.0, 2.0], [3.0, 4.0]]

## a leaf may change under no_grad
x = leaf([1.0, 2.0])
with torch.no_grad():
    x.add_(1)
    x[0] = 10.0
    x[1:].mul_(2)
x  # [10.0, 6.0]
x.is_leaf, x.requires_grad, x._version  # (True, True, 3)

## a leaf without grad may change
x = const([1.0, 2.0])
x.add_(1)
x[0] = 7.0
x, x.is_leaf  # ([7.0, 3.0], True)

## a leaf without grad is given a history
x, w = const([1.0, 2.0]), leaf([3.0, 4.0])
x.mul_(w)
x.requires_grad, x.is_leaf  # (True, False)
x.sum().backward()
w.grad  # [1.0, 2.0]

## values seen in a base and in its views
x = const(MATRIX)
x[0].mul_(10)
x[:, 1].add_(1)
x  # [[10.0, 21.0], [3.0, 5.0]]
x = const(MATRIX)
part = x[1]
x.mul_(10)
part  # [30.0, 40.0]
x = const(MATRIX)
first, second = x.unbind(0)
first.mul_(3)
second.zero_()
x  # [[3.0, 6.0], [0.0, 0.0]]

## a change of a view rewrites the history of the base
x = leaf([1.0, 2.0, 3.0])
y = x * 2
part = y[1:]
part.mul_(10)
y, type(y.grad_fn).__name__  # ([2.0, 40.0, 60.0], 'CopySlices')
y.sum().backward()
x.grad  # [2.0, 20.0, 20.0]

## the view itself has the new history too
x = leaf([1.0, 2.0, 3.0])
y = x * 2
part = y[1:]
part.mul_(10)
part.sum().backward()
x.grad  # [0.0, 20.0, 20.0]

## other views see the new history
x = leaf([1.0, 2.0, 3.0])
y = x * 2
first, second = y[:2], y[1:]
second.mul_(10)
first  # [2.0, 40.0]
first.sum().backward()
x.grad  # [2.0, 20.0, 0.0]

## a change of the base gives views a new history
x = leaf([1.0, 2.0, 3.0])
y = x * 2
part = y[1:]
y.mul_(10)
part  # [40.0, 60.0]
part.sum().backward()
x.grad  # [0.0, 20.0, 20.0]

## a value with history written to a view
x, v = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0])
y = x * 2
y[1:].copy_(v * 3)
y.sum().backward()
y, x.grad, v.grad  # ([2.0, 30.0, 60.0], [2.0, 0.0, 0.0], [3.0, 3.0])

## a constant base takes the history of what is written to its view
v = leaf([10.0, 20.0])
base = torch.zeros(3, dtype=torch.float64)
base[1:].add_(v)
base.requires_grad, type(base.grad_fn).__name__  # (True, 'CopySlices')
(base * const([1.0, 2.0, 3.0])).sum().backward()
v.grad  # [2.0, 3.0]

## every kind of view writes through to its base
def after(view): return changed(lambda y: view(y).mul_(3), WIDE)[1]
after(lambda y: y[0])  # [[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]]
after(lambda y: y[:, 1:])  # [[1.0, 3.0, 3.0], [1.0, 3.0, 3.0]]
after(lambda y: y[:, ::2])  # [[3.0, 1.0, 3.0], [3.0, 1.0, 3.0]]
after(lambda y: y[..., -1])  # [[1.0, 1.0, 3.0], [1.0, 1.0, 3.0]]
after(lambda y: y.t()[1])  # [[1.0, 3.0, 1.0], [1.0, 3.0, 1.0]]
after(lambda y: y.T[1:])  # [[1.0, 3.0, 3.0], [1.0, 3.0, 3.0]]
after(lambda y: y.view(6)[4:])  # [[1.0, 1.0, 1.0], [1.0, 3.0, 3.0]]
after(lambda y: y.view(-1)[1])  # [[1.0, 3.0, 1.0], [1.0, 1.0, 1.0]]
after(lambda y: y.reshape(3, 2)[0])  # [[3.0, 3.0, 1.0], [1.0, 1.0, 1.0]]
after(lambda y: y.permute(1, 0)[2])  # [[1.0, 1.0, 3.0], [1.0, 1.0, 3.0]]
after(lambda y: y.transpose(0, 1)[0, 1])  # [[1.0, 1.0, 1.0], [3.0, 1.0, 1.0]]
after(lambda y: y.unsqueeze(0)[0, 1])  # [[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]]
after(lambda y: y[None, 0])  # [[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]]
after(lambda y: y[:1].squeeze(0))  # [[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]]
after(lambda y: y[:1].squeeze())  # [[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]]
after(lambda y: y.flatten()[:2])  # [[3.0, 3.0, 1.0], [1.0, 1.0, 1.0]]
after(lambda y: y.narrow(1, 1, 1))  # [[1.0, 3.0, 1.0], [1.0, 3.0, 1.0]]
after(lambda y: y.select(1, 2))  # [[1.0, 1.0, 3.0], [1.0, 1.0, 3.0]]
after(lambda y: y.diagonal())  # [[3.0, 1.0, 1.0], [1.0, 3.0, 1.0]]
after(lambda y: y.view_as(torch.ones(3, 2))[2])  # [[1.0, 1.0, 1.0], [1.0, 3.0, 3.0]]
after(lambda y: y.movedim(0, 1)[1])  # [[1.0, 3.0, 1.0], [1.0, 3.0, 1.0]]
after(lambda y: y.unflatten(1, (3, 1))[0])  # [[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]]
after(lambda y: y.detach()[0])  # [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]

## one of several views cannot change
y = leaf(MATRIX) * 1
y.split(1)[0].mul_(3)  # RuntimeError: ...This view is the output of a function that returns multiple views...
y.unbind(0)[0].mul_(3)  # RuntimeError: ...This view is the output of a function that returns multiple views...
torch.chunk(y, 2)[0].mul_(3)  # RuntimeError: ...This view is the output of a function that returns multiple views...

## a view made under no_grad cannot be changed while recording
y = leaf([1.0, 2.0]) * 1
with torch.no_grad(): part = y[0]
part.mul_(3)  # RuntimeError: A view was created in no_grad mode and is being modified inplace...

## a view changed under no_grad keeps the history
x = leaf([1.0, 2.0])
y = x * 3
with torch.no_grad(): y[0].zero_()
y, y.grad_fn.name()  # ([0.0, 6.0], 'MulBackward0')
y.sum().backward()
x.grad  # [3.0, 3.0]

## positions of expanded tensors are written
# Rows that share memory all show the new numbers, although only one of them is named.
def written(key):
    x = const([1.0, math.nan, 3.0])
    y = x.expand(2, 3)
    with quiet(): y[key] = 5.0
    return x.tolist(), y.tolist()
written([0])  # ([5.0, 5.0, 5.0], [[5.0, 5.0, 5.0], [5.0, 5.0, 5.0]])
written([1])  # ([5.0, 5.0, 5.0], [[5.0, 5.0, 5.0], [5.0, 5.0, 5.0]])
written(([0], slice(1, 3)))  # ([1.0, 5.0, 5.0], [[1.0, 5.0, 5.0], [1.0, 5.0, 5.0]])

## expanded tensors cannot be written, which counts as no change
x = const([1.0, 2.0, 3.0]).expand(2, 3)
x.add_(1)  # RuntimeError: ...more than one element of the written-to tensor refers to a single memory location...
x += 1  # RuntimeError: ...more than one element of the written-to tensor...
x._version  # 0

## the base of a view
x = const(MATRIX)
x._base, x[0]._base is x, x[0][1:]._base is x, x._is_view(), x.t()._is_view()  # (None, True, True, False, True)
y = leaf(MATRIX) * 1
part = y[0]
part.mul_(2)
shape(part), shape(y)  # ([2], [2, 2])

## assignment of constants
def assigned(key, value):
    x = leaf(WIDE)
    y = x * 1
    y[key] = const(value) if isinstance(value, list) else value
    y.sum().backward()
    kept = torch.where(y == x, 1.0, 0.0)
    return y, x.grad.tolist() == kept.tolist()
assigned(0, 9.0)  # ([[9.0, 9.0, 9.0], [4.0, 5.0, 6.0]], True)
assigned(-1, 9.0)  # ([[1.0, 2.0, 3.0], [9.0, 9.0, 9.0]], True)
assigned((0, 1), 9.0)  # ([[1.0, 9.0, 3.0], [4.0, 5.0, 6.0]], True)
assigned((slice(None), 0), 9.0)  # ([[9.0, 2.0, 3.0], [9.0, 5.0, 6.0]], True)
assigned((slice(None), slice(None, None, 2)), 9.0)  # ([[9.0, 2.0, 9.0], [9.0, 5.0, 9.0]], True)
assigned((..., -1), 9.0)  # ([[1.0, 2.0, 9.0], [4.0, 5.0, 9.0]], True)
assigned(slice(None), 9.0)  # ([[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]], True)
assigned(..., 9.0)  # ([[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]], True)
assigned([1], 9.0)  # ([[1.0, 2.0, 3.0], [9.0, 9.0, 9.0]], True)
assigned(([0, 1], [2, 0]), 9.0)  # ([[1.0, 2.0, 9.0], [9.0, 5.0, 6.0]], True)
assigned((slice(None), [0, 2]), 9.0)  # ([[9.0, 2.0, 9.0], [9.0, 5.0, 9.0]], True)
assigned(0, [7.0, 8.0, 9.0])  # ([[7.0, 8.0, 9.0], [4.0, 5.0, 6.0]], True)
assigned((slice(None), slice(1, 3)), [7.0, 8.0])  # ([[1.0, 7.0, 8.0], [4.0, 7.0, 8.0]], True)
assigned((slice(None), 1), [7.0, 8.0])  # ([[1.0, 7.0, 3.0], [4.0, 8.0, 6.0]], True)

## assignment by a mask
x, v = leaf([1.0, 2.0, 3.0]), leaf(10.0)
y = x * 1
y[torch.tensor([True, False, True])] = v * 2
y.sum().backward()
y, x.grad, v.grad  # ([20.0, 2.0, 20.0], [0.0, 1.0, 0.0], 4.0)

## assignment by a mask made from the tensor itself
x = leaf([1.0, -2.0, 3.0])
y = x * 1
y[y < 0] = 0.0
y.sum().backward()
y, x.grad  # ([1.0, 0.0, 3.0], [1.0, 0.0, 1.0])

## assignment by positions in a tensor
x, v = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0])
y = x * 1
y[torch.tensor([2, 0])] = v
y.sum().backward()
y, x.grad, v.grad  # ([20.0, 2.0, 10.0], [0.0, 1.0, 0.0], [1.0, 1.0])

## the node of an assignment
y = leaf([1.0, 2.0, 3.0]) * 1
y[0] = leaf(5.0)
type(y.grad_fn).__name__  # 'CopySlices'
y[[0, 1]] = leaf(5.0)
y.grad_fn.name()  # 'IndexPutBackward0'

## assignment of a tensor that broadcasts
x, v = leaf(MATRIX), leaf([10.0, 20.0])
y = x * 1
y[:] = v
(y * const(MATRIX)).sum().backward()
v.grad, x.grad  # ([4.0, 6.0], [[0.0, 0.0], [0.0, 0.0]])

## assignment of another type converts
v = torch.tensor(3.0, dtype=torch.float32, requires_grad=True)
y = torch.zeros(2, dtype=torch.float64)
y[1] = v
y.sum().backward()
y.dtype, v.grad.dtype, v.grad  # (torch.float64, torch.float32, 1.0)

## assignment of a shape that does not fit is refused
y = torch.zeros(2, 3, dtype=torch.float64)
y[0] = const([1.0, 2.0])  # RuntimeError: ...must match...
y  # [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]

## a Jacobian filled element by element
x = leaf([2.0, 3.0])
out = torch.zeros(2, 2, dtype=torch.float64)
for i in range(2):
    for j in range(2):
        out[i, j] = x[i] * x[j]
out.sum().backward()
x.grad  # [10.0, 10.0]

## adding to an element
x = leaf([1.0, 2.0])
y = x * 1
y[0] += x[1] * 3
y  # [7.0, 2.0]
y.sum().backward()
x.grad  # [1.0, 4.0]

## assignment of a part to another part
x = leaf([1.0, 2.0, 3.0])
y = x * 1
y[0] = y[2]
y.sum().backward()
y, x.grad  # ([3.0, 2.0, 3.0], [0.0, 1.0, 2.0])

## second derivative through an assignment
x = leaf([1.0, 2.0])
y = x * 1
y[0] = x[1] ** 3
(g,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
g  # [0.0, 196.0]
torch.autograd.grad(g.sum(), x)  # ([0.0, 482.0],)

## gradcheck of a function that changes a view
def change(x):
    y = x.clone()
    y[0].mul_(2)
    y[:, 1].add_(y[:, 0].clone())
    return y
torch.autograd.gradcheck(change, leaf(MATRIX))  # True
torch.autograd.gradgradcheck(lambda x: change(x) ** 2, leaf(MATRIX))  # True

## in place in a function does not leak
def normalised(v):
    v = v.clone()
    v.sub_(v.mean())
    return v
x = leaf([1.0, 2.0])
normalised(x)[0].backward()
x, x.grad  # ([1.0, 2.0], [0.5, -0.5])

## index add and index fill and scatter
x = leaf([1.0, 2.0, 3.0])
y = x * 1
y.index_add_(0, torch.tensor([0, 0, 2]), const([10.0, 20.0, 30.0]))
y  # [31.0, 2.0, 33.0]
z = torch.zeros(3, dtype=torch.float64).scatter_add(0, torch.tensor([1, 1, 0]), x)
z  # [3.0, 3.0, 0.0]
(z * const([1.0, 10.0, 100.0])).sum().backward()
x.grad  # [10.0, 10.0, 1.0]

## views of a scalar
def tripled(view):
    x = const(2.0)
    view(x).mul_(3)
    return x.item(), x._version
tripled(lambda x: x.view(1)), tripled(lambda x: x.reshape(1)), tripled(lambda x: x.unsqueeze(0))  # ((6.0, 1), (6.0, 1), (6.0, 1))
tripled(lambda x: x[None]), tripled(lambda x: x[...]), tripled(lambda x: x.t())  # ((6.0, 1), (6.0, 1), (6.0, 1))
tripled(lambda x: x.squeeze()), tripled(lambda x: x.view(())), tripled(lambda x: x.expand(1)), tripled(lambda x: x.detach())  # ((6.0, 1), (6.0, 1), (6.0, 1), (6.0, 1))

## views write to their base, and a base to its views
def exchanged(view):
    x = const(MATRIX)
    part = view(x)
    part.mul_(5)
    first = x[0, 0].item()
    x.zero_()
    return first, part.sum().item()
exchanged(lambda x: x[0, 0]), exchanged(lambda x: x[0][0]), exchanged(lambda x: x.t()[0, 0])  # ((5.0, 0.0), (5.0, 0.0), (5.0, 0.0))
exchanged(lambda x: x[...]), exchanged(lambda x: x.t()), exchanged(lambda x: x.T), exchanged(lambda x: x.mT)  # ((5.0, 0.0), (5.0, 0.0), (5.0, 0.0), (5.0, 0.0))
exchanged(lambda x: x[:]), exchanged(lambda x: x.view(4)), exchanged(lambda x: x.flatten())  # ((5.0, 0.0), (5.0, 0.0), (5.0, 0.0))
exchanged(lambda x: next(iter(x))), exchanged(lambda x: x.expand(2, 2))  # ((5.0, 0.0), (5.0, 0.0))
exchanged(lambda x: x.squeeze()), exchanged(lambda x: x.data)  # ((5.0, 0.0), (5.0, 0.0))

## a saved view notices a change of its base
def spoiled(view):
    x = leaf(MATRIX)
    z = (view(x) ** 2).sum()
    with torch.no_grad(): x.mul_(2)
    z.backward()
spoiled(lambda x: x[0, 0])  # RuntimeError: ...modified by an inplace operation...
spoiled(lambda x: x[...])  # RuntimeError: ...modified by an inplace operation...
spoiled(lambda x: x.t())  # RuntimeError: ...modified by an inplace operation...
spoiled(lambda x: x[:1])  # RuntimeError: ...modified by an inplace operation...

## a base that is a leaf updated under no_grad with views alive
x = leaf([1.0, 2.0])
part = x[0]
with torch.no_grad(): x.mul_(10)
part  # 10.0
part.backward()
x.grad  # [1.0, 0.0]

## a value with leading ones is assigned
v = leaf([[5.0, 6.0]])
y = torch.zeros(2, 2, dtype=torch.float64)
y[0] = v
y  # [[5.0, 6.0], [0.0, 0.0]]
y.sum().backward()
v.grad  # [[1.0, 1.0]]

## assignment from a position in a tensor
y = torch.zeros(3, dtype=torch.float64)
y[torch.tensor(1)] = 5.0
y[torch.tensor(2) :] = 7.0
y  # [0.0, 5.0, 7.0]

## fill_diagonal_
x = leaf(MATRIX)
y = x * 2
y.fill_diagonal_(7.0) is y, y, type(y.grad_fn).__name__  # (True, [[7.0, 4.0], [6.0, 7.0]], 'CopySlices')
(y * y).sum().backward()
x.grad  # [[0.0, 16.0], [24.0, 0.0]]
torch.zeros(4, 2).fill_diagonal_(1, wrap=True)  # [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
torch.zeros(2).fill_diagonal_(1)  # RuntimeError: dimensions must larger than 1

## elements cannot be set from the same memory
x = const(WIDE)
x[[0, 1]] = x[1:]  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single memory...
x[[0, 1]] = x[1]  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single memory...
x[[0, 1]] = x  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single memory...
x[[0, 1]] = x.detach()[:1]  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single memory...
x  # [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
x[[0, 1]] = x[1:].clone()
x[[0, 1]] = x[1].clone()
x[[0, 1]] = x.clone()
x[[0, 1]] = x.detach()[:1].clone()

## a tensor cannot be changed by a part of itself
x = const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
x.div_(x.T)  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single...
x[1:].add_(x[:-1])  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single...
x[0, 1:].mul_(x[0, :-1])  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single...
x.mul_(x[0, 0])  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single...
x *= x[0]  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single...
x.copy_(x.T)  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single...
x[1:] = x[:-1]  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single...
x.addcmul_(x.clone(), x.T)  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single...
x.lerp_(x.clone(), weight=x.T)  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer to a single...
x.index_add_(0, torch.tensor([0]), x[:1])  # RuntimeError: ...some elements of the input tensor and the written-to tensor refer...
x  # [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]

## a tensor can be changed by itself and by other parts of its memory
x = const(MATRIX)
x.mul_(x).add_(x[:])
x  # [[2.0, 8.0], [18.0, 32.0]]
x[0].add_(x[1])
x  # [[20.0, 40.0], [18.0, 32.0]]
x[:, 0].add_(x[:, 1])
x  # [[60.0, 40.0], [50.0, 32.0]]
x.T.mul_(x.T)
x  # [[3600.0, 1600.0], [2500.0, 1024.0]]
x[:] = x[0, 1]
x  # [[1600.0, 1600.0], [1600.0, 1600.0]]

## elements can be set from other memory of the tensor
x = const(WIDE)
x[:, [0]] = x[:, 1:2]
x  # [[2.0, 2.0, 3.0], [5.0, 5.0, 6.0]]
y = const([1.0, 2.0, 3.0])
y[y > 1] = y[0]
y  # [1.0, 1.0, 1.0]

## the accumulation of a gradient counts as a change
x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
(x * 2).sum().backward()
x.grad._version  # 0
y = (x.grad * w).sum()
(x * 3).sum().backward()
x.grad, x.grad._version  # ([5.0, 5.0], 1)
y.backward()  # RuntimeError: ...modified by an inplace operation... is at version 1; expected version 0...

## views can be detached in place in inference mode
x = const([1.0, 2.0]).reshape(2, 1)
x.detach_()  # RuntimeError: Can't detach views in-place...
with torch.inference_mode(): x.detach_() is x  # True

## a tensor is not filled with nothing
const([1.0]).fill_(None)  # TypeError: fill_()...
