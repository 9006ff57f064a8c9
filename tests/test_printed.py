"""The comparison of printed texts forgives rounding, and nothing else."""

from __future__ import annotations

import pytest

from tests.pasted import alike
from tests.printed import agrees


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('"share": 1.5170984465537287e-05', '"share": 1.5170984465537286e-05'),
        ("x 0.886819   4.8e-15", "x 0.886819   8.9e-16"),
        ("3.141592653589793", "3.1415926535897936"),
    ],
)
def test_rounding_agrees(one: str, other: str) -> None:
    assert agrees(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.6", "0.7"),
        ("0.60000001", "0.6"),
        ("x 1e-300", "x 1.2345e-300"),
        ("1.5170984465537287e-05", "1.5170984465637286e-05"),
        ("1.0  2.0", "1.0 2.0"),
        ("x1", "x2"),
        ("4.8e-15", "4.8e-12"),
        ("-3.141592653589793", "3.141592653589793"),
    ],
)
def test_anything_else_does_not_agree(one: str, other: str) -> None:
    assert not agrees(one, other)


def test_a_unit_in_the_fourth_decimal_is_alike() -> None:
    assert alike("tensor([0.5022, 2.4350])", "tensor([0.5022, 2.4349])")
    for other in ("tensor([0.5022, 2.4348])", "tensor([0.5022, 2.435])", "tensor([-0.5022, 2.4350])", "tensor([0.5022 2.4350])"):
        assert not alike("tensor([0.5022, 2.4350])", other)
