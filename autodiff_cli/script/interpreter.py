"""Programs of statements: autograd step by step, as ``autodiff run`` and ``autodiff repl`` run them.

To the expressions of the language come the functions, methods and attributes below, with PyTorch's names and meaning,
assignments to what exists (``x.grad = none``, ``x[0] = 1``, ``x -= 0.1*g``), functions as values (``y.register_hook(f)``,
``gradcheck(f, x)``), nodes and tuples.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd import functional, gradient_check, modes, reverse_mode
from autodiff_cli.autograd.dtypes import get_default_dtype, set_default_dtype
from autodiff_cli.autograd.hooks import RemovableHandle
from autodiff_cli.autograd.node import Node
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo, literal
from autodiff_cli.autograd.tensor import Tensor, Variable
from autodiff_cli.errors import FOREIGN, ArgumentError, AutodiffError, UnknownName
from autodiff_cli.evaluation.coercion import DTYPES as NAMES
from autodiff_cli.evaluation.coercion import described, is_plain, refused
from autodiff_cli.evaluation.evaluation import TensorRow, plain
from autodiff_cli.evaluation.machine import CONSTANTS, POSITIONS, Machine, UserFunction, Work
from autodiff_cli.language.operators import IN_PLACE
from autodiff_cli.language.tree import EFFECTS, STATEMENTS, Syntax, unparse
from autodiff_cli.ops import creation, inplace
from autodiff_cli.script.history import History, notes_behind, swept
from autodiff_cli.script.statements import Step, read
from autodiff_cli.suggest import suggestion

Action = Callable[..., Any]

ACTIONS: dict[str, Action] = {
    **{name: getattr(creation, name) for name in creation.__all__},
    **{
        f.__name__: f
        for f in (reverse_mode.grad, reverse_mode.backward, gradient_check.gradcheck, gradient_check.gradgradcheck, Variable)
    },
    **{name: getattr(functional, name) for name in functional.__all__},
    "set_grad_enabled": modes.set_grad_enabled,
    "is_grad_enabled": lambda: modes.is_grad_enabled(),  # a built-in method does not say what it takes
    "set_default_dtype": set_default_dtype,
}
"""Functions of programs."""
METHODS: dict[type, tuple[str, ...]] = {
    Tensor: (
        *("backward", "retain_grad", "requires_grad_", "detach", "detach_", "register_hook"),
        *("register_post_accumulate_grad_hook", "item", "tolist", "numel", "dim", "size", "double", "float", "type_as"),
        *inplace.METHODS,
    ),
    Node: ("name", "register_hook", "register_prehook"),
    RemovableHandle: ("remove",),
}
ATTRIBUTES: dict[type, tuple[str, ...]] = {
    Tensor: ("grad", "requires_grad", "is_leaf", "retains_grad", "grad_fn", "output_nr", "dtype", "data", "_version"),
    Node: ("next_functions", "variable"),
}
SETTABLE = ("grad", "requires_grad", "data")
DTYPES = {name: np.dtype(name) for name in NAMES}
_AS_GIVEN = ("manual_seed", "as_tensor", "from_numpy", "is_tensor", *(n for n in creation.__all__ if n.endswith("_like")))
"""Creation functions that do not make tensors of the program's type."""
_SILENT = ("backward", "retain_grad", "remove", "manual_seed", "set_grad_enabled", "set_default_dtype")
_MISSING = object()


class Shown:
    """What a step has to say.

    Attributes:
        step: where it stands.
        rows: for ``show``, a row for each tensor.
        value: for an expression or ``print``, its value; ``text`` is how a person reads it.
    """

    __slots__ = ("rows", "step", "text", "value")

    def __init__(self, step: Step, rows: list[dict[str, Any]] | None = None, value: Any = None, text: str = "") -> None:
        self.step = step
        self.rows = rows
        self.value = value
        self.text = text


