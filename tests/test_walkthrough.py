"""The programs and command lines of docs/walkthrough.md show what PyTorch showed: attributes equal, numbers equal in float32."""

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
SECTIONS = {part.partition(":")[0]: part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}
COMMANDS = {
    step: command
    for step, part in SECTIONS.items()
    for command, _ in console_blocks(part)
    if not command.startswith("autodiff run")
}
ATTRIBUTES = ("requires_grad", "is_leaf", "retains_grad", "grad_fn", "shape")


def _compare(rows: dict[str, Any], expected: dict[str, Any], atol: float = 1e-7) -> None:
    assert set(expected) <= set(rows)
    for name, tensor in expected.items():
        row = rows[name]
        for attribute in ATTRIBUTES:
            assert row[attribute] == tensor[attribute], (name, attribute)
        assert np.allclose(row["value"], tensor["value"], rtol=3e-7, atol=atol), name
        if tensor["grad"] is None:
            assert row["grad"] is None, name
        else:
            assert np.allclose(row["grad"], tensor["grad"], rtol=3e-7, atol=atol), name


def _program(step: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[Any], Any]:
    code = main(["run", str(ROOT / "docs" / "walkthrough" / f"{step}.ad"), "--dtype", "float32", "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out)["steps"], json.loads(err)["error"] if err else None


def test_every_record_has_a_program_and_a_place_on_the_page() -> None:
    files = sorted((ROOT / "docs" / "walkthrough").glob("*.ad"))
    assert len(files) == 32
    assert {file.stem for file in files} == set(GOLDEN) == set(SECTIONS)
    for file in files:
        head, _, body = file.read_text(encoding="utf-8").partition("\n")
        section = SECTIONS[file.stem]
        assert head == f"# {section.partition(chr(10))[0]}"
        assert f"```text\n{body}```" in section
        assert f"$ autodiff run docs/walkthrough/{file.name} --dtype float32\n" in section


@pytest.mark.parametrize("step", GOLDEN)
def test_program(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    golden = GOLDEN[step]
    code, steps, error = _program(step, capsys)
    tables = [shown["tensors"] for shown in steps if "tensors" in shown]
    assert len(tables) == len(golden["stages"])
    for table, stage in zip(tables, golden["stages"], strict=True):
        _compare({row["name"]: row for row in table}, stage["tensors"])
    if "error" in golden:
        assert code == (1 if step == "code21" else 3)
        assert error["message"].rstrip().startswith(golden["error"]["says"].rstrip())
        assert error["line"] == len((ROOT / "docs" / "walkthrough" / f"{step}.ad").read_text().splitlines())
    else:
        assert (code, error) == (0, None)


def _printed(step: str, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [shown for shown in _program(step, capsys)[1] if "value" in shown]


def test_numbers_that_programs_print(capsys: pytest.CaptureFixture[str]) -> None:
    assert _printed("code02", capsys)[0]["value"] == pytest.approx(GOLDEN["code02"]["finite_difference"], rel=1e-6)
    assert _printed("code18", capsys)[0]["value"] == [pytest.approx(GOLDEN["code18"]["second_derivative"], rel=1e-6)]
    assert _printed("code20", capsys)[0]["value"] is GOLDEN["code20"]["gradcheck"]
    assert _printed("bw4", capsys)[0]["value"] == [GOLDEN["bw4"]["allow_unused"]]


def test_the_graph_that_a_program_prints(capsys: pytest.CaptureFixture[str]) -> None:
    def following(node: Any) -> str:
        found = [f"(<{below['name']}>, {output})" for below, output in node["next"]]
        return f"({', '.join(found)}{',' * (len(found) == 1)})"

    graph = GOLDEN["code22"]["graph"]
    (log, _), (sqrt, _) = graph["next"]
    texts = [shown["text"] for shown in _printed("code22", capsys)]
    powers = [following(node["next"][0][0]) for node in (log, sqrt)]
    leaf = "tensor(5., requires_grad=True)"
    assert texts == [graph["name"], following(graph), following(log), powers[0], leaf, following(sqrt), powers[1]]


def _run(step: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any, Any]:
    code = main([*shlex.split(COMMANDS[step])[1:], "--json", "--quiet-notes"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, json.loads(err)["error"] if err else None


def test_steps_that_one_command_line_can_say() -> None:
    numbered = {f"code{n:02d}" for n in (1, 2, *range(4, 14), 18, 19, 20, 21)}
    assert set(COMMANDS) == numbered | {"bw1", "bw2", "bw3", "tut1", "tut3", "tut4", "tut5", "tut6", "tut7"}


@pytest.mark.parametrize("step", [s for s in COMMANDS if GOLDEN[s]["stages"] and "error" not in GOLDEN[s]])
def test_command_line(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, answer, _ = _run(step, capsys)
    assert code == 0
    # The weights of tut6 are rounded to float32 once here, and after each operation in the record.
    atol = 4e-7 if step == "tut6" else 1e-7
    _compare({row["name"]: row for row in answer["tensors"]}, GOLDEN[step]["stages"][-1]["tensors"], atol)


def test_finite_difference(capsys: pytest.CaptureFixture[str]) -> None:
    _, answer, _ = _run("code02", capsys)
    assert answer["value"] == pytest.approx(GOLDEN["code02"]["finite_difference"], rel=1e-6)


@pytest.mark.parametrize(("step", "kind"), [("code06", "GraphError"), ("code12", "GraphError"), ("tut5", "ShapeError")])
def test_errors_of_a_backward_pass(step: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = _run(step, capsys)
    assert (code, error["kind"], error["message"]) == (3, kind, GOLDEN[step]["error"]["says"])


def test_second_derivative(capsys: pytest.CaptureFixture[str]) -> None:
    _, answer, _ = _run("code18", capsys)
    assert answer["hessian"]["x"]["x"] == pytest.approx(GOLDEN["code18"]["second_derivative"], rel=1e-6)


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
