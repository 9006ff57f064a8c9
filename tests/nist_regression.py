"""NIST's reference data sets for nonlinear regression: data, starting values and certified values.

Source: NIST/ITL Statistical Reference Datasets, nonlinear least squares regression; the files in ``data/nist`` are unchanged.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parent / "data" / "nist"

_LANCZOS = "y = b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)"
_GAUSS = "y = b1*exp(-b2*x) + b3*exp(-(x - b4)**2/b5**2) + b6*exp(-(x - b7)**2/b8**2)"
_CHWIRUT = "y = exp(-b1*x)/(b2 + b3*x)"
_GROWTH = "y = b1*(1 - exp(-b2*x))"
MODELS = {
    "Misra1a": _GROWTH,
    "Chwirut2": _CHWIRUT,
    "Chwirut1": _CHWIRUT,
    "Lanczos3": _LANCZOS,
    "Gauss1": _GAUSS,
    "Gauss2": _GAUSS,
    "DanWood": "y = b1*x**b2",
    "Misra1b": "y = b1*(1 - (1 + b2*x/2)**(-2))",
    "Kirby2": "y = (b1 + b2*x + b3*x**2)/(1 + b4*x + b5*x**2)",
    "Hahn1": "y = (b1 + b2*x + b3*x**2 + b4*x**3)/(1 + b5*x + b6*x**2 + b7*x**3)",
    "Nelson": "log(y) = b1 - b2*x1*exp(-b3*x2)",
    "MGH17": "y = b1 + b2*exp(-x*b4) + b3*exp(-x*b5)",
    "Lanczos1": _LANCZOS,
    "Lanczos2": _LANCZOS,
    "Gauss3": _GAUSS,
    "Misra1c": "y = b1*(1 - (1 + 2*b2*x)**(-.5))",
    "Misra1d": "y = b1*b2*x*((1 + b2*x)**(-1))",
    "Roszman1": "y = b1 - b2*x - atan(b3/(x - b4))/pi",
    "ENSO": (
        "y = b1 + b2*cos(2*pi*x/12) + b3*sin(2*pi*x/12) "
        "+ b5*cos(2*pi*x/b4) + b6*sin(2*pi*x/b4) + b8*cos(2*pi*x/b7) + b9*sin(2*pi*x/b7)"
    ),
    "MGH09": "y = b1*(x**2 + x*b2)/(x**2 + x*b3 + b4)",
    "Thurber": "y = (b1 + b2*x + b3*x**2 + b4*x**3)/(1 + b5*x + b6*x**2 + b7*x**3)",
    "BoxBOD": _GROWTH,
    "Rat42": "y = b1/(1 + exp(b2 - b3*x))",
    "MGH10": "y = b1*exp(b2/(x + b3))",
    "Eckerle4": "y = (b1/b2)*exp(-0.5*((x - b3)/b2)**2)",
    "Rat43": "y = b1/((1 + exp(b2 - b3*x))**(1/b4))",
    "Bennett5": "y = b1*(b2 + x)**(-1/b3)",
}
"""The model of each data set, in the order of NIST's list: lower, average and higher level of difficulty."""


class Regression(NamedTuple):
    """A data set.

    Attributes:
        name: the name of the data set.
        model: the model.
        columns: the data, by name.
        starts: the two starting values of each parameter.
        values, errors: the certified value and standard deviation of each parameter.
        rss: the certified residual sum of squares.
        std: the certified residual standard deviation.
    """

    name: str
    model: str
    columns: dict[str, NDArray[np.float64]]
    starts: tuple[dict[str, float], dict[str, float]]
    values: dict[str, float]
    errors: dict[str, float]
    rss: float
    std: float


def regression(name: str) -> Regression:
    """Read a data set."""
    text = (FOLDER / f"{name}.dat").read_text(encoding="ascii")
    number = r"([-+.\dEe]+)"
    numbers = r"\s+".join([number] * 4)
    table = re.findall(rf"^\s*(b\d+) =\s+{numbers}", text, re.M)
    names, rows = [row[0] for row in table], [list(map(float, row[1:])) for row in table]
    first, second, values, errors = (dict(zip(names, column, strict=True)) for column in zip(*rows, strict=True))
    lines = text.splitlines()[59:]  # the data begin at line 61, after their header
    head = lines[0].split()[1:]
    data = np.array([list(map(float, line.split())) for line in lines[1:] if line.strip()])
    rss, std = (
        float(line.split()[-1])
        for label in ("Residual Sum of Squares:", "Residual Standard Deviation:")
        for line in text.splitlines()
        if line.startswith(label)
    )
    columns = {name: np.ascontiguousarray(column) for name, column in zip(head, data.T, strict=True)}
    return Regression(name, MODELS[name], columns, (first, second), values, errors, rss, std)


def at_second_start(name: str) -> tuple[str, dict[str, float]]:
    """Return the expression of a model, and a point: a row of the data with the second starting values."""
    data = regression(name)
    row = {column: float(values[len(values) // 2]) for column, values in data.columns.items() if column != "y"}
    return data.model.partition(" = ")[2], row | data.starts[1]


def right_digits(value: float, certified: float) -> float:
    """Return the log relative error: the number of right digits, at most 11, as certified values have 11 digits."""
    error = abs(value - certified) / abs(certified)
    return 11.0 if error == 0 else min(max(-float(np.log10(error)), 0.0), 11.0)
