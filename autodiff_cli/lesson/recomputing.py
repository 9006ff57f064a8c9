"""The function with which a page computes the numbers of a lesson for other inputs."""

from __future__ import annotations

from autodiff_cli.errors import AutodiffError
from autodiff_cli.explain.local_derivatives import filled_in
from autodiff_cli.explain.model import Explanation
from autodiff_cli.export.export import results_in_javascript
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, name_tree, unparse

NAME = "lessonCode"
"""The name of the function in the page."""


def code(result: Explanation) -> str | None:
    """Return the source of a JavaScript function of all inputs, in their order.

    It returns the values of all lines, and then the local derivatives of all contributions.  The result is ``None`` if the
    numbers are arrays, or a step does not have a formula.
    """
    sweep = result.sweep
    if sweep is None or sweep.start.shape or not result.given or any(value.shape for value in result.given.values()):
        return None
    if sweep.start != 1 or any(line.value is None or line.value.shape for line in result.forward):
        return None
    parts = [part for step in sweep.steps for part in step.contributions]
    if any(part.local is None or part.formula is None for part in parts) or any(len(step.names) > 1 for step in sweep.steps):
        return None
    definitions = [unparse(each) for each in parse(result.expression).children if each.kind.startswith("definition")]
    renamed = {line.name: name_tree(f"line_{i}") for i, line in enumerate(result.forward) if line.name not in result.given}
    statements = [
        f"{renamed[line.name].children[0].text} = {_written(line.operation, renamed)}"
        for line in result.forward
        if line.name in renamed
    ]
    values = [_written(name_tree(line.name), renamed) for line in result.forward]
    locals_ = [_written(part.formula, renamed) for part in parts if part.formula is not None]
    program = "; ".join([*definitions, *statements, f"[{', '.join([*values, *locals_])}]"])
    try:
        return results_in_javascript(program, list(result.given), NAME)
    except AutodiffError:
        return None


def _written(tree: Syntax, names: dict[str, Syntax]) -> str:
    return unparse(filled_in(tree, names))
