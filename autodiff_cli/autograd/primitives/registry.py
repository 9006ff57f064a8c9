"""The registry of the language: every function with its parameters, documentation, domain and test points.

``describe`` puts a function into it and onto ``Tensor``; ``Declarations`` in ``primitives.declare`` adds how it runs, and
its VJP rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from autodiff_cli.autograd.primitives.argument_kinds import Argument, Kind
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES, TensorFunction, argument_names
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.lazy import OnDemand

Predicate = Callable[..., Any]
"""A mask from arrays; its parameters are some of the operation's own, by name."""

FUNCTIONS: OnDemand[FunctionInfo] = OnDemand()
"""Every function of the language by each of its names; the less common are installed when one is missing."""

KEYWORD_ALIASES = {"axis": "dim", "keepdims": "keepdim", "input": "x", "other": "y"}
"""NumPy's and PyTorch's other spellings of keywords, tried when a function has no parameter of the first name."""


def how_many(least: int, most: int) -> str:
    """Return a count such as ``1 argument`` or ``2 to 3 arguments``."""
    return f"{most} argument{'s' * (most != 1)}" if least == most else f"{least} to {most} arguments"


class Description(TypedDict, total=False):
    """The documentation and the test points of a function; see ``FunctionInfo``."""

    aliases: Sequence[str]
    reflected: TensorFunction | None
    spread: bool
    section: str
    summary: str
    formula: str
    domain: str
    smooth: str
    convention: str
    samples: Sequence[tuple[Any, ...]]
    edges: Sequence[tuple[Any, ...]]
    inside: Predicate | None
    kink: Predicate | None
    second_kink: Predicate | None


class Registration(Description, total=False):
    """The same, and how the function is put onto ``Tensor``; see ``describe``."""

    methods: Sequence[str] | None
    operator: str | None


