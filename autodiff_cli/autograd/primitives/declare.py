"""How declared operations run: forward on arrays, and a recorded node where a tensor requires grad.

``declare`` takes the forward computation on arrays and one partial derivative for each differentiable argument, and
returns the function that users call.  Given plain arrays that function just computes; given tensors it computes, and
records a node if one of them requires grad.  Partials are written over such functions, so one rule serves the fast
sweep on arrays and the recorded one on tensors, at every order.

The parameters of a partial say what it needs, and only that is saved: ``g`` is the gradient of the output (always
first); then names of the operation's own parameters, ``out`` for its result, ``x_shape`` for the shape of ``x``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import get_default_dtype, promote
from autodiff_cli.autograd.modes import is_grad_enabled
from autodiff_cli.autograd.node import (
    NO_EDGE,
    OUTPUT,
    BothNode,
    InputNode,
    LinearNode,
    Node,
    OpNode,
    OutputNode,
    SequenceNode,
    next_sequence_nr,
)
from autodiff_cli.autograd.primitives.arguments import NO_BOOLEANS, UNFIT, bind, common, mismatch, plain
from autodiff_cli.autograd.primitives.kinds import TENSOR, Kind, checks_of, settled
from autodiff_cli.autograd.primitives.registry import Function, describe
from autodiff_cli.autograd.tensor import Tensor, leaf_edge, shared_array, view_of
from autodiff_cli.errors import ArgumentError, DtypeError

Partial = Callable[..., Any]
Decomposition = str | Callable[..., str | None]
"""A formula, or what gives one for the values of the parameters that are no tensors; ``None`` where there is none."""

_new = object.__new__


class Primitive:
    """What those need to know of an operation who do not run it on arrays: power series, and recordings.

    Attributes:
        kind: what was declared of it as ``series``.
        arity: how many of the parameters are tensors; they come first.
        elementwise, selects, decomposition: see ``declare``.
    """

    __slots__ = (
        "arity",
        "decomposition",
        "elementwise",
        "forward",
        "function",
        "kind",
        "moving",
        "name",
        "of_sequence",
        "parameters",
        "partials",
        "selects",
    )

    def __init__(
        self,
        function: Function,
        name: str,
        forward: Callable[..., Any],
        partials: Mapping[str, Partial | None],
        parameters: tuple[str, ...],
        kind: str | Function | None,
        elementwise: bool = False,
        selects: bool = False,
        decomposition: Decomposition | None = None,
    ) -> None:
        self.function = function
        self.name = name
        self.forward = forward
        self.partials = partials
        self.parameters = parameters
        self.kind = kind
        self.arity = len(partials)
        self.elementwise = elementwise
        self.selects = selects
        self.decomposition = decomposition
        self.of_sequence = parameters[0] == "tensors"
        self.moving = tuple(i for i, name in enumerate(parameters) if partials.get(name) is not None)


PRIMITIVES: dict[Function, Primitive] = {}
"""The primitive of every declared function."""


def dispatch(function: Function, arguments: Sequence[Any]) -> Any:
    """The result of a declared function where one of the tensors is of another class: a power series, or recorded.

    Their classes say by ``applied(primitive, arguments)`` what the function does to them.
    """
    for value in arguments:
        for one in value if isinstance(value, list) else (value,):
            if type(one) is not Tensor and isinstance(one, Tensor):
                return one.applied(PRIMITIVES[function], arguments)
    raise AssertionError("no tensor of another class")


def declare(
    name: str,
    forward: Callable[..., Any],
    partials: Mapping[str, Partial | None],
    *,
    series: str | Function | None = None,
    node: str | None = None,
    statics: Mapping[str, Any] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    public: bool = True,
    view: bool = False,
    selects: bool = False,
    elementwise: bool | None = None,
    recover: Callable[[Any], Any] | None = None,
    decomposition: Decomposition | None = None,
    **description: Any,
) -> Function:
    """Declare an operation with a rule of its own.

    Args:
        name: what users call it.
        forward: computes the result from arrays, and from the ``statics`` after them.
        partials: for each tensor argument its partial derivative, ``None`` where there is none.
        series: how it acts on power series, see ``autograd.taylor_mode``; ``None`` if it has no rule for them.
        node: PyTorch's name of the backward node; from ``name`` if left out (``log`` gives ``LogBackward0``).
        statics: further parameters, which are plain Python values, with their defaults.
        kinds: what each of those is, where users give them: they are checked before anything runs.
        public: whether it belongs to the language; if not, it serves other rules only.
        view: whether the result shares the memory of the argument, where NumPy can do that.
        selects: whether it takes some elements of its arguments and leaves others; see ``autograd.untaken``.
        elementwise: whether each element depends on its own place only; if left out, as ``ELEMENTWISE`` of the module says.
        recover: the input from the result, for a rule that saves both, should the input be changed in place.
        decomposition: the value as a formula of the language over the parameters, for those who write operations down where this
            one is not known: in the language itself if it is not public, or in the language of somebody else.
        description: see ``describe``.
    """
    node = node or node_name(name)
    tensors = tuple(partials)
    statics = dict(statics or {})
    differentiable = any(partials.values())
    home = sys._getframe(1).f_globals  # where the declaration stands
    if elementwise is None:
        elementwise = bool(home.get("ELEMENTWISE")) and "dim" not in statics
    rule = _Rule(
        name,
        node,
        tensors,
        tuple(statics),
        partials,
        {"selects": selects, "elementwise": elementwise} | ({} if recover is None else {"recover": staticmethod(recover)}),
    )
    if view:
        function = _viewing(name, forward, rule, statics, kinds or {})
    elif not statics and len(tensors) == 1 and differentiable:
        function = _unary(name, forward, rule)
    elif not statics and len(tensors) == 2:
        function = _binary(name, forward, rule)
    else:
        function = _general(name, forward, rule, statics, kinds or {})
    function.__name__ = function.__qualname__ = name
    function.__module__ = home["__name__"]
    function.__doc__ = description.get("summary")
    PRIMITIVES[function] = Primitive(
        function,
        name,
        forward,
        partials,
        (*tensors, *statics),
        series if differentiable else "fixed",
        elementwise,
        selects,
        decomposition,
    )
    rule.traits["primitive"] = PRIMITIVES[function]
    if not public:
        return function
    return describe(
        function,
        name=name,
        parameters=(*tensors, *statics),
        defaults=tuple(statics.values()),
        tensors=tensors,
        kinds=kinds,
        **description,
    )


class _Rule:
    """How a node of one operation is filled: which inputs have edges, what is saved and which partial reads it."""

    __slots__ = ("_type", "arity", "name", "names", "node_name", "partials", "picks", "plan", "positions", "tensors", "traits")

    def __init__(
        self,
        name: str,
        node_name: str,
        tensors: tuple[str, ...],
        statics: tuple[str, ...],
        partials: Mapping[str, Partial | None],
        traits: dict[str, Any],
    ) -> None:
        self.name = name
        self.traits = traits
        self.node_name = node_name
        self.tensors = tensors
        self.positions = tuple(i for i, tensor in enumerate(tensors) if partials[tensor] is not None)
        self.partials = tuple(partial for partial in partials.values() if partial is not None)
        self.arity = len(tensors)
        self._type: type[OpNode] | None = None
        parameters = tensors + statics
        slots: list[str] = []
        picks = []
        for partial in self.partials:
            wanted = argument_names(partial)[1:]
            slots.extend(w for w in wanted if w not in slots)
            picks.append(tuple(slots.index(w) for w in wanted))
        self.picks = tuple(picks)
        self.names = tuple(slots)
        # (kind, position of the parameter, which partials read it); kinds: a value, the shape of a value, the output.
        self.plan = tuple(
            (*_slot(slot, parameters), tuple(i for i, read in enumerate(picks) if k in read)) for k, slot in enumerate(slots)
        )

    @property
    def type(self) -> type[OpNode]:
        """The class of the nodes, made on first use: its name is what PyTorch prints."""
        if self._type is None:
            edge_of = tuple(
                OUTPUT
                if kind == "out"
                else self.positions.index(position)
                if kind == "value" and position in self.positions
                else NO_EDGE
                for kind, position, _ in self.plan
            )
            saves = any(kind == "out" or (kind == "value" and position < self.arity) for kind, position, _ in self.plan)
            self._type = type(
                self.node_name,
                (OpNode,),
                {
                    "__slots__": (),
                    "partials": self.partials,
                    "picks": self.picks,
                    "edge_of": edge_of,
                    "saved_names": self.names,
                    "keeps_output": OUTPUT in edge_of,
                    "frees": saves,
                    **self.traits,
                },
            )
        return self._type

    def record(self, values: Sequence[Any], data: Any) -> Tensor:
        """The output as a tensor with a node, for a call in which some value requires grad."""
        edges: list[Any] = []
        for i in self.positions:
            value = values[i]
            needs = type(value) is Tensor and value._requires_grad
            edges.append((value._edge or leaf_edge(value)) if needs else None)
        saved: list[Any] = []
        for kind, position, readers in self.plan:
            for reader in readers:
                if edges[reader] is not None:
                    break
            else:  # no partial that will run asks for it
                saved.append(None)
                continue
            if kind == "value":
                saved.append(values[position])
            elif kind == "out":
                saved.append(data)
            else:
                value = values[position]
                saved.append(value.shape if hasattr(value, "shape") else ())
        node = _new(self._type or self.type)
        node._saved = saved
        return _output(node, tuple(edges), data)


def _output(node: Any, edges: tuple[Any, ...], data: Any) -> Tensor:
    node._edges = edges
    node._shape = data.shape
    node._dtype = data.dtype
    node.sequence_nr = next_sequence_nr()
    node._hooks = None
    out = _new(Tensor)
    out._data = data
    out._requires_grad = True
    out._edge = (node, 0)
    out._extra = None
    return out


def _constant(data: Any) -> Tensor:
    out = _new(Tensor)
    out._data = data
    out._requires_grad = False
    out._edge = None
    out._extra = None
    return out


def shares(data: Any, source: Any) -> bool:
    """Whether an array is a view of another's memory."""
    return data is source or (data.base is not None and data.base is (source if source.base is None else source.base))


