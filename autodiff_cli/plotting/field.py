"""A plot over two variables on a terminal: the value as bands of colours or shades, the gradient as arrows."""

from __future__ import annotations

import math

import numpy as np

from autodiff_cli.arrays import Floats, Indices
from autodiff_cli.plotting.layout import arrows, field_bands, path_marks, shape_of, ticks
from autodiff_cli.plotting.model import Field
from autodiff_cli.plotting.terminal import size
from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.terminal import is_colored

BLUES = (17, 18, 24, 25, 31, 32, 74, 110, 117, 153, 195)
"""The colours of bands from dark to light, in the palette of 256 colours."""
LIGHT = 74
"""The darkest colour on which arrows are black."""
SHADES = "·░▒▓█"
ARROWS = "→↗↑↖←↙↓↘"


def pages(field: Field, _: int) -> list[Text]:
    """Return the plot in the default size and without colours, as a part of the output for people."""
    return [Text(drawn(field, None, None, "never"))]


def drawn(field: Field, width: int | None, height: int | None, color: str) -> str:
    """Return the plot of a field as text for standard output."""
    colorless = not is_colored(color)
    columns, rows = size(width, height)
    y_places, y_labels = ticks(field.y[0], field.y[-1], max(3, rows // 3))
    margin = max(map(len, y_labels))
    inner = columns - margin - 2
    if height is None:  # a character is twice as high as it is wide
        rows = min(max(12, round(inner * shape_of(field) / 2) + 3), rows + 6)
    tall = rows - 3
    levels, labels = field_bands(field, len(SHADES if colorless else BLUES))
    cells = _cells(field, inner, tall, levels, colorless)
    if field.gradient is not None:
        _point(field, cells, colorless, levels)
    _path(field, cells, colorless, levels)
    left = _beside(y_places, y_labels, field.y[0], field.y[-1], tall, margin)
    lines = [f"{start}{''.join(line)}{end}" for start, line, end in zip(left, cells, ["│"] * tall, strict=True)]
    lines.append(f"{' ' * margin}└{_axis(field, inner)}┘")
    lines.append(" " * (margin + 1) + _below(field, inner))
    lines.append(" " * (margin + 1) + _key(levels, labels, inner, colorless))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _at(points: Floats, count: int) -> Indices:
    """Return the positions of the samples at the centres of ``count`` cells."""
    return np.floor((np.arange(count) + 0.5) / count * len(points)).astype(int)


def _bands(field: Field, columns: int, rows: int, levels: list[float]) -> Indices:
    """Return the number of the band in each cell, the top row first; -1 for a value that is not finite."""
    value = field.value[np.ix_(_at(field.y, rows)[::-1], _at(field.x, columns))]
    band = np.clip(np.searchsorted(levels, value, "right") - 1, 0, len(levels) - 2)
    return np.where(np.isfinite(value), band, -1)


def _cells(field: Field, columns: int, rows: int, levels: list[float], colorless: bool) -> list[list[str]]:
    if colorless:
        bands = _bands(field, columns, rows, levels)
        return [[_shade(band, levels) for band in row] for row in bands.tolist()]
    bands = _bands(field, columns, 2 * rows, levels).tolist()
    return [[_halves(a, b, levels) for a, b in zip(bands[2 * i], bands[2 * i + 1], strict=True)] for i in range(rows)]


def _shade(band: int, levels: list[float]) -> str:
    return " " if band < 0 else SHADES[round(band / max(1, len(levels) - 2) * (len(SHADES) - 1))]


def _blue(band: int, levels: list[float]) -> int:
    return BLUES[round(band / max(1, len(levels) - 2) * (len(BLUES) - 1))]


def _halves(above: int, below: int, levels: list[float]) -> str:
    """Return one character for two cells, one above the other; a cell whose value is not finite is blank."""
    if above < 0 and below < 0:
        return " "
    if below < 0:
        return f"\x1b[38;5;{_blue(above, levels)}m▀\x1b[0m"
    if above < 0:
        return f"\x1b[38;5;{_blue(below, levels)}m▄\x1b[0m"
    return f"\x1b[38;5;{_blue(above, levels)};48;5;{_blue(below, levels)}m▀\x1b[0m"


def _point(field: Field, cells: list[list[str]], colorless: bool, levels: list[float]) -> None:
    """Write the arrows of the gradient into the cells."""
    rows, columns = len(cells), len(cells[0])
    band = _bands(field, columns, rows, levels)
    for x, y, u, v in zip(*arrows(field, max(4, columns // 7), max(3, rows // 3), 2 * rows / columns), strict=True):
        row, column = _cell(field, x, y, rows, columns)
        arrow = ARROWS[round(math.atan2(v, u) / (math.pi / 4)) % 8]
        if colorless:
            for k in (column - 1, column + 1):
                if 0 <= k < columns:
                    cells[row][k] = " "
            cells[row][column] = arrow
        else:
            cells[row][column] = _on_band(arrow, int(band[row, column]), levels)


def _on_band(text: str, band: int, levels: list[float]) -> str:
    """Return a character in a colour that is legible on a band."""
    blue = _blue(max(0, band), levels)
    ink = 16 if BLUES.index(blue) >= BLUES.index(LIGHT) else 231
    return f"\x1b[38;5;{ink};48;5;{blue}m{text}\x1b[0m"


def _cell(field: Field, x: float, y: float, rows: int, columns: int) -> tuple[int, int]:
    """Return the row and the column of the cell of a point."""
    column = min(columns - 1, int((x - field.x[0]) / (field.x[-1] - field.x[0]) * columns))
    return rows - 1 - min(rows - 1, int((y - field.y[0]) / (field.y[-1] - field.y[0]) * rows)), column


def _path(field: Field, cells: list[list[str]], colorless: bool, levels: list[float]) -> None:
    """Write the points of the path into the cells."""
    rows, columns = len(cells), len(cells[0])
    band = _bands(field, columns, rows, levels)
    for point, x, y in zip(path_marks(len(field.path)), *field.path.T, strict=True):
        if field.x[0] <= x <= field.x[-1] and field.y[0] <= y <= field.y[-1]:
            row, column = _cell(field, x, y, rows, columns)
            cells[row][column] = point if colorless else _on_band(point, int(band[row, column]), levels)


def _beside(places: list[float], labels: list[str], low: float, high: float, rows: int, margin: int) -> list[str]:
    """Return the label and the axis on the left of each row."""
    lines = [" " * margin + "│"] * rows
    for place, label in zip(places, labels, strict=True):
        row = rows - 1 - min(rows - 1, int((place - low) / (high - low) * rows))
        lines[row] = label.rjust(margin) + "┤"
    return lines


def _columns(field: Field, columns: int) -> list[tuple[int, str]]:
    """Return the column and the text of each label of the horizontal axis."""
    low, high = field.x[0], field.x[-1]
    places, labels = ticks(low, high, max(3, columns // 10))
    return [(min(columns - 1, int((p - low) / (high - low) * columns)), t) for p, t in zip(places, labels, strict=True)]


def _axis(field: Field, columns: int) -> str:
    line = ["─"] * columns
    for column, _ in _columns(field, columns):
        line[column] = "┬"
    return "".join(line)


def _below(field: Field, columns: int) -> str:
    line = [" "] * (columns + 8)
    for column, label in _columns(field, columns):
        start = min(max(0, column - len(label) // 2), columns - len(label) + 1)
        line[start : start + len(label)] = label
    return "".join(line)


def _key(levels: list[float], labels: list[str], columns: int, colorless: bool) -> str:
    """Return the legend: a sample of each band, with as many limits between the bands as fit."""
    for every in range(1, len(levels) + 1):
        texts = [f" {label} " if k % every == 0 else "" for k, label in enumerate(labels)]
        if len("value") + 2 * (len(levels) - 1) + sum(map(len, texts)) <= columns:
            break
    parts = ["value", texts[0]]
    for band, text in enumerate(texts[1:]):
        parts += [_shade(band, levels) * 2 if colorless else f"\x1b[48;5;{_blue(band, levels)}m  \x1b[0m", text]
    return "".join(parts)