@dataclass(slots=True, eq=False, kw_only=True)
class FunctionInfo:
    """A function of the language.

    Attributes:
        name, aliases: what it is called.
        function: the callable.
        parameters: names in order, with ``defaults`` for the last of them.
        tensors: the parameters that take tensors; the others take plain numbers, flags and shapes.
        kinds: what each of those others is, by name; see ``primitives.kinds``.
        variadic: whether the first parameter may be given as several arguments, as the tensors of ``stack``.
        spread: whether the last parameter may be, as the shape of ``reshape``.
        reflected: the function of an operator whose left side is a plain number: ``reflected(y, x)`` is ``x - y``.
        section: what it is listed under in the reference.
        summary: one line of prose.
        formula: the derivative, in the language itself, where one line can say it.
        domain: where the value exists.
        smooth: where the derivative exists; as ``domain`` if left out.
        convention: the derivative at a kink, and where that choice comes from.
        samples: argument lists inside the domain, away from kinks, for generated checks.
        edges: argument lists at the border of the domain and at kinks.
        inside: the domain as a predicate on arrays, over parameters by name; ``None`` means everywhere.
        kink: where the value exists and the derivative does not, as such a predicate.
        second_kink: where the derivative itself has a kink.
    """

    name: str
    function: TensorFunction
    parameters: tuple[str, ...]
    defaults: tuple[Any, ...]
    tensors: tuple[str, ...]
    kinds: Mapping[str, Kind]
    variadic: bool = False
    aliases: Sequence[str] = ()
    reflected: TensorFunction | None = None
    spread: bool = False
    section: str = ""
    summary: str = ""
    formula: str = ""
    domain: str = ""
    smooth: str = ""
    convention: str = ""
    samples: Sequence[tuple[Any, ...]] = ()
    edges: Sequence[tuple[Any, ...]] = ()
    inside: Predicate | None = None
    kink: Predicate | None = None
    second_kink: Predicate | None = None

    @property
    def signature(self) -> str:
        """The signature as a user writes it, such as ``sum(x, dim=none, keepdim=false)``."""
        first_default = len(self.parameters) - len(self.defaults)
        shown = [
            name if i < first_default else f"{name}={literal(self.defaults[i - first_default])}"
            for i, name in enumerate(self.parameters)
        ]
        if self.variadic:
            shown[0] = f"{shown[0]}, ..."
        return f"{self.name}({', '.join(shown)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of this function in a reference, for JSON."""
        return {
            "name": self.name,
            "aliases": list(self.aliases),
            "signature": self.signature,
            "section": self.section,
            "summary": self.summary,
            "derivative": self.formula,
            "domain": self.domain or "everywhere",
            "smooth": self.smooth or "everywhere",
            "convention": self.convention,
        }

    def mask(self, predicate: Predicate, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Return the mask of a predicate (``inside``, ``kink`` or ``second_kink``) for the arguments of a call, which are arrays.

        Args:
            predicate: the predicate.
            given: the positional arguments.
            named: the keyword arguments.
        """
        values = dict(zip(self.parameters[self.required :], self.defaults, strict=True))
        values.update(zip(self.parameters, given, strict=False))
        values.update(named)
        return predicate(*[values[name] for name in argument_names(predicate)])

    @property
    def required(self) -> int:
        """The number of arguments without a default."""
        return len(self.parameters) - len(self.defaults)

    def default(self, parameter: str) -> Any:
        """Return the default of a parameter, ``None`` if there is none."""
        position = self.parameters.index(parameter) - self.required
        return self.defaults[position] if position >= 0 else None


def literal(value: Argument) -> str:
    """Return a default value as the language writes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _summary(function: TensorFunction) -> str:
    """Return the first line of a docstring, for the middle of a sentence."""
    line = (function.__doc__ or "").strip().partition("\n")[0].rstrip(".").replace("`", "")
    return line[:1].lower() + line[1:] if line[1:2].islower() else line


def describe(
    function: TensorFunction,
    *,
    name: str | None = None,
    parameters: Sequence[str] | None = None,
    defaults: Sequence[Any] | None = None,
    tensors: Sequence[str] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    variadic: bool = False,
    methods: Sequence[str] | None = None,
    operator: str | None = None,
    **description: Unpack[Description],
) -> TensorFunction:
    """Put a function into the language and onto ``Tensor``.

    Used directly for functions composed of others, whose arguments are read from their code; ``Declarations`` uses it for
    primitives.

    Args:
        function: the callable.
        name, parameters, defaults, tensors, kinds, variadic: see ``FunctionInfo``; from the primitive or the code if left out.
        methods: the names of its methods; the name and the aliases if left out.
        operator: the operator that it implements, such as ``add``; with its reflected form.
        description: see ``FunctionInfo``.
    """
    written = getattr(function, "__wrapped__", function)
    primitive = PRIMITIVES.get(function)
    if primitive is not None:
        variadic = primitive.of_sequence
        name, parameters, defaults, kinds = primitive.name, primitive.parameters, primitive.defaults, primitive.kinds
        tensors = primitive.parameters[: primitive.arity]
    parameters = tuple(argument_names(written) if parameters is None else parameters)
    defaults = tuple((written.__defaults__ or ()) if defaults is None else defaults)
    description.setdefault("section", function.__module__.rpartition(".")[2])
    function.__doc__ = function.__doc__ or description.get("summary")
    description.setdefault("summary", _summary(function))
    description.setdefault("smooth", description.get("domain", ""))
    info = FunctionInfo(
        name=name or function.__name__.rstrip("_"),
        function=function,
        parameters=parameters,
        defaults=defaults,
        tensors=parameters[: len(parameters) - len(defaults)] if tensors is None else tuple(tensors),
        kinds=getattr(function, "kinds", {}) if kinds is None else kinds,
        variadic=variadic,
        **description,
    )
    names = (info.name, *info.aliases)
    for each in names:
        FUNCTIONS[each] = info
    if info.tensors and not variadic:
        for method in names if methods is None else methods:
            setattr(Tensor, method, function)
    if operator is not None:
        setattr(Tensor, f"__{operator}__", function)
        if len(info.tensors) == 2 and operator not in _COMPARISONS:
            setattr(Tensor, f"__r{operator}__", info.reflected or (lambda self, other: function(other, self)))
    return function


_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
