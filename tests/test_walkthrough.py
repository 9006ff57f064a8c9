"""The command lines of docs/walkthrough.md show what PyTorch showed: attributes equal, numbers equal in float32."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autodiff_cli.cli.main import main
from tests.shell import ROOT, console_blocks

GOLDEN = {r["id"]: r for r in json.loads((Path(__file__).parent / "golden" / "walkthrough.json").read_text())["records"]}
PAGE = (ROOT / "docs" / "walkthrough.md").read_text(encoding="utf-8")
COMMANDS = {part.partition(":")[0]: console_blocks(part)[0][0] for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}
ATTRIBUTES = ("requires_grad", "is_leaf", "retains_grad", "grad_fn", "shape")


def _run(step: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any, Any]:
    code = main([*shlex.split(COMMANDS[step])[1:], "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, json.loads(err)["error"] if err else None


def test_all_steps_are_there() -> None:
    numbered = {f"code{n:02d}" for n in (1, 2, 4, 5, 6, 7, 8, 9, 10, 13, 18, 19, 20, 21)}
    assert set(COMMANDS) == numbered | {"bw1", "bw2", "tut1", "tut5"}


@pytest.mark.parametrize("step", [s for s in COMMANDS if GOLDEN[s]["stages"]])
def test_tensors(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, answer, _ = _run(step, capsys)
    assert code == 0
    rows = {row["name"]: row for row in answer["tensors"]}
    last = GOLDEN[step]["stages"][-1]["tensors"]
    assert set(last) <= set(rows)
    for name, expected in last.items():
        row = rows[name]
        for attribute in ATTRIBUTES:
            assert row[attribute] == expected[attribute], (name, attribute)
        assert np.allclose(row["value"], expected["value"], rtol=2e-7, atol=0), name
        if expected["grad"] is None:
            assert row["grad"] is None, name
        else:
            assert np.allclose(row["grad"], expected["grad"], rtol=2e-7, atol=0), name


def test_finite_difference(capsys: pytest.CaptureFixture[str]) -> None:
    _, answer, _ = _run("code02", capsys)
    assert answer["value"] == pytest.approx(GOLDEN["code02"]["finite_difference"], rel=1e-3)


def test_second_derivative(capsys: pytest.CaptureFixture[str]) -> None:
    _, answer, _ = _run("code18", capsys)
    assert answer["hessian"]["x"]["x"] == pytest.approx(GOLDEN["code18"]["second_derivative"], rel=1e-6)


def test_a_vector_without_a_gradient(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = _run("tut5", capsys)
    assert (code, error["message"]) == (3, GOLDEN["tut5"]["error"]["says"])


def test_second_backward(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = _run("code06", capsys)
    assert (code, error["kind"]) == (3, "GraphError")
    assert error["message"] == GOLDEN["code06"]["error"]["says"]


def test_gradcheck_passes(capsys: pytest.CaptureFixture[str]) -> None:
    code, answer, _ = _run("code20", capsys)
    assert code == 0
    assert answer["passed"] is True
    assert [check["verdict"] for check in answer["checks"]] == ["pass", "pass"]


def test_gradcheck_catches_the_wrong_derivative(capsys: pytest.CaptureFixture[str]) -> None:
    golden = GOLDEN["code21"]
    code, answer, error = _run("code21", capsys)
    assert (code, error["kind"], answer["passed"]) == (1, golden["error"]["type"], False)
    opening = golden["error"]["says"].replace(", dtype=torch.float64", "").rstrip()
    assert error["message"] == opening
    wrong = answer["checks"][1]
    assert wrong["wrt"] == "q"
    assert wrong["analytic"] == pytest.approx(golden["analytical"], rel=1e-6)
    assert wrong["numeric"] == pytest.approx(golden["numerical"], rel=1e-6)
