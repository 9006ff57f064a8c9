"""Dual tensors: a primal and a tangent, the state of forward mode.

A dual tensor is computed inside a ``Level``, one application of forward mode.  A function of dual tensors calls ``applied``,
which computes the primal with the ordinary function, so that reverse mode records it, and the tangent with the rules in
``rules``.  After the end of its level, a dual tensor acts as its primal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from autodiff_cli.autograd.forward_ad.custom import custom_tangents
from autodiff_cli.autograd.forward_ad.reverse import gradients
from autodiff_cli.autograd.forward_ad.rules import Rule, rule_of, rule_on_arrays, several_tangents
from autodiff_cli.autograd.modes import is_recording
from autodiff_cli.autograd.primitives.multi_output import MultiOutput
from autodiff_cli.autograd.primitives.primitive import Primitive, next_level, outermost
from autodiff_cli.autograd.primitives.structural import reshaped
from autodiff_cli.autograd.printing import tensor_repr
from autodiff_cli.autograd.tensor import Tensor, shared_array, tensor_on
from autodiff_cli.autograd.transforms.batched import Batched
from autodiff_cli.autograd.views_and_versions import view_of
from autodiff_cli.errors import GraphError
from autodiff_cli.lazy import named

if TYPE_CHECKING:
    from autodiff_cli.autograd.function import Function

_new = object.__new__


class Level:
    """One application of forward mode; a context manager, after whose end its dual tensors act as their primals.

    Attributes:
        number: the level of dispatch; levels that start later are higher.
        is_open: whether the level has not ended.
    """

    __slots__ = ("is_open", "number")

    def __init__(self) -> None:
        self.number = next_level()
        self.is_open = True

    def __enter__(self) -> Level:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.is_open = False


class Dual(Tensor):
    """A tensor with a tangent.

    The values, the history and the rarely used state are those of the primal.  A dual tensor can take the place of an ordinary
    tensor that is changed in place: see ``inplace``.

    Attributes:
        _forward: the primal, the tangent, which is ``None`` after ``detach_``, and the level.
    """

    __slots__ = ()

    @property
    def _level(self) -> int:  # type: ignore[override]
        return self._forward[2].number  # type: ignore[no-any-return]

    def applied(self, primitive: Primitive, args: Sequence[Any]) -> Any:
        """Return the result of a primitive, dual if it has a tangent; after the end of its level, a dual tensor is its primal."""
        level = self._forward[2]
        fast_rule = rule_on_arrays(primitive)
        if fast_rule is not None and level.is_open:
            quick = _applied_to_arrays(fast_rule, primitive, args, level)
            if quick is not None:  # the fast way was possible
                return quick
        primals, tangents, has_tangent = _unpacked(primitive, args, level)
        out = primitive.function(*primals)
        if not has_tangent:
            return out
        rule = rule_of(primitive)
        if rule is not None:
            tangent = rule(out, primals, tangents)
        else:  # a composition of other functions, which compute its tangent
            composition: Any = primitive.series
            _, tangent = split(composition(*args), level)
        if tangent is None:
            return out
        if tangent is tangents[0]:  # each tangent has memory of its own, because a dual tensor can be changed in place
            tangent = tangent + 0.0
        return dual(out, tangent, level)

    def applied_several(self, operation: MultiOutput, args: Sequence[Any]) -> Sequence[Any]:
        """Return the results of an operation on this tensor, the first of ``args``; differentiable ones are dual if it is."""
        level = self._forward[2]
        primal, tangent = split(self, level)
        primals = [primal, *args[1:]]
        outs = operation.function(*primals)
        if tangent is None:
            return list(outs)
        parts = several_tangents(operation, outs, primals, tangent)
        return [out if part is None else dual(out, part, level) for out, part in zip(outs, parts, strict=True)]

    def applied_custom(self, function: type[Function], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return the result of a custom function, whose ``jvp`` computes the tangents, unless the level has ended."""
        level = self._forward[2]
        if not level.is_open:
            return function.apply(*[settled(arg) for arg in args], **kwargs)
        pairs = [split(arg, level) for arg in args]
        primals = [primal for primal, _ in pairs]
        if outermost((primals,)) is not None:  # a primal is itself a tensor of a transformation
            raise GraphError(
                f"{function.__name__}: a custom function cannot be differentiated by several nested transformations",
                hint="compose the function of other functions",
            )
        result, node = function.run(tuple(primals), dict(kwargs))
        tangents = custom_tangents(function, node, primals, [tangent for _, tangent in pairs], result)
        several = isinstance(result, tuple)
        inputs = list(zip(args, primals, strict=True))
        results = zip(result if several else (result,), tangents, strict=True)
        outputs = tuple([_custom_output(output, tangent, level, inputs) for output, tangent in results])
        return outputs if several else outputs[0]

    def differentiated(
        self, outputs: Sequence[Any], inputs: Sequence[Any], grad_outputs: Any, **options: Any
    ) -> list[Tensor | None]:
        """Return the gradients as ``reverse_mode.grad`` does with these ``options``, if one of its arguments is a dual tensor."""
        level = self._forward[2]
        cotangents = grad_outputs if isinstance(grad_outputs, (list, tuple)) else [grad_outputs] * len(outputs)  # one for all
        primals = [primal for primal, _ in (split(x, level) for x in inputs)]
        pairs = gradients([split(y, level) for y in outputs], primals, [parts_of(v, level) for v in cotangents], **options)
        return [primal if tangent is None else dual_of(primal, tangent, level) for primal, tangent in pairs]

    def changed(self, compute: Callable[[Tensor], Tensor], change: Callable[..., Tensor]) -> Tensor:
        """Change this tensor in place, see ``ops.inplace.change``."""
        return named("autodiff_cli.autograd.forward_ad.inplace:changed")(self, compute, change)  # type: ignore[no-any-return]

    def written_to(self, tensor: Tensor, change: Callable[..., Tensor]) -> Tensor:
        """Write this tensor, the result of an in-place operation on an ordinary tensor, into the ordinary tensor."""
        return named("autodiff_cli.autograd.forward_ad.inplace:written_to")(self, tensor, change)  # type: ignore[no-any-return]

    def detach(self) -> Tensor:
        """Return the detached primal, which does not have the tangents of lower levels either."""
        return self._forward[0].detach()  # type: ignore[no-any-return]

    def detach_(self) -> Tensor:
        """Detach the primal in place, and drop the tangent."""
        primal, _, level = self._forward
        primal.detach_()
        self._forward = (primal, None, level)
        return self

    def __repr__(self) -> str:
        primal, tangent, level = self._forward
        shown = level.is_open and tangent is not None and type(primal) is Tensor
        return tensor_repr(primal, f"tangent={tangent}") if shown else repr(primal)


