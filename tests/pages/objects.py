"""``docs/json.md``: the JSON object of each command, with an example that was run, and what every key means."""

from __future__ import annotations

import json
from typing import Any

from autodiff_cli.cli.main import COMMANDS
from tests.pages.commands import declared, examples, folder
from tests.pages.errors import EXAMPLES as ERRORS
from tests.pages.markdown import block, code, table
from tests.shell import streams

EXAMPLES = {
    "eval": 'autodiff eval "log(x**3)" --at x=5 --order 2 --json',
    "functions": "autodiff functions sqrt --json",
    "gradcheck": 'autodiff gradcheck "x**2" --at x=3 --claim x="2*x" --json',
    "taylor": 'autodiff taylor "exp(x)" --at x=0 --order 3 --json',
    "hessian": 'autodiff hessian "x**2*y" --at x=2,y=3 --verify --json',
    "explain": 'autodiff explain "log(x**3)" --at x=5 --json',
    "graph": 'autodiff graph "3*x" --at x=2 --json',
    "map": 'autodiff map "x*y" data.csv --json',
    "plot": 'autodiff plot "abs(x - 1)" --over x=0:2:3 --json',
}
"""Where the first example in the help of a command, with ``--json``, is not the one to show."""
WITHOUT = {
    "export": "`autodiff export` prints source text.",
    "repl": "`autodiff repl --json` prints the records of [`run`](#run), one a line, as they happen.",
}
"""Commands that print no object of their own."""

KNOWN = {"steps[].tensors", "rows"}
"""Lists of records whose keys are explained elsewhere, or are names of columns."""

NUMBERS = "number, or nested lists of numbers"
TEXT = "text"
FLAG = "true or false"