def _settled(data: Any, *inputs: Any) -> Any:
    """A floating-point result of integers, booleans and plain numbers has the default type, not NumPy's."""
    if data.dtype.kind == "f" and not any(getattr(getattr(v, "dtype", None), "kind", "") == "f" for v in inputs):
        return data.astype(get_default_dtype(), copy=False)
    return data


def _in_full(forward: Callable[..., Any], data: Any, values: Sequence[Any]) -> Any:
    """A result as it is, but one of booleans, for which NumPy has 16 bits, once more of integers."""
    if data.dtype != np.float16:
        return data
    return forward(*(v.astype(np.int64) if getattr(v, "dtype", None) == np.bool_ else v for v in values))


def _counted(name: str, values: Any) -> Any:
    """Booleans as numbers, where that may be meant."""
    if name in NO_BOOLEANS:
        raise DtypeError(NO_BOOLEANS[name])
    return values.astype(np.int64)


def node_name(name: str) -> str:
    """PyTorch's name for the node of an operation: ``log_ndtr`` gives ``LogNdtrBackward0``."""
    return f"{''.join(part.capitalize() for part in name.split('_'))}Backward0"


def argument_names(partial: Partial) -> tuple[str, ...]:
    code = partial.__code__
    return code.co_varnames[: code.co_argcount]


