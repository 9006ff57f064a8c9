"""The generator of ``docs/errors.md``: exit codes, and every error class with a command line that causes the error."""

from __future__ import annotations

import inspect
import json

from autodiff_cli import errors
from autodiff_cli.errors import AutodiffError
from tests.pages.markdown import code, console, prose, table
from tests.shell import run, streams

EXAMPLES = {
    "UsageError": 'autodiff eval "x**2" --at x=1 --order -1',
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
    "NoValue": 'autodiff eval "root(y=0, y**2 = x)" --at x=2',
    "NotSolved": 'autodiff root "x**2 + 1 = 0" --at x=3',
    "NotFiniteError": 'autodiff eval "1/x" --at x=0 --strict',
    "FileError": 'autodiff eval "sum(x)" --at x=@missing.npy',
    "DataError": 'autodiff map "k*x**2/2" docs/data/broken.csv',
}
"""A command line for each error class."""
UNPROVOKED = {
    "UnknownChoice": "`ad.autograd.functional.jacobian` and `hessian` raise this error for an unknown `strategy`.",
    "InvalidCheck": "`ad.autograd.gradcheck` raises this error for options that exclude each other, and for a function whose "
    "outputs change their shape or type.",
    "VmapError": "A function inside `ad.vmap` raises this error if it needs the value of a tensor, which differs by example.",
    "ValuesNeeded": "A function inside `ad.vmap` raises this error if it reads the values of a tensor, as `tolist()` does.",
    "CheckpointError": "A backward pass in Python raises this error if a function inside `utils.checkpoint.checkpoint` does "
    "something else when it is called again.",
    "NoSeriesError": "This error is internal: the command then uses nested reverse mode.",
    "NotRecordable": "`ad.compile` raises this error. Commands catch it and evaluate the expression row by row.",
    "ProgramError": "`autodiff graph` raises this error if Graphviz's `dot` fails.",
    "ClusterError": "`autodiff map --engine dask` raises this error if workers do not answer: [Several machines](scaling.md).",
    "InternalError": "The hint explains how to report the defect. No known command line causes this error.",
    "OutOfMemory": "The memory of the machine, or the limit of `ulimit -v`, is exhausted. The size limits reject most "
    "computations that would need too much memory earlier, with a `LimitError`.",
    "MissingPackage": "The hint contains the command that installs the package, such as `pip install pyarrow`.",
}
"""An explanation for each class that no command line causes in every environment."""

CODES = {
    0: "success",
    1: "a check failed: a derivative or a claim is wrong, or a solution is not verified",
    2: "usage: an unknown option or name, a missing value, a syntax error",
    3: "evaluation: incompatible shapes, a singular matrix, backward through a freed graph, a limit",
    4: "not finite: with `--strict`, a value or a derivative is nan or infinite",
    5: "files: a file cannot be read or written, or a cluster cannot be reached",
    70: "internal error: a defect in autodiff; the hint explains how to report it",
    71: "out of memory",
    130: "interrupted by Ctrl-C",
    141: "the program that reads the pipe exited early, as `head` does",
}

_HEAD = """# Exit codes and errors

Only results go to standard output. Notes, warnings and errors go to standard error. Commands never prompt for input and never
print a traceback. With `AUTODIFF_DEBUG=1` in the environment, an internal error prints its traceback, and Python's warnings are
shown.

Exit codes do not depend on standard error: if it is full or closed, the exit code of an error does not change, and the exit
code of a complete result is 0. Control characters in names, cells and messages are printed as `\\x1b` in messages, tables,
Markdown and plain text. CSV, TSV, JSON and NDJSON contain them unchanged.
"""

_MACHINES = """## Errors as JSON

With `--json`, an error is one JSON object on standard error. `span` is the half-open range of characters of the expression, or
`null` if the error does not have a single position. `hint` may also be `null`. An error in a program file also has the keys
`file` and `line`.
"""


def page() -> str:
    """Return the text of the page."""
    example = f"{EXAMPLES['UnknownName']} --json"
    parts = [_HEAD, "## Exit codes\n", table(("code", "meaning"), [(f"`{number}`", text) for number, text in CODES.items()])]
    parts += [_MACHINES, console([(example, run(example))])]
    for number, text in CODES.items():
        classes = [kind for kind in kinds() if kind.exit_code == number]
        if classes:
            parts.append(f"## Code {number}: {text.partition(':')[0]}\n")
            parts += [_entry(kind) for kind in classes]
    return "\n".join(parts)


def kinds() -> list[type[AutodiffError]]:
    """Return all error classes except the base class, in the order of ``errors.py``."""
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AutodiffError)]
    return [kind for kind in found if kind is not AutodiffError]


def provoked(command: str) -> str:
    """Return the kind of error that a command line causes."""
    return str(json.loads(streams(f"{command} --json")[1])["error"]["kind"])


def _said(kind: type) -> str:
    """Return the docstring of an error class without its attributes."""
    return (inspect.getdoc(kind) or "").partition("\n\nAttributes:")[0]


def _entry(kind: type[AutodiffError]) -> str:
    bases = [base.__name__ for base in kind.__bases__ if base is not AutodiffError]
    also = f" In Python, it is also a {' and a '.join(code(name) for name in bases)}." if bases else ""
    name = kind.__name__
    parts = [f"### {name}\n", f"{prose(_said(kind))}{also}\n"]
    parts.append(console([(EXAMPLES[name], run(EXAMPLES[name]))]) if name in EXAMPLES else f"{UNPROVOKED.get(name, '')}\n")
    return "\n".join(parts)