def _attribute_of_primal(name: str) -> property:
    """Return a property for an attribute that a dual tensor shares with its primal."""
    return property(lambda self: getattr(self._forward[0], name), lambda self, value: setattr(self._forward[0], name, value))


for _name in ("_data", "_edge", "_extra", "_requires_grad"):
    setattr(Dual, _name, _attribute_of_primal(_name))


def dual(primal: Tensor, tangent: Tensor, level: Level) -> Tensor:
    """Return the dual tensor of a primal and a tangent."""
    result = _new(Dual)
    result._forward = (primal, tangent, level)
    return result


def view(tensor: Tensor) -> Tensor:
    """Return a view of all elements of a tensor; without a history, which is usual, a call of ``reshaped`` is too slow."""
    if type(tensor) is not Tensor or tensor._requires_grad:
        return reshaped(tensor, tuple(tensor.shape))  # type: ignore[no-any-return]
    return view_of(tensor_on(shared_array(tensor)[...]), tensor, reshaped, (tensor._data.shape,))


def split(tensor: Any, level: Level) -> tuple[Any, Tensor | None]:
    """Return the primal and the tangent of a tensor at a level; the tangent of any other value is ``None``."""
    tensor = settled(tensor)
    if not isinstance(tensor, Dual) or tensor._forward[2] is not level:
        return tensor, None
    primal, tangent, _ = tensor._forward
    return primal, tangent


