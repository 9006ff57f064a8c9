"""Programs of tutorials and of answers in forums, which print the same with both packages."""

from __future__ import annotations

import pytest

from tests.behaviour import torch
from tests.pasted import Program, outcome, programs


@pytest.mark.parametrize("program", list(programs()), ids=lambda program: program.name)
def test_a_program_prints_the_same(program: Program) -> None:
    printed, raised = outcome(program.text, torch)
    assert printed == program.printed
    assert (raised is None) == (program.raised is None)
    if program.raised is not None and raised is not None:
        assert program.raised.startswith(raised.partition(": [")[0])
