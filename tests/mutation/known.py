"""Mistakes that once passed all tests: what stands in a module of the package, and what comes instead."""

from __future__ import annotations

from tests.mutation.changes import Change

KNOWN = {
    "contexts end in the order in which they began": ("script/blocks.py", "reversed(entered)", "entered"),
    "Stirling's formula where it does not hold": ("ops/rules/loss.py", "where(target > 1, target *", "where(target > 2, target *"),
    "a gradient at the threshold": ("ops/rules/activation.py", "where(x <= threshold, 0.0, g)", "where(x < threshold, 0.0, g)"),
    "the sign of a third derivative": ("numerics/bessel_orders.py", "(1, -1, -1, 1)[order % 4]", "(1, -1, -1, -1)[order % 4]"),
    "a negative padding index": ("ops/rules/layers.py", "(padding_idx % weight.shape[0])", "padding_idx"),
    "half of the digits of int16": ("autograd/primitives/calls.py", "itemsize < 8", "itemsize < 4"),
    "a parameter less in AIC": ("solvers/fitting/statistics.py", "n if problem.absolute else n + 1", "n"),
    "the sign of the weights in the deviance": (
        "solvers/fitting/statistics.py",
        "(2 * math.pi) - 2 * logs",
        "(2 * math.pi) + 2 * logs",
    ),
    "the weights without an absolute scale": ("solvers/fitting/statistics.py", "+ 1) - 2 * logs", "+ 1) + 2 * logs"),
    "large steps over flat functions": ("gradient_checking/ridders.py", "agrees & (other_error < error)", "other_error < error"),
    "a pass within noise": ("gradient_checking/verdicts.py", "tolerance <= _MOST_MOVED * abs", "tolerance <= _MOST_LOST * abs"),
    "`false and c`": ("compiler/simplify.py", "return other if condition else False", "return other"),
    "a table that just fits": ("report/table.py", "if sum(least) > room", "if sum(least) >= room"),
    "gamma beside -0": ("code_generation/languages/python.toml", "(math.sinh, math.gamma)", "(math.sinh,)"),
    "names that are not alike": (
        "suggest.py",
        'cutoff: float = 0.6) -> str | None:\n    """Return ``did',
        'cutoff: float = 0.9) -> str | None:\n    """Return ``did',
    ),
    "9 degrees of freedom that are 8": ("solvers/uncertainty/law.py", "math.floor(dof * (1 + 1e-9))", "math.floor(dof)"),
    "the error of a function of intervals": ("solvers/intervals/interval.py", "ULPS = 4", "ULPS = 1"),
    "a run goes on with another form of rows": (
        "data/parts/run_directory.py",
        '[job_facts["form"], job_facts["bare"], template]',
        "[template]",
    ),
    "an aligned matrix without room": ("report/table.py", "0 < width < max(map(len, lines))", "False"),
    "a choice between numbers of no type": ("code_generation/codegen.py", "if are_numbers else", "if False else"),
    "a median along the last dimension": ("numerics/numerical.py", 'np.argsort(rows, axis=at, kind="stable")', "np.argsort(rows)"),
    "small brackets around a fraction": (
        "language/latex.py",
        '" - ", b.at_least(_PRODUCT).text), SUM, a.begins, b.ends, a.tall or b.tall',
        '" - ", b.at_least(_PRODUCT).text), SUM, a.begins, b.ends, a.tall and b.tall',
    ),
    "a line for a label that fits": ("plotting/terminal_curves.py", "room < len(name) + 8", "room <= len(name) + 8"),
    "groups of heads": ("ops/layers.py", "repeated_heads(value, query) if", "repeated_heads(value) if"),
    "a hook with a name": ("lesson/program.py", 'tree.kind == "assignment" and tree.children[1].kind == "method"', "False"),
    "a colour that is not of the theme": (
        "plotting/picture.py",
        "mark.at, color=colors.dim, linewidth=0.9",
        "mark.at, linewidth=0.9",
    ),
    "a tensor like another of another type": (
        "ops/creation.py",
        'x.dtype if options.get("dtype") is None else options["dtype"]',
        "x.dtype",
    ),
    "an error without its place": ("solvers/roots/problem.py", 'first is not None and first["span"] is not None', "False"),
    "a bias of other channels": (
        "ops/layers.py",
        '"instance_norm", x.shape, running_mean, running_var, weight, bias)',
        '"instance_norm", x.shape, running_mean, running_var, weight)',
    ),
    "the mean of other dimensions": ("ops/layers.py", "(-1, channels)), 0)", "(channels, -1)), 0)"),
    "options behind the last argument": ("cli/completion.py", "if isinstance(each, click.Argument) and is_open:", "if is_open:"),
    "an empty bar": ("report/progress.py", "part or 0.0", "part and 0.0"),
    "workers without a number": ("cli/cluster_options.py", "self.threads or processors()", "self.threads and processors()"),
    "a domain with its end": (
        "ops/rules/bessel.py",
        "-(kv(v - 1, x) + kv(v + 1, x))/2', domain='x > 0', inside=lambda x: x > 0",
        "-(kv(v - 1, x) + kv(v + 1, x))/2', domain='x > 0', inside=lambda x: x >= 0",
    ),
    "computed columns that do not stand out": ("report/result_tables.py", "j < len(inputs)", "True"),
    "an enclosure around an exact value": (
        "solvers/intervals/rules.py",
        '("exp", "exp2"), _rising(bounds=_POSITIVE, exact=(0.0, 1.0))',
        '("exp", "exp2"), _rising(bounds=_POSITIVE)',
    ),
    "a power with a negative base": ("solvers/intervals/rules.py", "0 < base <= 1", "True"),
    "a proof by a higher derivative": ("solvers/minima/degenerate.py", "order % 2 == 0", "order // 2 == 0"),
    "a picture of Graphviz": ("graph_drawing/dot.py", "if process.returncode:", "if True:"),
    "one zero in a product": ("ops/rules/counting.py", "is_zero * (zeros == 1)", "is_zero * (zeros == 2)"),
    "a slope between the sides of a kink": ("gradient_checking/ridders.py", '"kink" if inside else', '"kink" if False else'),
    "starts from some rows": ("solvers/fitting/starts.py", "-problem.data.rows // (ROWS", "-problem.data.rows / (ROWS"),
    "the default type after a program": ("cli/python_program.py", "set_default_dtype(kind)", "pass"),
    "a function that is not traced": ("ops/numerical.py", "fp[count - 2], fp[count - 1])", "fp[count + 2], fp[count - 1])"),
}


def known(name: str, source: str) -> Change:
    """Return a mistake by its name; what it replaces occurs once in the source."""
    _, old, new = KNOWN[name]
    before, found, after = source.partition(old)
    if not found or old in after:
        raise ValueError(f"{name}: {old!r} is not there once")
    start, end = before.encode().splitlines(keepends=True), (before + old).encode().splitlines(keepends=True)
    return Change(*_place(start), *_place(end), "known", new)


def _place(before: list[bytes]) -> tuple[int, int]:
    """Return the line and the column after some lines."""
    if not before or before[-1].endswith(b"\n"):
        return len(before) + 1, 0
    return len(before), len(before[-1])
