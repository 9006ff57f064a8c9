"""What ``explain`` writes, computed: ``python -m tests.accuracy.explained`` prints what does not give the number beside it.

Every declared function, at every sample and edge of its declaration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import autodiff_cli as ad
from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.evaluation.names import CONSTANTS
from autodiff_cli.evaluation.stack_machine import Machine
from autodiff_cli.explanation.explain import explain
from autodiff_cli.explanation.local_derivatives import ARRIVING
from autodiff_cli.explanation.model import Explanation
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, unparse, walk
from tests.points import edges_of, samples_of

assert ad.sin is not None  # declares the functions
LETTERS = "xyzwabcd"


class Wrong(NamedTuple):
    """A formula, and what is wrong with it."""

    expression: str
    formula: str
    why: str


def calls(start: int = 0, step: int = 1) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every function at its samples and edges: an expression whose result is one number, and the values of its variables."""
    for op in [*{op.name: op for op in FUNCTIONS.values()}.values()][start::step]:
        for sample in (*samples_of(op), *edges_of(op)):
            expression, at = call_of(op, sample)
            for wrapped in (expression, f"sum({expression})", f"sum({expression}[0])"):
                try:
                    session = Evaluation(wrapped, at)
                except (AutodiffError, TypeError):
                    continue
                if at and session.output.shape == () and session.differentiable:
                    yield wrapped, at
                    break


def call_of(op: FunctionInfo, sample: tuple[Any, ...]) -> tuple[str, dict[str, Any]]:
    at: dict[str, Any] = {}
    parts = []
    for i, value in enumerate(sample):
        parameter = op.parameters[min(i, len(op.parameters) - 1)]
        if (parameter in op.tensors or op.variadic) and np.asarray(value).dtype.kind == "f":
            name = LETTERS[len(at)]
            at[name] = value
            parts.append(name)
        else:
            parts.append(_literal(value))
    return f"{op.name}({', '.join(parts)})", at


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return repr(value).replace("(", "[").replace(")", "]").replace("True", "true").replace("False", "false")


def wrong(expression: str, at: Mapping[str, Any]) -> Iterator[Wrong]:
    """The formulas of an explanation that do not give the number beside them, or have names that are not the language's."""
    explanation = explain(expression, at)
    values = _values(explanation)
    for step in explanation.sweep.steps if explanation.sweep is not None else ():
        for one in step.contributions:
            if one.formula is None or "[" in one.to:
                continue
            for name in unknown(one.formula, values) if "[0]" not in unparse(one.formula) else ():
                yield Wrong(expression, unparse(one.formula), f"the name {name}")
            if one.local is not None and not gives(one.formula, values, one.local):
                yield Wrong(expression, unparse(one.formula), f"not {np.ravel(one.local)}")


def _plain(text: str) -> str:
    """A text with names that the language can read."""
    return re.sub(r"%(gradient|\d+(?:\.\d+)*)", lambda match: "v_" + match[1].replace(".", "_"), text)


def _values(explanation: Explanation) -> dict[str, Any]:
    lines = explanation.forward
    return {_plain(line.name): line.value for line in lines if "[" not in line.name}  # an element of several results is not a name


def unknown(tree: Syntax, values: Mapping[str, Any]) -> Iterator[str]:
    """The names of a formula that a reader cannot know."""
    try:
        parsed = parse(_plain(unparse(tree)))
    except AutodiffError:
        yield "that is not of the language"
        return
    for node in walk(parsed):
        if node.kind == "name":
            name = node.children[0].text
            if name not in values and name not in CONSTANTS and name != _plain(ARRIVING):
                yield name
        elif node.kind == "call" and node.children[0].text not in FUNCTIONS:
            yield node.children[0].text


def gives(tree: Syntax, values: Mapping[str, Any], local: Any) -> bool:
    """Whether a formula, evaluated by the language from the values shown, is the local derivative."""
    with np.errstate(all="ignore"), no_grad():
        machine = Machine("", {}, np.dtype(np.float64), listing=False)
        for name, value in values.items():
            if value is not None:
                machine.names[name] = machine.tensors.as_tensor(
                    value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
                )
        try:
            (parsed,) = parse(_plain(unparse(tree))).children
            found = np.asarray(machine.tensors.as_tensor(machine.evaluate(parsed))._data, np.float64)
        except AutodiffError:
            return False
        wanted = np.asarray(local, np.float64)
        return bool(np.all(np.isclose(found, wanted, rtol=1e-6, atol=1e-300, equal_nan=True)))


def main() -> None:
    count = 0
    found: list[Wrong] = []
    for expression, at in calls():
        count += 1
        for one in wrong(expression, at):
            found.append(one)
            print(f"{one.expression} at {at}: {one.formula}: {one.why}")
    print(f"{count} calls, {len(found)} formulas that are wrong")


if __name__ == "__main__":
    main()
