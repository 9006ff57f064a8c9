"""The shortest decimal text of many floats at once, with NumPy.

The decimal is found as in R. Giulietti, The Schubfach way to render doubles (2020): of the decimals that read back as the
number, one with the fewest digits, and of these the closest.  All steps are operations on arrays of 64-bit integers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.data.row_blocks import Array

Words = np.ndarray[Any, np.dtype[np.uint64]]

_LEAST, _MOST = 1e-4, 1e16
"""The sizes of numbers that are written without an exponent."""
_BLOCK = 8192
"""The number of floats of one step, whose arrays fit into the cache."""
_DIGITS = 17
"""The largest number of digits of a shortest decimal."""


def joined_texts(columns: Sequence[Array], separator: str) -> list[str]:
    """Return the text of each row of float64 columns: its numbers as ``repr`` writes them, with one character between them."""
    rows = len(columns[0])
    if sys.byteorder != "little":
        return _by_repr(columns, separator, slice(rows))
    parts = [slice(start, start + _BLOCK) for start in range(0, rows, _BLOCK)]
    return [text for part in parts for text in _block_texts([column[part] for column in columns], separator)]


def _block_texts(columns: Sequence[Array], separator: str) -> list[str]:
    plain = np.ones(len(columns[0]), bool)
    words = np.empty((len(plain), len(columns), 3), np.uint64)
    for i, column in enumerate(columns):
        size = np.abs(column)
        is_plain = (size >= _LEAST) & (size < _MOST)
        words[:, i] = _written(*_shortest(np.where(is_plain, size, 1.0)), np.signbit(column)).T
        plain &= is_plain
    words[:, :-1, 2] |= np.uint64(ord(separator) << 56)
    words[:, -1, 2] |= np.uint64(ord("\n") << 56)
    texts = words.tobytes().translate(None, b"\0").decode().split("\n")[:-1]
    others = np.flatnonzero(~plain)
    for i, text in zip(others.tolist(), _by_repr(columns, separator, others), strict=True):
        texts[i] = text
    return texts


def _by_repr(columns: Sequence[Array], separator: str, rows: slice | Array) -> list[str]:
    return list(map(separator.join, zip(*(map(repr, column[rows].tolist()) for column in columns), strict=True)))


def _shortest(array: Array) -> tuple[Words, Array]:
    """Return integers m and exponents k such that m * 10**k is the shortest decimal of each number.

    The numbers must be positive and have a size that is written without an exponent: the method treats powers of two specially,
    because the gap below them is half of the gap above, but none of the powers in this range needs it.
    """
    bits = array.view(np.uint64)
    c = (bits & np.uint64((1 << 52) - 1)) | np.uint64(1 << 52)
    q = (bits >> np.uint64(52)).view(np.int64) - 1075
    k = (q * 1262611) >> 22
    shift = (q + ((-k * 1741647) >> 19) + 1).view(np.uint64)
    high, low = (np.take(part, k - _LOWEST) for part in _POWERS)
    odd = c & np.uint64(1)
    middle = c << np.uint64(2)
    scaled = _scaled(high, low, middle << shift)
    lower = _scaled(high, low, (middle - np.uint64(2)) << shift) + odd
    upper = _scaled(high, low, (middle + np.uint64(2)) << shift) - odd
    # One digit less, if exactly one of the two neighbours with one digit less is between the bounds.
    full = scaled >> np.uint64(2)
    less = full // np.uint64(10)
    below, above = lower <= less * np.uint64(40), less * np.uint64(40) + np.uint64(40) <= upper
    shorter = below != above
    below_full, above_full = lower <= full * np.uint64(4), full * np.uint64(4) + np.uint64(4) <= upper
    halfway = full * np.uint64(4) + np.uint64(2)
    up = np.where(below_full != above_full, above_full, (scaled > halfway) | ((scaled == halfway) & (full & np.uint64(1) != 0)))
    return np.where(shorter, less + above, full + up), k + shorter


def _scaled(high: Words, low: Words, factor: Words) -> Words:
    """Return the upper word of the product with a 128-bit number; its lowest bit is also set if a lower bit is."""
    below = high * factor
    carried = below + _upper(low, factor)
    scaled: Words = (_upper(high, factor) + (carried < below)) | (carried > np.uint64(1))
    return scaled


def _upper(a: Words, b: Words) -> Words:
    """Return the upper words of the products of 64-bit numbers."""
    half, mask = np.uint64(32), np.uint64((1 << 32) - 1)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    first = a_high * b_low + (a_low * b_low >> half)
    second = a_low * b_high + (first & mask)
    upper: Words = a_high * b_high + (first >> half) + (second >> half)
    return upper


def _written(decimal: Words, exponent: Array, negative: Array) -> Words:
    """Return the texts of decimals as columns of three words: the characters from the lowest byte on, and zeros after them.

    A text has at most 23 characters: a sign, ``0.000`` and 17 digits.

    The first digit of each number must have an exponent from -4 to 15.
    """
    length = np.searchsorted(_TENS, decimal, "right")
    point = (exponent + length - 1).astype(np.intp)
    decimal = decimal * np.take(_TENS, _DIGITS - length)
    head, rest = _split(decimal, 10**9)
    middle, last = _split(rest, 10)
    digits = np.stack([_bytes(head), _bytes(middle), last])
    used = np.maximum(_significant(digits), point + 2)
    digits = (digits + np.uint64(0x3030303030303030)) & np.take(_FIRST, used, axis=1)
    before = digits & np.take(_FIRST, np.maximum(point + 1, 0), axis=1)
    gap = np.where(point < 0, 1 - point, 1)
    text = before | _moved(digits ^ before, gap) | np.take(_POINTS, point + 4, axis=1)
    written: Words = np.where(negative, _moved(text, np.ones_like(gap)) | _MINUS, text)
    return written


def _split(number: Words, divisor: int) -> tuple[Words, Words]:
    quotient = number // np.uint64(divisor)
    return quotient, number - quotient * np.uint64(divisor)


def _bytes(number: Words) -> Words:
    """Return the eight digits of numbers below 10**8 as bytes, the first digit as the lowest byte."""
    four, rest = _split(number, 10_000)
    lanes = four | rest << np.uint64(32)
    two = (lanes * np.uint64(10486) >> np.uint64(20)) & np.uint64(0x7F0000007F)
    lanes = two | (lanes - two * np.uint64(100)) << np.uint64(16)
    one = (lanes * np.uint64(103) >> np.uint64(10)) & np.uint64(0xF000F000F000F)
    digits: Words = one | (lanes - one * np.uint64(10)) << np.uint64(8)
    return digits


def _significant(digits: Words) -> Array:
    """Return the number of digits up to the last one that is not 0."""
    used = (np.frexp(digits.astype(np.float64))[1] + 7) >> 3
    return np.where(used[2] > 0, 17, np.where(used[1] > 0, used[1] + 8, used[0])).astype(np.intp)


def _moved(text: Words, count: Array) -> Words:
    """Return texts moved by a number of bytes from 1 to 7."""
    bits = (count << 3).astype(np.uint64)
    moved: Words = text << bits
    moved[1:] |= text[:-1] >> (np.uint64(64) - bits)
    return moved


def _words(texts: list[bytes]) -> Words:
    """Return texts as columns of three words."""
    return np.frombuffer(b"".join(text.ljust(24, b"\0") for text in texts), np.uint64).reshape(-1, 3).T.copy()


def _powers(lowest: int, highest: int) -> tuple[Words, Words]:
    """Return the first 128 bits of the powers of ten with these exponents, rounded up, as upper and lower words."""
    found = []
    for exponent in range(lowest, highest + 1):
        top, bottom = 10 ** max(exponent, 0), 10 ** max(-exponent, 0)
        bits = 127 - ((exponent * 1741647) >> 19)
        found.append(-(-(top << max(bits, 0)) // (bottom << max(-bits, 0))))
    return np.array([one >> 64 for one in found], np.uint64), np.array([one & (1 << 64) - 1 for one in found], np.uint64)


_LOWEST = -21
_TENS = np.array([10**k for k in range(_DIGITS + 1)], np.uint64)
_FIRST = _words([b"\xff" * n for n in range(24)])
_POINTS = _words([b"0." + b"0" * (-1 - point) if point < 0 else b"\0" * (point + 1) + b"." for point in range(-4, 16)])
_MINUS = _words([b"-"])
_POWERS = tuple(part[::-1] for part in _powers(-1, -_LOWEST))
