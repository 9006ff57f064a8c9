"""Exported JavaScript, run by Node.js."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.processes import completed

NODE = shutil.which("node") or shutil.which("nodejs")
needs_node = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
_MAIN = """
import {{writeFileSync}} from "node:fs";

const inf = Infinity, nan = NaN, points = {points};
const numbers = [];
for (let i = 0; i < points.length; i++) {{
    const {{f}} = await import(`./${{i}}.mjs`);
    for (const at of points[i]) {{
        const {{value, grad, hessian}} = f(...at);
        for (const one of [value, ...grad, ...hessian.flat()]) {{
            if (typeof one !== "number") throw new TypeError(`${{one}} is not a number`);
            numbers.push(one);
        }}
    }}
}}
writeFileSync("numbers", new Float64Array(numbers));
"""


def computed(sources: Sequence[str], points: Sequence[Sequence[Sequence[float]]]) -> list[Any]:
    """Call exported functions ``f`` of order 2.

    Args:
        sources: the modules.
        points: the arguments of the calls, for each module.

    Returns:
        an array for each module, with a row of the value, the gradient and the Hessian for each call.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i, source in enumerate(sources):
            (folder / f"{i}.mjs").write_text(source, "utf-8")
        (folder / "main.mjs").write_text(_MAIN.format(points=[[list(map(float, at)) for at in ats] for ats in points]), "utf-8")
        run = completed([NODE, "main.mjs"], cwd=folder)
        assert run.returncode == 0, run.stderr
        numbers = np.fromfile(folder / "numbers")
    found = []
    for ats in points:
        count = len(ats[0])
        rows, numbers = np.split(numbers, [len(ats) * (1 + count + count**2)])
        found.append(rows.reshape(len(ats), -1))
    assert not numbers.size
    return found
