"""The chain rule multiplied out: each gradient as one formula, with the names that the program uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from autodiff_cli.explanation.local_derivatives import ARRIVING, filled_in, holds, number, number_of, product
from autodiff_cli.explanation.model import CotangentContribution, ExplainedStep, Explanation, ForwardLine
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, call_tree, name_tree, names_in, new_token, new_tree, number_tree, unparse, walk
from autodiff_cli.postorder import postorder

Shape = tuple[int, ...]
_LONGEST = 300
"""The largest number of nodes of a formula: about four lines of text."""


def multiplied_out(result: Explanation) -> dict[str, Syntax]:
    """Return the gradients as formulas, by variable, without those of a long formula, or of one that gives other numbers."""
    if result.sweep is None or not np.all(result.sweep.start == 1):  # another initial gradient has no name
        return {}
    values = {line.name: line.value for line in result.forward}
    shapes = {name: np.shape(value) for name, value in values.items() if value is not None}
    chains = _chains(result.output, result.sweep.steps, shapes)
    unnamed = _unnamed_tensors(result.forward)
    formulas: dict[str, Syntax] = {}
    for gradient in result.sweep.accumulated:
        chain = chains.get(gradient.name)
        if chain is None:
            continue
        formula = filled_in(_with_ones(chain, np.shape(gradient.value), shapes), unnamed)
        if _size(formula) <= _LONGEST and holds(formula, values, gradient.value):
            formulas[gradient.name] = formula
    return formulas


def _chains(output: str, steps: Iterable[ExplainedStep], shapes: Mapping[str, Shape]) -> dict[str, Syntax | None]:
    """Return the gradient of each tensor, by its name, as a formula: the sum of its contributions; ``None`` if a rule has none."""
    chains: dict[str, Syntax | None] = {output: number_tree("1")}
    for step in steps:
        for part in step.contributions:
            chain = _downstream(chains.get(step.names[0]), step, part, shapes)
            before = chains.get(part.to)
            is_first = part.before is None
            if chain is not None and not is_first:
                chain = None if before is None else new_tree("add", before, chain)
            chains[part.to] = chain
    return chains


def _unnamed_tensors(lines: Sequence[ForwardLine]) -> dict[str, Syntax]:
    """Return the tensors without a name in the program, ``%1`` and so on, as expressions of the program."""
    unnamed: dict[str, Syntax] = {}
    functions = {line.name.rpartition(".")[0] for line in lines if not line.expression}  # %1.2 is inside the function %1
    for line in lines:
        if line.name.startswith("%"):  # the operations inside of a function are not those of the program
            is_function = line.name in functions and line.call is None
            unnamed[line.name] = parse(line.expression).children[0] if is_function else filled_in(line.operation, unnamed)
    return unnamed


def _downstream(
    upstream: Syntax | None, step: ExplainedStep, part: CotangentContribution, shapes: Mapping[str, Shape]
) -> Syntax | None:
    """Return the contribution of a step to the gradient of an input as a formula, or ``None`` if it has none.

    ``upstream`` is the formula of the gradient of its output, or ``None``; ``shapes`` contains the shapes of tensors by name.
    """
    if upstream is None or len(step.names) > 1:  # several outputs have no common formula
        return None
    shape = np.shape(step.gradients[0])
    if part.local is None:  # the formula is the rule itself
        if part.formula is None:
            return _by_operation(upstream, step.operation, part, shapes)
        return filled_in(part.formula, {ARRIVING: _with_ones(upstream, shape, shapes)})
    if part.formula is None:
        return None
    chain = part.formula if number_of(upstream) == 1 else product(upstream, part.formula)
    is_sum = part.is_broadcast and np.shape(part.value) == ()  # a number that was broadcast
    return call_tree("sum", _with_ones(chain, shape, shapes)) if is_sum else chain


def _by_operation(upstream: Syntax, operation: Syntax, part: CotangentContribution, shapes: Mapping[str, Shape]) -> Syntax | None:
    """Return the contribution of an operation whose rule has words in place of a formula; ``None`` for an unusual operation."""
    name = operation.children[0].text if operation.kind == "call" else operation.kind
    has_dim = operation.kind == "call" and len(operation.children[1].children) > 1
    shape = np.shape(part.value)
    if name in ("sum", "mean") and shape and not has_dim:
        return upstream if name == "sum" else new_tree("div", upstream, number(np.size(part.value)))
    if name == "matmul":  # of two vectors: each receives the other; x @ x contributes twice, first by its first place
        first, second = operation.children
        is_for_first = unparse(first) == part.to and part.place != 2
        return product(upstream, second if is_for_first else first)
    if name == "logsumexp" and not has_dim:
        return product(upstream, call_tree("softmax", name_tree(part.to)))
    if name == "trace":
        return product(upstream, call_tree("eye", number(shape[0])))
    if name in ("t", "attribute"):
        return new_tree("attribute", _with_ones(upstream, shape[::-1], shapes), new_token("NAME", "T"))
    if name in ("squeeze", "unsqueeze", "reshape") and shape:
        return call_tree("reshape", _with_ones(upstream, shape, shapes), new_tree("list", *map(number, shape)))
    return None


def _with_ones(chain: Syntax, shape: Shape, shapes: Mapping[str, Shape]) -> Syntax:
    """Return a formula of numbers times ones of the ``shape`` of its gradient, and a formula with an array or a call unchanged."""
    is_array = any(shapes.get(name) for name in names_in(chain)) or any(node.kind == "call" for node in walk(chain))
    if not shape or is_array:
        return chain
    ones = call_tree("ones", *(number_tree(str(length)) for length in shape))
    return ones if number_of(chain) == 1 else product(chain, ones)


def _size(tree: Syntax) -> int:
    """Return the number of nodes of the text of a tree, in which shared parts are repeated."""
    sizes: dict[Syntax, int] = {}
    for node in postorder([tree], lambda node: node.children):
        sizes[node] = 1 + sum(sizes[child] for child in node.children)
    return sizes[tree]
