"""Compressed text files: every codec, as files and as a stream, in and out, and what is broken."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from autodiff_cli.data.readers import lines
from tests.mapping import refused, run_map

pytestmark = pytest.mark.usefixtures("elsewhere")

pa = pytest.importorskip("pyarrow")

ROWS = b"x,name\n" + b"".join(f"{i / 7},row {i}\n".encode() for i in range(1, 5_000))


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as file:
        file.write(data)
    return bytes(sink.getvalue())


def unzstd(data: bytes) -> bytes:
    return bytes(pa.CompressedInputStream(io.BytesIO(data), "zstd").read())


CODECS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".gz": (gzip.compress, gzip.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
    ".xz": (lzma.compress, lzma.decompress),
    ".zst": (zstd, unzstd),
}


@pytest.mark.parametrize("suffix", CODECS)
def test_files_and_streams(suffix: str) -> None:
    pack, unpack = CODECS[suffix]
    right = run_map("x**2", stdin=ROWS).out
    Path(f"rows.csv{suffix}").write_bytes(pack(ROWS))
    assert run_map("x**2", f"rows.csv{suffix}").out == right
    assert run_map("x**2", stdin=pack(ROWS)).out == right
    assert run_map("x**2", f"rows.csv{suffix}", "-o", f"out.csv{suffix}").code == 0
    assert unpack(Path(f"out.csv{suffix}").read_bytes()) == right
    assert run_map("x**2", f"rows.csv{suffix}", "-o", f"out.ndjson{suffix}").code == 0
    found = unpack(Path(f"out.ndjson{suffix}").read_bytes())
    assert found == run_map("x**2", "--format", "ndjson", stdin=ROWS).out


def test_equal_data_gives_equal_files() -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        assert run_map("x", "-o", name, stdin=ROWS).code == 0
    assert Path("a.csv.gz").read_bytes() == Path("b.csv.gz").read_bytes()


@pytest.mark.parametrize("text", [False, True])
def test_many_parts_of_gzip(monkeypatch: pytest.MonkeyPatch, text: bool) -> None:
    """Parts of numbers and of repeated text are about as small as all of the data at once, and equal for all numbers of threads."""
    monkeypatch.setattr(lines, "CHUNK", 1 << 16)
    word = b"the same words in each row; " * 3 if text else b""
    rows = b"x,y\n" + b"".join(b"%r,%s%d\n" % (i / 7, word, i) for i in range(20_000))
    right = run_map("x**2", stdin=rows).out
    for threads in (1, 3):
        assert run_map("x**2", "-o", f"out{threads}.csv.gz", "--threads", threads, stdin=rows).code == 0
    data = Path("out1.csv.gz").read_bytes()
    assert data == Path("out3.csv.gz").read_bytes()
    assert gzip.decompress(data) == right
    assert len(data) < 1.15 * len(zlib.compress(right, 4))


def test_an_empty_output_is_a_whole_file() -> None:
    for suffix, (_, unpack) in CODECS.items():
        assert run_map("x", "-q", "--where", "x > 1e9", "-o", f"e.csv{suffix}", stdin=b"x\n1\n").code == 0
        assert unpack(Path(f"e.csv{suffix}").read_bytes()) == b""


def test_members_of_gzip_files_are_joined() -> None:
    Path("rows.csv.gz").write_bytes(gzip.compress(ROWS[:5_000]) + gzip.compress(ROWS[5_000:]))
    assert run_map("x", "rows.csv.gz").out == run_map("x", stdin=ROWS).out


@pytest.mark.parametrize("suffix", CODECS)
def test_broken_files(suffix: str) -> None:
    """A file that is cut ends with one error, and the output is not written."""
    Path(f"rows.csv{suffix}").write_bytes(CODECS[suffix][0](ROWS)[:-2_000])
    done = run_map("x", f"rows.csv{suffix}", "-o", "out.csv")
    assert (done.code, done.out, done.err.count("error:"), os.path.exists("out.csv")) == (5, b"", 1, False)


def test_another_format_than_the_suffix() -> None:
    Path("rows.csv.gz").write_bytes(bz2.compress(ROWS))
    refused(5, "error: 'rows.csv.gz' is not in gzip format\n", "x", "rows.csv.gz")


@pytest.mark.exhaustive
@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="a system without /dev/stdout")
def test_outputs_that_are_not_files() -> None:
    right = run_map("x", stdin=ROWS).out
    for target in ("-", "/dev/stdout"):
        command = [sys.executable, "-m", "autodiff_cli", "map", "x", "-o", target]
        assert subprocess.run(command, input=ROWS, capture_output=True, check=True).stdout == right
    script = f"{sys.executable} -m autodiff_cli map x -o >(gzip > a.csv.gz) && sleep 0.5"
    if os.path.exists("/bin/bash"):
        subprocess.run(["/bin/bash", "-c", script], input=ROWS, check=True)
        assert gzip.decompress(Path("a.csv.gz").read_bytes()) == right
