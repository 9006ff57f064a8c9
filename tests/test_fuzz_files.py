"""The fuzzer of files: some of its cases, and its detection of defects."""

from __future__ import annotations

import random
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest

from autodiff_cli.cli import main as main_module
from autodiff_cli.cli.main import main
from tests.fuzz import files


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_some_cases(start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SECONDS", 0)  # no clock in a test: setitimer(0) is no timer
    monkeypatch.setattr(files.time, "monotonic", lambda: 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problems = [files.wrong(words) for _, _, words in files.cases(1, start, start + 50, tmp_path)]
    assert [problem for problem in problems if problem] == []


def test_a_case_is_the_same_every_time(tmp_path: Path) -> None:
    first = [(path.read_bytes(), words) for _, path, words in files.cases(5, 0, 20, tmp_path)]
    again = [(path.read_bytes(), words) for _, path, words in files.cases(5, 10, 20, tmp_path)]
    assert first[10:] == again


def test_mutations_change_something() -> None:
    rng = random.Random(0)
    originals = files.originals()
    for suffix, contents in originals.items():
        for mutation in set(files.MUTATIONS.get(suffix, files.ANY)):
            made = [mutation(rng, contents[0]) for _ in range(20)]
            assert any(each != contents[0] for each in made), (suffix, mutation)


@pytest.mark.parametrize("problem", [KeyError("x"), RuntimeWarning("overflow"), MemoryError(), RecursionError(), files.Overtime()])
def test_what_is_wrong_is_found(problem: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: list[str]) -> int:
        raise problem

    monkeypatch.setattr(signal, "setitimer", lambda *_: None)
    assert files.wrong(["--version"]) is None
    monkeypatch.setattr(main_module, "_invoke", fail)
    assert "exit code 7" in str(files.wrong(["--version"]))


def test_text_in_arrays_that_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """NumPy makes an array of any bytes."""
    for point in (0x110000, 0xD800, 0xFFFFFFFF):
        points = np.array([ord("a"), point], "<u4")
        np.savez(tmp_path / "t.npz", x=np.ones(2), s=points.view("<U1"))
        for arguments in ([], ["--format", "ndjson"], ["--format", "table"]):
            assert main(["map", "x", str(tmp_path / "t.npz"), *arguments]) == 5
            assert "text that is not Unicode" in capsys.readouterr().err
        assert main(["map", "x", str(tmp_path / "t.npz"), "--no-keep"]) == 0


def test_a_table_without_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for shape, columns in (((0,), "x"), ((0, 2), "x,y")):
        np.save(tmp_path / "e.npy", np.empty(shape))
        capsys.readouterr()
        assert main(["map", "2*x", str(tmp_path / "e.npy"), "--columns", columns, "--no-keep"]) == 0
        assert capsys.readouterr().out == "value,d_x\n"


def test_numbers_too_large_for_float32(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.csv").write_text("x\n1e308\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["map", "x", str(tmp_path / "d.csv"), "--dtype", "float32", "-q"]) == 0
    assert capsys.readouterr().out == "inf,1.0\n"
