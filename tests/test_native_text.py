"""Machine code for rows of text: numbers are those of Python's ``repr`` and ``float``, and JSON is that of Python's ``json``."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from autodiff_cli.data import native_text
from tests import native_text as build


def hard_numbers(count: int, seed: int) -> np.ndarray:
    """Return doubles that are hard to write: of all sizes, subnormal, beside powers of two and ten, and with few digits."""
    rng = np.random.default_rng(seed)
    powers = np.concatenate([2.0 ** rng.integers(-1074, 1024, count), np.array([float(f"1e{k}") for k in range(-323, 309)])])
    values = [
        rng.integers(0, 2**64, 4 * count, dtype=np.uint64).view(np.float64),
        rng.integers(0, 2**52, count, dtype=np.uint64).view(np.float64),
        rng.integers(-(2**63), 2**63 - 1, count).astype(np.float64),
        np.round(rng.uniform(-1000, 1000, count), 3),
        *(np.nextafter(powers, side) for side in (0, np.inf)),
        powers,
        [0.0, -0.0, np.nan, np.inf, -np.inf, 1e15, 1e16, 1e17, 1e-4, 1e-5, 9.999e-5],
    ]
    return np.concatenate(values)


def decimals(count: int, seed: int) -> Iterator[str]:
    """Yield decimal numbers that are hard to read: of up to 25 digits, and near the middle between two doubles."""
    draw = random.Random(seed)
    for _ in range(count):
        digits, exponent = str(draw.randrange(10 ** draw.randint(1, 25))), draw.randint(-345, 310)
        yield draw.choice([f"{digits}e{exponent}", f"{digits[:1]}.{digits[1:]}0E{exponent:+}", f"-.{digits}", f"{digits}."])
        bits = draw.randrange(0x7FF << 52)
        low, high = np.array([bits, bits + 1], np.uint64).view(np.float64).tolist()
        if not np.isinf(high):
            middle = (Fraction(low) + Fraction(high)) / 2
            digits = draw.choice([17, 18, 19, 20, 25])
            scale = digits - len(str(int(middle))) if middle > 1 else digits + len(str(int(1 / middle)))
            yield f"{round(middle * Fraction(10) ** scale) + draw.randint(-1, 1)}e{-scale}"


def check_numbers(count: int, seed: int) -> None:
    """Compare with ``repr`` and ``float``."""
    values = hard_numbers(count, seed)
    text = bytes(native_text.write_rows(len(values), [("", values)], "\n"))
    assert text.decode().splitlines() == list(map(repr, values.tolist()))
    with np.errstate(over="ignore"):
        small = values.astype(np.float32)
    lines = bytes(native_text.write_rows(len(small), [("", small)], "\n", json=False)).decode().splitlines()
    assert lines == [repr(float(str(value))) for value in small]
    cells = list(decimals(count, seed))
    texts = [*text.decode().splitlines(), *cells]
    assert_read(texts)


def assert_read(texts: list[str]) -> None:
    """Check that numbers are those of ``float``, where machine code does not leave them to Python."""
    data = "".join(f"{text}\n" for text in texts).encode()
    cells = native_text.read_cells(data, len(texts), ",", ".", 1, [0], [])
    assert cells is not None
    left = {row for row, _, _ in cells.others}
    assert len(left) < 0.05 * len(texts)
    expected = np.array(list(map(float, texts)))
    same = cells.numbers[0].view(np.int64) == expected.view(np.int64)
    wrong = [texts[row] for row in np.flatnonzero(~same).tolist() if row not in left]
    assert not wrong


def test_numbers_are_those_of_python() -> None:
    check_numbers(3_000, 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2, 20))
def test_many_numbers_are_those_of_python(seed: int) -> None:
    check_numbers(40_000, seed)


def test_integers_are_written_exactly() -> None:
    values = np.concatenate([np.array([0, -1, 2**63 - 1, -(2**63)]), np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 1000)])
    text = bytes(native_text.write_rows(len(values), [("", values)], "\n")).decode()
    assert text.splitlines() == list(map(str, values.tolist()))


def test_lines_and_slices_are_parts_of_rows() -> None:
    lines = b"a\nbb\n" + b"c" * 40 + b"\n\n"
    texts = native_text.Slices(b"uvwxyz", np.array([0, 1, 1, 5], np.int32), np.array([1, 1, 3, 6], np.int32))
    rows = native_text.write_rows(
        4, [("", native_text.Lines(lines)), ("<", texts), (";", np.array([1.5, -0.0, np.inf, 2e300]))], ">\n", ","
    )
    assert bytes(rows).decode().splitlines() == ["a<u;1,5>", "bb<;-0,0>", f"{'c' * 40}<vw;inf>", "<z;2e+300>"]


def test_what_is_not_a_plain_number_is_left_to_python() -> None:
    plain = {"1.5": 1.5, " 2 ": 2.0, '"3"': 3.0, "true": 1.0, "FALSE": 0.0, "+1": 1.0, ".5": 0.5, "7.": 7.0, "1E2": 100.0}
    others = ["nan", "", "x", "1_0", "0x1", "1e", ".", "-", "--1", "\N{ARABIC-INDIC DIGIT ONE}"]
    data = "".join(f"{cell},1\n" for cell in [*plain, *others]).encode()
    cells = native_text.read_cells(data, len(plain) + len(others), ",", ".", 2, [0], [])
    assert cells is not None
    assert cells.numbers[0][: len(plain)].tolist() == list(plain.values())
    assert cells.others == [(len(plain) + i, 0, cell.encode()) for i, cell in enumerate(others)]


@pytest.mark.parametrize("row", ["1", "1,2,3", 'a"b,1', '"a"b,1', '"a\nb",1', '"a,1', ""])
def test_rows_that_are_not_lines_of_cells_are_refused(row: str) -> None:
    data = f"1,2\n{row}\n3,4\n".encode()
    assert native_text.read_cells(data, data.count(b"\n"), ",", ".", 2, [1], []) is None


def values(draw: random.Random, depth: int) -> Any:
    """Return a value of JSON."""
    kind = draw.randrange(7 if depth else 5)
    if kind < 2:
        return draw.choice([draw.uniform(-1, 1) * 10.0 ** draw.randint(-300, 300), draw.randint(-(10**20), 10**20), 0, -0.0])
    if kind == 2:
        return draw.choice(["", "a b", "\u00e9", 'q"q', "nan", "back\\slash", "tab\t"])
    if kind < 5:
        return draw.choice([True, False, None])
    if kind == 5:
        return [values(draw, depth - 1) for _ in range(draw.randrange(4))]
    return {draw.choice("xyzab"): values(draw, depth - 1) for _ in range(draw.randrange(4))}


def test_members_are_those_of_json() -> None:
    draw = random.Random(5)
    rows: list[dict[str, Any]] = [{"k": i, **{name: values(draw, 3) for name in draw.sample("xyzab", 3)}} for i in range(3000)]
    separators = [(", ", ": "), (",", ":"), (" ,  ", " :\t")]
    lines = [json.dumps(row, ensure_ascii=draw.random() < 0.5, separators=draw.choice(separators)) for row in rows]
    paths = [["x"], ["y"], ["a", "x"], ["a", "b", "y"]]
    read = 0
    for row, line in zip(rows, lines, strict=True):
        cells = native_text.read_members(f"{line}\n".encode(), 1, paths, ["b2"], range(4), [])
        if cells is None:
            continue
        read += 1
        left = {i: text for _, i, text in cells.others}
        for i, path in enumerate(paths):
            value: Any = row
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if i in left:
                assert (None if left[i] is None else json.loads(left[i])) == value
            else:
                assert cells.numbers[i][0] == float(value)
    assert read > 1500


BROKEN = """{"x": 1}}|{"x": 1|{"x": 01}|{"x": 1.}|{"x": .5}|{"x": +1}|{"x": "a\tb"}|{"x": "\\q"}|{"x": tru}|[1]|{"x": 1, "x": 2}
|{"x": NaN}|{"x": 1,}|{"v": 1, "x": 2}|{"\\u0078": 1}| {"x": 1}|{"x": 1 }|{}|"""


@pytest.mark.parametrize("line", BROKEN.replace("\n", "").split("|"))
def test_lines_that_are_not_plain_objects_are_refused(line: str) -> None:
    data = f'{{"x": 1}}\n{line}\n'.encode()
    assert native_text.read_members(data, 2, [["x"]], ["v"], [0], []) is None


@pytest.mark.extras
@pytest.mark.skipif(find_spec("ziglang") is None, reason="needs the compiler of the extra test-all")
def test_the_module_belongs_to_its_source() -> None:
    assert build.MODULE.read_text(encoding="ascii") == build.module()
