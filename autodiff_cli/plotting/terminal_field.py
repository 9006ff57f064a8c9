"""A plot over two variables on a terminal: the value as bands of colours or shades, the gradient as arrows."""

from __future__ import annotations

import math

import numpy as np

from autodiff_cli.arrays import Indices
from autodiff_cli.plotting.layout import gradient_arrows, height_over_width, path_marks, ticks, value_bands, value_range
from autodiff_cli.plotting.model import Field
from autodiff_cli.plotting.terminal_curves import empty_figure, figure_lines, plot_size
from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.terminal import is_colored

BLUES = (17, 18, 24, 25, 31, 32, 74, 110, 117, 153, 195)
"""The colours of bands from dark to light, in the palette of 256 colours."""
LIGHT = 74
"""The darkest colour on which arrows are black."""
BAND_SHADES = "·░▒▓█"
ARROWS = "→↗↑↖←↙↓↘"


def pages(field: Field, _: int) -> list[Text]:
    """Return the plot without colours, as a part of the output for people."""
    return [Text(drawn(field, "never"))]


def drawn(field: Field, color: str) -> str:
    """Return the plot of a field as text for standard output: a frame of plotext, filled with cells, above a legend."""
    colorless = not is_colored(color)
    columns, rows = plot_size()
    up = ticks(field.y[0], field.y[-1], max(3, rows // 3))
    margin = max(map(len, up[1])) + 1  # the labels and the frame
    inner = columns - margin - 1
    rows = min(max(12, round(inner * height_over_width(field) / 2) + 4), rows + 6)  # a character is twice as high as it is wide
    _, figure = empty_figure(columns, rows - 1, (field.x[0], field.x[-1]), (field.y[0], field.y[-1]), y_ticks=up)
    frame = figure_lines(figure, True)
    levels, labels = value_bands(*value_range(field), len(BAND_SHADES if colorless else BLUES))
    numbers = _band_numbers(field, inner, rows - 4, levels)  # without the frame, the labels and the legend
    texts = _cell_texts(field, numbers, colorless)
    lines = frame[:1]
    for line, row, band in zip(frame[1:], texts, numbers.tolist(), strict=False):
        cells = [_styled_cell(text, number, levels, colorless) for text, number in zip(row, band, strict=True)]
        lines.append(f"{line[:margin]}{''.join(cells)}{line[margin + inner :]}")
    lines += frame[len(lines) :]
    lines.append(" " * margin + _legend(levels, labels, inner, colorless))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _band_numbers(field: Field, columns: int, rows: int, levels: list[float]) -> Indices:
    """Return the number of the band in each cell, the top row first; -1 for a value that is not finite."""
    sizes = (rows, len(field.y)), (columns, len(field.x))
    row, column = (np.floor((np.arange(cells) + 0.5) / cells * points).astype(int) for cells, points in sizes)
    value = field.value[np.ix_(row[::-1], column)]
    band = np.clip(np.searchsorted(levels, value, "right") - 1, 0, len(levels) - 2)
    return np.where(np.isfinite(value), band, -1)


def _cell_texts(field: Field, bands: Indices, colorless: bool) -> list[list[str]]:
    """Return the arrow of the gradient, the point of the path or an empty text in each cell, the top row first."""
    rows, columns = bands.shape
    texts = [[""] * columns for _ in range(rows)]
    if field.gradient is not None:
        for x, y, u, v in zip(*gradient_arrows(field, max(4, columns // 7), max(3, rows // 3), 2 * rows / columns), strict=True):
            row, column = _cell_of_point(field, x, y, rows, columns)
            if colorless:  # the cells beside an arrow are blank, so that it stands out from the shades
                texts[row][max(0, column - 1) : column + 2] = [" "] * (min(columns, column + 2) - max(0, column - 1))
            texts[row][column] = ARROWS[round(math.atan2(v, u) / (math.pi / 4)) % 8]
    for point, x, y in zip(path_marks(len(field.path)), *field.path.T, strict=True):
        if field.x[0] <= x <= field.x[-1] and field.y[0] <= y <= field.y[-1]:
            row, column = _cell_of_point(field, x, y, rows, columns)
            texts[row][column] = point
    return texts


def _cell_of_point(field: Field, x: float, y: float, rows: int, columns: int) -> tuple[int, int]:
    """Return the row, from the top, and the column of the cell that contains a point."""
    column = min(columns - 1, int((x - field.x[0]) / (field.x[-1] - field.x[0]) * columns))
    return rows - 1 - min(rows - 1, int((y - field.y[0]) / (field.y[-1] - field.y[0]) * rows)), column


def _styled_cell(text: str, band: int, levels: list[float], colorless: bool) -> str:
    """Return a character on a band, which is a shade if the character is empty or a colour; -1 stands for no band."""
    if band < 0:
        return text or " "
    share = band / max(1, len(levels) - 2)
    if colorless:
        return text or BAND_SHADES[round(share * (len(BAND_SHADES) - 1))]
    blue = BLUES[round(share * (len(BLUES) - 1))]
    ink = 16 if blue >= LIGHT else 231  # black or white
    return f"\x1b[38;5;{ink};48;5;{blue}m{text or ' '}\x1b[0m"


def _legend(levels: list[float], labels: list[str], columns: int, colorless: bool) -> str:
    """Return the legend: a sample of each band, with as many limits between the bands as fit."""
    for every in range(1, len(levels) + 1):
        texts = [f" {label} " if k % every == 0 else "" for k, label in enumerate(labels)]
        if len("value") + 2 * (len(levels) - 1) + sum(map(len, texts)) <= columns:
            break
    samples = [2 * _styled_cell("", band, levels, colorless) for band in range(len(levels) - 1)]
    return "".join(["value", texts[0], *(part for pair in zip(samples, texts[1:], strict=True) for part in pair)])