def dual_of(primal: Tensor, tangent: Tensor, level: Level) -> Tensor:
    """Return a dual tensor; inside ``vmap``, where a part may be batched, a batched tensor on a dual tensor."""
    batches = [value.batch for value in (primal, tangent) if type(value) is Batched]
    if not batches:
        return dual(primal, tangent, level)
    innermost = max(batches, key=lambda batch: batch.level)
    return innermost.wrap(dual_of(innermost.lift(primal), innermost.lift(tangent), level))


def parts_of(value: Tensor, level: Level) -> tuple[Tensor, Tensor | None]:
    """Return the primal and the tangent of a tensor, inside ``vmap`` as batched tensors; the inverse of ``dual_of``."""
    if type(value) is Batched:
        primal, tangent = parts_of(value.physical, level)
        return value.batch.wrap(primal), None if tangent is None else value.batch.wrap(tangent)
    return split(value, level)


def settled(tensor: Any) -> Any:
    """Return the primal of a dual tensor whose level has ended; return any other value unchanged."""
    while isinstance(tensor, Dual) and not tensor._forward[2].is_open:
        tensor = tensor._forward[0]
    return tensor


def _unpacked(primitive: Primitive, args: Sequence[Any], level: Level) -> tuple[list[Any], list[Any], bool]:
    """Return the primals and the tangents of arguments, and whether a differentiable argument has a tangent."""
    if primitive.of_sequence:  # the tangents of the sequence are then one entry, a list
        pairs = [split(arg, level) for arg in args[0]]
        primals: list[Any] = [[primal for primal, _ in pairs], *args[1:]]
        tangents: list[Any] = [tangent for _, tangent in pairs]
        return primals, [tangents], any(tangent is not None for tangent in tangents)
    primals, tangents = list(args), [None] * len(args)
    for i in range(primitive.arity):
        primals[i], tangents[i] = split(args[i], level)
    return primals, tangents, any(tangents[i] is not None for i in primitive.differentiable_args)


def _custom_output(output: Any, tangent: Tensor | None, level: Level, inputs: Sequence[tuple[Any, Any]]) -> Any:
    """Return a result of a custom function with its tangent; an argument of ``inputs`` with this primal is changed itself."""
    for argument, primal in inputs:
        if primal is output and isinstance(argument, Dual):  # ``forward`` changed this argument in place and returned it
            argument._forward = (output, argument._forward[1] if tangent is None else tangent, level)
            return argument
    return output if tangent is None else dual(output, tangent, level)


def _applied_to_arrays(rule: Rule, primitive: Primitive, args: Sequence[Any], level: Level) -> Tensor | None:
    """Return the result of a primitive if reverse mode and other transformations are not involved, otherwise ``None``.

    This is the fast way of ``Dual.applied``.  The operands have to be dual tensors of this level, tensors and Python numbers, and
    all arrays have to be of one type.
    """
    values, tangents = list(args), [None] * len(args)
    dtype = latest_tangent = None
    recording = is_recording()
    for i in range(primitive.arity):
        arg = args[i]
        if type(arg) is float or type(arg) is int:
            continue
        if type(arg) is Dual and arg._forward[2] is level:
            arg, tangent, _ = arg._forward
            if type(tangent) is not Tensor or (recording and tangent._requires_grad):
                return None
            latest_tangent = tangents[i] = tangent._data
        if type(arg) is not Tensor or (recording and arg._requires_grad):
            return None
        data = values[i] = arg._data
        if dtype is not None and data.dtype is not dtype:
            return None
        dtype = data.dtype
    if latest_tangent is None:
        return None
    try:
        out = primitive.forward(*values)
    except Exception:  # the ordinary function raises the error that users see
        return None
    if out.dtype is not dtype:
        return None
    product: Any = rule(out, values, tangents)
    if product is latest_tangent and product.ndim:  # the only tangent itself: each dual tensor needs memory of its own
        product = product.copy()
    return dual(tensor_on(out), tensor_on(product), level)
