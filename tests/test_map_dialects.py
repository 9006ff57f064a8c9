"""CSV in other dialects: delimiters, decimal commas, comments, lines before the header, and cells that stand for nan."""

from __future__ import annotations

import random
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.data import native_text
from autodiff_cli.data.readers import delimited
from tests.mapping import run_map

GERMAN = 'made by hand\n\nx;y;n\n1,5;2;a\n# pause\nNA;3;"b;c"\n-;4;d\n'
OPTIONS = ["--delimiter", ";", "--decimal", ",", "--comment", "#", "--skip-lines", 2, "--on-error", "nan"]


def test_all_options_together() -> None:
    done = run_map("x*y", *OPTIONS, stdin=GERMAN.encode())
    assert (done.code, done.err.count("2 rows with non-numeric cells were set to nan")) == (0, 1)
    assert done.text == 'x;y;n;value;d_x;d_y\n1,5;2;a;3,0;2,0;1,5\nNA;3;"b;c";nan;3,0;nan\n-;4;d;nan;4,0;nan\n'
    assert run_map("x*y", *OPTIONS, "--no-keep", stdin=GERMAN.encode()).text.startswith("value;d_x;d_y\n3,0;2,0;1,5\n")
    other = run_map("x*y", *OPTIONS, "--format", "csv", stdin=GERMAN.encode()).text
    assert other.startswith('x,y,n,value,d_x,d_y\n"1,5",2,a,3.0,2.0,1.5\n')
    assert run_map("x*y", *OPTIONS, "--format", "ndjson", stdin=GERMAN.encode()).text.startswith('{"x": 1.5, "y": 2.0, "n": "a"')


@pytest.mark.parametrize(("given", "sign"), [(";", ";"), ("|", "|"), ("tab", "\t"), ("\\t", "\t"), (":", ":"), (" ", " ")])
def test_delimiters(given: str, sign: str, tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_text(f"x{sign}y\n1{sign}2\n")
    assert run_map("x*y", path, "--delimiter", given).text == sign.join(["x", "y", "value", "d_x", "d_y"]) + "\n" + (
        sign.join(["1", "2", "2.0", "2.0", "1.0"]) + "\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--delimiter", ";;"], "';;' is not a delimiter"),
        (["--delimiter", "5"], "'5' is not a delimiter"),
        (["--delimiter", '"'], "is not a delimiter"),
        (["--decimal", ";"], "';' is not a decimal separator"),
        (["--decimal", ","], "',' cannot be both the delimiter and the decimal separator"),
        (["--input-format", "ndjson", "--delimiter", ";"], "describe CSV, not ndjson"),
        (["--skip-lines", 9], "is empty"),
    ],
)
def test_refused_options(options: list[object], message: str) -> None:
    done = run_map("x", *options, stdin=b"x\n1\n")
    assert message in done.err
    assert "hint:" in done.err
    assert done.code in (2, 5)
    assert done.out == b""


def test_positions_count_all_lines() -> None:
    text = b"a\nb\nx;y\n# c\n1;2\noops;3\n"
    found = run_map("x", "--delimiter", ";", "--skip-lines", 2, "--comment", "#", stdin=text)
    assert "line 6: column 'x' contains 'oops', which is not a number" in found.err


def cell(draw: random.Random) -> str:
    odd = ["NA", "-", "1.5", "", "x", "1.234,5", "+2,5", "nan", " 1,5", '"3,5"', '"NA"', "1e-7", "inf", "(1)"]
    return draw.choice(odd) if draw.random() < 0.02 else repr(draw.uniform(-1, 1) * 10.0 ** draw.randint(-9, 9)).replace(".", ",")


@pytest.mark.parametrize("seed", range(12))
def test_machine_code_is_never_to_be_seen(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    rows = [f"{draw.choice('abc')};{cell(draw)};{cell(draw)}\n" for _ in range(60)]
    if seed % 3 == 0:
        rows.insert(30, "# a comment; with a delimiter\n")
    data = ("before\nname;x;y\n" + "".join(rows)).encode()
    options = ["--delimiter", ";", "--decimal", ",", "--skip-lines", 1, "--comment", "#"]
    options += ["--on-error", draw.choice(["stop", "nan", "skip"]), *draw.choice([[], ["--no-keep"], ["--format", "ndjson"]])]
    with mock.patch.object(delimited, "read_cells", return_value=None):
        plain = run_map("x*y", *options, stdin=data)
    for name in ("FAST_FROM", "FAST_FROM_THEN"):
        monkeypatch.setattr(native_text, name, 1)
    fast = run_map("x*y", *options, stdin=data)
    assert (fast.code, fast.out, fast.err) == (plain.code, plain.out, plain.err)


def test_large_files_in_parts_have_the_bytes_of_one_run(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).normal(size=(20_000, 2))
    rows = "".join(f"{x!r};{y!r}\n".replace(".", ",") for x, y in numbers.tolist())
    path = tmp_path / "d.csv"
    path.write_text("# made\nx;y\n" + rows)
    options = ["--delimiter", ";", "--decimal", ",", "--comment", "#"]
    whole = run_map("sin(x)*y", path, *options)
    assert whole.code == 0
    first = whole.text.splitlines()[1].replace(",", ".").split(";")
    expected = ad.evaluate("sin(x)*y", {"x": float(first[0]), "y": float(first[1])})
    assert [float(text) for text in first[2:]] == pytest.approx([expected.value, *expected.grad.values()], rel=1e-15)
    done = run_map("sin(x)*y", path, *options, "-o", f"{tmp_path}/out/", "--partition-bytes", 72_000)
    assert (done.code, done.err) == (0, "")
    parts = sorted((tmp_path / "out").glob("*.csv"))
    assert len(parts) > 3
    texts = [part.read_text().splitlines(keepends=True) for part in parts]
    assert texts[0][0] + "".join(line for text in texts for line in text[1:]) == whole.text


def test_fit_reads_dialects(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("x;y\n1,0;2,1\n2,0;3,9\nNA;1\n3,0;6,1\n")
    from tests.shell import run

    found = run(f"autodiff fit 'y = a*x' {path} --at a=1 --delimiter ';' --decimal , --on-error skip -q")
    assert float(found.split()[0]) == pytest.approx((2.1 + 7.8 + 18.3) / 14, rel=1e-12)


def codecs_of(path: Path) -> set[str]:
    from pyarrow import parquet

    group = parquet.ParquetFile(path).metadata.row_group(0)
    return {group.column(i).compression for i in range(group.num_columns)}


@pytest.mark.parametrize(("codec", "name"), [("zstd", "ZSTD"), ("gzip", "GZIP"), ("none", "UNCOMPRESSED"), ("brotli", "BROTLI")])
def test_parquet_keeps_the_codec_of_the_input(codec: str, name: str, tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    first, second, folder = tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "out"
    parquet.write_table(pyarrow.table({"x": [1.0, 2.0], "n": ["a", "b"]}), first, compression=codec)
    assert run_map("x**2", first, "-o", second, "--no-keep").code == 0
    assert codecs_of(second) == {name}
    assert run_map("x**2", first, "-o", f"{folder}/*.parquet", "--no-keep").code == 0
    assert [codecs_of(path) for path in folder.glob("*.parquet")] == [{name}]
