"""Mutated files: ``python -m tests.fuzz.files --count 50000 --seed 1``.

Valid files of every format are broken, one or several times each, and fed to ``map`` and ``--at x=@file``.  Whatever is in
them, the command ends with a documented code that is not one of a defect, without a warning, soon, in bounded memory.
A library that reads a format may end the process: the files are tried in workers, and the one that ended is kept.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 10.0
MEMORY = 4 << 30
STUCK = 120.0
"""Seconds without a sign of a worker: something in C does not end."""
ALLOWED = (0, 2, 3, 4, 5)
BATCH = 500

Mutation = Callable[[random.Random, bytes], bytes]


def originals() -> dict[str, list[bytes]]:
    """Valid files by suffix."""
    found: dict[str, list[bytes]] = {
        "csv": [
            b"x,y,name\n1,2.5,a\n-3e2,nan,b\n.5,inf,c\n",
            b'x,"y","a ""b"", c"\n1,"2","multi\nline"\n3,4,""\n',
            b"\xef\xbb\xbfx , y\r\n1,2\r\n3,4\r\n",
        ],
        "tsv": [b"x\ty\tz\n1\t2\t3\n4\t5\t6\n"],
        "ndjson": [
            b'{"x": 1, "y": 2.5, "s": "a"}\n{"x": "nan", "y": -1e3, "s": null}\n',
            '{"x": 1, "y": [1, {"a": 2}], "é": true}\n{"x": 2, "y": {}, "é": "\\u00e9"}\n'.encode(),
        ],
        "json": [b"[[1, 2.5], [3, -4e2]]", b'["nan", 1, "inf", -0.0]', b"3.25"],
        "npy": [],
        "npz": [],
    }
    table = np.array([(1.0, 2, "a"), (3.0, 4, "b")], [("x", "<f8"), ("y", "<i4"), ("s", "<U3")])
    square = np.arange(12.0).reshape(6, 2)
    for array in (np.arange(5.0), square, np.asfortranarray(square), table, np.float32(2), np.arange(4, dtype=">i2")):
        found["npy"].append(_saved(lambda file, array=array: np.save(file, array)))
    columns = {"x": np.arange(5.0), "y": np.arange(5, dtype=np.int8), "s": np.array(list("abcde"))}
    found["npz"] = [_saved(lambda file, save=save: save(file, **columns)) for save in (np.savez, np.savez_compressed)]
    with contextlib.suppress(ImportError):
        found |= _arrow()
    return found


def _saved(save: Callable[[Any], Any]) -> bytes:
    out = io.BytesIO()
    save(out)
    return out.getvalue()


def _arrow() -> dict[str, list[bytes]]:
    import pyarrow as pa
    from pyarrow import feather, parquet

    names = pa.array(["a", None, "longer text", "a", ""])
    rich = pa.table(
        {
            "x": pa.array([1.0, -2.5, 4.0, 3.0, float("nan")]),
            "y": pa.array([1, 2, 3, 4, 5], pa.int16()),
            "name": names,
            "kind": names.dictionary_encode(),
            "when": pa.array([0, 1, None, 2, 10**15], pa.timestamp("us", "UTC")),
            "day": pa.array([0, 1, 2, None, 4], pa.date32()),
            "price": pa.array([1, 2, 3, 4, None], pa.decimal128(10, 2)),
            "ok": pa.array([True, None, False, True, True]),
            "list": pa.array([[1], [], None, [2, 3], [4]], pa.list_(pa.int64())),
            "record": pa.array([{"a": 1, "b": "c"}] * 4 + [None]),
            "bytes": pa.array([b"a", b"\xff", None, b"", b"abc"]),
            "map": pa.array([[("k", 1)], [], None, [("a", 2)], []], pa.map_(pa.string(), pa.int32())),
            "long": pa.array(["x"] * 5, pa.large_string()),
            "small": pa.array([1, 2, 3, None, 5], pa.float16()),
            "span": pa.array([1, 2, 3, None, 5], pa.duration("ns")),
            "nothing": pa.nulls(5),
        }
    )
    plain = pa.table({"x": np.arange(300.0), "y": np.arange(300)})

    def ipc(table: Any, opened: Any, **options: Any) -> bytes:
        sink = pa.BufferOutputStream()
        with opened(sink, table.schema, **options) as file:
            file.write_table(table, max_chunksize=2 if table is rich else 100)
        return bytes(sink.getvalue())

    def columnar(table: Any, **options: Any) -> bytes:
        return _saved(lambda file: parquet.write_table(table, file, **options))

    packed = pa.ipc.IpcWriteOptions(compression="lz4")
    return {
        "parquet": [
            columnar(rich.drop_columns(["small"]), row_group_size=2),
            columnar(plain, compression="zstd", use_dictionary=False),
            columnar(plain, compression="gzip", data_page_version="2.0", write_statistics=False),
            columnar(rich.select(["x", "y", "name"]), compression="none", use_dictionary=True),
            columnar(rich.select(["x", "list", "record"]), compression="snappy"),
        ],
        "arrow": [
            ipc(rich, pa.ipc.new_file),
            ipc(plain, pa.ipc.new_file, options=packed),
            ipc(rich, pa.ipc.new_stream),
            ipc(plain, pa.ipc.new_stream),
        ],
        "feather": [_saved(lambda file: feather.write_feather(plain, file, compression="lz4"))],
    }


_NUMBERS = (0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
_TOKENS = (
    *(b"nan", b"inf", b"1e999", b"-", b"", b"null", b"true", b"1_000", b"0x10", b"1" * 400, b"1" * 5000, b"9" * 19, b"1e-400"),
    *(b'"', b'""', b"'", b",", b"\n", b"\r", b"\r\n", b"\0", b"\x1b[31m", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\t", b" "),
    *(b"[", b"]", b"{", b"}", b"[" * 2000, b"{" * 100, b'{"x":' * 1200, b"\\", b"\\u0000", b"\\ud800", b":", b'"x"', b"(", b"#"),
    *("١٢".encode(), "\u2028".encode(), "é".encode(), b"x", b"y", b"value", b"d_x", b"," * 300, b"\n" * 300),
)
_HEADERS = (
    (rb"'shape': \([^)]*\)", (b"(-5,)", b"(1000000000000,)", b"(2, 3, 4)", b"()", b"(0,)", b"(5, 0)", b"(True,)", b"(1.5,)", b"5")),
    (
        rb"'descr': [^,]*",
        (b"'|O'", b"'<U99999999'", b"'<f8x'", b"'<c16'", b"'<M8[ns]'", b"'|V8'", b"'<f2'", b"'?'", b"7", b"'<m8'"),
    ),
    (rb"'fortran_order': \w+", (b"True", b"None", b"0", b"'no'", b"[]")),
    (rb"'shape'", (b"'shap'", b"'shape'*9", b"b'shape'", b"'\\d'")),
)


def flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def put(rng: random.Random, data: bytes) -> bytes:
    """A number where another may be."""
    size = rng.choice((1, 2, 4, 8))
    number = (rng.choice(_NUMBERS) & ((1 << 8 * size) - 1)).to_bytes(size, rng.choice(("little", "big")))
    at = rng.randrange(len(data))
    at -= at % size if rng.random() < 0.5 else 0
    return data[:at] + number + data[at + size :]


def cut(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] if rng.random() < 0.7 else data[at:]


def without(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice((1, 2, 4, 8, 16, 64)) :]


def repeat(rng: random.Random, data: bytes) -> bytes:
    at, size = rng.randrange(len(data)), rng.choice((1, 4, 16, 64, 256))
    return data[: at + size] + data[at : at + size] * rng.choice((1, 1, 3, 50)) + data[at + size :]


def move(rng: random.Random, data: bytes) -> bytes:
    """Bytes from one place over those at another."""
    size = rng.choice((1, 4, 8, 32))
    at, to = rng.randrange(len(data)), rng.randrange(len(data))
    piece = data[at : at + size]
    return data[:to] + piece + data[to + len(piece) :]


def token(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_TOKENS) + data[at + rng.choice((0, 0, 1, 3)) :]


def number(rng: random.Random, data: bytes) -> bytes:
    """Another text in the place of a number."""
    places = list(re.finditer(rb"\d+", data))
    if not places:
        return token(rng, data)
    place = rng.choice(places)
    return data[: place.start()] + rng.choice(_TOKENS) + data[place.end() :]


def header(rng: random.Random, data: bytes) -> bytes:
    """Another header of NumPy, as long as before where that is possible."""
    pattern, values = rng.choice(_HEADERS)
    found = re.search(pattern, data)
    if found is None:
        return flip(rng, data)
    key = found.group().partition(b": ")[0]
    written = rng.choice(values) if pattern == rb"'shape'" else key + b": " + rng.choice(values)
    spare = len(found.group()) - len(written)
    after = data[found.end() :]
    after = b" " * spare + after if spare >= 0 else after.replace(b" " * -spare, b"", 1)
    return data[: found.start()] + written + after


def repacked(rng: random.Random, data: bytes) -> bytes:
    """An archive whose members are broken, and whose sums are right."""
    out = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
            for name in archive.namelist():
                member = archive.read(name)
                if rng.random() < 0.5:
                    member = rng.choice((flip, put, cut, header, header, move))(rng, member)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made.writestr(rng.choice((name, name, name, "x.npy", "", "../a", "x")), member)
    except Exception:  # it was broken before
        return flip(rng, data)
    return out.getvalue()


ANY: tuple[Mutation, ...] = (flip, flip, flip, put, put, put, cut, without, repeat, move)
TEXT: tuple[Mutation, ...] = (token, token, token, number, number, flip, cut, without, repeat, move)
MUTATIONS: dict[str, tuple[Mutation, ...]] = {
    **dict.fromkeys(("csv", "tsv", "ndjson", "json"), TEXT),
    "npy": (*ANY, header, header, header),
    "npz": (*ANY, repacked, repacked, repacked, repacked),
}


def mutated(rng: random.Random, files: dict[str, list[bytes]]) -> tuple[str, bytes]:
    """A suffix and what stands in the file."""
    suffix = rng.choice(sorted(files))
    data = rng.choice(files[suffix])
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 3, 8))):
        if data:
            data = rng.choice(MUTATIONS.get(suffix, ANY))(rng, data)
    if rng.random() < 0.03:  # under another name
        suffix = rng.choice(sorted(files))
    return suffix, data


_EXPRESSIONS = ("x", "x**2", "x*y", "log(x)", "y/x", "1")
_INTO = ("csv", "tsv", "ndjson", "json", "npy", "npz", "markdown", "table", "parquet", "arrow", "feather")


def command(rng: random.Random, path: str, suffix: str, out: str) -> list[str]:
    """A command line that reads a file."""
    if suffix == "json" or (suffix in ("csv", "npy") and rng.random() < 0.3):
        style = rng.choice((["-q"], ["--json"], []))
        return [rng.choice(("eval", "grad", "vjp")), rng.choice(("sum(x)", "x", "x*2")), "--at", f"x=@{path}", *style]
    words = ["map", rng.choice(_EXPRESSIONS), path]
    words += rng.choice(([], ["--no-keep"], ["--no-keep"], ["-q"]))
    words += rng.choice(([], ["--on-error", "nan"], ["--on-error", "skip"], ["--strict"]))
    words += rng.choice(([], [], ["--order", "2"], ["--dtype", "float32"], ["--threads", "2"], ["--unbuffered"]))
    if "-q" not in words:
        form = rng.choice(_INTO)
        words += rng.choice((["--format", form], ["-o", f"{out}.{form}"], []))
    if suffix == "npy" and rng.random() < 0.7:
        words += ["--columns", rng.choice(("x", "x,y"))]
    if rng.random() < 0.05:
        words += ["--input-format", rng.choice(("csv", "ndjson", "npy", "npz", "parquet", "arrow", "feather"))]
    return words


class Overtime(BaseException):
    """A command takes too long."""


def _overtime(*_: object) -> None:
    raise Overtime


def wrong(words: list[str]) -> str | None:
    """What is wrong with how a command ends, if anything."""
    from autodiff_cli.cli.main import main

    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace"), io.StringIO()
    begin = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    except BaseException as error:
        return f"{type(error).__name__} comes out of main: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    shown = err.getvalue()
    seconds = time.monotonic() - begin
    if seconds > SECONDS:
        return f"{seconds:.1f} seconds; {shown[:500]}"
    if code not in ALLOWED:
        return f"exit code {code}: {shown[:1500]}"
    if code and not shown.lstrip().startswith(("error: ", '{"error"', "note: ")):
        return f"exit code {code} without an error: {shown[:500]}"
    if "Traceback" in shown or any(ord(character) < 32 and character not in "\n\t" for character in shown):
        return f"what standard error should not have: {shown[:500]!r}"
    return None


def cases(seed: int, start: int, stop: int, folder: Path) -> Iterator[tuple[int, Path, list[str]]]:
    """The files and command lines of some numbers, one after the other; a number says all about its case."""
    files = originals()
    for case in range(start, stop):
        rng = random.Random(f"{seed} {case}")
        suffix, data = mutated(rng, files)
        path = folder / f"in.{suffix}"
        path.write_bytes(data)
        yield case, path, command(rng, str(path), suffix, str(folder / "out"))


def work(seed: int, start: int, stop: int, folder: Path, kept: Path) -> None:
    """Try cases; every finding is a line on standard output, and so is every beginning."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _overtime)
    warnings.simplefilter("error")
    for case, path, words in cases(seed, start, stop, folder):
        print(json.dumps({"case": case, "path": str(path), "words": words}), flush=True)
        problem = wrong(words)
        if problem is not None:
            shutil.copy(path, kept / f"{seed}-{case}{path.suffix}")
            print(json.dumps({"case": case, "problem": problem, "words": words}), flush=True)


