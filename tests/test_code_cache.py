"""Machine code that is kept in files: it is used again, and nothing but whole code of this user is run."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.compiler.llvm import code_cache, machine_code

KEY = "0123"
CODE = bytes(range(256))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_what_is_written_is_read() -> None:
    assert code_cache.read(KEY) is None
    code_cache.write(KEY, CODE)
    assert code_cache.read(KEY) == CODE
    assert [path.name for path in code_cache.folder().iterdir()] == [KEY]


def test_the_folder_is_private_to_the_user() -> None:
    code_cache.write(KEY, CODE)
    assert stat.S_IMODE(code_cache.folder().stat().st_mode) == 0o700


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions of POSIX")
def test_code_that_others_could_write_is_not_run() -> None:
    code_cache.write(KEY, CODE)
    code_cache.folder().chmod(0o770)
    assert code_cache.read(KEY) is None
    code_cache.write("4567", CODE)
    assert not (code_cache.folder() / "4567").exists()


@pytest.mark.parametrize("broken", [b"", CODE[:10], CODE + b"1"])
def test_broken_files_are_ignored(broken: bytes) -> None:
    code_cache.write(KEY, CODE)
    (code_cache.folder() / KEY).write_bytes(broken)
    assert code_cache.read(KEY) is None


def test_a_folder_that_cannot_be_made_is_no_cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "file"))
    code_cache.write(KEY, CODE)
    assert code_cache.read(KEY) is None


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(code_cache.Path, "home", homeless)
    code_cache.write(KEY, CODE)
    assert code_cache.read(KEY) is None


def test_the_files_that_were_not_used_for_long_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_cache, "KEPT", 3)
    for i in range(4):
        code_cache.write(str(i), CODE)
        os.utime(code_cache.folder() / str(i), (i, i))
    assert code_cache.read("1") == CODE
    code_cache.write("4", CODE)
    assert sorted(path.name for path in code_cache.folder().iterdir()) == ["1", "3", "4"]


def test_a_second_process_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    program = ad.compile("tanh(3.25*x)*ndtr(y)", engine="llvm")
    x = np.linspace(-2, 2, 77)
    first = program(x=x, y=x)
    assert len(list(code_cache.folder().iterdir())) == 1

    def refuse(kernel: str) -> bytes:
        raise AssertionError("compiled again")

    monkeypatch.setattr(machine_code, "_kernels", {})
    monkeypatch.setattr(machine_code, "_object_code", refuse)
    again = ad.compile("tanh(3.25*x)*ndtr(y)", engine="llvm")(x=x, y=x)
    for name, array in first.items():
        np.testing.assert_array_equal(again[name], array)