def _slot(name: str, parameters: tuple[str, ...]) -> tuple[str, int]:
    if name == "out":
        return "out", -1
    if name in parameters:
        return "value", parameters.index(name)
    return "shape", parameters.index(name.removesuffix("_shape"))


def _unary(name: str, forward: Callable[..., Any], rule: _Rule) -> Function:
    """The function of an operation of one tensor and nothing else: the path that must be fast."""
    (partial,) = rule.partials
    saves = argument_names(partial)[1:]
    saves_input = saves == ("x",)
    saves_output = saves == ("out",)
    saves_both = saves == ("x", "out")
    if saves and not (saves_input or saves_output or saves_both):
        return _general(name, forward, rule, {}, {})
    base: type[Node] = InputNode if saves_input else OutputNode if saves_output else BothNode if saves_both else LinearNode
    node_type: Any = None

    def function(x: Any) -> Any:
        nonlocal node_type
        if type(x) is not Tensor:
            return dispatch(function, (x,)) if isinstance(x, Tensor) else forward(x)
        values = x._data
        data = forward(values if values.dtype.kind != "b" else _counted(name, values))
        if not x._requires_grad or not is_grad_enabled():
            return _constant(_settled(data, values))
        if node_type is None:
            node_type = type(rule.node_name, (base,), {"__slots__": (), "partial": staticmethod(partial), **rule.traits})
        made = _new(node_type)
        made._saved = x if saves_input else data if saves_output else (x, data) if saves_both else None
        # _output, written out: this is the innermost loop of eager evaluation.
        made._edges = (x._edge or leaf_edge(x),)
        made._shape = data.shape
        made._dtype = data.dtype
        made.sequence_nr = next_sequence_nr()
        made._hooks = None
        out = _new(Tensor)
        out._data = data
        out._requires_grad = True
        out._edge = (made, 0)
        out._extra = None
        return out

    return function


