"""Draws the pictures of the pages: the table of the README as in a terminal of 82 columns, two plots, a fit, and a graph both ways.

``python docs/images/make.py`` writes them beside this file.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from autodiff_cli.cli.main import main
from autodiff_cli.derivatives.evaluate import evaluate
from autodiff_cli.plotting.fit_picture import fit_picture
from autodiff_cli.plotting.picture import drawn
from autodiff_cli.plotting.plot import plot
from autodiff_cli.report.result_tables import result_parts
from autodiff_cli.report.terminal import drawn as drawn_text
from autodiff_cli.solvers.fitting.fit import fit
from autodiff_cli.solvers.fitting.predictions import drawing

HERE = Path(__file__).parent
COMMAND = 'autodiff eval "y = x**3; z = log(y); z" --at x=5 --retain-grad y --order 2'
LIGHT = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [(36, 41, 47), (207, 34, 46), (17, 99, 41), (77, 45, 0), (9, 105, 218), (130, 80, 223), (27, 124, 131), (110, 119, 129)],
    [(87, 96, 106), (164, 14, 38), (26, 127, 55), (99, 60, 1), (33, 139, 255), (164, 117, 249), (49, 146, 170), (140, 149, 159)],
)
DARK = TerminalTheme(
    (13, 17, 23),
    (230, 237, 243),
    [
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
    [
        (110, 118, 129),
        (255, 161, 152),
        (86, 211, 100),
        (227, 179, 65),
        (121, 192, 255),
        (210, 168, 255),
        (86, 212, 221),
        (255, 255, 255),
    ],
)


def draw(theme: TerminalTheme) -> str:
    result = evaluate("y = x**3; z = log(y); z", {"x": 5}, order=2, retain_grad=["y"])
    console = Console(width=82, record=True, force_terminal=True, color_system="truecolor", file=io.StringIO())
    console.print(Text(f"$ {COMMAND}", "bold"))
    console.print(Text.from_ansi(drawn_text(result_parts(result), "always")))
    svg = console.export_svg(title="autodiff", theme=theme, unique_id="autodiff")
    # Whoever looks at the picture has a font for code: none is fetched.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace")


GRAPH = "y = x**3; z = log(y); z*q + sin(x)"


def graphs() -> None:
    """One graph, forward and backward."""
    for name, switches in (("graph", []), ("graph-backward", ["--backward"])):
        file = HERE / f"{name}.svg"
        main(["graph", GRAPH, "--at", "x=5,q=2", "-o", str(file), *switches])


def lesson() -> None:
    """The lesson of the page on explain."""
    main(["explain", "log(x**3) + sqrt(x**2)", "--at", "x=5", "-o", str(HERE.parent / "lesson.html")])


PLOTS = (("plot-curves", "sin(3*x)/x + abs(x - 1)", "x=-4:4"), ("plot-field", "sin(x)*cos(y)", "x=-pi:pi:61,y=-2:2:61"))

DATA = HERE.parent / "data" / "decay.csv"


def fit_drawing(theme: str) -> bytes:
    """Return the picture of a fit."""
    return fit_picture(drawing(fit("counts = n0*exp(-k*t)", str(DATA), at={"n0": 1000, "k": 0.1})), "svg", theme)


if __name__ == "__main__":
    graphs()
    lesson()
    for name, theme in (("light", LIGHT), ("dark", DARK)):
        (HERE / f"table-{name}.svg").write_text(draw(theme), encoding="utf-8")
        (HERE / f"fit-{name}.svg").write_bytes(fit_drawing(name))
        for file, expression, over in PLOTS:
            picture = drawn(plot(expression, [over], theme=name), "svg")
            (HERE / f"{file}-{name}.svg").write_bytes(picture)
