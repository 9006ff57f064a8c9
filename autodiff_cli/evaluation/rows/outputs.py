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
        ParseError: if the text cannot be divided into tokens.
    """
    statements = [
        list(group) for ends, group in groupby(tokenize(source)[:-1], lambda token: token.kind == "_SEPARATOR") if not ends
    ]
    last = statements[-1] if statements else []
    texts = [token.text for token in last]

    def is_outside_brackets(symbol: str) -> bool:
        return len(ranges_between(texts, lambda i: texts[i] == symbol)) > 1

    if not is_outside_brackets(",") or is_outside_brackets("="):
        return source
    start, end = last[0].span[0], last[-1].span[1]
    return f"{source[:start]}[{source[start:end]}]{source[end:]}"


def output_names(tree: Syntax) -> tuple[str, ...]:
    """Return the names of the outputs of a program that ends with a list; an empty tuple if it has one output without a name.

    An output that is not a name is called ``value1`` or ``value2``, after its position.

    Raises:
        UsageError: if two outputs have the same name.
    """
    last = tree.children[-1]
    if last.kind != "list":
        return ()
    names = tuple(item.children[0].text if item.kind == "name" else f"value{i}" for i, item in enumerate(last.children, start=1))
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise UsageError(f"two outputs have the name '{twice}'", hint="give one of them another name: w = ...")
    return names


def run_scalar_outputs(evaluator: Evaluator, several: bool) -> list[Tensor]:
    """Run a program, and return its outputs, which must be scalars.

    Args:
        evaluator: the evaluator of the program.
        several: whether the program ends with a list of outputs.

    Raises:
        ShapeError: if an output is not a scalar.
    """
    last = evaluator.tree.children[-1]
    if not several:
        return [_require_scalar(evaluator.as_tensor(evaluator.run()), last, evaluator)]
    return [
        _require_scalar(evaluator.tensors.as_tensor(value, item), item, evaluator)
        for value, item in zip(evaluator.run(), last.children, strict=True)
    ]


def _require_scalar(output: Tensor, node: Syntax, evaluator: Evaluator) -> Tensor:
    """Return an output; raise an error if it is not a scalar."""
    if output.shape:
        message = f"expected one number, but the expression has shape {list(output.shape)}"
        raise ShapeError(message, span=node.span, source=evaluator.source, hint="sum it, or take one of its elements")
    return output
