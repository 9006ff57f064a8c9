"""What two ways to one number must agree on.

A command that is made for this has an expression and values only.  When it succeeds, the same question is asked another way,
and the answers are compared: exactly where one computation stands behind both, else to a tolerance, and then only where no
note says that the point is a kink, out of the domain, or without digits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tests.fuzz.command import Command
from tests.fuzz.oracles import Finding

TOLERANCE = 1e-6
Ask = Callable[[Sequence[str]], str | None]
"""Standard output of a command; ``None`` if it fails."""


def check(ask: Ask, command: Command) -> list[Finding]:
    """What does not agree; nothing if the question cannot be asked the other way."""
    relation = RELATIONS[command.relation]
    return [Finding(f"relation {command.relation}", command.name, detail) for detail in relation(ask, command.args[1:])]


def _gradient_of_eval(ask: Ask, args: Sequence[str]) -> Iterator[str]:
    """``grad`` is what ``eval`` has as its gradient, and ``-q`` has the same numbers in a row."""
    one, other, bare = _json(ask, "eval", args), _json(ask, "grad", args), ask(("grad", *args, "-q"))
    if one is None or other is None or bare is None:
        return
    if one["grad"] != other["grad"]:
        yield f"eval {one['grad']}, grad {other['grad']}"
    numbers = [float(line) for line in bare.split()]
    if _differ(numbers, _flat(list(other["grad"].values())), 0.0):
        yield f"grad -q {numbers}, --json {other['grad']}"


def _jacobian_of_a_number(ask: Ask, args: Sequence[str]) -> Iterator[str]:
    """The Jacobian of a number is its gradient."""
    one, other = _json(ask, "jacobian", args), _json(ask, "grad", args)
    if one is not None and other is not None and _smooth(other):
        yield from _compared("jacobian", one["jacobian"], "grad", other["grad"])


def _hessian_is_symmetric(ask: Ask, args: Sequence[str]) -> Iterator[str]:
    """The Hessian is symmetric, and the one that ``eval --order 2`` has."""
    one, other = _json(ask, "hessian", args), _json(ask, "eval", (*args, "--order", "2"))
    if one is None or other is None or not _smooth(other) or isinstance(one.get("value"), list):
        return
    hessian = one["hessian"]
    yield from _compared("hessian", hessian, "eval --order 2", other["hessian"])
    if any("with grad" in text for text in args):  # derivatives by hand need not be those of anything
        return
    for a in hessian:
        for b in hessian:
            here, there = np.array(_floats(hessian[a][b])), np.array(_floats(hessian[b][a]))
            if _differ(sorted(here.ravel()), sorted(there.ravel())):
                yield f"d2/d{a}d{b} {hessian[a][b]}, d2/d{b}d{a} {hessian[b][a]}"


def _products_are_adjoint(ask: Ask, args: Sequence[str]) -> Iterator[str]:
    """``v @ (J @ u)`` is ``(v @ J) @ u``."""
    full = _json(ask, "jacobian", args)
    if full is None or not _smooth(full):
        return
    for name, matrix in full["jacobian"].items():
        ahead = _json(ask, "jvp", (*args, "--vector", f"{name}={_ones_like(full, name)}"))
        if ahead is None or "jvp" not in ahead:
            continue
        shape = np.shape(_floats(ahead["jvp"]))
        block = np.array(_floats(matrix))
        summed = block.reshape(*shape, -1).sum(-1) if block.size else np.zeros(shape)
        size = np.abs(block).max(initial=0.0)
        if _differ(_flat(ahead["jvp"]), summed.ravel().tolist(), TOLERANCE, size):
            yield f"jvp by {name} {ahead['jvp']}, jacobian @ ones {summed.tolist()}"
    behind, ahead = _json(ask, "vjp", args), _json(ask, "grad", args)
    if behind is not None and ahead is not None:
        yield from _compared("vjp", behind["vjp"], "grad", ahead["grad"])


def _ones_like(document: dict[str, Any], name: str) -> str:
    shape = np.shape(_floats(document["jacobian"][name]))
    own = shape[len(np.shape(_floats(document.get("value", 0.0)))) :]
    return json.dumps(np.ones(own).tolist())


def _derivative_as_an_expression(ask: Ask, args: Sequence[str]) -> Iterator[str]:
    """What ``diff`` writes has the value that ``grad`` computes."""
    gradient = _json(ask, "grad", args)
    if gradient is None or not _smooth(gradient) or len(gradient["grad"]) != 1:
        return
    ((name, value),) = gradient["grad"].items()
    written = ask(("diff", args[0], "--wrt", name, "-q"))
    if written is None or not written.strip():
        return
    again = _json(ask, "eval", (written.strip(), *args[1:], "--no-grad"))
    if again is not None:
        yield from _compared(f"diff {written.strip()}", again["value"], "grad", value)


def _first_coefficient(ask: Ask, args: Sequence[str]) -> Iterator[str]:
    """The first coefficients of the Taylor series are the value and the derivative."""
    series, evaluated = _json(ask, "taylor", (*args, "--order", "2")), _json(ask, "eval", (*args, "--order", "2"))
    if series is None or evaluated is None or not _smooth(evaluated) or len(evaluated["grad"]) != 1:
        return
    yield from _compared("taylor", series["derivatives"][0], "eval", evaluated["value"])
    if not np.shape(evaluated["value"]):  # of several numbers without a derivative the gradient has the shape of the variable
        yield from _compared("taylor", series["derivatives"][1], "grad", next(iter(evaluated["grad"].values())))


def _compiled(ask: Ask, args: Sequence[str]) -> Iterator[str]:
    """A compiled program computes what ``eval`` does, row by row."""
    import autodiff_cli as ad
    from autodiff_cli.errors import AutodiffError

    evaluated = _json(ask, "eval", args)
    if evaluated is None or not isinstance(evaluated["value"], (float, str)):
        return
    leaves = {t["name"]: t["value"] for t in evaluated["tensors"] if t["is_leaf"] and t["name"] in evaluated["grad"]}
    if any(isinstance(value, list) for value in leaves.values()) or not leaves:
        return
    try:
        program = ad.compile(args[0], list(leaves), variables=list(leaves))
        result = program(**{name: np.full(3, float(value)) for name, value in leaves.items()})
    except AutodiffError:
        return
    value, computed = float(evaluated["value"]), float(result["value"][1])
    if math.isnan(value) != math.isnan(computed):
        yield f"eval {value}, compiled {computed}"
    if _smooth(evaluated):
        yield from _compared("eval", value, "compiled", computed)
        for name, gradient in evaluated["grad"].items():
            yield from _compared(f"grad by {name}", gradient, "compiled", float(result[f"d_{name}"][1]))


RELATIONS: dict[str, Callable[[Ask, Sequence[str]], Iterator[str]]] = {
    "gradient of eval": _gradient_of_eval,
    "jacobian of a number": _jacobian_of_a_number,
    "symmetric hessian": _hessian_is_symmetric,
    "adjoint products": _products_are_adjoint,
    "diff": _derivative_as_an_expression,
    "taylor": _first_coefficient,
    "compiled": _compiled,
}
COMMAND = {"symmetric hessian": "hessian", "adjoint products": "jacobian", "taylor": "taylor"}
"""The command that is run first; ``grad`` for those not named."""


def _json(ask: Ask, name: str, args: Sequence[str]) -> Any:
    text = ask((name, *args, "--json"))
    return None if text is None else json.loads(text)


def _smooth(document: dict[str, Any]) -> bool:
    """Whether no note says that the answer is one of convention, or has few digits."""
    return all(note["kind"] in ("unused", "constant") for note in document.get("notes", ()))


def _compared(one: str, a: Any, other: str, b: Any) -> Iterator[str]:
    flat, likewise = _flat(a), _flat(b)
    if _differ(flat, likewise):
        yield f"{one}: {a}; {other}: {b}"[:280]


def _differ(a: Sequence[float], b: Sequence[float], tolerance: float = TOLERANCE, size: float = 0.0) -> bool:
    """Whether two lists of numbers are not the same; without regard to what is not finite unless exactly that is asked."""
    if len(a) != len(b):
        return True
    if tolerance == 0.0:
        return not all(x == y or (math.isnan(x) and math.isnan(y)) for x, y in zip(a, b, strict=True))
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if math.isfinite(x) and math.isfinite(y)]
    size = max([size, *(max(abs(x), abs(y)) for x, y in pairs)], default=0.0)
    return any(abs(x - y) > tolerance * size + 1e-12 for x, y in pairs)


def _floats(value: Any) -> Any:
    """Numbers of JSON, where what is not finite is a text."""
    return [_floats(v) for v in value] if isinstance(value, list) else float(value if value is not None else 0.0)


def _flat(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for v in value.values() for number in _flat(v)]
    if isinstance(value, list):
        return [number for v in value for number in _flat(v)]
    return [float(value if value is not None else 0.0)]
