"""The evaluator for programs of expressions; the last statement of a program is its result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from autodiff_cli.autograd.dtypes import DType
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError, ParseError, Span
from autodiff_cli.evaluation.coercion import holds_tensor
from autodiff_cli.evaluation.names import GRADIENT_STOPS, free_names, missing_values_error
from autodiff_cli.evaluation.stack_machine import Machine
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax

if TYPE_CHECKING:
    from autodiff_cli.evaluation.user_function import UserFunction


class Evaluator(Machine):
    """An evaluator for one program, with the arguments of ``Machine``, and the tree of the program if it is already parsed.

    Attributes:
        constants: the values of ``detach(...)`` and ``no_grad(...)`` at a point, by source, position and number of the call.  An
            evaluation with a dictionary stores them, and later evaluations at other points use them: a derivative that is
            computed from values then treats these parts as constants too.
    """

    def __init__(self, source: str, variables: Mapping[str, Tensor], dtype: DType, tree: Syntax | None = None) -> None:
        super().__init__(source, variables, dtype)
        self.tree = tree or parse(source)
        self.variables = dict(variables)
        self.constants: dict[Any, Any] | None = None
        self._calls: Counter[Span] = Counter()

    def run(self) -> Any:
        """Evaluate all statements and return the value of the last one; an error has the position in the source."""
        self._require_values()
        value = self.program(self.tree)
        if value is None and self.tree.children[-1].kind.startswith("definition"):
            message, span = "the program ends with a definition and computes nothing", self.tree.children[-1].span
            raise ParseError(message, span=span, source=self.source, hint="add ';' and an expression that uses the function")
        return value

    def call_function(
        self, function: FunctionInfo | UserFunction, arguments: list[Any], named: dict[str, Any], node: Syntax
    ) -> Any:
        """Call a function; with ``constants``, the results of ``detach`` and ``no_grad`` are stored and used again."""
        value = super().call_function(function, arguments, named, node)
        if self.constants is None or function.name not in GRADIENT_STOPS or not isinstance(function, FunctionInfo):
            return value
        self._calls[node.span] += 1
        call = (self.source, node.span, self._calls[node.span])
        return self.constants.setdefault(call, value)

    def as_tensor(self, value: object) -> Tensor:
        """Return the result of the program as a tensor, which is also listed, and is the value of a name assigned last."""
        if isinstance(value, Tensor):
            return value
        last = self.tree.children[-1]
        expression = last.children[1] if last.kind == "assignment" else last
        try:
            tensor = self.tensors.as_tensor(value, expression if holds_tensor(value) else None)  # else listed below
        except AutodiffError as error:
            raise error.at(last.span, self.source) from None
        if last.kind == "assignment":
            self.names[last.children[0].text] = tensor
        return self.tensors.keep(tensor, expression)

    def named(self) -> Iterator[tuple[Tensor, str, str]]:
        """Yield every tensor with its name and its expression: first the variables, then the program's tensors in order.

        Unnamed tensors are called ``%1``, ``%2`` and so on.  A tensor that the program assigns to the name of a variable ``x`` is
        called ``x₂``.
        """
        names = {id(tensor): name for name, tensor in reversed(self.names.items()) if isinstance(tensor, Tensor)}
        yield from ((tensor, name, name) for name, tensor in self.variables.items())
        unnamed = 0
        for tensor, expression in self.tensors.entries:
            name = names.get(id(tensor))
            if name is None:
                unnamed += 1
                name = f"%{unnamed}"
            yield tensor, f"{name}₂" if name in self.variables else name, expression

    def _require_values(self) -> None:
        """Raise an error if a name does not have a value."""
        missing = free_names(self.tree, self.variables)
        if missing:
            raise missing_values_error(missing, self.source)
