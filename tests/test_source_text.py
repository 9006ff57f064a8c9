"""Files and streams that never end, are shorter than announced, or are not files: each is one error, soon."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from autodiff_cli.cli.main import main
from autodiff_cli.language import limited_reading, parser
from tests.shell import ROOT

LIMIT = 300
MEMORY = 3 << 30
"""Bytes of address space: a reader without a bound passes them soon."""


def bounded(command: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """A command line in bash, which must not take more than ``MEMORY``."""
    return subprocess.run(
        ["bash", "-c", f"ulimit -v {MEMORY >> 10}; {command.replace('autodiff', f'{sys.executable} -m autodiff_cli', 1)}"],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        cwd=ROOT,
    )


def npy(shape: object, body: bytes = b"", dtype: object = "<f8", by_columns: object = False) -> bytes:
    """A file whose header says what it wants."""
    text = repr({"descr": dtype, "fortran_order": by_columns, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


ENDLESS = [
    ("autodiff eval 'sum(x)' --at x=@{folder}/z.npy", 5),
    ("autodiff eval 'sum(x)' --at x=@{folder}/z.csv", 3),
    ("autodiff eval 'sum(x)' --at x=@{folder}/z.json", 3),
    ("autodiff vjp x --at x=1 --gradient @{folder}/z.json", 3),
    ("autodiff run /dev/zero", 3),
    ("autodiff run - </dev/zero", 3),
    ("autodiff eval @/dev/zero", 3),
    ("autodiff eval - </dev/zero", 3),
    ("autodiff repl </dev/zero", 3),
    *((f"autodiff map x --input-format {form} </dev/zero", 5) for form in ("csv", "npy", "npz")),
    *((f"autodiff map x --input-format {form} /dev/zero", 5) for form in ("ndjson", "npy", "npz")),
]
ENDLESS += [
    (f"autodiff map x --input-format {form} {source}", 5)
    for form in ("parquet", "arrow", "feather")
    for source in ("</dev/zero", "/dev/zero")
]


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("command", "code"), ENDLESS)
def test_what_never_ends(command: str, code: int, tmp_path: Path) -> None:
    for suffix in ("npy", "csv", "json"):
        (tmp_path / f"z.{suffix}").symlink_to("/dev/zero")
    done = bounded(command.format(folder=tmp_path))
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.startswith("error: ")
    assert "hint: " in done.stderr or "is not a .npy file" in done.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize(("begin", "command"), [("(", "autodiff repl"), ("1", "autodiff eval -")])
def test_a_pipe_that_never_ends(begin: str, command: str) -> None:
    done = bounded(f"yes '{begin}' | {command}; exit ${{PIPESTATUS[1]}}")
    assert (done.returncode, done.stdout) == (3, "")


@pytest.mark.parametrize(
    ("shape", "dtype", "by_columns"),
    [
        ((10**12,), "<f8", False),
        ((-5,), "<f8", False),
        ((0, -5), "<f8", False),
        ((2.5,), "<f8", False),
        ((True,), "<f8", False),
        ("abc", "<f8", False),
        ((10**12, 2), "<f8", True),
        ((5, 10**12), "<f8", False),
        ((3,), "<U100000000", False),
        ((3,), "<U0", False),
        ((3,), "|O", False),
        ((3,), 7, False),
        ((3,), "<f8", "no"),
        ((10**400,), "<f8", False),
    ],
)
def test_headers_that_lie(
    shape: object, dtype: object, by_columns: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.npy"
    file.write_bytes(npy(shape, b"\0" * 8, dtype, by_columns))
    columns = "x,y" if isinstance(shape, tuple) and len(shape) == 2 and shape[1] == 2 else "x"
    for arguments in (["eval", "sum(x)", "--at", f"x=@{file}"], ["map", "2*x", str(file), "--columns", columns]):
        assert main(arguments) == 5
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err.startswith(f"error: '{file}'")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("x.npy", file.read_bytes())
    (tmp_path / "x.npz").write_bytes(archive.getvalue())
    assert main(["map", "2*x", str(tmp_path / "x.npz")]) == 5
    assert "x.npz" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_an_array_from_a_pipe_may_not_promise_too_much(tmp_path: Path) -> None:
    """Its size is not known before it is read."""
    (tmp_path / "d.npy").write_bytes(npy((10**12,), b"\0" * 80))
    (tmp_path / "n.npy").write_bytes(npy((2**27,), b"\0" * 80))
    (tmp_path / "good.npy").write_bytes(npy((2,), np.array([1.5, 2.0]).tobytes()))
    for name, code in (("d", 5), ("n", 5), ("good", 0)):
        done = bounded(f"mkfifo {tmp_path}/{name}.fifo.npy; cat {tmp_path}/{name}.npy > {tmp_path}/{name}.fifo.npy & "
                       f"autodiff eval 'sum(x)' -q --no-grad --at x=@{tmp_path}/{name}.fifo.npy")  # fmt: skip
        assert done.returncode == code, done.stderr
        assert done.stdout.startswith("3.5" if code == 0 else "")
    for name, code in (("d", 5), ("good", 0)):
        done = bounded(f"autodiff map 'x' --columns x --input-format npy --no-keep < <(cat {tmp_path}/{name}.npy)")
        assert done.returncode == code, done.stderr


@pytest.mark.exhaustive
def test_an_archive_that_unpacks_to_more_than_memory(tmp_path: Path) -> None:
    """Its header states more text than it has."""
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("x.npy", npy((4,), b"\0" * 32))
        with made.open("name.npy", "w", force_zip64=True) as member:
            member.write(npy((4,), dtype=f"<U{2**28}"))
            for _ in range(64):
                member.write(b"\0" * (1 << 20))
    done = bounded(f"autodiff map x {tmp_path}/b.npz")
    assert (done.returncode, done.stdout) == (5, "")
    assert "name is not a whole .npy file" in done.stderr


@pytest.mark.exhaustive
def test_a_table_of_wide_rows_is_read_in_smaller_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = np.array(["a" * 4000, "b"] * 5000)
    np.savez(tmp_path / "w.npz", x=np.arange(10_000.0), name=names)
    assert main(["map", "2*x", str(tmp_path / "w.npz"), "-q"]) == 0
    assert capsys.readouterr().out == "".join(f"{2.0 * i},2.0\n" for i in range(10_000))


@pytest.mark.parametrize("form", ["parquet", "arrow", "npz", "npy"])
@pytest.mark.parametrize("part", [0, 1, 6, 20, 60, 200, -1])
def test_binary_files_cut_short(form: str, part: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.csv").write_text("x,name\n" + "".join(f"{i},{i}\n" for i in range(50)), encoding="utf-8")
    file = tmp_path / f"d.{form}"
    assert main(["map", "y = x**2; y,", str(tmp_path / "d.csv"), "-o", str(file)]) == 0
    file.write_bytes(file.read_bytes()[:part])
    capsys.readouterr()
    assert main(["map", "2*x", str(file)]) == 5
    shown = capsys.readouterr()
    assert shown.err.startswith(f"error: '{file}'") or shown.err.startswith(f"error: cannot read '{file}'")


CONTENTS = {
    '["1", "2"]': '"1" is not a number',
    "[1, null]": 'write "nan" instead of null',
    '[1, "one"]': '"one" is not a number',
    "[[1], 2]": "nested lists of numbers",
    '{"a": 1}': "nested lists of numbers",
    '[{"a": 1}]': "nested lists of numbers",
    "[" * 100_000: "nested lists of numbers",
    "[]": "nested lists of numbers",
    f"[1{'0' * 400}]": "nested lists of numbers",
}


@pytest.mark.parametrize(("text", "reason"), CONTENTS.items(), ids=[text[:12] for text in CONTENTS])
def test_json_that_holds_no_numbers(text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    assert main(["eval", "sum(x)", "--at", f"x=@{tmp_path / 'x.json'}"]) == 5
    assert reason in capsys.readouterr().err


def test_json_writes_what_is_not_finite_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text('[[1, "inf"], ["-inf", 2.5]]', encoding="utf-8")
    assert main(["eval", "x", "--at", f"x=@{tmp_path / 'x.json'}", "--gradient", "ones(2, 2)", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == [[1.0, "inf"], ["-inf", 2.5]]


def test_hints_of_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A name is not the way out from itself."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dir.npy").mkdir()
    (tmp_path / "broken.npy").symlink_to("nothing.npy")
    (tmp_path / "loop.npy").symlink_to("loop.npy")
    (tmp_path / "code.npy").write_bytes(npy("x")[:20] + b"{'shape': print(1)}\n")
    hints = {
        "dir.npy": "name a file in this folder",
        "broken.npy": "a link to 'nothing.npy'",
        "loop.npy": "a link to 'loop.npy'",
        "code.npy": "use a file that numpy.save wrote",
        "dri.npy": "did you mean 'dir.npy'?",
    }
    for name, hint in hints.items():
        assert main(["eval", "x", "--at", f"x=@{name}"]) == 5
        assert f"hint: {hint}" in capsys.readouterr().err.replace("hint: it is a link", "hint: a link")
    assert main(["eval", "@dir.npy"]) == 5
    assert "name a file in this folder" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_an_expression_that_is_too_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "e.txt"
    file.write_text("x+" * 2_200_000 + "x", encoding="utf-8")
    assert main(["eval", f"@{file}", "--at", "x=1"]) == 3
    assert "is longer than 4 MiB" in capsys.readouterr().err
    file.write_text("x+" * 250_000 + "x", encoding="utf-8")
    assert main(["eval", f"@{file}", "--at", "x=1"]) == 3
    assert "more than 500,000 words and signs" in capsys.readouterr().err


def test_no_limits_lifts_that_of_the_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "e.txt"
    file.write_text("x+" * 1000 + "x", encoding="utf-8")
    arguments = ["grad", f"@{file}", "--at", "x=1", "-q"]
    for thing, name, most in ((limited_reading, "MOST_TEXT", 1000), (parser, "MOST_TOKENS", 100)):
        with monkeypatch.context() as patched:
            patched.setattr(thing, name, most)
            assert main(arguments) == 3
            assert main([*arguments, "--no-limits"]) == 0
            assert capsys.readouterr().out == "1001.0\n"


def test_the_repl_goes_on_after_bytes_that_are_no_text() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "autodiff_cli", "repl"],
        input=b"\x80\n\xef\xbb\xbf1+1\r\n",
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
        capture_output=True,
        timeout=LIMIT,
        check=False,
        cwd=ROOT,
    )
    assert (done.returncode, done.stdout) == (0, b"2.0\n")
    assert done.stderr.startswith(b"error: unexpected character")


def test_columns_without_a_name_in_numpy_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.csv").write_text("x,\n1,2\n", encoding="utf-8")
    for form in ("npy", "npz"):
        target = tmp_path / f"o.{form}"
        assert main(["map", "x", str(tmp_path / "d.csv"), "-o", str(target)]) == 5
        assert "a column without a name" in capsys.readouterr().err
        assert not target.exists()
        assert main(["map", "x", str(tmp_path / "d.csv"), "-o", str(target), "--no-keep"]) == 0


def test_reading_leaves_little_behind(tmp_path: Path) -> None:
    """What is refused was not read first."""
    with open(tmp_path / "large.txt", "wb") as file:
        file.truncate(1 << 33)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert main(["eval", f"@{tmp_path / 'large.txt'}"]) == 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
