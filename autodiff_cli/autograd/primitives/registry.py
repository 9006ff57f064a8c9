"""The registry of the language: every function with its parameters, documentation, domain and test points.

``register`` adds a function to the registry and to ``Tensor``; ``Declarations`` in ``primitives.declare`` calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import Kind, value_text
from autodiff_cli.autograd.primitives.primitive import TensorFunction, argument_names
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.lazy import OnDemand
from autodiff_cli.structs import Struct

Predicate = Callable[..., Any]
"""A function that computes a mask from arrays; its parameters are parameters of the operation, by name."""

FUNCTIONS: OnDemand[FunctionInfo] = OnDemand()
"""The functions of the language by all their names; a lookup of a missing name imports the modules of less common functions."""


class FunctionInfo(Struct, kw_only=True):
    """A function of the language.

    Attributes:
        name, aliases: the names of the function.
        function: the public function.
        parameters: the names of the parameters in order; the last parameters have the ``defaults``.
        tensors: the names of the parameters that take tensors; the others take plain numbers, flags and shapes.
        kinds: the kinds of the parameters that do not take tensors, by name; see ``primitives.argument_kinds``.
        variadic: whether the first parameter may be given as several arguments, such as the tensors of ``stack``.
        spread: whether the last parameter may be given as several arguments, such as the shape of ``reshape``.
        reflected: the function of an operator whose left operand is a plain number: ``reflected(y, x)`` is ``x - y``.
        section: the section of the reference that lists the function.
        summary: a description in one line.
        formula: the derivative as an expression of the language, if it fits on one line.
        domain: the condition under which the value exists.
        smooth: the condition under which the derivative exists; the same as ``domain`` if left out.
        convention: the derivative at a kink, and the source of this convention.
        samples: argument lists inside the domain and away from kinks, for tests.
        edges: argument lists at the boundary of the domain and at kinks; tests derive both where they are ``None``.
        inside: the domain as a predicate on arrays, whose parameters are matched by name; ``None`` means everywhere.
        kink: a predicate for points where the value exists and the derivative does not.
        second_kink: a predicate for points where the derivative has a kink.
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
    inside: Predicate | None = None
    kink: Predicate | None = None
    second_kink: Predicate | None = None
    samples: Sequence[tuple[Any, ...]] | None = None
    edges: Sequence[tuple[Any, ...]] | None = None

    @property
    def signature(self) -> str:
        """The signature in the notation of the language, such as ``sum(x, dim=none, keepdim=false)``."""
        optional = zip(self.parameters[self.required :], self.defaults, strict=True)
        texts = [*self.parameters[: self.required], *(f"{name}={value_text(value)}" for name, value in optional)]
        if self.variadic:
            texts[0] = f"{texts[0]}, ..."
        return f"{self.name}({', '.join(texts)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the reference entry of this function, for JSON; an empty condition is written as ``everywhere``."""
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

    def mask(self, predicate: Predicate, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Return the mask that a predicate (``inside``, ``kink`` or ``second_kink``) computes from the arguments of a call.

        Args:
            predicate: the predicate.
            arguments: the positional arguments, as arrays.
            named: the keyword arguments, as arrays.
        """
        values = dict(zip(self.parameters[self.required :], self.defaults, strict=True))
        values.update(zip(self.parameters, arguments, strict=False))
        values.update(named)
        return predicate(*[values[name] for name in argument_names(predicate)])

    @property
    def required(self) -> int:
        """The number of arguments without a default."""
        return len(self.parameters) - len(self.defaults)

    def default(self, parameter: str) -> Any:
        """Return the default of a parameter, or ``None`` for a parameter without a default."""
        position = self.parameters.index(parameter) - self.required
        return self.defaults[position] if position >= 0 else None


def register(info: FunctionInfo, methods: Sequence[str] | None, operator: str | None) -> TensorFunction:
    """Add a function to the language and to ``Tensor``, and return it.

    Args:
        info: the function.
        methods: the names of the methods of ``Tensor``; the default is the name and the aliases.
        operator: the operator that the function implements, such as ``add``, including its reflected form.
    """
    function, names = info.function, (info.name, *info.aliases)
    for name in names:
        FUNCTIONS[name] = info
    if info.tensors and not info.variadic:
        for method in names if methods is None else methods:
            setattr(Tensor, method, function)
    if operator is not None:
        setattr(Tensor, f"__{operator}__", function)
        if len(info.tensors) == 2 and operator not in _COMPARISONS:
            reflected = info.reflected or (lambda self, other: function(other, self))
            setattr(Tensor, f"__r{operator}__", reflected)
    return function


_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")  # Python itself reflects them: x < y is y > x
