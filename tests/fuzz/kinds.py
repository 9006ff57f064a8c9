"""Every kind of value in every place where a value may stand, in every command.

    python -m tests.fuzz.kinds                     everything, which takes minutes
    python -m tests.fuzz.kinds --part 3/40         one in forty, from the third on
    python -m tests.fuzz.kinds --only run,graph    these commands only

An expression may be wrong in a thousand ways, and each has to end in one of our errors: an exit code of the contract, no
exception, no warning of Python or NumPy, and no word of Python in the message.  The product of kinds and places is walked
through rather than sampled at random, so that a new place, or a new kind, is one more line in a table.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice, product
from pathlib import Path

from autodiff_cli import (
    notes,
    ops,  # noqa: F401  installs the functions
)
from autodiff_cli.autograd import modes
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.cli.main import main
from autodiff_cli.code_generation.targets import NAMES
from tests.sections import pairs, sections

Case = tuple[tuple[str, ...], str]
"""The words of a command line, and its standard input."""

_SECTIONS = sections(Path(__file__).with_name("kinds.txt"))
KINDS = pairs(_SECTIONS["kinds"])
"""Each kind of value as an expression writes it."""
PROGRAM_KINDS = pairs(_SECTIONS["program kinds"])
"""Kinds that only programs of statements have."""
_NUMBERS = ("x", "v", "A", "2", "0", "1e308", "inf", "[1, 2]")
PLACES_OF_ONE = _SECTIONS["places of one"]
"""Where one value may stand."""
SIGNS = ("+", "-", "*", "/", "//", "%", "@", "**", "<", "==", "and", "or")
PLACES_OF_TWO = (
    *(f"{{0}} {sign} {{1}}" for sign in SIGNS),
    "{0}[{1}]",
    "x if {0} else {1}",
    "[{0}, {1}]",
    "v[{0}, {1}]",
    "A[{0}, {1}]",
)
"""Where two may stand."""
STATEMENTS_OF_ONE = _SECTIONS["statements of one"]
"""Statements with one value."""
STATEMENTS_OF_TWO = ("w[{0}] = {1}", "{0} += {1}", "{0}.grad = {1}", "{0}.data = {1}", "x.backward({0}, {1})", "grad({0}, {1})")
"""Statements with two."""
ACTIONS = (
    *("tensor", "as_tensor", "from_numpy", "is_tensor", "Variable", "zeros", "ones", "full", "empty", "eye", "arange", "linspace"),
    *("logspace", "rand", "randn", "randint", "zeros_like", "full_like", "rand_like", "manual_seed", "grad", "backward"),
    *("gradcheck", "gradgradcheck", "jacobian", "hessian", "vjp", "jvp", "hvp", "vhp"),
)
"""Functions of programs."""
_FUNCTIONS = "f(a) = a**2; k() = 1; g(a) = a**2 with grad (2*a)"
_PREAMBLE = f"""\
{_FUNCTIONS}
x = tensor(2.0, requires_grad=true)
v = tensor([1.0, 2.0], requires_grad=true)
A = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=true)
w = tensor([1, 2])
i = tensor([1, 2]) > 1
n = 2
y = v.exp()
h = y.register_hook(f)
"""
_OVER_NUMBERS = ("--const", "v=[1,2]", "--const", "A=[[1,2],[3,4]]")
_AT = ("--at", "x=2", "--at", "v=[1,2]", "--at", "A=[[1,2],[3,4]]")
_ONE = ("--at", "x=2", *_OVER_NUMBERS)
COMMANDS: dict[str, tuple[str, ...]] = {
    "eval": ("eval", "{}", *_AT),
    "eval --json": ("eval", "{}", *_AT, "--json", "--order", "2"),
    "eval --dtype": ("eval", "{}", *_AT, "--dtype", "float32"),
    "grad": ("grad", "{}", *_AT, "-q"),
    "jacobian": ("jacobian", "{}", *_AT),
    "hessian": ("hessian", "{}", *_AT, "--json"),
    "jvp": ("jvp", "{}", *_AT, "--vector", "x=1"),
    "vjp": ("vjp", "{}", *_AT, "--gradient", "1"),
    "hvp": ("hvp", "{}", *_AT, "--vector", "x=1"),
    "taylor": ("taylor", "{}", *_ONE, "--order", "3"),
    "taylor of a vector": ("taylor", "{}", *_AT, "--wrt", "v", "--order", "2", "--json"),
    "gradcheck": ("gradcheck", "{}", *_AT),
    "explain": ("explain", "{}", *_AT),
    "diff": ("diff", "{}", *_OVER_NUMBERS),
    "diff --order 3": ("diff", "{}", *_OVER_NUMBERS, "--order", "3", "--wrt", "x"),
    "graph": ("graph", "{}"),
    "graph --at": ("graph", "{}", *_AT, "--json"),
    "graph --backward": ("graph", "{}", *_AT, "--backward"),
    "plot": ("plot", "{}", "--over", "x=-1:1:5", *_OVER_NUMBERS, "--json"),
    "map": ("map", "{}", *_OVER_NUMBERS, "--order", "2"),
    "map --dtype": ("map", "{}", *_OVER_NUMBERS, "--dtype", "float32"),
    **{f"export {to}": ("export", "{}", "--to", to, *_OVER_NUMBERS) for to in NAMES},
    "fit": ("fit", "{} = b*obs", "-", "--at", "b=1", *_OVER_NUMBERS),
    "fit --sigma": ("fit", "obs = b*x", "-", "--at", "b=1", "--sigma", "{}"),
    "root": ("root", "{}", *_AT),
    "root --over": ("root", "{}", "--over", "x=-1:3", *_OVER_NUMBERS),
    "minimize": ("minimize", "{}", *_AT),
    "minimize --subject": ("minimize", "x**2", *_AT, "--subject", "{} >= 1"),
    "propagate": ("propagate", "{}", "--at", "x=2(1)", *_OVER_NUMBERS),
    "propagate rows": ("propagate", "{}", "-", "--u", "x=0.1", *_OVER_NUMBERS),
    "value": ("eval", "x", "--at", "x={}"),
    "gradient": ("vjp", "x**2", "--at", "x=[1,2]", "--gradient", "{}"),
}
"""The words of each command; braces stand for the expression."""
PROGRAMS: dict[str, tuple[str, ...]] = {
    "run": ("run", "-"),
    "run --json": ("run", "-", "--json"),
    "run --format csv": ("run", "-", "--format", "csv"),
    "run -q": ("run", "-", "-q"),
    "repl": ("repl",),
    "repl --json": ("repl", "--json"),
}
_ROWS = "x,obs\n2,1\n0,3\n1,2\n"
_CHECKS = ("gradcheck", "fit", "root", "minimize", "propagate")
"""Commands that may answer with exit code 1."""
SECONDS = 20
_CODES = (0, 2, 3, 4, 5)
_PYTHON = re.compile(
    r"NoneType|<class|<function (?!\w+\()| object at 0x|np\.float|ndarray|\bdtype\('|_ArrayMemory|Traceback|not subscriptable|"
    r"has no attribute '__|unhashable|object is not|<autodiff|Ellipsis|slice\(None|must be str|positional argument: "
)
"""Words that only a programmer in Python knows."""


def expressions() -> Iterator[str]:
    """Every expression of the product."""
    for place, kind in product(PLACES_OF_ONE, KINDS.values()):
        yield place.format(kind)
    for place, one, other in product(PLACES_OF_TWO, KINDS.values(), KINDS.values()):
        yield place.format(one, other)
    for name, kind in product(sorted(FUNCTIONS), KINDS.values()):
        yield f"{name}({kind})"
        for place in (f"{name}(x, {kind})", f"{name}({kind}, v)", f"{name}(A, {kind})"):
            yield place
    for name, kind in product(sorted(FUNCTIONS), KINDS.values()):
        yield f"{name}(x, {kind}, {kind})"
    for name in sorted(FUNCTIONS):
        for parameter in FUNCTIONS[name].parameters[1:]:
            for kind in KINDS.values():
                yield f"{name}(v, {parameter}={kind})"


def statements() -> Iterator[str]:
    """Every statement of the product."""
    kinds = (*KINDS.values(), *PROGRAM_KINDS.values())
    for place, kind in product((*STATEMENTS_OF_ONE, *PLACES_OF_ONE), kinds):
        yield place.format(kind)
    for name, kind in product(ACTIONS, kinds):
        yield f"{name}({kind})"
        yield f"{name}({kind}, {kind})"
        yield f"{name}(f, {kind})"
        yield f"{name}(x, {kind})"
    for place, one, other in product((*STATEMENTS_OF_TWO, *PLACES_OF_TWO), kinds, kinds):
        yield place.format(one, other)


def cases(only: set[str] | None = None, first: int = 0, every: int = 1) -> Iterator[Case]:
    """Every command line, or one in ``every`` from number ``first`` on."""

    def wanted(table: dict[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
        return [words for name, words in table.items() if not only or name in only or words[0] in only]

    lines = product(wanted(COMMANDS), expressions()), product(wanted(PROGRAMS), statements())
    for words, text in islice(chain(*lines), first, None, every):
        if words in PROGRAMS.values():
            yield words, f"{_PREAMBLE}{text}\n1 + 1\n"
            continue
        text = f"{_FUNCTIONS}; {text}" if words[-1] != "x={}" and words[-1] != "{}" else text
        yield tuple(word.format(text) if "{}" in word else word for word in words), _ROWS if {"map", "-"} & {*words} else ""


class _Input(io.TextIOWrapper):
    """Standard input with this text in it."""

    def __init__(self, text: str) -> None:
        super().__init__(io.BytesIO(text.encode()), encoding="utf-8")


class _Late(BaseException):
    """No answer in time; not of a kind that anything below catches."""


def _late(*_: object) -> None:
    raise _Late(f"no answer in {SECONDS} s")


def failure(case: Case) -> str | None:
    """What is wrong with the answer to a command line; ``None`` if nothing is."""
    words, text = case
    out, err = io.StringIO(), io.StringIO()
    stdin = sys.stdin
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(SECONDS)
    modes.set_grad_enabled(True)
    sys.stdin = _Input(text)
    notes.STRICT, strict = True, notes.STRICT
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            warnings.simplefilter("error")
            code = main(words)
    except BaseException as error:  # whatever escapes is what is looked for
        if isinstance(error, KeyboardInterrupt):
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        ours = [f for f in traceback.extract_tb(error.__traceback__) if "autodiff_cli" in f.filename]
        place = ours[-1] if ours else where
        return f"{type(error).__name__} {place.filename.rpartition('autodiff_cli/')[2]}:{place.lineno}: {error}"
    finally:
        signal.alarm(0)
        sys.stdin, notes.STRICT = stdin, strict
    if code not in _CODES and not (code == 1 and words[0] in _CHECKS):
        return f"exit code {code}"
    if code and not err.getvalue().strip():
        return f"exit code {code} without a message"
    if words[0] == "repl" and not re.search(r"\b2\b", out.getvalue()[-60:]):
        return "the session did not go on"
    leaked = _PYTHON.search(err.getvalue())
    if leaked:
        return f"leaks {leaked[0]!r}: {err.getvalue().strip()}"
    return None


def main_command() -> int:
    """Run what the options say; 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="1/1", help="one in how many, and from which on")
    parser.add_argument("--only", default="", help="names of commands")
    options = parser.parse_args()
    first, _, every = options.part.partition("/")
    only = set(options.only.split(",")) - {""}
    found: Counter[str] = Counter()
    count = 0
    for case in cases(only, int(first) - 1, int(every)):
        count += 1
        wrong = failure(case)
        if wrong is None:
            continue
        kind = wrong.partition("\n")[0][:100]
        found[kind] += 1
        if found[kind] <= 3:
            print(f"{wrong[:400]}\n    {' '.join(map(repr, case[0]))}", end="\n", flush=True)
            if case[1] and case[0][0] != "map":
                print(f"    {case[1][len(_PREAMBLE) :]!r}", flush=True)
    print(f"{count:,} command lines, {sum(found.values()):,} failures of {len(found)} kinds")
    for kind, often in found.most_common():
        print(f"{often:7,}  {kind}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main_command())
