"""Evaluation of an expression on columns: the column of each variable, and the names of the results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.compiler.program import Compiled
from autodiff_cli.data.column_values import is_number
from autodiff_cli.data.row_blocks import RENAMED, BadRows, Block, Reader, ReadRequest, Results, Tally, Writer, field_of
from autodiff_cli.data.selection import Condition, column_list, constant_or_column, named_columns
from autodiff_cli.errors import AutodiffError, MissingValue, NotFiniteError, UsageError, setting
from autodiff_cli.evaluation import compile
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.evaluation.rows.outputs import output_names, with_list_output
from autodiff_cli.language.parser import parse
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(slots=True)
class Task:
    """The computation for every row.

    Attributes:
        expression: a program of the language.
        wrt, order, dtype, engine: see ``evaluation.compile.compile``.
        at: the variables with one value for all rows, by name.
        const: the constants, by name; their values may be arrays.
        lets: the column of each variable whose name differs from the name of its column.
        keep: whether the input columns are copied to the output.
        keep_columns: the input columns that are copied, in the order of the output; ``None`` for all.
        total: ``sum`` or ``mean`` to write the totals of the results over all rows or groups of rows; ``None`` to write all rows.
        by: the input columns whose values form the groups, and which are copied; without columns, all rows are one group.
        where: an expression; rows for which it is false or nan are left out.  ``None`` for all rows.
        on_error: see ``row_blocks.ReadRequest``.
        strict: whether a result that is not finite is an error.
    """

    expression: str
    wrt: Sequence[str] | None = None
    order: int = 1
    dtype: str = "float64"
    engine: str = "auto"
    at: Mapping[str, ArrayLike] = field(default_factory=dict)
    const: Mapping[str, ArrayLike] = field(default_factory=dict)
    lets: Mapping[str, str] = field(default_factory=dict)
    keep: bool = True
    keep_columns: Sequence[str] | None = None
    total: str | None = None
    by: Sequence[str] = ()
    where: str | None = None
    on_error: str = "stop"
    strict: bool = False

    def program(self) -> Compiled:
        """Compile the expression, and replace it by the program with a list of its outputs: ``[u, v]`` instead of ``u, v``."""
        for name, value in self.at.items():
            if np.ndim(value):
                message = f"{setting('at')} gives '{name}' an array, but a row needs one number"
                raise UsageError(message, hint=f"{setting('const')} takes arrays")
        self.expression = expression = with_list_output(self.expression)
        # Blocks are computed in parallel, so each of them uses only one thread.
        names = [*self.at, *self.lets]
        return compile.compile(
            expression, self.wrt, self.order, const=self.const, dtype=self.dtype, threads=1, variables=names, engine=self.engine
        )

    def condition(self) -> Condition | None:
        """Return the condition on rows; ``None`` for all rows."""
        return None if self.where is None else Condition(self.where, {**self.at, **self.const}, self.lets)

    def mapping(self, program: Compiled, columns: Sequence[str], source: str) -> RowMap:
        """Return the mapping of rows for an input; see ``RowMap``.  Other tasks return mappings of their own."""
        return RowMap(self, program, columns, source)

    def reason(self, at: Mapping[str, float]) -> str:
        """Return the note that explains why the results are not finite where the columns have the values ``at``; else empty."""
        from autodiff_cli.derivatives.evaluate import evaluate

        outputs = output_names(parse(self.expression))
        gradient = np.ones(len(outputs)) if outputs else None  # several outputs are summed
        order = 1 if outputs else max(self.order, 1)
        values = {**self.at, **at}
        try:
            notes = evaluate(self.expression, values, self.const, order, self.wrt, self.dtype, gradient=gradient).notes
        except AutodiffError:
            return ""
        return next((remark["message"] for remark in notes if remark["kind"] in ("domain", "nonfinite")), "")

    def unused(self, program: Compiled) -> list[str]:
        """Return the names that have a value or column but do not occur in the expression."""
        condition = self.condition()
        used = {*program.variables, *(condition.names if condition else ())}
        return [name for name in (*self.at, *self.lets) if name not in used]


_SEPARATORS = {
    "\t": setting("input_format", "tsv"),
    ",": setting("input_format", "csv"),
    ";": setting("delimiter", "';'"),
    "|": setting("delimiter", "'|'"),
    " ": setting("delimiter", "' '"),
}
"""The options for reading a file, by the delimiter that the file seems to have."""
_BETWEEN = re.compile(r"[\s,;|]+")


def other_format(columns: Sequence[str], names: Collection[str]) -> str | None:
    """Return a hint for the names of columns of a file that seems to have another format or delimiter; else ``None``.

    A blank separates columns only where it separates numbers, or ``names`` of columns that the file should have.
    """
    if columns and columns[0].startswith('{"'):
        return f"it seems to be NDJSON; use {setting('input_format', 'ndjson')}"
    separator = next((sign for sign in _SEPARATORS if len(columns) == 1 and sign in columns[0].strip()), None)
    if separator is None:
        return None
    if separator == " " and not all(cell in names or is_number(cell) for cell in columns[0].split()):  # a blank in a name
        return None
    return f"its delimiter seems to be {separator!r}; use {_SEPARATORS[separator]}"


_SUGGESTED = 5
"""The maximum number of missing columns for which a message suggests another column."""


class RowMap:
    """A task with a column for each of its variables.

    Args:
        task: the computation for each row.
        program: the compiled expression.
        columns: the names of the columns of the input.
        source: the name of the input in messages.

    Attributes:
        program: what computes the results; its engine is chosen before the first block.
        numbers: the columns that are read as numbers.
        texts: the columns that the condition compares as text.
        read: the columns that are read for the output.
        copies: the columns that are copied to the output.
        results: the names of the new columns.

    Raises:
        MissingValue: if variables have neither a column nor a value; the message names all of them.
        UsageError: if a variable has both a column and a value, or two columns have the same name.
    """

    def __init__(self, task: Task, program: Compiled, columns: Sequence[str], source: str) -> None:
        self.task = task
        self.program = program
        self._dtype = np.dtype(task.dtype)
        self._scalars = {name: np.asarray(task.at[name]) for name in program.variables if name in task.at}
        self._condition = condition = task.condition()
        counts = Counter(columns)
        # The columns of the variables of the expression and of the names in the condition, as the header spells them.
        spellings = {column.strip(): column for column in columns if column.strip() not in counts}  # often a space after a comma
        own = {name: task.lets.get(name, name) for name in program.variables if name not in self._scalars}
        compared = condition.columns if condition else {}
        self._columns = {name: spellings.get(column, column) for name, column in own.items()}
        self._condition_columns = {name: spellings.get(column, column) for name, column in compared.items()}
        self._check_variables(counts, source)
        compared_numbers = [self._condition_columns[name] for name in (condition.variables if condition else ())]
        compared_texts = [self._condition_columns[name] for name in (condition.texts if condition else ())]
        self.numbers = tuple(dict.fromkeys([*self._columns.values(), *compared_numbers]))
        self.texts = tuple(dict.fromkeys(compared_texts))
        self.read, self.copies = self._copied(columns, source)
        self.results = program.outputs
        self._check_names(counts, source)

    def _copied(self, columns: Sequence[str], source: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the columns that are read for the output, and those that are copied; those of groups need not be copied."""
        task = self.task
        if task.total is None:
            names = columns if task.keep_columns is None else named_columns(columns, task.keep_columns, "keep_columns", source)
            names = tuple(names) if task.keep else ()
            return names, names
        groups = named_columns(columns, task.by, "by", source)
        return groups, groups if task.keep else ()

    def _check_variables(self, counts: Mapping[str, int], source: str) -> None:
        """Check that each variable has either a column or a value, given how often each column occurs in the header."""
        columns = list(counts)
        self._check_constants(columns, source)
        for option, names in ((setting("at"), self._scalars), (setting("const"), self.task.const)):
            for name in names:
                if name in counts and name not in self.task.lets:
                    hint = f"remove {option} to use the column, or give the variable another name in the expression"
                    raise UsageError(f"'{name}' is a column of {source}, but {option} also gives it a value", hint=hint)
        fields = {name for name in self.task.lets.values() if field_of(name, counts)[1]}  # such as a.x in a column a
        needed = (*self._columns.values(), *self._condition_columns.values())
        missing = [name for name in needed if name not in counts and name not in fields]
        if missing:
            raise self._missing_columns(missing, columns, source)

    def _check_constants(self, columns: Sequence[str], source: str) -> None:
        """Raise ``UsageError`` for a column that is not read because its name is a constant of the language, such as ``e``."""
        free = free_names(parse(self.task.expression), self.task.const, columns)
        constant = next((name for name in free if name in columns and name not in self.program.variables), None)
        constant = constant or (self._condition.constant_among(columns) if self._condition else None)
        if constant is not None:
            raise constant_or_column(constant, source)

    def _missing_columns(self, missing: list[str], columns: list[str], source: str) -> MissingValue:
        """Return the error for missing columns; its hint is a similar name, another format, a header, or ``--let`` and ``--at``."""
        similar = [f"{name}: {other}" for name in missing[:_SUGGESTED] if (other := suggestion(name, columns))]
        variables = {**self._columns, **self._condition_columns}
        names = [name for name, column in variables.items() if column in missing and name.isidentifier()]
        let, at = setting("let", f"{names[0]}=COLUMN"), setting("at", f"{names[0]}=VALUE")
        ways = f"use {let} to read another column, or {at} to set one value for all rows"
        format_hint = other_format(columns, missing)
        if format_hint is not None:  # then no name of a column is right
            similar, ways = [], format_hint
        if all(is_number(cell) for cell in _BETWEEN.split(" ".join(columns).strip())):  # the first line is a row
            header = f"if it does not have a header, name the columns with {setting('columns', ','.join(names))}"
            ways = f"{format_hint or 'its first line contains numbers'}; {header}"
        some = f"column{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}"
        return MissingValue(f"{source} has no {some}; it has {column_list(columns)}", hint="; ".join([*similar, ways]))

    def _check_names(self, counts: Mapping[str, int], source: str) -> None:
        """Check that the columns that are used, and those of the output, have different names."""
        names = self.used if self.keeps_all else (*self.read, *self.used)  # two columns can be copied as text of whole rows
        twice = next((name for name in names if counts[name] > 1), None)
        if twice is not None:
            raise UsageError(f"{source} has more than one column '{twice}'", hint="rename one of them in the file")
        clash = next((name for name in self.results if name in self.copies), None)
        if clash is not None:
            hint = f"{RENAMED}, or use {setting('no_keep')} to drop the input columns"
            raise UsageError(f"{source} already has a column '{clash}'", hint=hint)
        if len(set(self.results)) < len(self.results):
            raise UsageError(f"two of the new columns have the same name: {', '.join(self.results)}")

    def request(self, reader: Reader, writer: Writer) -> ReadRequest:
        """Return the request to a reader for the columns that the task and the writer need.

        If two columns have the same name and the rows are not copied as text, ``UsageError`` is raised.
        """
        # Whether the text of a row has the columns of the output, in their order.
        has_all = self.keeps_all and (reader.form == "ndjson" or reader.columns == self.copies)
        raw = writer.raw if has_all and reader.form == writer.raw else ""
        twice = next((name for name, count in Counter(self.read).items() if count > 1), None)
        if twice is not None and not raw:
            hint = f"copy other columns with {setting('keep_columns')}, or none with {setting('no_keep')}"
            raise UsageError(f"{reader.name} has more than one column '{twice}'", hint=hint)
        partial = not self.keeps_all
        return ReadRequest(self.numbers, self.read, self.results, writer.text, raw, self.task.on_error, partial, texts=self.texts)

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that the expression and the condition need."""
        return tuple(dict.fromkeys([*self.numbers, *self.texts]))

    @property
    def keeps_all(self) -> bool:
        """Whether all input columns are copied."""
        task = self.task
        return task.keep and task.keep_columns is None and task.total is None

    def compute(self, block: Block) -> tuple[Block, list[Floats]]:
        """Return the rows of a block that satisfy the condition and are not skipped, and an array for each result.

        A row that fails raises ``AutodiffError`` if ``on_error`` is ``stop``, and one that is not finite if ``strict`` is set.
        """
        if self._condition is not None:
            block = self._condition.selected(block, self._condition_columns)
        block, out = self.computed(block)
        if self.task.strict:
            self._check_finite(block, out)
        return block, out

    def _check_finite(self, block: Block, results: Results) -> None:
        """Raise ``NotFiniteError`` for the first row in which a result is not finite."""
        for name, array in zip(self.results, results, strict=True):
            finite = np.isfinite(array)
            if not finite.all():
                row = int(np.argmin(finite))
                hint = f"drop {setting('strict')} to accept nan and inf"
                raise NotFiniteError(f"{block.where} {block.lines[row]}: {name} is {array[row]}", hint=hint)

    def computed(self, block: Block) -> tuple[Block, list[Floats]]:
        """Compute the results for all rows of a block but those that ``_run`` leaves out, whether they are finite or not."""
        out = [np.empty(block.rows, self._dtype) for _ in self.results]
        if not block.rows:
            return block, out
        with np.errstate(all="ignore"):  # a number too large for float32 becomes inf
            values = {name: block.numbers[column].astype(self._dtype, copy=False) for name, column in self._columns.items()}
        if values or not self._scalars:
            return self._run(block, {**values, **self._scalars}, out)
        numbers = [np.empty(1, self._dtype) for _ in out]  # the results of all rows are equal
        self.program.run(self._scalars, numbers)
        for array, number in zip(out, numbers, strict=True):
            array[:] = number
        return block, out

    def tally(self, block: Block, results: Results) -> Tally:
        """Count the rows of a block, given the results of ``compute``, and those that are odd: see ``Tally``."""
        tally = Tally(block.rows, block.bad, block.first_bad)
        finite = np.ones(block.rows, bool)
        for array in results:
            finite &= np.isfinite(array)
        if finite.all():
            return tally
        odd = ~finite  # of these rows, those with finite inputs stay
        for column in self._columns.values():
            odd &= np.isfinite(block.numbers[column])
        odd[list(block.problems)] = False  # bad rows are already counted
        tally.odd = int(np.count_nonzero(odd))
        if tally.odd:
            row = int(np.argmax(odd))
            values = {name: array[row] for name, array in zip(self.results, results, strict=True)}
            name = next(name for name, value in values.items() if not np.isfinite(value))
            tally.first_odd = f"{block.where} {block.lines[row]}: {name} is {values[name]}"
            tally.first_at = {name: float(block.numbers[column][row]) for name, column in self._columns.items()}
        return tally

    def _run(self, block: Block, values: Mapping[str, NDArray[np.generic]], out: list[Floats]) -> tuple[Block, list[Floats]]:
        """Run the program for values of its variables, and return the rows with their results, which are written into ``out``.

        A row for which a row-by-row program fails is an error, is left out, or has the result nan, as ``on_error`` says.
        """
        if not isinstance(self.program, compile.RowByRowProgram):
            self.program.run(values, out)
            return block, out
        bad = BadRows(block.where, self.task.on_error, finite=False)
        for i, error in self.program.failures(values, out):
            error.about(f"{block.where} {block.lines[i]}")
            if self.task.on_error == "stop":
                raise error
            bad.messages[i] = error.message
        skipped = list(bad.messages) if self.task.on_error == "skip" else []
        return bad.applied_to(block), [np.delete(array, skipped) for array in out]
