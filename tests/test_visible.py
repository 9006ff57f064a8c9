"""Control characters from names, cells and files never reach a terminal; output for programs keeps them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from autodiff_cli.cli.main import main
from autodiff_cli.report.control_characters import visible, visible_json

EVIL = "\x1b[31mred\x07\x9b2J\u202e"
SHOWN = r"\x1b[31mred\x07\x9b2J\u202e"


def test_what_is_shown() -> None:
    assert visible(EVIL) == SHOWN
    assert visible("a\tb\nc é ж 数 \U0001f600\u200d") == "a\tb\nc é ж 数 \U0001f600\u200d"
    assert visible("\r\x00\x7f\u2028\udc80") == r"\r\x00\x7f\u2028\udc80"
    assert json.loads(visible_json(json.dumps([EVIL], ensure_ascii=False))) == [EVIL]
    assert visible_json(json.dumps([EVIL], ensure_ascii=False)).isprintable()


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "d.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([["x", EVIL], ["1", EVIL], ["2", "plain"]])
    return str(path)


@pytest.mark.parametrize("style", ["table", "markdown"])
def test_tables_show_them(style: str, table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["map", "x", table, "--format", style]) == 0
    out = capsys.readouterr().out
    assert out.count(SHOWN.replace("|", "\\|")) == 2
    assert not set(EVIL) & set(out) - set(SHOWN)
    assert len({len(line) for line in out.splitlines() if "." not in line and line.strip()}) <= 3  # columns stay aligned


@pytest.mark.parametrize("style", ["csv", "tsv", "ndjson", "json"])
def test_data_is_exact(style: str, table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["map", "x", table, "--format", style]) == 0
    out = capsys.readouterr().out
    if style in ("csv", "tsv"):
        found = list(csv.reader(io.StringIO(out, newline=""), delimiter="," if style == "csv" else "\t"))
        assert (found[0][1], found[1][1]) == (EVIL, EVIL)
    else:
        row = json.loads(out.splitlines()[0]) if style == "ndjson" else json.loads(out)["rows"][0]
        assert row[EVIL] == EVIL


@pytest.mark.parametrize(
    "arguments",
    [
        ["map", "q", "{table}"],
        ["map", "x", "{table}", "--wrt", EVIL],
        ["map", "x", "{table}", "--let", f"x={EVIL}"],
        ["map", "x", "{table}", "--input-format", "npy"],
        ["map", "2*x", f"missing{EVIL}.csv"],
        ["map", "2*x", "{npz}"],
        [EVIL],
        ["eval", "x", "--at", f"{EVIL}=1"],
        ["eval", "x", "--at", f"x=@{EVIL}.npy"],
        ["eval", "x", "--format", EVIL],
        ["eval", f"--{EVIL}", "x", "y"],
        ["eval", f"sum(x, '{EVIL}')", "--at", "x=1"],
        ["eval", f"x # {EVIL}", "--at", "x=1"],
        ["run", f"{EVIL}"],
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_messages_show_them(
    arguments: list[str], as_json: bool, table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "d.npz", **{"x": np.ones(2), EVIL: np.ones(3)})
    given = [argument.replace("{table}", table).replace("{npz}", str(tmp_path / "d.npz")) for argument in arguments]
    assert main([*given, "--json"] if as_json else given) in (2, 3, 5)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert visible(shown.err) == shown.err
    if as_json:
        assert json.loads(shown.err)["error"]["exit_code"] in (2, 3, 5)


@pytest.mark.parametrize("command", ["eval", "grad", "explain", "diff", "graph", "export --to c", "taylor"])
def test_an_expression_has_none(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Not in quotes, and not in comments, which are shown with it."""
    for text in ("x + '\x1b[31m'", "x  # \x9b31m"):
        given = [] if command in ("diff", "export --to c") else ["--at", "x=1"]
        assert main([*command.split(), text, *given]) == 2
        assert "unexpected character" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_pictures_without_control_characters(tmp_path: Path) -> None:
    for arguments in (["x", "--over", "x=-1:1"], ["x*y", "--over", "x=-1:1,y=-1:1"], ["数**2 # \u202e", "--over", "数=-1:1"]):
        target = tmp_path / "z.svg"
        assert main(["plot", *arguments, "-o", str(target)]) == 0
        assert "\u202e" not in target.read_text(encoding="utf-8")
