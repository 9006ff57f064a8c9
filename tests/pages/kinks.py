"""The generator of ``docs/kinks.md``: results at points without a derivative, compared with PyTorch and JAX.

The results of autodiff are computed from the declarations. The results of PyTorch and JAX are read from
``tests/golden/kinks.json``, which ``record_kinks`` writes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import value_text
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.derivatives.evaluate import evaluate
from autodiff_cli.errors import AutodiffError
from autodiff_cli.report.array_text import finite_or_text, human
from tests.pages.expressions_at_kinks import CASES, Case
from tests.pages.functions import SECTIONS
from tests.pages.markdown import code, prose, table
from tests.points import edges_of
from tests.shell import ROOT

RECORDS = ROOT / "tests" / "golden" / "kinks.json"

PART = {"slogdet": 1}
"""The index of the result to differentiate, if it is not the first of several results."""

Answer = dict[str, Any]
"""``{"value": ..., "grad": [...]}``, with ``"nan"``, ``"inf"`` and ``"-inf"`` as strings."""

_HEAD = """# Kinks

At some points, the derivative of a function does not exist, or neither the value nor the derivative exists. This page compares
the results of autodiff at these points with the results of PyTorch {torch} and JAX {jax}. The results of autodiff are computed
at all edge points of the declarations in the code. The results of PyTorch and JAX were recorded in float64. **Bold** marks a
result that differs from the result of autodiff; *none* means that the library does not have the function; *refused* means that
the library raises an error. *(PyTorch)* after a convention means that PyTorch has the same convention, *(PyTorch from 2.14 on)*
that it has changed: up to PyTorch 2.13, the derivative of `clamp` with respect to x is 1 at the bounds, and at x = y the first
argument of `fmax(x, y)` and `fmin(x, y)` receives the whole derivative.

These rules determine the results:

- If the result of PyTorch is a number, the result of autodiff is the same, with the exceptions below.
- If the result of PyTorch is nan and a subgradient or a limit exists, the result is this subgradient or limit.
- A branch that was not taken contributes nothing to the derivative.
- Outside the domain, the value is nan or infinite, as in IEEE arithmetic. This is not an error unless `--strict` is given.

A [note](reference.md#notes) on standard error reports each result that depends on these rules.
"""

_OTHERS = """## Differences between the libraries

This table lists the edge points of all functions at which the result of PyTorch or JAX is different.

"""


def page() -> str:
    """Return the text of the page."""
    recorded = json.loads(RECORDS.read_text(encoding="utf-8"))
    answers = recorded["answers"]
    parts = [_HEAD.format(**recorded), "## In expressions\n", _cases(answers), _others(answers), "## Every function\n"]
    for room in SECTIONS:
        functions = [op for op in with_edges() if op.section == room]
        if functions:
            parts += [f"### {room.capitalize()}\n", _functions(functions, answers)]
    return "\n".join(parts)


def _columns() -> tuple[str, str]:
    """Return the titles of the columns of the libraries, with the versions that were recorded."""
    recorded = json.loads(RECORDS.read_text(encoding="utf-8"))
    return f"PyTorch {recorded['torch']}", f"JAX {recorded['jax']}"


def with_edges() -> list[FunctionInfo]:
    """Return the functions whose declarations list edge points, ordered by subject."""
    rooms = SECTIONS
    functions = {op.name: op for op in FUNCTIONS.values() if edges_of(op)}.values()
    return sorted((op for op in functions if op.section in rooms), key=lambda op: rooms.index(op.section))


def edge_key(op: FunctionInfo, edge: Sequence[Any], order: int) -> str:
    """Return the key of the record of a call: the call, and the order if it is not 1."""
    return f"{_call(op, edge)}{'' if order == 1 else f' order {order}'}"


def case_key(case: Case) -> str:
    """Return the key of the record of an expression."""
    at = ", ".join(f"{name} = {_written(value)}" for name, value in case.at.items())
    return f"{case.text} at {at}{'' if case.order == 1 else f' order {case.order}'}"


def numbers(value: Any) -> Any:
    """Return numbers with nan and infinities replaced by strings, for JSON."""
    return finite_or_text(value)


def orders(op: FunctionInfo) -> tuple[int, ...]:
    """Return the orders of the derivatives to compare at the edge points of a function."""
    return (1,) if op.second_kink is None else (1, 2)


def ours(op: FunctionInfo, edge: Sequence[Any], order: int) -> Answer:
    """Return the value and the derivatives of a declared function; above order 1, only with respect to the first argument."""
    arguments: list[Any] = []
    inputs: list[Tensor] = []
    for value, moves in zip(edge, moving(op, edge), strict=True):
        arguments.append(new_tensor(np.array(value), requires_grad=True) if moves else value)
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
    """Return, for each argument of an edge point, whether to differentiate with respect to it: tensors, except bounds."""
    tensors = op.tensors[:1] if op.name == "clamp" else op.tensors
    return [name in tensors and isinstance(value, (float, list)) for name, value in zip(op.parameters, edge, strict=False)]


def ours_in(case: Case) -> Answer:
    """Return the value and the derivatives of an expression."""
    result = evaluate(case.text, case.at, order=case.order)
    by_first = (next(iter(case.at)),) * case.order
    found = list(result.grad.values()) if case.order == 1 else [result.derivatives[by_first]]
    return {"value": numbers(np.asarray(result.value).tolist()), "grad": [numbers(np.asarray(f).tolist()) for f in found]}


def agree(a: Answer | None, b: Answer | None, what: str = "grad") -> bool:
    """Return whether the results of two libraries agree up to rounding; a missing function agrees with every result."""
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
    return table(("expression", "at", "autodiff", *_columns(), "explanation"), rows)


def _others(answers: dict[str, Any]) -> str:
    """Return the table of edge points at which PyTorch or JAX has a different result."""
    found = [(op, row) for op in with_edges() for row in _rows(op, answers)]
    different = [(op, row) for op, row in found if "**" in "".join(row[2:])]
    # The explanation of a function is shown only in its first row.
    rows = [
        (*row, prose(op.convention) if before is not op else "") for (before, _), (op, row) in pairwise([(None, ()), *different])
    ]
    return _OTHERS + table(("function", "value", "autodiff", *_columns(), "explanation"), rows)


def _functions(functions: Sequence[FunctionInfo], answers: dict[str, Any]) -> str:
    rows = [row for op in functions for row in _rows(op, answers)]
    return table(("function", "value", "autodiff", *_columns()), rows)


def _rows(op: FunctionInfo, answers: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for edge in edges_of(op):
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
    """Return numbers as text with six digits, and lists in brackets."""
    if isinstance(value, list):
        return f"\\[{', '.join(map(_number, value))}\\]"
    return human(float(value) + 0.0, 6)  # converts -0 to 0


def _call(op: FunctionInfo, edge: Sequence[Any]) -> str:
    return f"{op.name}({', '.join(map(_written, edge))})"


def _written(value: Any) -> str:
    """Return an argument in the notation of the language."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_written, value))}]"
    return value if isinstance(value, str) else value_text(value)
