"""The recorded output of the programs of tutorials and of answers in forums is that of PyTorch."""

from __future__ import annotations

import pytest

from tests.pasted import Program, alike, outcome, programs

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("program", list(programs()), ids=lambda program: program.name)
def test_pytorch_prints_what_is_recorded(program: Program) -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        printed, raised = outcome(program.text)
    finally:
        torch.set_default_dtype(before)
    assert alike(printed, program.printed), printed
    assert raised == program.raised
