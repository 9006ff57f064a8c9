"""Options that save typing or show more: their results are equal to those of the long way, or to a known matrix."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.shell import run


def test_numbers_of_a_jacobian_are_row_by_row() -> None:
    """The Jacobian of ``A @ v + y*w`` is ``A`` beside the column ``w``."""
    drawn = np.random.default_rng(3).integers(-9, 9, (4, 3))
    w = np.array([5.0, 6.0, 7.0, 8.0])
    printed = run(f'autodiff jacobian "A @ v + y*w" --at "v=[1, 2, 3],y=2" --const "A={drawn.tolist()},w={w.tolist()}" -q')
    assert [float(line) for line in printed.split()] == np.column_stack([drawn, w]).ravel().tolist()


def test_numbers_of_an_empty_jacobian_are_none() -> None:
    assert run('autodiff jacobian "zeros(0)*x*v" --at "x=1,v=[1]" -q') == ""
    assert run('autodiff jacobian "x*[1, 2]" --at "x=3,v=zeros(0)" -q --quiet-notes') == "1.0\n2.0\n"


@pytest.mark.parametrize("shape", [(2, 3), (13, 4), (40,), (2, 3, 4), (12, 12)])
def test_full_shows_every_element(shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape), dtype=float).reshape(shape)
    printed = run(f'autodiff grad "sum(A**2)/2" --at "A={values.tolist()}" --full')
    assert json.loads(re.sub(r"^.*?(?=\[)", "", printed, flags=re.DOTALL)) == values.tolist()


def test_a_table_of_tensors_is_complete_with_full() -> None:
    chain = "; ".join(["y = x", *["y = y + 1"] * 99, "y"])
    short, full = (run(f'autodiff eval "{chain}" --at x=1{option}') for option in ("", " --full"))
    assert len(full.splitlines()) - len(short.splitlines()) == 100 - 60 - 1
    assert "more" in short
    assert "more" not in full


def test_matrices_up_to_twelve_rows_and_columns_are_shown() -> None:
    assert run('autodiff grad "sum(A)" --at "A=ones(12, 12)"').count("[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]") == 12
    assert "(13 x 12)" in run('autodiff grad "sum(A)" --at "A=ones(13, 12)"')


@pytest.mark.parametrize(("suffix", "target"), [(".py", "python"), (".c", "c"), (".tex", "latex"), (".C", "c")])
def test_the_suffix_selects_the_language(suffix: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / f"f{suffix}"
    assert run(f'autodiff export "log(x**3)" -o {path}') == ""
    assert path.read_text() == run(f'autodiff export "log(x**3)" --to {target}')


def test_the_vector_of_vjp_has_two_names() -> None:
    printed = {run(f'autodiff vjp "[x*y, x + y]" --at x=2,y=3 {name} "[1, 10]" -q') for name in ("--vector", "--gradient")}
    assert printed == {"13.0\n12.0\n"}


def test_order_0_is_the_value_alone() -> None:
    assert run('autodiff eval "[x**2, x]" --at x=3 --order 0 -q') == "9.0\n3.0\n"
    assert json.loads(run('autodiff eval "x**2" --at x=3 --order 0 --verify --json'))["verified"]["value"] == 16.0
    assert "order 0 is the value alone" in run('autodiff eval "x**2" --at x=3 --order 0 --backward 2 --retain-graph')
