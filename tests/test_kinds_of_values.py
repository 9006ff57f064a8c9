"""Every kind of value in every place: each command answers, or says in plain words why not.

The product of kinds and places is in ``tests.fuzz.kinds``; here is one in many of it, always the same, and what programs of
statements say of the values that were found to break them.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from tests.fuzz import kinds
from tests.shell import streams

MISTAKES = {
    "e(l;())": "';' ends a statement, and '(' is still open",
    "print(x=1)": "print has no parameters with names",
    "show x += 1": "a value is expected here, not a statement",
    "show q, f(a)=1": "a value is expected here, not a statement",
    "torch.": "the expression is incomplete after '.'",
    "x = [1, 2]\nx.data = none": "expected a number or a tensor, not none",
    "x = tensor([1.0, 2.0], requires_grad=true)\nx.data = [1, 2] > 1": (
        "data set to a tensor that requires gradients must be floating point or complex dtype"
    ),
    "u = tensor([1.0, 2.0], requires_grad=true)\nu.requires_grad = [5e-324, u]": "requires_grad must be a bool",
    "u = tensor([1, 2])\nu.requires_grad_(none)": "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not None",
    "u = tensor(2.0, requires_grad=true)\ninf -= u": "'inf' is a constant and cannot be changed",
    "pi += 1": "'pi' is a constant and cannot be changed",
    "zz += 1": "'zz' has no value here",
    "sin += 1": "only a tensor can be changed, not a function",
    "z = tensor(inf)\nrand(z)": "rand: 'size' must be a whole number, not the tensor inf",
    "x = [1, 2]\nx[sin] = 1": "a function is not a position",
    "x = [1, 2]\nx[1e308] = 1": "a position must be a whole number of 64 bits, not 1e+308",
    "set_default_dtype('a')": "unknown type 'a'",
    "from_numpy(2)": "from_numpy takes a NumPy array",
    "x = tensor(1)\nx + x.grad": "add: 'y' must be a number or a tensor, not none",
    "x = tensor([1])\nx += none": "a tensor can only be combined with a number or a tensor, not none",
    "x = tensor([1])\nsum(x, x.sum)": "unknown attribute 'sum'",
    "x = tensor([1])\nsum(x, sin)": "sum cannot take a function for 'dim'",
}
"""Programs, and what is said of their last line."""


EVERY = 4999
"""One in how many command lines of the product; a prime, so that no place and no kind is left out for good."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("command", sorted({words[0] for words in (*kinds.COMMANDS.values(), *kinds.PROGRAMS.values())}))
def test_every_kind_of_value_in_every_place_is_answered_or_refused(command: str) -> None:
    wrong = [(found, case) for case in kinds.cases({command}, every=EVERY) if (found := kinds.failure(case)) is not None]
    assert not wrong


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


def test_what_shows_all_has_what_was_changed() -> None:
    out, err, code = streams("autodiff run - --json", "n = 2\nu = tensor(3)\nn -= u\nshow\n")
    assert (err, code) == ("", 0)
    (shown,) = json.loads(out)["steps"]
    assert [(row["name"], row["expression"], row["value"]) for row in shown["tensors"]] == [
        ("n", "n -= u", -1.0),
        ("u", "tensor(3)", 3.0),
    ]


def test_a_program_without_statements_shows_nothing() -> None:
    assert streams("autodiff run -", " ;\n# nothing\n;") == ("", "", 0)
    assert json.loads(streams("autodiff run - --json", "")[0])["steps"] == []


def test_a_number_beyond_float32_is_infinite_without_a_warning_of_numpy(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("x\n1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert streams("autodiff eval x --at x=1e308 --dtype float32 -q", "")[0] == "inf\n1.0\n"
        out, err, code = streams(f"autodiff map z+x --at z=1e308 --dtype float32 {rows} -q", "")
        assert (out, code) == ("inf,1.0,1.0\n", 0)
        assert err.startswith("note: 1 row with results that are not finite")
        out, _, code = streams('autodiff explain "(log(1)-log(0*3))/((x+1)-x)" --at x=2', "")
    assert "inf - inf = nan" in out
    assert code == 0
