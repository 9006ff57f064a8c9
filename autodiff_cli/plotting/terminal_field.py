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
    y_ticks = ticks(field.y[0], field.y[-1], max(3, rows // 3))
    margin = max(map(len, y_ticks[1])) + 1  # the labels and the frame
    inner = columns - margin - 1
    rows = min(max(12, round(inner * height_over_width(field) / 2) + 4), rows + 6)  # a character is twice as high as it is wide
    _plotext, figure = empty_figure(columns, rows - 1, (field.x[0], field.x[-1]), (field.y[0], field.y[-1]), y_ticks)
    frame = figure_lines(figure, True)
    levels, labels = value_bands(*value_range(field), len(BAND_SHADES if colorless else BLUES))
    bands = _band_numbers(field, inner, rows - 4, levels)  # without the frame, the labels and the legend
    texts = _cell_texts(field, bands, colorless)
    lines = frame[:1]
    for line, row_texts, row_bands in zip(frame[1:], texts, bands.tolist(), strict=False):
        cells = [_styled_cell(text, band, levels, colorless) for text, band in zip(row_texts, row_bands, strict=True)]
        lines.append(f"{line[:margin]}{''.join(cells)}{line[margin + inner :]}")
    lines += frame[len(lines) :]
    lines.append(" " * margin + _legend(levels, labels, inner, colorless))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _band_numbers(field: Field, columns: int, rows: int, levels: list[float]) -> Indices:
    """Return the number of the band at the centre of each cell, the top row first; -1 for a value that is not finite."""
    row = np.floor((np.arange(rows) + 0.5) / rows * len(field.y)).astype(int)  # the samples at the centres of the cells
    column = np.floor((np.arange(columns) + 0.5) / columns * len(field.x)).astype(int)
    value = field.value[np.ix_(row[::-1], column)]
    band = np.clip(np.searchsorted(levels, value, "right") - 1, 0, len(levels) - 2)  # band k is between levels k and k + 1
    return np.where(np.isfinite(value), band, -1)


def _cell_texts(field: Field, bands: Indices, colorless: bool) -> list[list[str]]:
    """Return the arrow of the gradient, the point of the path or an empty text in each cell, the top row first."""
    rows, columns = bands.shape
    texts = [[""] * columns for _ in range(rows)]
    if field.gradient is not None:
        aspect = 2 * rows / columns  # a character is twice as high as it is wide
        arrows = gradient_arrows(field, max(4, columns // 7), max(3, rows // 3), aspect)
        for x, y, u, v in zip(*arrows, strict=True):
            row, column = _cell_of_point(field, x, y, rows, columns)
            if colorless:  # the cells beside an arrow are blank, so that it stands out from the shades
                for beside in range(max(0, column - 1), min(columns, column + 2)):
                    texts[row][beside] = " "
            texts[row][column] = ARROWS[round(math.atan2(v, u) / (math.pi / 4)) % 8]
    for point, x, y in zip(path_marks(len(field.path)), *field.path.T, strict=True):
        if field.x[0] <= x <= field.x[-1] and field.y[0] <= y <= field.y[-1]:
            row, column = _cell_of_point(field, x, y, rows, columns)
            texts[row][column] = point
    return texts


def _cell_of_point(field: Field, x: float, y: float, rows: int, columns: int) -> tuple[int, int]:
    """Return the row, from the top, and the column of the cell that contains a point."""
    column = min(columns - 1, int((x - field.x[0]) / (field.x[-1] - field.x[0]) * columns))
    row_from_bottom = min(rows - 1, int((y - field.y[0]) / (field.y[-1] - field.y[0]) * rows))
    return rows - 1 - row_from_bottom, column


def _styled_cell(text: str, band: int, levels: list[float], colorless: bool) -> str:
    """Return a character on a band (-1 for none): a colour behind it, or a shade in place of it if it is empty."""
    if band < 0:
        return text or " "
    share = band / max(1, len(levels) - 2)  # from 0 for the lowest band to 1 for the highest
    if colorless:
        return text or BAND_SHADES[round(share * (len(BAND_SHADES) - 1))]
    blue = BLUES[round(share * (len(BLUES) - 1))]
    ink = 16 if blue >= LIGHT else 231  # black or white
    return f"\x1b[38;5;{ink};48;5;{blue}m{text or ' '}\x1b[0m"


def _legend(levels: list[float], labels: list[str], columns: int, colorless: bool) -> str:
    """Return the legend: a sample of each band, with as many limits between the bands as fit."""
    for every in range(1, len(levels) + 1):  # every how many limits are shown
        texts = [f" {label} " if k % every == 0 else "" for k, label in enumerate(labels)]
        if len("value") + 2 * (len(levels) - 1) + sum(map(len, texts)) <= columns:
            break
    legend = f"value{texts[0]}"
    for band, text in enumerate(texts[1:]):
        legend += 2 * _styled_cell("", band, levels, colorless) + text
    return legend
