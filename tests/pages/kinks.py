"""``docs/kinks.md``: what is answered where a derivative does not exist, beside what PyTorch and JAX answer.

Ours is computed from the declarations, theirs is read from ``tests/golden/kinks.json``; see ``record_kinks`` beside this file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from autodiff_cli import ops
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo, literal
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.derivatives.evaluate import evaluate
from autodiff_cli.errors import AutodiffError
from autodiff_cli.report.numbers import finite_or_text, human
from tests.pages.expressions_at_kinks import CASES, Case
from tests.pages.markdown import code, prose, table
from tests.shell import ROOT

RECORDS = ROOT / "tests" / "golden" / "kinks.json"

PART = {"slogdet": 1}
"""Which of several results to differentiate, if it is not the first."""

Answer = dict[str, Any]
"""``{"value": ..., "grad": [...]}``, with ``"nan"``, ``"inf"`` and ``"-inf"`` as texts."""

_HEAD = """# Kinks

At some points the derivative of a function does not exist, or not even its value. This page lists the answers at these points,
beside those of PyTorch {torch} and JAX {jax}. The answers of autodiff are computed from the declarations in the code, at every
edge point that they name. Those of PyTorch and JAX were recorded, in float64. **Bold** marks an answer that differs from
autodiff's; *none* means that the library does not have the function, *refused* that it raises an error. *(PyTorch)* after a
convention means that it is PyTorch's.

These rules determine the answers:

- Where PyTorch has a number, the answer is the same, with the exceptions below.
- Where PyTorch has nan and a better answer exists, a subgradient or the limit, it is used.
- A branch that was not taken contributes nothing.
- Outside of the domain the value is nan or infinite, as in IEEE arithmetic. This is not an error unless `--strict` is given.

