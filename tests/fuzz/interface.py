"""Every public function and class of the Python interface, given what it cannot take: an error of ours, or an answer.

``python -m tests.fuzz.interface [NAME ...]`` makes all calls; ``tests/test_wrong_kinds.py`` makes some of them.
"""

from __future__ import annotations

import inspect
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np

import autodiff_cli as ad
from autodiff_cli.errors import AutodiffError

MODULES = ("func", "optim", "autograd", "autograd.functional", "nn.functional", "linalg", "special", "")
SOLVERS = (
    "fit",
    "minimize",
    "root",
    "propagate",
    "evaluate",
    "compile",
    "grad",
    "diff",
    "jacobian",
    "hessian",
    "jvp",
    "vjp",
    "hvp",
    "taylor",
    "gradcheck",
    "plot",
    "graph",
    "explain",
)
_STATE = ("set_", "unlimited", "Generator", "manual_seed", "seed", "default_generator", "get_", "is_", "missing")
"""The beginnings of the names of functions that change the state of the process, or take no arguments."""


class WrongCall(NamedTuple):
    """A call with an argument of a wrong kind."""

    name: str
    function: Callable[..., Any]
    arguments: list[Any]
    keywords: dict[str, Any]

    def __str__(self) -> str:
        shown = [*map(repr, self.arguments), *(f"{name}={value!r}" for name, value in self.keywords.items())]
        return f"{self.name}({', '.join(shown)})"


def wrong_kinds() -> list[Any]:
    """Return values that most parameters do not take."""
    return [None, 3, -1.5, "text", "", [1.0, 2.0], [None], [[1], [2, 3]], {}, {"a": None}, object(), np.array(["a"]), len, b"x", 1j]


def right_kinds(parameter: str) -> Any:
    """Return a value that a parameter of a name may take, so that the calls reach the checks of the other parameters."""
    tensor = ad.tensor([0.5, 1.5], requires_grad=True)
    known: dict[str, Any] = {
        **dict.fromkeys(("func", "function", "f"), lambda x, *others: (x * x).sum()),
        **dict.fromkeys(("params", "parameters", "tensors", "primals", "tangents"), (tensor,)),
        **dict.fromkeys(("inputs", "outputs", "tensor", "input", "x", "vec"), tensor),
        "expression": "x**2 - 2",
        "at": {"x": 1.0},
        "data": {"t": [0.0, 1.0, 2.0], "y": [1.0, 2.0, 4.0]},
        "lr": 0.1,
    }
    return known.get(parameter, 1)


def functions() -> Iterator[tuple[str, Callable[..., Any], bool]]:
    """Yield the name of each public function, the function, and whether it is called and not only made.

    A function that a transformation returns is called with a tensor.
    """
    for path in MODULES:
        module: Any = ad
        for part in path.split(".") if path else ():
            module = getattr(module, part)
        for name in getattr(module, "__all__", dir(module)) if path else SOLVERS:
            made = getattr(module, name)
            ours = (getattr(made, "__module__", None) or "").startswith("autodiff_cli")
            failure = isinstance(made, type) and issubclass(made, BaseException)
            ours = ours and "primitives" not in made.__module__
            if name[0] != "_" and callable(made) and ours and not failure and not name.startswith(_STATE):
                yield f"{path}.{name}".lstrip("."), made, path == "func"


def calls() -> Iterator[WrongCall]:
    """Yield the calls of each function with one wrong value in each of its first parameters, in turn."""
    for name, function, _ in functions():
        try:
            parameters = [
                one
                for one in inspect.signature(function).parameters.values()
                if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
            ]
        except (TypeError, ValueError):
            parameters = []
        keywords = {"upper": True} if name == "linalg.solve_triangular" else {}
        needed = sum(one.default is inspect.Parameter.empty for one in parameters)
        for i, parameter in enumerate(parameters):
            for value in wrong_kinds():
                arguments = [right_kinds(one.name) for one in parameters[:needed]]
                if i < needed:
                    arguments[i] = value
                    yield WrongCall(name, function, arguments, keywords)
                else:
                    yield WrongCall(name, function, arguments, {**keywords, parameter.name: value})


def outcome(call: WrongCall) -> str:
    """Return what a call raised if that is not an error of ours; an empty text otherwise."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = call.function(*call.arguments, **call.keywords)
            if call.name.startswith("func.") and callable(made):
                made(ad.tensor([0.5, 1.5]))
    except AutodiffError:
        return ""
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        # The error of a wrong function that the call has called belongs to the function.
        own = any(frame.filename == __file__ for frame in traceback.extract_tb(error.__traceback__)[1:])
        inside = any(value is len for value in (*call.arguments, *call.keywords.values()))
        return "" if own or inside else f"{call}: {error!r} at {place.filename}:{place.lineno}"
    return ""


def drawn(count: int, seed: int = 0) -> list[WrongCall]:
    """Return some of the calls, the same for the same seed, at least one of each function."""
    every = list(calls())
    Random(seed).shuffle(every)
    first = list({call.name: call for call in every}.values())
    return (first + every)[: max(count, len(first))]


def main() -> int:
    names = set(sys.argv[1:])
    made = [call for call in calls() if not names or call.name in names]
    found = [text for text in map(outcome, made) if text]
    print("\n".join(found))
    print(f"{len(made):,} calls, {len(found):,} of them wrong")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
