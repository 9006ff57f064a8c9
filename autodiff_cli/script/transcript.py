"""The output of a program as a command result."""

from __future__ import annotations

from collections.abc import Sequence

from autodiff_cli.command_result import CommandResult, Record
from autodiff_cli.evaluation.evaluation import COLUMNS, plain_records
from autodiff_cli.script.display import as_plain_value
from autodiff_cli.script.interpreter import Interpreter, StatementOutput


class Transcript(CommandResult):
    """The tensors and values that a program displayed: ``steps`` has the result of ``record`` for each statement with output."""

    command = "run"
    notes: list[Record]

    def __init__(self, file: str, interpreter: Interpreter, steps: Sequence[Record]) -> None:
        self.file = file
        self.dtype = str(interpreter.dtype)
        self.notes = interpreter.notes
        self.steps = steps

    def content(self) -> Record:
        return {"file": self.file, "dtype": self.dtype, "steps": self.steps, "notes": self.notes}

    def records(self) -> list[Record]:
        """Return a record for each tensor and each value, with its line number; a value has ``None`` in the other columns."""
        records = []
        for step in self.steps:
            row_of_value = {"expression": step["statement"], "value": step.get("value")}
            for row in step.get("tensors", [row_of_value]):
                records.append({"line": step["line"], **{column: row.get(column) for column in COLUMNS}})
        return records


def record(source: str, shown: StatementOutput) -> Record:
    """Return the record of a statement of the program ``source``: its line number, its text and its output."""
    start, end = shown.tree.span
    step: Record = {"line": source.count("\n", 0, start) + 1, "statement": source[start:end]}
    if shown.rows is not None:
        return {**step, "tensors": plain_records(shown.rows)}
    return {**step, "value": as_plain_value(shown.value), "text": shown.text}
