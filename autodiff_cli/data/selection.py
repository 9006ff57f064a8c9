"""The selection of input columns and rows: which columns are copied, and which rows are computed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.data.column_values import numbered_keys, texts_of_cells
from autodiff_cli.data.row_blocks import Block, only
from autodiff_cli.errors import AutodiffError, UsageError, setting
from autodiff_cli.evaluation import compile
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.evaluation.rows.outputs import with_list_output
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, unescaped, walk
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def named_columns(columns: Sequence[str], names: Sequence[str], option: str, source: str) -> tuple[str, ...]:
    """Return the columns with the names that a setting lists, each once; many headers have a space after the comma.

    ``option`` and ``source`` are the setting and the input in the message of ``UsageError``, if the input does not have a column.
    """
    blanks = {column.strip(): column for column in reversed(columns)}
    known = frozenset(columns)
    for name in names:
        if name not in known and name not in blanks:
            hint = suggestion(name, columns) or f"its columns: {column_list(columns)}"
            raise UsageError(f"{source} has no column '{name}', which {setting(option)} names", hint=hint)
    return tuple(dict.fromkeys(name if name in known else blanks[name] for name in names))


def column_list(columns: Sequence[str]) -> str:
    """Return the first names of columns for a message; a name with a comma is quoted, as in the settings that list names."""
    texts = [f'"{column}"' if "," in column else column for column in columns[:_LISTED]]
    left = len(columns) - len(texts)
    return ", ".join(texts) + (f" and {left} more" if left else "")


_LISTED = 30
"""The maximum number of columns that a message lists."""


def constant_or_column(name: str, source: str) -> UsageError:
    """Return the error for a name that is a constant of the language, such as ``e``, and a column of the input ``source``."""
    return UsageError(
        f"'{name}' is a column of {source} and a constant of the language",
        hint=f"use {setting('let', f'{name}={name}')} for the column, or write the constant as a number",
    )


_ORDERS: dict[str, Callable[[str, str], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TextComparison = tuple[str, Callable[[str], bool]]
"""The variable of a column, and what a text of the column is compared with."""


def _without_texts(expression: str, const: Mapping[str, ArrayLike]) -> tuple[str, dict[str, _TextComparison]]:
    """Return an expression in which a variable stands for each comparison of a column with a text, and these comparisons.

    A variable has the length of its comparison, so that positions in messages stay right.  A name in ``const`` is not a column.
    """
    tree = parse(expression)
    new_names = (name for i in count() if (name := f"_{i}") not in expression)
    comparisons: dict[str, _TextComparison] = {}
    for node in walk(tree):
        if node.kind == "comparison" and any(child.kind == "string" for child in node.children):
            start, stop = node.span
            name = next(new_names).ljust(stop - start, "_")
            comparisons[name] = _text_comparison(node, const, expression)
            expression = expression[:start] + name + expression[stop:]
    return expression, comparisons


def _text_comparison(node: Syntax, const: Mapping[str, ArrayLike], expression: str) -> _TextComparison:
    """Return the comparison of a column with a text; raise ``UsageError`` for a chain, or a text and something else."""
    left, sign, right = node.children if len(node.children) == 3 else (node, node, node)  # a chain such as 1 < x < 2 is refused
    is_text_first = left.kind == "string"
    column, text = (right, left) if is_text_first else (left, right)
    column_name = column.children[0].text if column.kind == "name" else None
    if column_name is None or column_name in const or text.kind != "string":
        hint = "write NAME == \"text\" with the name of a column, and join comparisons with 'and' or 'or'"
        raise UsageError("a text is compared with a column", span=node.span, source=expression, hint=hint)
    order = sign.text if is_text_first else _MIRRORED.get(sign.text, sign.text)  # ``partial`` gives the text first
    characters = unescaped(text.children[0].text[1:-1])  # without the quotes
    return column_name, partial(_ORDERS[order], characters)


class Condition:
    """A condition on rows; rows for which it is false or nan are left out.

    A comparison of the name of a column with a text, such as ``name == "soft"``, compares the texts of the column.

    Args:
        expression: a program of the language whose result is one number or condition.
        const: the values of names that are not columns.
        lets: the column of each name that differs from the name of its column.

    Attributes:
        variables: the variables of the expression, which are columns of numbers.
        texts: the names that are columns of texts.
        columns: the column of each of them.
        names: the variables and the names in ``const`` that occur in the expression.

    Raises:
        AutodiffError: if the expression is invalid.
    """

    def __init__(self, expression: str, const: Mapping[str, ArrayLike], lets: Mapping[str, str]) -> None:
        source = with_list_output(expression)
        try:
            numeric, self._comparisons = _without_texts(source, const)
            self._program = compile.compile(numeric, (), 0, const=const, threads=1, variables=[*lets], engine="numpy")
        except AutodiffError as error:
            error.about(setting("where"))
            if error.source is not None:
                error.source = source  # without the variables that stand for comparisons
            raise
        _check_condition(expression, bool(self._program.named))
        self.variables = tuple(name for name in self._program.variables if name not in self._comparisons)
        self.texts = tuple(dict.fromkeys(column for column, _ in self._comparisons.values()))
        self.columns = {name: lets.get(name, name) for name in (*self.variables, *self.texts)}
        self.names = set(free_names(parse(expression), (), lets))
        self._source, self._const = expression, const

    def constant_among(self, columns: Collection[str]) -> str | None:
        """Return the name of a column that the condition does not read, because it is a constant of the language, or ``None``."""
        free = free_names(parse(self._source), self._const, columns)
        return next((name for name in free if name in columns and name not in self.columns), None)

    def selected(self, block: Block, columns: Mapping[str, str]) -> Block:
        """Return the rows of a block that satisfy the condition; raise ``AutodiffError`` if it cannot be evaluated for a row.

        ``columns`` is the column of each name in ``self.columns``, as the header of the file spells it.
        """
        if not block.rows:
            return block
        results = [np.empty(block.rows)]
        values = {name: block.numbers[columns[name]] for name in self.variables}
        for name, (column, holds) in self._comparisons.items():
            codes, texts = numbered_keys(block.texts[columns[column]], texts_of_cells)
            values[name] = np.array(list(map(holds, texts)), float)[codes]
        if isinstance(self._program, compile.RowByRowProgram):
            for i, error in self._program.failures(values, results):
                error.about(f"{block.where} {block.lines[i]}: {setting('where')}")
                raise error
        else:
            self._program.run(values, results)
        keep = (results[0] != 0) & ~np.isnan(results[0])
        return block if keep.all() else only(block, keep)


def _check_condition(expression: str, is_list: bool) -> None:
    """Raise ``UsageError`` for a valid expression that is not a condition: a list of several, or an assignment."""
    if is_list:
        message = f"{setting('where')} '{expression}' is several expressions"
        raise UsageError(message, hint="combine conditions with 'and' or 'or'")
    if parse(expression).children[-1].kind in ("assignment", "unpack"):
        message = f"{setting('where')} '{expression}' ends with an assignment, which is not a condition"
        raise UsageError(message, hint="write == to compare numbers")