class Interpreter(Machine):
    """Runs steps and keeps the names between them.

    Args:
        variables: tensors by name that are there from the beginning.
        dtype: ``float64`` or ``float32``.

    Attributes:
        notes: what is worth knowing about the sweeps so far, each once.
    """

    def __init__(self, variables: Mapping[str, Tensor], dtype: str = "float64") -> None:
        super().__init__("", variables, np.dtype(dtype), listing=False)
        self._recording = True
        FUNCTIONS.complete()  # whose methods are looked up on tensors too
        self.expressions = {name: name for name in variables}
        self.notes: list[dict[str, Any]] = []
        self._history = History()
        self._definitions: dict[str, Syntax] = {}

    def run(self, text: str) -> Iterator[Shown]:
        """Run more of the program; what it shows, as it happens.

        The whole text is read before any of it runs.  After an error the names are as they were when it happened.

        Raises:
            AutodiffError: of any kind, with its place in ``source``, to which the text is added.
        """
        start = len(self.source)
        self.tensors.source += text if text.endswith("\n") else text + "\n"
        steps = read(self.source, start)
        before, mode = get_default_dtype(), modes.is_grad_enabled()
        set_default_dtype(self.dtype)
        modes.set_grad_enabled(self._recording)
        entered: list[bool] = []
        self._operations = 0
        try:
            for step in steps:
                if step.kind == "enter":
                    entered.append(modes.is_grad_enabled())
                    modes.set_grad_enabled(step.mode)
                elif step.kind == "leave":
                    modes.set_grad_enabled(entered.pop())
                else:
                    with np.errstate(all="ignore"):
                        shown = self._step(step)
                    if shown is not None:
                        yield shown
        finally:
            self._scope, self._depth = {}, 0  # an error may have left them inside a function
            self.dtype = self.tensors.dtype = get_default_dtype()
            set_default_dtype(before)
            self._recording = entered[0] if entered else modes.is_grad_enabled()
            modes.set_grad_enabled(mode)

    def _step(self, step: Step) -> Shown | None:
        if step.kind == "show":
            return Shown(step, rows=[self._row(tree) for tree in step.trees] if step.trees else self._all())
        if step.kind == "print":
            values = [self.evaluate(tree) for tree in step.trees]
            return Shown(step, value=values, text=" ".join(map(display, values)))
        (tree,) = step.trees
        value = self.statement(tree)
        self._remember(tree, value)
        last = tree.children[1 if tree.kind == "method" else 0] if tree.kind in ("call", "method") else None
        silent = last is not None and (last.text in _SILENT or last.text.endswith("_"))
        if silent or tree.kind in STATEMENTS or isinstance(value, (RemovableHandle, modes.set_grad_enabled)):
            return None
        return Shown(step, value=value, text=display(value))

    def _remember(self, tree: Syntax, value: Any) -> None:
        """Keep what was computed, and take down the notes on a sweep."""
        if tree.kind.startswith("definition"):
            self._definitions[tree.children[0].children[0].text] = tree
        for root in swept(tree):
            for one in notes_behind(root, self._history, self._definitions, self.names, self.source, self.dtype):
                if all(one["message"] != other["message"] for other in self.notes):
                    self.notes.append(one)
        self._history.add(tree, value)

    def _row(self, tree: Syntax) -> dict[str, Any]:
        name = unparse(tree)
        value = self.evaluate(tree)
        if value is None:
            return {**dict.fromkeys(TensorRow.__slots__), "name": name, "expression": name, "shape": None}
        if isinstance(value, (Node, UserFunction, RemovableHandle, tuple, str)):
            raise ArgumentError(
                f"show is for tensors, and this is {described(value)}", span=tree.span, source=self.source, hint=f"print({name})"
            )
        try:
            return TensorRow(self.tensors.of(value), name, self.expressions.get(name, name)).record()
        except AutodiffError as error:
            raise error.at(tree.span, self.source) from None

    def _all(self) -> list[dict[str, Any]]:
        tensors = [(name, value) for name, value in self.names.items() if isinstance(value, Tensor)]
        return [TensorRow(tensor, name, self.expressions[name]).record() for name, tensor in tensors]

    def known(self) -> set[str]:
        """Every name that can be written now, for completion."""
        words = ("show", "print", "with", "no_grad", "true", "false", "none")
        return {*self.names, *self.functions, *FUNCTIONS, *ACTIONS, *DTYPES, *CONSTANTS, *words}

    def members(self, name: str) -> set[str]:
        """What can stand behind ``name.``, for completion."""
        first, *rest = name.split(".")
        thing = self.names.get(first)
        for part in rest:
            thing = getattr(thing, part) if part in ATTRIBUTES.get(_kind(thing), ()) else None
        kind = _kind(thing)
        functions = [n for n, op in FUNCTIONS.items() if op.tensors] if kind is Tensor else []
        return {*METHODS.get(kind, ()), *ATTRIBUTES.get(kind, ()), *functions}

    # Statements

    def statement(self, node: Syntax) -> Any:
        kind, parts = node.kind, node.children
        if kind in EFFECTS:
            values = [self.evaluate(part) for part in self._operands(node)]
            try:
                self._change(node, values)
            except AutodiffError as error:
                raise error.at(node.span, self.source) from None
            return None
        value = super().statement(node)
        if kind == "assignment":
            self.expressions[parts[0].text] = self.tensors.text(parts[1].span)
        elif kind == "unpack":
            for i, name in enumerate(parts[:-1]):
                self.expressions[name.text] = f"{self.tensors.text(parts[-1].span)}[{i}]"
        return value

    @staticmethod
    def _operands(node: Syntax) -> list[Syntax]:
        if node.kind == "set_index":
            return [node.children[0], node.children[2]]
        return [node.children[0], node.children[-1]]

    def _change(self, node: Syntax, values: list[Any]) -> None:
        target, value = values
        if node.kind == "set_attribute":
            self._set_attribute(node, target, value)
        elif node.kind == "set_index":
            if not isinstance(target, Tensor):
                raise ArgumentError(f"only a tensor has elements to set, not {described(target)}")
            keys = self.keys([self.evaluate(key) for key in node.children[1].children])
            assigned = value if is_plain(value) else self.tensors.of(value)
            try:
                target[tuple(keys)] = assigned
            except FOREIGN as error:
                if isinstance(error, AutodiffError):
                    raise
                raise refused("an assignment to elements", [target, *keys, assigned], POSITIONS) from error
        elif isinstance(target, Tensor):
            name = IN_PLACE[node.children[1].text]
            changed = getattr(target, f"{name}_", None)
            if changed is None:
                raise ArgumentError(f"'{node.children[1].text}' has no form that changes a tensor", hint="write x = x @ y")
            self._invoke(f"{name}_", changed, [value], {})
        elif node.children[0].kind == "name" and is_plain(target):
            name = node.children[0].children[0].text
            if name not in self.names:
                raise ArgumentError(
                    f"'{name}' is a constant, and cannot be changed", hint=f"give a name of its own a value first: y = {name}"
                )
            self.names[name] = self.apply(FUNCTIONS[IN_PLACE[node.children[1].text]], [target, value], {}, node)
            self.expressions[name] = self.tensors.text(node.span)
        else:
            raise ArgumentError(f"only a tensor can be changed, not {described(target)}")

    def _set_attribute(self, node: Syntax, target: Any, value: Any) -> None:
        name = node.children[1].text
        if not isinstance(target, Tensor) or name not in SETTABLE:
            hint = f"these can be: {', '.join(SETTABLE)}"
            raise UnknownName(f"'.{name}' of {described(target)} cannot be set", span=node.children[1].span, hint=hint)
        if name != "requires_grad" and (value is not None or name == "data"):
            value = self.tensors.of(value)
        setattr(target, name, value)

    # Names, attributes, calls

    def name(self, node: Syntax) -> Any:
        text = node.children[0].text
        if text not in self._scope and text not in self.names:
            if text in self.functions:
                return self.functions[text]
            if text in DTYPES:
                return DTYPES[text]
            if text in FUNCTIONS and FUNCTIONS[text].tensors:
                return FUNCTIONS[text]
        try:
            return super().name(node)
        except UnknownName as error:
            error.hint = suggestion(text, DTYPES) or error.hint
            raise

    def find(self, name: str, node: Syntax, method: bool) -> Any:
        if method and any(name in names for names in (*METHODS.values(), ("apply",))):
            return name
        if not method and name in ACTIONS and name not in self.functions:
            return name
        try:
            return super().find(name, node, method)
        except UnknownName as error:
            known = [m for names in METHODS.values() for m in names] if method else ACTIONS
            error.hint = suggestion(name, known) or error.hint
            raise

    def call_found(
        self, found: Any, given: list[Any], named: dict[str, Any], node: Syntax, values: list[Any], work: list[Work]
    ) -> None:
        if not isinstance(found, str):
            super().call_found(found, given, named, node, values, work)
        elif node.kind == "call":
            values.append(self._act(found, given, named))
        elif found == "apply" and isinstance(given[0], UserFunction):
            self._enter(given[0], given[1:], named, node, values, work)
        else:
            values.append(self._method(found, given, named, node))

    def _method(self, name: str, given: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        thing, *rest = given
        if isinstance(thing, (list, bool, int, float)):
            thing = self.tensors.of(thing)
        if name in METHODS.get(_kind(thing), ()):
            return self._invoke(name, getattr(thing, name), rest, named)
        if isinstance(thing, Tensor) and name in FUNCTIONS:
            return self.apply(FUNCTIONS[name], [thing, *rest], named, node)
        hint = _none_hint(node) if thing is None and node.children[0].kind == "attribute" else None
        raise UnknownName(f"{described(thing)} has no method '{name}'", span=node.children[1].span, hint=hint)

    def _act(self, name: str, given: list[Any], named: dict[str, Any]) -> Any:
        if name not in creation.__all__:
            return self._invoke(name, ACTIONS[name], given, named)
        if name in ("tensor", "as_tensor") and given and isinstance(given[0], list):
            given = [_values(given[0]), *given[1:]]
        if name not in _AS_GIVEN and not (name == "tensor" and given and isinstance(given[0], bool)):
            named = {"dtype": self.dtype, **named}
        return self._invoke(name, ACTIONS[name], given, named, converted=True)

    def _invoke(self, name: str, action: Action, given: Sequence[Any], named: Mapping[str, Any], converted: bool = False) -> Any:
        """Call a Python function with values of the language."""
        signature = inspect.signature(action)
        try:
            signature.bind(*given, **named)
        except TypeError as error:
            raise _wrong_arguments(name, signature, str(error)) from None
        arguments = list(given) if converted else [self._argument(value) for value in given]
        keywords = {keyword: self._argument(value) for keyword, value in named.items()}
        try:
            return action(*arguments, **keywords)
        except FOREIGN as error:
            if isinstance(error, AutodiffError):
                raise
            values = [*given, *(value for value in named.values() if not isinstance(value, np.dtype))]
            raise refused(name, values, f"it is {_shown(name, signature)}") from error

    def _argument(self, value: Any) -> Any:
        """A value of the language as Python code takes it."""
        if isinstance(value, UserFunction):
            return lambda *given: self._given_back(self.call(value, given))
        if isinstance(value, FunctionInfo):
            return value.function
        if isinstance(value, list):
            return [self.tensors.of(v) for v in value] if any(isinstance(v, Tensor) for v in value) else self.tensors.of(value)
        return value

    def _given_back(self, value: Any) -> Any:
        return value if isinstance(value, tuple) or value is None else self.tensors.of(value)

    def attribute(self, thing: Any, name: str, node: Syntax) -> Any:
        if isinstance(thing, tuple) and name in getattr(thing, "_fields", ()):
            return super().attribute(thing, name, node)
        known = ATTRIBUTES.get(_kind(thing), ())
        found = getattr(thing, name, _MISSING) if name in known else _MISSING
        if found is not _MISSING:
            return found
        if not isinstance(thing, (Tensor, list, bool, int, float)):
            hint = _none_hint(node) if thing is None else suggestion(name, known)
            raise UnknownName(f"{described(thing)} has no attribute '{name}'", span=node.children[1].span, hint=hint)
        if name in METHODS[Tensor]:
            raise UnknownName(f"'{name}' is a method", span=node.children[1].span, hint=f"write .{name}() to call it")
        try:
            return super().attribute(thing, name, node)
        except UnknownName as error:
            error.hint = error.hint or suggestion(name, [*known, *METHODS[Tensor]])
            raise


def _kind(thing: Any) -> type:
    """The class of a value by which ``METHODS`` and ``ATTRIBUTES`` know it."""
    return next((kind for kind in METHODS if isinstance(thing, kind)), type(thing))


def _values(items: list[Any]) -> list[Any]:
    """A nested list with numbers in the place of tensors: a new tensor is a copy without history."""
    return [_values(v) if isinstance(v, list) else v.tolist() if isinstance(v, Tensor) else v for v in items]


def _wrong_arguments(name: str, signature: inspect.Signature, reason: str) -> ArgumentError:
    """What Python says of arguments that do not fit a function, in our words."""
    about = f"it is {_shown(name, signature)}"
    unknown = re.search(r"unexpected keyword argument '(.*)'", reason)
    if unknown:
        hint = suggestion(unknown[1], signature.parameters) or about
        return ArgumentError(f"{name} has no parameter '{unknown[1]}'", hint=hint)
    missing = re.search(r"missing a required .*argument: '(.*)'", reason)
    return ArgumentError(f"{name} needs '{missing[1]}' too" if missing else f"{name}: {reason}", hint=about)


def _none_hint(node: Syntax) -> str:
    """Why what stands in front of a point may be ``none``."""
    written = node.children[0]
    if written.kind == "attribute" and written.children[1].text == "grad_fn":
        return "a leaf has no grad_fn: no operation made it"
    return "backward fills it; until then it is none"


def _shown(name: str, signature: inspect.Signature) -> str:
    shown = []
    for parameter in signature.parameters.values():
        star = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is inspect.Parameter.empty else f"={literal(parameter.default)}"
        shown.append(f"{star}{parameter.name}{default}")
    return f"{name}({', '.join(shown)})"


def display(value: Any) -> str:
    """A value as it is printed: tensors as PyTorch prints them."""
    if isinstance(value, tuple):
        return f"({', '.join(map(display, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(display, value))}]"
    if isinstance(value, Node):
        return f"<{value.name()}>"
    if isinstance(value, UserFunction):
        return f"<function {value.name}({', '.join(value.parameters)})>"
    if isinstance(value, FunctionInfo):
        return f"<function {value.signature}>"
    return str(value)


def to_plain(value: Any) -> Any:
    """A value for JSON: numbers and nested lists of them; texts for what is none."""
    if isinstance(value, (tuple, list)):
        return [to_plain(item) for item in value]
    if isinstance(value, Tensor):
        return plain(value._data)
    return value if value is None or is_plain(value) else display(value)
