"""Every kind of value in every place: each command answers, or says in plain words why not.

The product of kinds and places is in ``tests.fuzz.kinds``; here is one in many of it, always the same, and what programs of
statements say of the values that were found to break them.
"""

from __future__ import annotations

import pytest

from tests.shell import streams

MISTAKES = {
    "e(l;())": "';' ends a statement, and '(' is still open",
    "print(x=1)": "a value is expected here, and this is a statement",
    "show x += 1": "a value is expected here, and this is a statement",
    "show q, f(a)=1": "a value is expected here, and this is a statement",
    "torch.": "something is missing after '.'",
}
"""Programs, and what is said of their last line."""


@pytest.mark.parametrize("program", MISTAKES)
def test_a_program_says_what_is_wrong_with_a_value(program: str) -> None:
    out, err, code = streams("autodiff run -", program)
    assert err.startswith(f"error: {MISTAKES[program]}\n  standard input, line {program.count(chr(10)) + 1}:\n")
    assert code in (2, 3)
    assert out == ""


@pytest.mark.parametrize("program", MISTAKES)
def test_a_session_goes_on_after_an_error(program: str) -> None:
    out, err, code = streams("autodiff repl", f"{program}\n40 + 2\n")
    assert err.startswith(f"error: {MISTAKES[program]}\n")
    assert (out, code) == ("42.0\n", 0)