def _binary(name: str, forward: Callable[..., Any], rule: _Rule) -> Function:
    """The function of an operation of two tensors, either of which may be a plain number."""
    first, second = 0 in rule.positions, 1 in rule.positions

    def function(x: Any, y: Any) -> Any:
        if type(x) is Tensor:
            a = x._data
            if type(y) is Tensor:
                b = y._data
                if a.dtype is not b.dtype:
                    a, b = promote(a, b)
                    # A rule computes with numbers, not with true and false.
                    x, y = _constant(a) if x._data.dtype.kind == "b" else x, _constant(b) if y._data.dtype.kind == "b" else y
            elif isinstance(y, Tensor):
                return dispatch(function, (x, y))
            else:
                b = y = plain(y, a)
        elif isinstance(x, Tensor) or (isinstance(y, Tensor) and type(y) is not Tensor):
            return dispatch(function, (x, y))
        elif type(y) is Tensor:
            b = y._data
            a = x = plain(x, b)
        else:
            return forward(x, y)
        try:
            data = forward(a, b)
        except UNFIT as error:
            raise mismatch(name, error, (a, b)) from None
        if (
            (first and type(x) is Tensor and x._requires_grad) or (second and type(y) is Tensor and y._requires_grad)
        ) and is_grad_enabled():
            return rule.record((x, y), data)
        return _constant(_settled(_in_full(forward, data, (a, b)), a, b))

    return function


def _general(
    name: str, forward: Callable[..., Any], rule: _Rule, statics: Mapping[str, Any], kinds: Mapping[str, Kind]
) -> Function:
    """The function of any other operation: tensors first, then plain values that have defaults."""
    arity = rule.arity
    parameters = rule.tensors + tuple(statics)
    defaults = tuple(statics.values())
    checks = checks_of(parameters, defaults, kinds)

    def function(*given: Any, **kwargs: Any) -> Any:
        args: Sequence[Any] = given
        if kwargs or len(args) != len(parameters):
            args = bind(name, parameters, defaults, args, kwargs)
        if checks:
            args = settled(name, checks, args)
        raw = list(args)
        recorded = found = False
        for i in range(arity):
            value = args[i]
            if type(value) is Tensor:
                found = True
                raw[i] = value._data
                recorded = recorded or (value._requires_grad and i in rule.positions)
            elif isinstance(value, Tensor):
                return dispatch(function, args)
        if not found:
            return forward(*raw)
        if arity > 1:
            raw[:arity] = common(raw[:arity], rule.positions)
            for i in rule.positions:  # a rule computes with numbers, not with true and false
                if type(args[i]) is Tensor and args[i]._data.dtype.kind == "b" and raw[i].dtype.kind != "b":
                    args = (*args[:i], _constant(raw[i]), *args[i + 1 :])
        try:
            data = forward(*raw)
        except UNFIT as error:
            raise mismatch(name, error, raw[:arity]) from None
        if recorded and is_grad_enabled():
            return rule.record(args, data)
        return _constant(_settled(_in_full(forward, data, raw), *raw[:arity]))

    return function