A [note](reference.md#notes) on standard error reports an answer that depends on these rules.
"""

_OTHERS = """## Where the answers differ

These are the edge points, of all functions, at which PyTorch or JAX has a different answer.

"""


def page() -> str:
    """The text of the page."""
    recorded = json.loads(RECORDS.read_text(encoding="utf-8"))
    answers = recorded["answers"]
    parts = [_HEAD.format(**recorded), "## In expressions\n", _cases(answers), _others(answers), "## Every function\n"]
    for room in (*ops.COMMON, *ops.FURTHER):
        functions = [op for op in with_edges() if op.section == room]
        if functions:
            parts += [f"### {room.capitalize()}\n", _functions(functions, answers)]
    return "\n".join(parts)


def with_edges() -> list[FunctionInfo]:
    """The functions whose declarations name edge points, by subject."""
    rooms = (*ops.COMMON, *ops.FURTHER)
    functions = {op.name: op for op in FUNCTIONS.values() if op.edges}.values()
    return sorted((op for op in functions if op.section in rooms), key=lambda op: rooms.index(op.section))


def edge_key(op: FunctionInfo, edge: Sequence[Any], order: int) -> str:
    """The name of a record: the call, and the order if it is not 1."""
    return f"{_call(op, edge)}{'' if order == 1 else f' order {order}'}"


def case_key(case: Case) -> str:
    """The name of the record of an expression."""
    at = ", ".join(f"{name} = {_written(value)}" for name, value in case.at.items())
    return f"{case.text} at {at}{'' if case.order == 1 else f' order {case.order}'}"


def numbers(value: Any) -> Any:
    """Numbers as JSON can hold them."""
    return finite_or_text(value)


def orders(op: FunctionInfo) -> tuple[int, ...]:
    """Which orders are of interest at the edges of a function."""
    return (1,) if op.second_kink is None else (1, 2)


def ours(op: FunctionInfo, edge: Sequence[Any], order: int) -> Answer:
    """What a declared function answers: the value, and the derivatives of that order, by the first argument above order 1."""
    arguments: list[Any] = []
    inputs: list[Tensor] = []
    for value, moves in zip(edge, moving(op, edge), strict=True):
        arguments.append(Tensor(np.array(value), requires_grad=True) if moves else value)
        inputs += arguments[-1:] if moves else []
    try:
        with np.errstate(all="ignore"):
            output = op.function(*arguments)
            output = output[PART.get(op.name, 0)] if isinstance(output, tuple) else output
            found = grad(output.sum(), inputs, create_graph=order > 1, materialize_grads=True)
            for _ in range(order - 1):
                found = grad(found[0].sum(), inputs[:1], create_graph=True, materialize_grads=True)
    except AutodiffError as error:
        return {"refused": error.kind}
    return {"value": numbers(output.tolist()), "grad": [numbers(f.tolist()) for f in found]}


def moving(op: FunctionInfo, edge: Sequence[Any]) -> list[bool]:
    """Which arguments of an edge point to differentiate by: tensors, but no bounds."""
    tensors = op.tensors[:1] if op.name == "clamp" else op.tensors
    return [name in tensors and isinstance(value, (float, list)) for name, value in zip(op.parameters, edge, strict=False)]


def ours_in(case: Case) -> Answer:
    """What an expression answers."""
    result = evaluate(case.text, case.at, order=case.order)
    by_first = (next(iter(case.at)),) * case.order
    found = list(result.grad.values()) if case.order == 1 else [result.derivatives[by_first]]
    return {"value": numbers(np.asarray(result.value).tolist()), "grad": [numbers(np.asarray(f).tolist()) for f in found]}


def agree(a: Answer | None, b: Answer | None, what: str = "grad") -> bool:
    """Whether two libraries answer the same, but for rounding; one that has no such function does not differ."""
    if a is None or b is None:
        return True
    if "refused" in a or "refused" in b:
        return "refused" in a and "refused" in b
    first, second = (_flat(x[what]) for x in (a, b))
    return len(first) == len(second) and bool(np.allclose(first, second, rtol=1e-6, atol=1e-12, equal_nan=True))


def _flat(value: Any) -> list[float]:
    if isinstance(value, list):
        return [number for item in value for number in _flat(item)]
    return [math.nan if value is None else float(value)]


def _cases(answers: dict[str, Any]) -> str:
    rows = []
    for case in CASES:
        own, peers = ours_in(case), answers[case_key(case)]
        at = ", ".join(code(f"{name} = {_written(value)}") for name, value in case.at.items())
        which = {1: "", 2: "second derivative at ", 3: "third derivative at "}[case.order]
        rows.append((code(case.text), f"{which}{at}", _shown(own), *_peers(own, peers), case.why))
    return table(("expression", "at", "autodiff", "PyTorch", "JAX", "explanation"), rows)


def _others(answers: dict[str, Any]) -> str:
    """The functions whose derivative is not that of one of the peers."""
    found = [(op, row) for op in with_edges() for row in _rows(op, answers)]
    different = [(op, row) for op, row in found if "**" in "".join(row[2:])]
    # The words once for each function, beside its first row.
    rows = [
        (*row, prose(op.convention) if before is not op else "") for (before, _), (op, row) in pairwise([(None, ()), *different])
    ]
    return _OTHERS + table(("function", "value", "autodiff", "PyTorch", "JAX", "explanation"), rows)


def _functions(functions: Sequence[FunctionInfo], answers: dict[str, Any]) -> str:
    rows = [row for op in functions for row in _rows(op, answers)]
    return table(("function", "value", "autodiff", "PyTorch", "JAX"), rows)


def _rows(op: FunctionInfo, answers: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for edge in op.edges:
        for order in orders(op):
            own, peers = ours(op, edge, order), answers.get(edge_key(op, edge, order), {})
            call = code(_call(op, edge)) + ("" if order == 1 else " second derivative")
            value = own["refused"] if "refused" in own else _number(own["value"])
            yield call, value, _shown(own), *_peers(own, peers)


def _peers(own: Answer, peers: dict[str, Answer | None]) -> Iterator[str]:
    for name in ("torch", "jax"):
        answer = peers.get(name)
        if answer is None:
            yield "none" if name in peers else "not measured"
            continue
        text = _shown(answer)
        if not agree(own, answer):
            text = f"**{text}**"
        if "value" in own and "value" in answer and not agree(own, answer, "value"):
            text += f", **value {_number(answer['value'])}**"
        yield text


def _shown(answer: Answer) -> str:
    if "refused" in answer:
        return "refused"
    return "; ".join("none" if part is None else _number(part) for part in answer["grad"])


def _number(value: Any) -> str:
    """Numbers to six digits, lists in brackets."""
    if isinstance(value, list):
        return f"\\[{', '.join(map(_number, value))}\\]"
    return human(float(value) + 0.0, 6)  # no minus in front of a zero


def _call(op: FunctionInfo, edge: Sequence[Any]) -> str:
    return f"{op.name}({', '.join(map(_written, edge))})"


def _written(value: Any) -> str:
    """An argument as the language writes it."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_written, value))}]"
    return value if isinstance(value, str) else literal(value)
