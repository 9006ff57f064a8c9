"""The generator of ``docs/json.md`` and of the sections on JSON in the pages of the commands.

A section shows an example of the JSON object of its command and the meaning of the keys of its own; ``docs/json.md`` has the keys
that several commands share.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from autodiff_cli.cli.commands import COMMANDS
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
    "diff": 'autodiff diff "log(x**3)" --steps --json',
    "graph": 'autodiff graph "3*x" --at x=2 --json',
    "map": 'autodiff map "x*y" data.csv --json',
    "propagate": 'autodiff propagate "4*pi**2*L/T**2" --at "L=0.994(1),T=2.001(2)" --dof T=9 --order 2 --monte-carlo 1e4 --json',
    "minimize": 'autodiff minimize "(x*y - a)**2" --at x=2,y=3 --const a=2 --sensitivity a --json',
    "root": 'autodiff root "x**2 = a" --over x=-2:2 --all --const a=2 --sensitivity a --json',
    "plot": 'autodiff plot "abs(x - 1)" --over x=0:2:3 --json',
}
"""The examples of commands for which the page does not use the first example of the help text with ``--json``."""
WITHOUT = {
    "export": "`autodiff export` does not have JSON output; it prints source code.",
    "repl": "`autodiff repl --json` prints one record of [`run`](run.md#json) per line as soon as a step has run.",
}
"""The commands that do not print a JSON object of their own."""

KNOWN = {"steps[].tensors", "rows", "roots"}
"""Lists of records whose keys are explained elsewhere, or are names of columns."""

_LINES = Path(__file__).with_name("keys.txt").read_text(encoding="utf-8").splitlines()
KEYS = {key: (kind, meaning) for key, kind, meaning in (line.split(" | ", 2) for line in _LINES)}
"""The type and the meaning of every key; ``command.key`` if the meaning in one command is different."""

_HEAD = """# JSON

`--json` prints one object on one line; these pages wrap long objects. Each [command](commands.md) has a section "JSON" in its page,
with an example and the keys of its own. Keys are printed in the order shown. A number is printed
with the fewest digits that identify it. A number that is not finite is the string `"nan"`, `"inf"` or `"-inf"`, because JSON
does not have such numbers. `ndjson` prints the records of the main list of the object, one per line.
"""


def page() -> str:
    """Return the text of the page."""
    line = f"{ERRORS['UnknownName']} --json"
    error = json.loads(streams(line)[1])
    return "\n".join(
        [
            _HEAD,
            "## Keys that commands share\n",
            _table("", shared()),
            "## Errors\n\nErrors are printed on standard error.\n",
            _example(line, error),
            _table("error", keys(error)),
        ]
    )


def section(name: str) -> str:
    """Return the section of a command's page."""
    if name in WITHOUT:
        return f"## JSON\n\n{WITHOUT[name]}\n"
    found = keys(_documents()[name])
    common = [key for key in found if key in shared() and f"{name}.{key}" not in KEYS]
    own = [key for key in found if key not in common and meaning(name, key)]
    parts = ["## JSON\n", _example(example(name), _documents()[name]), *([_table(name, own)] if own else [])]
    above = ", ".join(code(key) for key in common if "[]" not in key)
    return "\n".join([*parts, f"These keys are described in [JSON](../json.md): {above}.\n"])


@cache
def _documents() -> dict[str, Any]:
    """Return the object of each command that prints one."""
    return {name: answer(example(name)) for name in COMMANDS if name not in WITHOUT}


@cache
def shared() -> tuple[str, ...]:
    """Return the keys with the same meaning in several commands, and those of notes and integrals, which examples need not have."""
    used = Counter(key for name, one in _documents().items() for key in keys(one) if f"{name}.{key}" not in KEYS)
    several = tuple(key for key, count in used.items() if count > 1 and key in KEYS)
    return (*several, *(key for key in KEYS if key.startswith(("notes[].", "integrals"))))


def example(name: str) -> str:
    """Return the command line whose JSON object the page shows."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    first = examples(declared(name))[0].removesuffix(" -q")
    return first if "--json" in first.split() else f"{first} --json"


def answer(line: str) -> Any:
    """Return the object that a command line prints in a folder with its input files."""
    with folder():
        return json.loads(streams(line)[0])


def keys(document: Any, prefix: str = "") -> list[str]:
    """Return the keys of an object and of the records in its lists, without names of variables."""
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
    """Return the type and the meaning of a key, or ``None`` if the key is not in the table."""
    return KEYS.get(f"{command}.{key}") or KEYS.get(key)


def _example(line: str, document: Any) -> str:
    return "\n".join([block("console", f"$ {line}"), block("json", spread(document))])


def _table(command: str, listed: Sequence[str]) -> str:
    found = ((key, meaning(command, key)) for key in listed)
    return table(("key", "type", "meaning"), [(code(key), *one) for key, one in found if one is not None])


def spread(value: Any, indent: int = 0, width: int = 100) -> str:
    """Return a value as JSON, split into several lines only if one line is too long."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= width or not isinstance(value, (dict, list)) or not value:
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key)}: {spread(item, indent + 2, width)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"
    lines = [inner + spread(item, indent + 2, width) for item in value]
    return "[\n" + ",\n".join(lines) + "\n" + " " * indent + "]"
