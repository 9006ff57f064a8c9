"""``docs/errors.md``: exit codes, and every class of error with a command line that provokes it."""

from __future__ import annotations

import inspect
import json

from autodiff_cli import errors
from autodiff_cli.errors import AutodiffError
from tests.pages.markdown import code, console, prose, table
from tests.shell import run, streams

EXAMPLES = {
    "UsageError": 'autodiff eval "x**2" --at x=1 --order 0',
    "ParseError": 'autodiff eval "2x" --at x=1',
    "UnknownName": 'autodiff eval "log(x**3) + lgo(x)" --at x=5',
    "MissingValue": 'autodiff eval "x*y" --at x=1',
    "ArgumentError": 'autodiff eval "atan2(x)" --at x=1',
    "GraphError": 'autodiff eval "log(x)" --at x=1 --backward 2',
    "ShapeError": 'autodiff eval "x + y" --at "x=[1, 2, 3],y=[1, 2]"',
    "LinAlgError": 'autodiff eval "inv([[x, 2], [2, 4]])" --at x=1',
    "DtypeError": 'autodiff eval "(x > 0) - (x > 1)" --at x=1',
    "IndexOutOfRange": 'autodiff eval "x[5]" --at "x=[1, 2]"',
    "LimitError": 'autodiff eval "zeros(100000, 100000)"',
    "NotPrecise": 'autodiff grad "svdvals(A)[0]" --at "A=[[1, 2], [3, 4]]" --verify',
    "GradcheckError": 'autodiff gradcheck "x**2" --at x=3 --claim x="x"',
    "NotFiniteError": 'autodiff eval "1/x" --at x=0 --strict',
    "FileError": 'autodiff eval "sum(x)" --at x=@missing.npy',
    "DataError": 'autodiff map "k*x**2/2" docs/data/broken.csv',
}
"""A command line for each class of error."""
UNPROVOKED = {
    "NoSeriesError": "Inside only: the command then takes sweeps instead.",
    "NotRecordable": "Of `ad.compile`, and inside: commands then evaluate row by row.",
    "ProgramError": "Of pictures of graphs, if Graphviz's `dot` fails.",
    "ClusterError": "Of `autodiff map --engine dask`, if a scheduler or its workers do not answer: see [scaling.md](scaling.md).",
    "InternalError": "The message says what happened and where, the hint how to report it; no known command line ends so.",
    "OutOfMemory": "What the machine has, or what `ulimit -v` allows, is not enough. Limits refuse most of such requests earlier.",
    "MissingPackage": "The hint says what to install, such as `pip install pyarrow`.",
}
"""Classes that no command line shows everywhere, with the reason."""

CODES = {
    0: "done",
    1: "a check said no: a derivative or a claim is wrong",
    2: "usage: an option or a name that does not exist, a missing value, an expression that does not parse",
    3: "evaluation: shapes that do not fit, a singular matrix, backward through a freed graph, a limit reached",
    4: "`--strict`, and a value or a derivative is not finite",
    5: "a file cannot be read or written, a cluster cannot be reached",
    70: "an internal error: a defect of autodiff, with what to report",
    71: "not enough memory",
    130: "interrupted, by Ctrl-C",
    141: "the reader of the pipe went away, as `head` does",
}

_HEAD = """# Exit codes and errors

Results go to standard output, and nothing else does. Notes, warnings and errors go to standard error. There is never a prompt
and never a traceback: with `AUTODIFF_DEBUG=1` in the environment an internal error shows one, and Python's warnings are printed.

What cannot be printed changes no exit code: with a standard error that is full or closed, an error keeps its own, and a result
that was written is 0. Control characters in names, cells and messages are shown as `\\x1b` in messages, tables, Markdown and
plain text, on a terminal and in a pipe alike; CSV, TSV, JSON and NDJSON hold them exactly.
"""

_MACHINES = """## For programs

With `--json` an error is one JSON object on standard error. `span` is the half-open range of characters in the expression where
the error is, `null` if it is in no one place; so is `hint` if there is none. An error in a program file has `file` and `line` too.
"""


def page() -> str:
    """The text of the page."""
    example = f"{EXAMPLES['UnknownName']} --json"
    parts = [_HEAD, "## Exit codes\n", table(("code", "when"), [(f"`{number}`", text) for number, text in CODES.items()])]
    parts += [_MACHINES, console([(example, run(example))])]
    for number, text in CODES.items():
        classes = [kind for kind in kinds() if kind.exit_code == number]
        if classes:
            parts.append(f"## Code {number}: {text.partition(':')[0]}\n")
            parts += [_entry(kind) for kind in classes]
    return "\n".join(parts)


def kinds() -> list[type[AutodiffError]]:
    """Every class of error but the base class, in the order of ``errors.py``."""
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AutodiffError)]
    return [kind for kind in found if kind is not AutodiffError]


def provoked(command: str) -> str:
    """The kind of error that a command line ends with."""
    return str(json.loads(streams(f"{command} --json")[1])["error"]["kind"])


def _said(kind: type) -> str:
    """What an error is; its attributes are for those who read the code."""
    return (inspect.getdoc(kind) or "").partition("\n\nAttributes:")[0]


def _entry(kind: type[AutodiffError]) -> str:
    bases = [base.__name__ for base in kind.__bases__ if base is not AutodiffError]
    also = f" In Python also a {' and a '.join(code(name) for name in bases)}." if bases else ""
    name = kind.__name__
    parts = [f"### {name}\n", f"{prose(_said(kind))}{also}\n"]
    parts.append(console([(EXAMPLES[name], run(EXAMPLES[name]))]) if name in EXAMPLES else f"{UNPROVOKED.get(name, '')}\n")
    return "\n".join(parts)