KEYS: dict[str, tuple[str, str]] = {
    "schema": ("whole number", "the version of this format, 1; keys may be added to it, none will be taken away"),
    "command": (TEXT, "the command"),
    "expression": (TEXT, "the expression as it was given"),
    "dtype": (TEXT, "the type of all numbers, `float64` or `float32`"),
    "order": ("whole number", "the order that was asked for"),
    "value": (NUMBERS, "the output"),
    "tensors": ("list of objects", "every tensor, in the order of evaluation"),
    "tensors[].name": (TEXT, "its name in the program; `%1`, `%2`, ... if it has none"),
    "tensors[].expression": (TEXT, "what made it"),
    "tensors[].value": (NUMBERS, "its value"),
    "tensors[].shape": ("list of whole numbers", "its shape, `[]` for a scalar"),
    "tensors[].requires_grad": (FLAG, "whether operations on it are recorded"),
    "tensors[].is_leaf": (FLAG, "whether no recorded operation made it"),
    "tensors[].retains_grad": (FLAG, "whether it is no leaf and keeps its gradient all the same"),
    "tensors[].grad_fn": ("text or null", "the node that made it"),
    "tensors[].next_functions": ("list of texts or nulls", "the nodes that `grad_fn` leads to; null where no gradient flows"),
    "tensors[].grad": (f"{NUMBERS}, or null", "its gradient"),
    "grad": ("object by variable", "the gradient, in the shape of the variable"),
    "hessian": (
        "object by variable, of objects by variable",
        "the second derivatives; an entry has the shape of the first variable followed by that of the second",
    ),
    "jacobian": ("object by variable", "an entry has the shape of the output followed by that of the variable"),
    "derivatives": ("list of objects", "with `--order` 2 and above: all partial derivatives, each mixed one once"),
    "derivatives[].order": ("whole number", "its order"),
    "derivatives[].wrt": ("list of texts", "the variables, one for each order"),
    "derivatives[].value": (NUMBERS, "in the shapes of these variables, one after the other"),
    "jvp": (NUMBERS, "the product, in the shape of the output"),
    "vjp": ("object by variable", "the product, in the shape of the variable"),
    "hvp": ("object by variable", "the product, in the shape of the variable"),
    "verified": (
        "object",
        "with `--verify` or `--digits`: under the keys of the numbers how many decimal digits of each are right, at most 16, in "
        "their shapes; null where there is no such number, as at a kink; tensors of `eval` have theirs as `right_digits`",
    ),
    "variable": (TEXT, "the variable of the series"),
    "at": (NUMBERS, "the point that the series is about"),
    "coefficients": ("list of numbers", "of the powers from 0 on; of an output that is no scalar, in its shape"),
    "taylor.derivatives": ("list of numbers", "the derivatives from order 0 on, which are the coefficients times k!"),
    "passed": (FLAG, "whether every check passed"),
    "checks": ("list of objects", "one for each variable and order, then one for each claim"),
    "checks[].wrt": (TEXT, "the variable"),
    "checks[].order": ("whole number", "the order of the derivative"),
    "checks[].analytic": (NUMBERS, "the derivative by automatic differentiation"),
    "checks[].numeric": (NUMBERS, "the derivative of the values, from differences"),
    "checks[].error": ("number", "the difference of the two, or of the claim and the exact derivative; the worst one of a vector"),
    "checks[].tolerance": ("number", "the difference that passes"),
    "checks[].verdict": (TEXT, "`pass`, `fail`, `kink` or `undecided`"),
    "checks[].claim": (TEXT, "the expression of a claim; only there"),
    "checks[].claimed": (NUMBERS, "what the claim gives"),
    "checks[].exact": (NUMBERS, "the derivative that it is compared with"),
    "checks[].reason": (TEXT, "why a verdict is `undecided`; only there"),
    "checks[].at": ("object", "the point, where there are several; only there"),
    "output": (TEXT, "the name of the result"),
    "symbol": (TEXT, "what derivatives are written of"),
    "forward": ("list of objects", "the steps forward"),
    "forward[].name": (TEXT, "the name of the tensor"),
    "forward[].operation": (TEXT, "what made it, in terms of other names"),
    "forward[].expression": ("text or null", "the same in the program; null inside of a function"),
    "forward[].value": (NUMBERS, "its value"),
    "forward[].shape": ("list of whole numbers", "its shape"),
    "forward[].grad_fn": ("text or null", "the node that it left"),
    "start": (NUMBERS, "the gradient that the sweep starts from"),
    "diff.derivatives[].expression": (TEXT, "the derivative as an expression of the language"),
    "explain.steps": ("list of objects", "the nodes in the order in which the sweep ran them"),
    "explain.steps[].name": (TEXT, "the tensor whose gradient is handed on; several results have a list of names"),
    "explain.steps[].operation": (TEXT, "what made it"),
    "explain.steps[].grad_fn": (TEXT, "the node"),
    "explain.steps[].gradient": (NUMBERS, "what arrived"),
    "explain.steps[].contributions": ("list of objects", "what is handed on to each argument"),
    "explain.steps[].contributions[].to": (TEXT, "to which tensor"),
    "explain.steps[].contributions[].formula": (
        "text or null",
        "the local derivative, or the whole rule if it has `%gradient` in it",
    ),
    "explain.steps[].contributions[].rule": ("text or null", "the rule in words, or the convention at a kink"),
    "explain.steps[].contributions[].local": (f"{NUMBERS}, or null", "the local derivative; null if the rule is no product"),
    "explain.steps[].contributions[].contribution": (NUMBERS, "what is handed on"),
    "explain.steps[].contributions[].broadcast": (
        "object or null",
        "the shapes `from` and `to`, and the dimensions `summed`, if broadcasting was undone",
    ),
    "explain.steps[].contributions[].untaken": (FLAG, "whether elements that were not taken contribute 0"),
    "ends": ("list of objects", "what arrived at each variable"),
    "ends[].name": (TEXT, "the variable"),
    "ends[].parts": ("list of objects", "what came from each side"),
    "ends[].parts[].from": (TEXT, "from which tensor"),
    "ends[].parts[].value": (NUMBERS, "how much"),
    "ends[].value": (NUMBERS, "the sum"),
    "direction": (TEXT, "`forward` or `backward`"),
    "nodes": ("list of objects", "inputs before what uses them, the output last"),
    "nodes[].id": ("whole number", "its number, from 0"),
    "nodes[].kind": (TEXT, "`variable`, `constant`, `operation`, `named`, `group`, `output` or `more`"),
    "nodes[].label": (TEXT, "what a picture writes on it"),
    "nodes[].name": ("text or null", "the name of the tensor"),
    "nodes[].expression": (TEXT, "what made it"),
    "nodes[].inputs": ("list of whole numbers or nulls", "the nodes of its arguments; null where no gradient flows"),
    "nodes[].count": ("whole number", "how many operations it stands for"),
    "nodes[].value": (f"{NUMBERS}, or null", "its value; this and what follows only with `--at`"),
    "nodes[].shape": ("list of whole numbers", "its shape"),
    "nodes[].requires_grad": (FLAG, "whether derivatives are wanted"),
    "nodes[].grad": (f"{NUMBERS}, or null", "its gradient"),
    "edges": ("list of objects", "from each argument to what uses it"),
    "edges[].from": ("whole number", "the argument"),
    "edges[].to": ("whole number", "what uses it"),
    "hidden": ("whole number", "how many operations are left out"),
    "file": (TEXT, "the file of the program, `-` for standard input"),
    "steps": ("list of objects", "everything that the program showed or printed"),
    "steps[].line": ("whole number", "its line"),
    "steps[].statement": (TEXT, "the statement"),
    "steps[].tensors": ("list of objects", "what `show` showed, as `tensors` of `eval`"),
    "steps[].value": (f"{NUMBERS}, or null", "a value that was printed; null if it is no number"),
    "steps[].text": (TEXT, "the same as PyTorch prints it"),
    "map.columns": ("list of texts", "the columns of the input, then those of the results"),
    "rows": ("list of objects by column", "the rows, each on a line of its own"),
    "over": ("object by variable", "the range of each: its two ends"),
    "plot.columns": ("object by name of column", "the samples: the variables, `value`, `d_x`, with `--order` 2 also `d_x_x`"),
    "marks": ("list of objects", "places that are no ordinary points; not over two variables"),
    "marks[].kind": (TEXT, "what it is: `pole`, `jump`, `kink`, ...; [Plots](plot.md) has them all"),
    "marks[].at": ("number", "where it is"),
    "functions": ("list of objects", "one, or all"),
    "functions[].name": (TEXT, "its name"),
    "functions[].aliases": ("list of texts", "its other names"),
    "functions[].signature": (TEXT, "parameters with their defaults"),
    "functions[].section": (TEXT, "its subject"),
    "functions[].summary": (TEXT, "what it is"),
    "functions[].derivative": (TEXT, "its derivative, in the language; empty where one line cannot say it"),
    "functions[].domain": (TEXT, "where the value exists"),
    "functions[].smooth": (TEXT, "where the derivative exists"),
    "functions[].convention": (TEXT, "what is answered at kinks, and where that comes from"),
    "notes": ("list of objects", "what is worth knowing about the answer"),
    "notes[].kind": (
        TEXT,
        "`kink`, `domain`, `nonfinite`, `cancellation`, `overflow`, `underflow`, `unused`, `constant` or `hook`",
    ),
    "notes[].span": ("list of two whole numbers, or null", "the half-open range of characters that it is about"),
    "notes[].message": (TEXT, "one sentence"),
    "notes[].order": ("whole number", "what it is about: 0 for the value, 1 for a first derivative and so on"),
    "error": ("object", "the error"),
    "error.kind": (TEXT, "its [class](errors.md)"),
    "error.message": (TEXT, "what is wrong"),
    "error.span": ("list of two whole numbers, or null", "the half-open range of characters where it is"),
    "error.hint": ("text or null", "the way out"),
    "error.exit_code": ("whole number", "the [exit code](errors.md)"),
}
"""Type and meaning of every key; ``command.key`` where a command means something else by one."""

