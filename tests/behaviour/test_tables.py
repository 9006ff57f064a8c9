"""The programs of the tables answer what PyTorch answered when they were recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviour import since
from tests.behaviour.recorded import TABLES, Program, agrees, programs, record

PROGRAMS = [program for path in TABLES for program in programs(path)]


def wrong(program: Program) -> list[str]:
    """The answers that are not the recorded ones."""
    pairs = {line: (found, program.answers[line][1]) for line, found in program.run().items()}
    return [f"{program.table.name}:{line}: {pair[0][0]}, not {pair[1]}" for line, pair in pairs.items() if not agrees(*pair)]


@pytest.mark.parametrize("program", [pytest.param(each, id=each.name, marks=since(each.since)) for each in PROGRAMS])
def test_program(program: Program) -> None:
    assert program.answers
    assert wrong(program) == []


def test_titles_are_unique() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)


TABLE = """
from contextlib import nullcontext
x = [1.0, 0.5]
## answers
x  # [1.0, 0.5]
x.append(-0.0)
x[2], 1 / 3  # ~(0.0, 0.3333333333333334)
with nullcontext():
    x[3]  # IndexError: ...out of range
with nullcontext(): x[3]  # LookupError: list index...
## wrong answers
x[2] = 1.0  # KeyError: list assignment index out of range
x.append(0.25)  # IndexError: list index out of range
x  # [1.0, 0.5]
x[1]  # 0.5000000000000001
-1 / 3  # ~0.3333333333333333
1 / 3  # ~0.33333333333
float("nan")  # ~0.5
x[3]  # IndexError: ...out of
"""


def test_wrong_answers_are_noticed_and_recorded_anew(tmp_path: Path) -> None:
    path = tmp_path / "table.py"
    path.write_text(TABLE, encoding="utf-8")
    assert [len(wrong(program)) for program in programs(path)] == [0, 8]
    record(path)
    assert [len(wrong(program)) for program in programs(path)] == [0, 0]
    text = path.read_text(encoding="utf-8")
    assert "x[2] = 1.0  # IndexError: list assignment index out of range\n" in text
    assert "-1 / 3  # ~-0.3333333333333333\n" in text