NO_GRAD_VIEW = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case is "
    "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either "
    "both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the inplace "
    "to be tracked)."
)


def _viewing(
    name: str, forward: Callable[..., Any], rule: _Rule, statics: Mapping[str, Any], kinds: Mapping[str, Kind]
) -> Function:
    """The function of an operation whose result shares memory with its argument."""
    parameters = rule.tensors + tuple(statics)
    defaults = tuple(statics.values())
    checks = checks_of(parameters, defaults, kinds)

    def function(*given: Any, **kwargs: Any) -> Any:
        args: Sequence[Any] = given
        if kwargs or len(args) != len(parameters):
            args = bind(name, parameters, defaults, args, kwargs)
        if checks:
            args = settled(name, checks, args)
        x = args[0]
        if type(x) is not Tensor:
            return dispatch(function, args) if isinstance(x, Tensor) else forward(*args)
        source = shared_array(x)
        try:
            data = forward(source, *args[1:])
        except UNFIT as error:
            raise mismatch(name, error, [source]) from None
        recording = is_grad_enabled()
        made = rule.record(args, data) if x._requires_grad and recording else _constant(data)
        if not shares(data, source):
            return made
        return view_of(made, x, function, args[1:], NO_GRAD_VIEW if x._requires_grad and not recording else "")

    return function


def declare_sequence(
    name: str,
    forward: Callable[..., Any],
    partial: Partial,
    *,
    node: str,
    statics: Mapping[str, Any],
    kinds: Mapping[str, Kind],
    series: str | None = None,
    **description: Any,
) -> Function:
    """Declare an operation on a sequence of tensors: ``partial(g, i, shapes, *statics)`` is that of the i-th."""
    node_type: Any = type(node, (SequenceNode,), {"__slots__": (), "partial": staticmethod(partial)})
    parameters = ("tensors", *statics)
    checks = checks_of(parameters, tuple(statics.values()), kinds)

    def function(*args: Any, **kwargs: Any) -> Any:
        if args and not isinstance(args[0], (list, tuple)):
            # stack(x, y) as in the language, beside PyTorch's stack([x, y]).
            count = sum(isinstance(a, (Tensor, np.ndarray, np.generic, float)) for a in args)
            args = (list(args[:count]), *args[count:])
        tensors, *rest = settled(name, checks, bind(name, parameters, tuple(statics.values()), args, kwargs))
        if not tensors:
            raise ArgumentError(f"{name} expects at least one tensor")
        if any(type(t) is not Tensor and isinstance(t, Tensor) for t in tensors):
            return dispatch(function, (list(tensors), *rest))
        raw = [t._data if type(t) is Tensor else np.asarray(TENSOR(t, name, "tensors")) for t in tensors]
        try:
            data = forward(raw, *rest)
        except UNFIT as error:
            raise mismatch(name, error, raw) from None
        if not any(type(t) is Tensor for t in tensors):
            return data
        if not any(type(t) is Tensor and t._requires_grad for t in tensors) or not is_grad_enabled():
            return _constant(data)
        made: Any = _new(node_type)
        made._saved = (tuple(r.shape for r in raw), *rest)
        edges = tuple([(t._edge or leaf_edge(t)) if type(t) is Tensor and t._requires_grad else None for t in tensors])
        return _output(made, edges, data)

    function.__name__ = function.__qualname__ = name
    function.__module__ = partial.__module__
    node_type.primitive = PRIMITIVES[function] = Primitive(function, name, forward, {"tensors": partial}, parameters, series)
    function.__doc__ = description.get("summary")
    return describe(
        function,
        name=name,
        parameters=parameters,
        defaults=tuple(statics.values()),
        tensors=("tensors",),
        kinds=kinds,
        variadic=True,
        **description,
    )
