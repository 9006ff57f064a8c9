"""One error in two spellings: Python names keyword arguments, the command line names options."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import autodiff_cli as ad
from autodiff_cli.cli.main import main
from autodiff_cli.errors import AutodiffError

TOO_LARGE = "sum(ones(100000, 100000))"
IN_PYTHON, AS_OPTION = "autodiff_cli.unlimited() allows it", "--no-limits allows it"


def _raised(expression: str, at: dict[str, float]) -> AutodiffError:
    with pytest.raises(AutodiffError) as caught:
        ad.evaluate(expression, at=at)
    return caught.value


def test_python_names_keyword_arguments_and_the_command_names_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert IN_PYTHON in str(_raised(TOO_LARGE, {}))
    assert main(["eval", TOO_LARGE]) == 3
    assert AS_OPTION in capsys.readouterr().err
    assert "at={'y': 1}" in str(_raised("x*y", {"x": 1.0}))
    assert main(["eval", "x*y", "--at", "x=1"]) == 2
    assert "--at y=1" in capsys.readouterr().err


def test_errors_as_json_name_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", TOO_LARGE, "--json"]) == 3
    assert AS_OPTION in json.loads(capsys.readouterr().err)["error"]["hint"]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_errors_of_programs_name_options(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.ad").write_text(TOO_LARGE, encoding="utf-8")
    assert main(["run", str(tmp_path / "p.ad"), *options]) == 3
    shown = capsys.readouterr().err
    assert AS_OPTION in shown
    assert "unlimited" not in shown


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_errors_in_a_session_name_options(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{TOO_LARGE}\n".encode())))
    assert main(["repl", *options]) == 0
    shown = capsys.readouterr().err
    assert AS_OPTION in shown
    assert "unlimited" not in shown
