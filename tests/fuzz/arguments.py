"""Every parameter of every function, given what it cannot take: an error of ours comes out, and nothing else.

``python -m tests.fuzz.arguments [FUNCTION ...]`` makes all calls, which takes some minutes, under limits of time and
memory; ``tests/test_bad_arguments.py`` makes some of each function's.
"""

from __future__ import annotations

import argparse
import resource
import signal
import traceback
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.errors import AutodiffError
from tests.points import samples_of

assert ad.sin is not None  # declares the functions
OPS = list({op.name: op for op in FUNCTIONS.values()}.values())
SHAPES = ("1.5", "[]", "[1, 2]", "[[1, 2], [3, 4]]", "[[nan, 1], [1, 2]]", "[[inf, 1], [1, 2]]")
TEXTS = (
    *("nan", "inf", "-inf", "-1", "0", "3", "2.0", "0.5", "1e-310", "2**63", "1e30", "-1e30", "'text'", "''", "none", "true"),
    *("[]", "[1]", "[0, 1]", "[2, 1]", "[-1, -1]", "[[1]]", "[1, [2]]", "[none]", "['a']", "[nan]", "[1e30]", "[0.5]", "[true]"),
    *("[x]", "zeros(0)", "ones(2)", "zeros(2, 3, 4)", "linspace(0, 1, 3)", "(x > 0)", "argmax([1, 2])", "qr(eye(2))"),
)

LONG = ("1e9", "[1e9, 1e9]")
"""Whole numbers that are too many of anything: limits are what refuses them."""
MOST_SECONDS, MOST_BYTES = 3.0, 6 << 30


def objects() -> list[Any]:
    """The same for Python: fresh ones, as a call may change a tensor."""
    tensor = ad.tensor
    return [
        *(float("nan"), float("inf"), -1, 0, 3, 0.5, 2**63, -(2**70), 10**400, 1e30, "text", None, True, 1j, b"x", ..., int),
        *([], [1], [0, 1], [[1]], [1, [2]], [None], ["a"], [float("nan")], [2**70], (1,), ((0,), (1,)), {}, object(), slice(1)),
        *(
            tensor([]),
            tensor(1),
            tensor([0, 1]),
            tensor([True, False]),
            tensor(0.5, requires_grad=True),
            tensor(np.zeros((2, 3, 4))),
        ),
        *(np.array([1]), np.float64(1), np.int64(1), np.array(1), np.array(["a"]), np.array([None]), ad.qr(ad.eye(2))),
    ]


class Call(NamedTuple):
    """One call: of the language if ``text`` is one, else of the function in Python."""

    op: FunctionInfo
    text: str
    x: str
    arguments: list[Any]
    keywords: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.text} at x = {self.x}" if self.text else f"{self.op.name}(*{self.arguments}, **{self.keywords})"

    def run(self) -> None:
        """Make the call, and what follows from it."""
        if self.text:
            result = ad.evaluate(self.text, {"x": self.x})
            assert isinstance(result.notes, list)
            return
        value = self.op.function(*self.arguments, **self.keywords)
        if isinstance(value, ad.Tensor) and value.requires_grad:
            ad.sum(value).backward()


def literal(value: Any) -> str:
    """A sample in the language."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    return str(value).lower() if value is None or isinstance(value, bool) else repr(value)


def _sample(op: FunctionInfo) -> list[Any]:
    return list(samples_of(op)[0]) if samples_of(op) else [1.5] * max(op.required, 1)


def _first(op: FunctionInfo) -> int:
    """Which argument is the first tensor."""
    return next((i for i, name in enumerate(op.parameters) if name in op.tensors), 0)


def in_language(op: FunctionInfo, shapes: tuple[str, ...] = SHAPES, texts: tuple[str, ...] = TEXTS + LONG) -> Iterator[Call]:
    """Calls as functions and as methods."""
    first = _first(op)
    for shape in shapes:
        for i, parameter in enumerate(op.parameters):
            for text in texts:
                given = [literal(value) for value in _sample(op)]
                x = shape
                if first < len(given):
                    given[first] = "x"
                if i == first:
                    x = text if "x" not in text else shape
                keywords = ""
                if i >= len(given):
                    keywords = f", {parameter}={text}"
                elif i != first or not op.tensors:
                    given[i] = text
                yield Call(op, f"{op.name}({', '.join(given)}{keywords})", x, [], {})
                if first == 0 and op.tensors and not op.variadic:
                    yield Call(op, f"x.{op.name}({(', '.join(given[1:]) + keywords).removeprefix(', ')})", x, [], {})


def in_python(
    op: FunctionInfo, shapes: tuple[Any, ...] = (1.5, [], [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]], [1, 2], [True, False])
) -> Iterator[Call]:
    """Calls of the function itself."""
    first = _first(op)
    for shape in shapes:
        for i, parameter in enumerate(op.parameters):
            for value in objects():
                arguments: list[Any] = []
                for j, sample in enumerate(_sample(op)):
                    name = op.parameters[min(j, len(op.parameters) - 1)]
                    data = np.array(shape if j == first else sample) if name in op.tensors and sample is not None else None
                    arguments.append(
                        value if j == i else sample if data is None else ad.tensor(data, requires_grad=data.dtype.kind == "f")
                    )
                yield Call(op, "", "", arguments, {parameter: value} if i >= len(arguments) else {})


def wrong(call: Call) -> str:
    """What comes out of a call that should not; nothing if all is well."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # NumPy's word for inf and nan; the command silences it, a user of the library has NumPy's own switch.
            warnings.filterwarnings("ignore", ".*encountered in.*" if not call.text else "$^", RuntimeWarning)
            call.run()
    except AutodiffError as error:
        words = [word for word in ("NoneType", "ndarray", "<class", "numpy", "object at 0x") if word in error.message]
        return f"{call}: the message has {words}: {error.message}" if words and call.text else ""
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{call}: {error!r} at {place.filename}:{place.lineno}"
    return ""


class _Late(BaseException):
    pass


def _late(*_: Any) -> None:
    raise _Late


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("functions", nargs="*")
    names = set(parser.parse_args().functions)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    signal.signal(signal.SIGALRM, _late)
    count = bad = 0
    for op in OPS:
        if names and op.name not in names:
            continue
        for call in (*in_language(op), *in_python(op)):
            count += 1
            signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
            try:
                found = wrong(call)
            except _Late:
                found = f"{call}: more than {MOST_SECONDS:g} s"
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if found:
                bad += 1
                print(found, flush=True)
    print(f"{count:,} calls, {bad:,} of them wrong")
    return int(bool(bad))


if __name__ == "__main__":
    raise SystemExit(main())