def watched(seed: int, start: int, stop: int, kept: Path) -> Iterator[dict[str, Any]]:
    """What a worker finds in some cases, started again behind one that ends it."""
    while start < stop:
        with tempfile.TemporaryDirectory(prefix="fuzz-files-") as folder:
            arguments = ["--work", f"{seed},{start},{stop},{folder},{kept}"]
            with subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.files", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ) as process:
                assert process.stdout is not None
                last: dict[str, Any] = {}
                watch = _Watch(process)
                for line in process.stdout:
                    watch.again()
                    said = json.loads(line)
                    if "problem" in said:
                        yield said
                    else:
                        last = said
                watch.end()
                process.wait()
            if process.returncode == 0:
                return
            if not last:
                raise SystemExit(f"the worker does not start: exit code {process.returncode}")
            shutil.copy(last["path"], kept / f"{seed}-{last['case']}{Path(last['path']).suffix}")
            yield {**last, "problem": f"the process ended with {process.returncode}"}
            start = last["case"] + 1


class _Watch:
    """Kills a process that has said nothing for long."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._timer: Any = None
        self.again()

    def again(self) -> None:
        import threading

        self.end()
        self._timer = threading.Timer(STUCK, self._process.kill)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def run(seed: int, count: int, workers: int, kept: Path) -> list[dict[str, Any]]:
    """All findings."""
    from concurrent.futures import ThreadPoolExecutor

    kept.mkdir(parents=True, exist_ok=True)
    bounds = [(start, min(start + BATCH, count)) for start in range(0, count, BATCH)]
    with ThreadPoolExecutor(workers) as pool:
        found = pool.map(lambda bound: list(watched(seed, *bound, kept)), bounds)
        return [finding for batch in found for finding in batch]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "fuzz-files", help="where files are kept")
    parser.add_argument("--only", type=int, help="one case alone, in this process")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        seed, start, stop, folder, kept = given.work.split(",", 4)
        work(int(seed), int(start), int(stop), Path(folder), Path(kept))
        return 0
    if given.only is not None:
        given.kept.mkdir(parents=True, exist_ok=True)
        work(given.seed, given.only, given.only + 1, given.kept, given.kept)
        return 0
    found = run(given.seed, given.count, given.workers, given.kept)
    for finding in found:
        print(json.dumps(finding))
    print(f"{given.count} files, {len(found)} findings", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