_HEAD = """# JSON

`--json` prints one object on one line; here it is spread over several. Keys come in this order. A number is written so that it
reads back as the same number. One that is not finite is the text `"nan"`, `"inf"` or `"-inf"`, as JSON has none. `ndjson`
prints the records of the object's main list, one a line.
"""


def page() -> str:
    """The text of the page."""
    parts = [_HEAD]
    explained: set[str] = set()
    for name in COMMANDS:
        parts.append(f"## {name}\n")
        if name in WITHOUT:
            parts.append(f"{WITHOUT[name]}\n")
            continue
        line = example(name)
        parts += _shown(name, line, answer(line), explained)
    parts += ["## Errors\n\nOn standard error.\n"]
    line = f"{ERRORS['UnknownName']} --json"
    parts += _shown("error", line, json.loads(streams(line)[1]), explained)
    return "\n".join(parts)


def example(name: str) -> str:
    """The command line whose object is shown."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    first = examples(declared(name))[0].removesuffix(" -q")
    return first if "--json" in first.split() else f"{first} --json"


def answer(line: str) -> Any:
    """The object that a command line prints, in a folder with the files that it may name."""
    with folder():
        return json.loads(streams(line)[0])


def keys(document: Any, prefix: str = "") -> list[str]:
    """The keys of an object and of the records in its lists; names of variables are no keys."""
    found: list[str] = []
    for key, value in document.items():
        path = f"{prefix}{key}"
        found.append(path)
        if path == "error":
            found += keys(value, "error.")
        elif isinstance(value, list):
            for record in value:
                if isinstance(record, dict) and path not in KNOWN:
                    found += keys(record, f"{path}[].")
    return list(dict.fromkeys(found))


def meaning(command: str, key: str) -> tuple[str, str] | None:
    """Type and meaning of a key, if it has been written down."""
    return KEYS.get(f"{command}.{key}") or KEYS.get(key)


def _shown(command: str, line: str, document: Any, explained: set[str]) -> list[str]:
    rows, known = [], []
    for key in keys(document):
        one = meaning(command, key)
        if one is not None and key in explained and f"{command}.{key}" not in KEYS:
            known.append(key)
        elif one is not None:
            explained.add(key)
            rows.append((code(key), *one))
    above = [key for key in known if "[]" not in key]
    parts = [block("console", f"$ {line}"), block("json", spread(document))]
    if rows:
        parts.append(table(("key", "is", "says"), rows))
    if above:
        parts.append(f"As above: {', '.join(map(code, above))}.\n")
    return parts


def spread(value: Any, indent: int = 0, width: int = 100) -> str:
    """JSON over several lines where one is too short, and no more than that."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= width or not isinstance(value, (dict, list)) or not value:
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key)}: {spread(item, indent + 2, width)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"
    lines = [inner + spread(item, indent + 2, width) for item in value]
    return "[\n" + ",\n".join(lines) + "\n" + " " * indent + "]"
