"""What is known of each function: the registry of the language.

``describe`` puts a function into it and onto ``Tensor``.  A function is declared in one place, with everything that
anyone asks about it; ``declare`` in the module beside this one adds how it runs and its rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.lazy import OnDemand

Function = Callable[..., Any]
Predicate = Callable[..., Any]
"""A mask from arrays; its parameters are some of the operation's own, by name."""

FUNCTIONS: OnDemand[FunctionInfo] = OnDemand()
"""Every function of the language by each of its names; the less common are installed when one is missing."""

KEYWORD_ALIASES = {"axis": "dim", "keepdims": "keepdim", "input": "x", "other": "y"}
"""NumPy's and PyTorch's other spellings of keywords, tried when a function has no parameter of the first name."""


def how_many(least: int, most: int) -> str:
    """``1 argument``, ``2 to 3 arguments``."""
    return f"{most} argument{'s' * (most != 1)}" if least == most else f"{least} to {most} arguments"


class FunctionInfo:
    """What a declaration says of one function.

    Attributes:
        name, aliases: what it is called.
        function: the callable.
        parameters: names in order, with ``defaults`` for the last of them.
        tensors: those parameters that take tensors; the others take plain numbers, flags and shapes.
        kinds: what each of those others is, by name; see ``autograd.kinds``.
        summary: one line of prose.
        formula: the derivative, in the language itself, where one line can say it.
        domain: where the value exists; ``smooth``: where the derivative does, if that is less.
        inside: the domain as a predicate on arrays, over parameters by name; none means everywhere.
        kink: where the value exists and the derivative does not: a predicate too, with a mask as its result.
        second_kink: where the derivative has a kink of its own, for what is of order 2.
        spread: whether the last parameter may be given as several arguments, as the shape of ``reshape``.
        reflected: the function of an operator whose left side is a plain number: ``reflected(y, x)`` is ``x - y``.
        convention: what is answered at a kink, and where that comes from.
        samples: argument lists inside the domain, away from kinks, for generated checks.
        edges: argument lists at the border of the domain and at kinks.
    """

    __slots__ = (
        "aliases",
        "convention",
        "defaults",
        "domain",
        "edges",
        "formula",
        "function",
        "inside",
        "kinds",
        "kink",
        "name",
        "parameters",
        "reflected",
        "samples",
        "second_kink",
        "section",
        "smooth",
        "spread",
        "summary",
        "tensors",
        "variadic",
    )

    name: str
    aliases: tuple[str, ...]
    function: Function
    parameters: tuple[str, ...]
    defaults: tuple[Any, ...]
    reflected: Function | None
    spread: bool
    tensors: tuple[str, ...]
    kinds: Mapping[str, Any]
    variadic: bool
    section: str
    summary: str
    formula: str
    domain: str
    smooth: str
    convention: str
    samples: tuple[tuple[Any, ...], ...]
    edges: tuple[tuple[Any, ...], ...]
    inside: Predicate | None
    kink: Predicate | None
    second_kink: Predicate | None

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
        """What a reference says of this function."""
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
        """What ``inside``, ``kink`` or ``second_kink`` says of the arguments of a call, which are plain arrays."""
        values = dict(zip(self.parameters[self.required :], self.defaults, strict=True))
        values.update(zip(self.parameters, given, strict=False))
        values.update(named)
        code = predicate.__code__
        return predicate(*[values[name] for name in code.co_varnames[: code.co_argcount]])

    @property
    def required(self) -> int:
        """How many arguments must be given."""
        return len(self.parameters) - len(self.defaults)

    def default(self, parameter: str) -> Any:
        """What a parameter is if it is left out; ``None`` if it must be given."""
        position = self.parameters.index(parameter) - self.required
        return self.defaults[position] if position >= 0 else None


def literal(value: Any) -> str:
    """A default value as the language writes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _summary(function: Function) -> str:
    """The first line of a docstring, as the middle of a sentence."""
    line = (function.__doc__ or "").strip().partition("\n")[0].rstrip(".").replace("`", "")
    return line[:1].lower() + line[1:] if line[1:2].islower() else line


def describe(
    function: Function,
    *,
    tensors: Sequence[str] | None = None,
    kinds: Mapping[str, Any] | None = None,
    aliases: Sequence[str] = (),
    methods: Sequence[str] | None = None,
    operator: str | None = None,
    reflected: Function | None = None,
    name: str | None = None,
    parameters: Sequence[str] | None = None,
    defaults: Sequence[Any] | None = None,
    variadic: bool = False,
    spread: bool = False,
    summary: str = "",
    formula: str = "",
    domain: str = "",
    smooth: str = "",
    convention: str = "",
    samples: Sequence[tuple[Any, ...]] = (),
    edges: Sequence[tuple[Any, ...]] = (),
    inside: Predicate | None = None,
    kink: Predicate | None = None,
    second_kink: Predicate | None = None,
) -> Function:
    """Put a function into the language and onto ``Tensor``: as methods, and as ``operator`` with its reflected form.

    Used directly for functions composed of others; ``declare`` calls it for operations with rules of their own.
    """
    op = FunctionInfo()
    op.name = name or function.__name__.rstrip("_")
    op.aliases = tuple(aliases)
    op.function = function
    written = getattr(function, "__wrapped__", function)
    code = written.__code__
    op.parameters = tuple(parameters if parameters is not None else code.co_varnames[: code.co_argcount])
    op.defaults = tuple(defaults if defaults is not None else written.__defaults__ or ())
    op.kinds = getattr(function, "kinds", {}) if kinds is None else kinds
    op.tensors = tuple(tensors) if tensors is not None else op.parameters[: op.required]
    op.variadic = variadic
    op.reflected = reflected
    op.spread = spread
    op.section = function.__module__.rpartition(".")[2]
    op.summary = summary or _summary(function)
    op.formula = formula
    op.domain = domain
    op.smooth = smooth or domain
    op.convention = convention
    op.samples = tuple(samples)
    op.edges = tuple(edges)
    op.inside = inside
    op.kink = kink
    op.second_kink = second_kink
    for each in (op.name, *op.aliases):
        FUNCTIONS[each] = op
    if op.tensors and not variadic:
        for method in (op.name, *op.aliases) if methods is None else methods:
            setattr(Tensor, method, function)
    if operator is not None:
        setattr(Tensor, f"__{operator}__", function)
        if len(op.tensors) == 2 and operator not in _COMPARISONS:
            setattr(Tensor, f"__r{operator}__", reflected or (lambda self, other: function(other, self)))
    return function


_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
