"""The outputs of a program for rows: one number, or the numbers of a list at its end."""

from __future__ import annotations

from itertools import groupby

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ShapeError, UsageError
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.language.parser import tokenize
from autodiff_cli.language.tree import Syntax, ranges_between


def with_list_output(source: str) -> str:
    """Return a program whose last statement is the list ``[u, v]`` if it is ``u, v``, and any other program unchanged.

    Raises:
        ParseError, LimitError: if the text cannot be divided into tokens, or is too long.
    """
    last = _last_statement(source)
    texts = [token.text for token in last]

    def occurs_outside_brackets(symbol: str) -> bool:
        parts = ranges_between(texts, lambda i: texts[i] == symbol)
        return len(parts) > 1  # the symbol divides the statement

    is_assignment = occurs_outside_brackets("=")  # such as u, v = [x, 2*x]
    if is_assignment or not occurs_outside_brackets(","):
        return source
    start, end = last[0].span[0], last[-1].span[1]
    return f"{source[:start]}[{source[start:end]}]{source[end:]}"


def _last_statement(source: str) -> list[Syntax]:
    """Return the tokens of the last statement of a program; an empty list if the program has no statements."""
    tokens = tokenize(source)[:-1]  # without the token for the end of the text
    groups = groupby(tokens, lambda token: token.kind == "_SEPARATOR")
    statements = [list(group) for is_separator, group in groups if not is_separator]
    return statements[-1] if statements else []


def output_names(tree: Syntax) -> tuple[str, ...]:
    """Return the names of the outputs of a program that ends with a list; an empty tuple for one that ends otherwise.

    An output that is not a name is called ``value1`` or ``value2``, after its position.

    Raises:
        UsageError: if two outputs have the same name.
    """
    last = tree.children[-1]
    if last.kind != "list":
        return ()
    names: list[str] = []
    for position, item in enumerate(last.children, start=1):
        name = item.children[0].text if item.kind == "name" else f"value{position}"
        if name in names:
            raise UsageError(f"two outputs have the name '{name}'", hint="give one of them another name: w = ...")
        names.append(name)
    return tuple(names)


def run_scalar_outputs(evaluator: Evaluator, several: bool) -> list[Tensor]:
    """Run a program, and return its outputs, which must be scalars: its value, or if ``several``, the items of the list at its end.

    Raises:
        ShapeError: if an output is not a scalar.
    """
    last = evaluator.tree.children[-1]
    value = evaluator.run()
    if not several:
        output = evaluator.as_tensor(value)  # which also lists the tensor as the result of the program
        return [_require_scalar(output, last, evaluator)]
    outputs = []
    for item_value, item in zip(value, last.children, strict=True):
        output = evaluator.tensors.as_tensor(item_value, item)
        outputs.append(_require_scalar(output, item, evaluator))
    return outputs


def _require_scalar(output: Tensor, node: Syntax, evaluator: Evaluator) -> Tensor:
    """Return the output that the expression ``node`` computed; raise an error at its position if it is not a scalar."""
    if output.shape:
        message = f"expected one number, but the expression has shape {list(output.shape)}"
        raise ShapeError(message, span=node.span, source=evaluator.source, hint="sum it, or take one of its elements")
    return output
