"""The generator of ``docs/json.md`` and of the sections on JSON in the pages of the commands.

A section shows an example of the JSON object of its command and the meaning of the keys of its own; ``docs/json.md`` has the keys
that several commands share.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
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
    "explain": 'autodiff explain "log(x**3)" --at x=5 --saved --json',
    "graph": 'autodiff graph "3*x" --at x=2 --json',
    "map": 'autodiff map "x*y" data.csv --json',
    "propagate": 'autodiff propagate "4*pi**2*L/T**2" --at "L=0.994(1),T=2.001(2)" --dof T=9 --order 2 --monte-carlo 1e4 --json',
    "minimize": 'autodiff minimize "x**2 - y**2 + a*y" --at x=1,y=3 --const a=2 --sensitivity a --stationary --json',
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

NUMBERS = "number, or nested lists of numbers"
TEXT = "string"
FLAG = "true or false"

KEYS: dict[str, tuple[str, str]] = {
    "schema": ("integer", "the version of this format, 1; keys may be added, but are never removed"),
    "command": (TEXT, "the command"),
    "expression": (TEXT, "the expression in the command"),
    "dtype": (TEXT, "the type of all numbers, `float64` or `float32`"),
    "order": ("integer", "the requested order"),
    "value": (NUMBERS, "the output"),
    "tensors": ("list of objects", "every tensor, in the order of evaluation"),
    "tensors[].name": (TEXT, "its name in the program; `%1`, `%2`, ... if it does not have a name"),
    "tensors[].expression": (TEXT, "the expression that computed it"),
    "tensors[].value": (NUMBERS, "its value"),
    "tensors[].shape": ("list of integers", "its shape, `[]` for a scalar"),
    "tensors[].requires_grad": (FLAG, "whether operations on it are recorded"),
    "tensors[].is_leaf": (FLAG, "whether the tensor is an input, not the result of a recorded operation"),
    "tensors[].retains_grad": (FLAG, "whether the tensor keeps its gradient although it is not a leaf"),
    "tensors[].grad_fn": ("string or null", "the node that computed it"),
    "tensors[].next_functions": ("list of strings or nulls", "the nodes that `grad_fn` leads to; null where no gradient flows"),
    "tensors[].grad": (f"{NUMBERS}, or null", "its gradient, if it was kept"),
    "grad": ("object by variable", "the gradient, in the shape of the variable"),
    "hessian": (
        "object by variable, of objects by variable",
        "the second derivatives; the shape of an entry is the shapes of the two variables, concatenated",
    ),
    "jacobian": ("object by variable", "the shape of an entry is the shape of the output followed by the shape of the variable"),
    "derivatives": ("list of objects", "with `--order` 2 and above: all partial derivatives, each mixed partial derivative once"),
    "derivatives[].order": ("integer", "its order"),
    "derivatives[].wrt": ("list of strings", "the variables, one for each order"),
    "derivatives[].value": (NUMBERS, "the derivative; its shape is the concatenation of the shapes of these variables"),
    "jvp": (NUMBERS, "the product, in the shape of the output"),
    "vjp": ("object by variable", "the product, in the shape of the variable"),
    "hvp": ("object by variable", "the product, in the shape of the variable"),
    "verified": (
        "object",
        "with `--verify` or `--digits`: for each key with numbers, the correct decimal digits of each number, at most 16; "
        "null if the number does not exist, for example at a kink; tensors of `eval` have the key `right_digits`",
    ),
    "variable": (TEXT, "the variable of the series"),
    "at": (NUMBERS, "the point of expansion"),
    "coefficients": ("list of numbers", "the coefficients of the powers from 0; each has the shape of the output"),
    "taylor.derivatives": ("list of numbers", "the derivatives from order 0, which are the coefficients times k!"),
    "passed": (FLAG, "whether every check passed"),
    "checks": ("list of objects", "one check for each variable and order, then one for each claim"),
    "checks[].wrt": (TEXT, "the variable"),
    "checks[].order": ("integer", "the order of the derivative"),
    "checks[].analytic": (NUMBERS, "the derivative by automatic differentiation"),
    "checks[].numeric": (NUMBERS, "the derivative by finite differences"),
    "checks[].error": (
        "number",
        "the difference of `analytic` and `numeric`, or of the claim and the exact derivative; for a vector, the maximum",
    ),
    "checks[].tolerance": ("number", "the largest error that passes"),
    "checks[].verdict": (TEXT, "`pass`, `fail`, `kink`, `undecided`, `jump` or `undefined`"),
    "checks[].claim": (TEXT, "the expression of the claim; only for claims"),
    "checks[].claimed": (NUMBERS, "the value of the claim"),
    "checks[].exact": (NUMBERS, "the derivative that the claim is compared with"),
    "checks[].reason": (TEXT, "the reason for the verdicts `undecided`, `jump` and `undefined`; only with these verdicts"),
    "checks[].at": ("object", "the point; only with several points"),
    "output": (TEXT, "the name of the result"),
    "symbol": (TEXT, "the symbol of the output in derivatives"),
    "forward": ("list of objects", "the forward pass"),
    "forward[].name": (TEXT, "the name of the tensor"),
    "forward[].operation": (TEXT, "the operation, with the names of its arguments"),
    "forward[].expression": ("string or null", "the expression in the program; null for operations inside a function"),
    "forward[].value": (NUMBERS, "its value"),
    "forward[].shape": ("list of integers", "its shape"),
    "forward[].grad_fn": ("string or null", "the node that it recorded"),
    "start": (NUMBERS, "the gradient at which the backward pass starts"),
    "diff.derivatives[].expression": (TEXT, "the derivative as an expression of the language"),
    "explain.steps": ("list of objects", "the nodes in the order in which the backward pass ran them"),
    "explain.steps[].name": (
        TEXT,
        "the name of the tensor whose gradient is propagated; a list of names for an operation with several results",
    ),
    "explain.steps[].operation": (TEXT, "the operation that computed it"),
    "explain.steps[].grad_fn": (TEXT, "the node"),
    "explain.steps[].gradient": (NUMBERS, "the upstream gradient"),
    "explain.steps[].contributions": ("list of objects", "the contribution to each argument"),
    "explain.steps[].contributions[].to": (TEXT, "the tensor that receives it"),
    "explain.steps[].contributions[].formula": (
        "string or null",
        "the local derivative, or the whole VJP rule if it contains `%gradient`",
    ),
    "explain.steps[].contributions[].rule": ("string or null", "the rule in words, or the convention at a kink"),
    "explain.steps[].contributions[].local": (f"{NUMBERS}, or null", "the local derivative; null if the rule is not a product"),
    "explain.steps[].contributions[].contribution": (NUMBERS, "the contribution"),
    "explain.steps[].contributions[].broadcast": (
        "object or null",
        "the shapes `from` and `to`, and the dimensions `summed`, if the argument was broadcast",
    ),
    "explain.steps[].contributions[].untaken": (FLAG, "whether elements that were not selected contribute 0"),
    "explain.steps[].saved": ("list of objects", "with `--saved`, the values that the node saves for the backward pass"),
    "explain.steps[].saved[].name": (TEXT, "PyTorch's name of the value: `self` is `node._saved_self`"),
    "explain.steps[].saved[].shape": ("list of integers", "the shape of a tensor"),
    "explain.steps[].saved[].dtype": (TEXT, "the type of its elements"),
    "explain.steps[].saved[].bytes": ("integer", "its memory; 0 for other values"),
    "explain.steps[].saved[].of": ("string or null", "the name of the tensor"),
    "explain.steps[].saved[].again": (FLAG, "whether this memory is in a list above, and is counted there"),
    "explain.steps[].saved[].value": ("number or string", "the value if it is not a tensor"),
    "explain.saved": (
        "object",
        "with `--saved`, over all nodes: the number of different `tensors` that are saved, their memory in `bytes`, and "
        "`variable_bytes`, the part of it that the variables take anyway",
    ),
    "ends": ("list of objects", "the accumulated gradient of each variable"),
    "ends[].name": (TEXT, "the variable"),
    "ends[].parts": ("list of objects", "its contributions"),
    "ends[].parts[].from": (TEXT, "the tensor that a contribution comes from"),
    "ends[].parts[].value": (NUMBERS, "the contribution"),
    "ends[].value": (NUMBERS, "the sum"),
    "direction": (TEXT, "`forward` or `backward`"),
    "nodes": (
        "list of objects",
        "the nodes; each node follows its inputs, and the output is last. With `--saved`, each node and the whole object also "
        "have a key `saved`, as in `explain`",
    ),
    "nodes[].id": ("integer", "its number, starting at 0"),
    "nodes[].kind": (TEXT, "`variable`, `constant`, `operation`, `named`, `group`, `output` or `more`"),
    "nodes[].label": (TEXT, "the text in a picture"),
    "nodes[].name": ("string or null", "the name of the tensor"),
    "nodes[].expression": (TEXT, "the expression that computed it"),
    "nodes[].inputs": ("list of integers or nulls", "the nodes of its arguments; null where no gradient flows"),
    "nodes[].count": ("integer", "the number of operations that it contains"),
    "nodes[].value": (f"{NUMBERS}, or null", "its value; this and the following keys only with `--at`"),
    "nodes[].shape": ("list of integers", "its shape"),
    "nodes[].requires_grad": (FLAG, "whether operations on it are recorded"),
    "nodes[].grad": (f"{NUMBERS}, or null", "its gradient"),
    "edges": ("list of objects", "the edges, each from an argument to the node that uses it"),
    "edges[].from": ("integer", "the argument"),
    "edges[].to": ("integer", "the node that uses it"),
    "hidden": ("integer", "the number of omitted operations"),
    "file": (TEXT, "the file of the program, `-` for standard input"),
    "steps": ("list of objects", "everything that the program shows or prints"),
    "steps[].line": ("integer", "its line"),
    "steps[].statement": (TEXT, "the statement"),
    "steps[].tensors": ("list of objects", "the tensors that `show` prints; the keys are the same as in `tensors` of `eval`"),
    "steps[].value": (f"{NUMBERS}, or null", "a printed value; null if it is not numeric"),
    "steps[].text": (TEXT, "the value in PyTorch's format"),
    "map.columns": ("list of strings", "the columns of the input, followed by the columns of the results"),
    "total": (TEXT, "`sum` or `mean`, if the rows are totals"),
    "by": ("list of strings", "the columns of the groups"),
    "rows": ("list of objects by column", "the rows, one per line"),
    "over": ("object by variable", "the two ends of the range of each variable"),
    "plot.columns": ("object by column name", "the samples: the variables, `value`, `d_x`, and with `--order` 2 also `d_x_x`"),
    "marks": ("list of objects", "discontinuities and kinks; not in plots over two variables"),
    "marks[].kind": (TEXT, "`pole`, `jump`, `kink`, ...; see [Plots](../plot.md)"),
    "marks[].at": ("number", "its position"),
    "propagate.value": ("number", "the estimate; with `--order 2`, the terms of second order shift it"),
    "u": ("number", "the standard uncertainty"),
    "dof": ("number or null", "the effective degrees of freedom; null if they are not defined"),
    "k": ("number", "the coverage factor"),
    "U": ("number", "the expanded uncertainty, `k*u`"),
    "interval": ("list of two numbers", "the interval from `value - U` to `value + U`"),
    "level": ("number", "the probability of the interval"),
    "result": (TEXT, "the value and the uncertainty, rounded to two digits of the uncertainty"),
    "budget": ("list of objects", "a row for each quantity, then for correlations and for terms of second order, if there are any"),
    "budget[].kind": (TEXT, "`quantity`, `correlation` or `second order`"),
    "budget[].name": (TEXT, "the quantity"),
    "budget[].value": ("number", "its estimate"),
    "budget[].u": ("number", "its standard uncertainty"),
    "budget[].distribution": (TEXT, "`normal`, `t`, `rect`, `triangle`, `arcsine` or `ctrap`"),
    "budget[].dof": ("number", "the degrees of freedom of its uncertainty"),
    "budget[].sensitivity": ("number", "the derivative of the value with respect to it"),
    "budget[].contribution": ("number", "`sensitivity*u`"),
    "budget[].share": ("number", "its part of the variance; the parts of all rows add up to 1"),
    "second_order": ("object", "with `--order 2`: `shift` of the value, `u`, whether first order is `enough`, and `first_order`"),
    "monte_carlo": (
        "object",
        "with `--monte-carlo`: `mean`, `u`, the `interval` and the `shortest` interval, whether it `agrees` (null: undecided)",
    ),
    "functions": ("list of objects", "the requested function, or all functions"),
    "functions[].name": (TEXT, "its name"),
    "functions[].aliases": ("list of strings", "its other names"),
    "functions[].signature": (TEXT, "parameters with their defaults"),
    "functions[].section": (TEXT, "its subject"),
    "functions[].summary": (TEXT, "a description"),
    "functions[].derivative": (TEXT, "its derivative as an expression; empty if it does not fit on one line"),
    "functions[].domain": (TEXT, "its domain"),
    "functions[].smooth": (TEXT, "the arguments for which it is differentiable"),
    "functions[].convention": (TEXT, "the convention at kinks, and its source"),
    "converged": (FLAG, "whether every check of the solution passed"),
    "verdict": (TEXT, "the kind of point that was found, or the reason why it is not a solution, such as `jump` or `underflow`"),
    "reason": (TEXT, "the check that failed; only if `converged` is false"),
    "minimize.proof": (TEXT, "what was verified, in words; only if `converged` is true"),
    "propagate.converged": (FLAG, "whether random trials, if there were any, do not contradict the result"),
    "propagate.verdict": (
        TEXT,
        "the verdict of the random trials, `agrees`, `differs` or `undecided`; without trials, `first_order` or `second_order`",
    ),
    "propagate.steps": ("integer", "0: the computation does not iterate"),
    "minimize.steps": ("integer", "the number of accepted steps"),
    "evaluations": ("integer", "the number of points at which values or derivatives were computed"),
    "solution": ("object by variable", "the solution, in the shape of the variable"),
    "minimize.value": ("number", "the value of the expression at the solution"),
    "gradient_norm": ("number", "the norm of the gradient of the Lagrangian, without variables at a bound"),
    "eigenvalues": (
        "list of numbers",
        "the eigenvalues of the Hessian matrix of the Lagrangian on the tangent space of the active constraints and bounds; for "
        "more than 200 variables, the lowest and the highest",
    ),
    "multipliers": (
        "object by constraint",
        "the Lagrange multipliers of the constraints and of the active bounds: the rate at which the value grows if the constraint "
        "is tightened",
    ),
    "minimize.direction": (
        "object by variable",
        "the way down from a saddle point, or a direction in which the value stays the same",
    ),
    "minimize.sensitivity": ("object by constant", "the derivative of each variable, and of `value`, with respect to the constant"),
    "trace": ("list of objects by column", "with `--trace`: the steps"),
    "point": ("object by variable", "the point that was reached; only if `converged` is false"),
    "root.verdict": (TEXT, "`root`, `multiple_root`, `minimum_of_norm`, `flat`, `jump`, `undefined`, `no_root` or `not_converged`"),
    "residual": ("list of numbers", "the left side minus the right side of each equation"),
    "last_step": ("number", "the length of the Newton step at the solution"),
    "condition": ("number", 'the condition number of the Jacobian with scaled rows and columns; `"inf"` if it is singular'),
    "convergence_order": ("number or null", "the order in which the steps decreased; null if there were too few steps"),
    "multiplicity": ("integer or null", "the multiplicity of the root; 0 if it is not isolated"),
    "digits": ("integer", "the number of certain digits"),
    "error_bound": ("object by variable", "a bound of the error of each unknown"),
    "root.solution": ("object by variable, or null", "the solution; null if it is not verified"),
    "root.sensitivity": (
        "object by variable, of objects by constant",
        "with `--sensitivity`: the derivative of each unknown with respect to each constant",
    ),
    "proof": ("string or null", "how the root was verified: `interval Newton`, `residual and Newton step`, ..."),
    "complete": (FLAG, "with `--over`: whether it is proven that the range has no other roots"),
    "roots": ("list of objects", "with `--over` and `--all`: the roots, with the value of each unknown"),
    "root.steps": ("integer", "the number of accepted steps"),
    "fit.verdict": (TEXT, "`minimum`, `saddle`, `singular` or `not_converged`"),
    "fit.steps": ("integer", "the number of accepted steps"),
    "parameters": (
        "object by parameter",
        "the `value`, the `std_error` and the `interval` of each parameter, or null; its `start`; whether it is `fixed`; and "
        "`at_bound`: `lower`, `upper` or null",
    ),
    "covariance": ("object by parameter, of objects by parameter", "the covariance matrix"),
    "correlation": ("object by parameter, of objects by parameter", "the correlation matrix"),
    "fit.residual": (
        "object",
        "`rss`, the weighted residual sum of squares; `std`, the residual standard deviation; `dof`, the degrees of freedom; "
        "`rows`, the number of rows",
    ),
    "statistics": ("object", "`r2`, `aic`, `aicc` and `bic`; with `--sigma` also `chi2`, `reduced_chi2` and `p`; else null"),
    "fit.digits": ("integer or null", "the number of certain digits of the worst parameter"),
    "errors_from": (
        TEXT,
        "the source of the standard errors: `residuals` or `weights` if they are scaled by `std`, `sigma`, or `sandwich` for a "
        "robust loss",
    ),
    "fit.level": ("number", "the confidence level of the intervals"),
    "offset": ("number", "the relative offset of Bates and Watts"),
    "fit.condition": ("number", "the condition number of the Jacobian with scaled columns"),
    "curvature": (
        "object or null",
        "the curvatures `parameters` and `intrinsic`, and `linear`: whether both are at most 0.3",
    ),
    "outliers": ("list of objects", "the largest residuals"),
    "outliers[].row": ("integer", "the line of the file, or the number of the row"),
    "outliers[].place": (TEXT, "the row in words"),
    "outliers[].standardized": ("number", "the residual in standard deviations"),
    "notes": ("list of objects", "caveats of the result"),
    "notes[].kind": (
        TEXT,
        "`kink`, `domain`, `nonfinite`, `cancellation`, `overflow`, `underflow`, `unused`, `constant` or `hook`",
    ),
    "notes[].span": ("list of two integers, or null", "the half-open range of characters"),
    "notes[].message": (TEXT, "one sentence"),
    "notes[].order": ("integer", "0 for a note about the value, 1 for a note about a first derivative, and so on"),
    "error": ("object", "the error"),
    "error.kind": (TEXT, "its [class](errors.md)"),
    "error.message": (TEXT, "a description of the error"),
    "error.span": ("list of two integers, or null", "the half-open range of characters"),
    "error.hint": ("string or null", "a remedy"),
    "error.exit_code": ("integer", "the [exit code](errors.md)"),
}
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
    """Return the keys that have the same meaning in several commands, and those of notes, which the examples need not have."""
    used = Counter(key for name, one in _documents().items() for key in keys(one) if f"{name}.{key}" not in KEYS)
    several = tuple(key for key, count in used.items() if count > 1 and key in KEYS)
    return (*several, *(key for key in KEYS if key.startswith("notes[].")))


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
