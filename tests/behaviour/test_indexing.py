"""Every form of an index, read and written, with its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.behaviour import shape, torch

pytestmark = pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")

ALL = slice(None)
FORMS: dict[str, Any] = {
    "whole": 1,
    "last": -1,
    "pair": (1, 2),
    "slice": slice(1, 4),
    "stepped": slice(0, 5, 2),
    "none": (slice(4, 1), ALL),
    "new": (None, ..., None),
    "dots": (..., 0),
    "dots twice": (..., ...),
    "list": [0, 1],
    "negative list": [-1, -2],
    "empty list": [],
    "tuple of lists": ([0, 1], [1, 2]),
    "list of lists": [[0, 4], [2, 2]],
    "list of tuples": [(0, 1), (1, 2)],
    "list of lists of lists": [[[0, 1], [1, 0]]],
    "list with a slice": [ALL, [0, 2]],
    "list of slices": [slice(0, 2), slice(1, 3)],
    "list with a new dimension": [None, [0, 1]],
    "list with dots": [..., 0],
    "list of masks": [[True, False, True, False, True], [0]],
    "mask as a list": [True, False, True, False, True],
    "array": np.array([0, 1]),
    "array of booleans": np.array([True, False, True, False, True]),
    "mixed": (0, [1, 2]),
    "mixed with a slice": ([0, 1], slice(1, 3)),
    "new between lists": ([0, 1], None, [1, 2]),
    "broadcast": ([[0], [1]], [0, 1]),
    "true": True,
    "false": (False, ALL),
}


def positions(form: str) -> Any:
    return {
        "tensor": torch.tensor([1, 1, 0]),
        "tensors": (torch.tensor([[0, 1], [2, 3]]), torch.tensor([0, 3])),
        "list of tensors": [torch.tensor([0, 1]), torch.tensor([1, 0])],
        "list of numbers and tensors": [0, torch.tensor(1)],
        "int32": torch.tensor([1, 2], dtype=torch.int32),
        "mask": torch.tensor([True, False, True, False, True]),
        "full mask": torch.arange(20).reshape(5, 4) % 3 == 0,
        "masks": (torch.tensor([True, False, True, False, True]), torch.tensor([True, True, False, True])),
        "slice of tensors": slice(torch.tensor(1), torch.tensor(3)),
        "whole tensor": (torch.tensor(1), ALL),
    }[form]


EXPECTED_SHAPES = {
    "whole": [4],
    "last": [4],
    "pair": [],
    "slice": [3, 4],
    "stepped": [3, 4],
    "none": [0, 4],
    "new": [1, 5, 4, 1],
    "dots": [5],
    "dots twice": [5, 4],
    "list": [2, 4],
    "negative list": [2, 4],
    "empty list": [0, 4],
    "tuple of lists": [2],
    "list of lists": [2],
    "list of tuples": [2],
    "list of lists of lists": [2, 2, 4],
    "list with a slice": [5, 2],
    "list of slices": [2, 2],
    "list with a new dimension": [1, 2, 4],
    "list with dots": [5],
    "list of masks": [3],
    "mask as a list": [3, 4],
    "array": [2, 4],
    "array of booleans": [3, 4],
    "mixed": [2],
    "mixed with a slice": [2, 2],
    "new between lists": [2, 1],
    "broadcast": [2, 2],
    "true": [1, 5, 4],
    "false": [0, 5, 4],
    "tensor": [3, 4],
    "tensors": [2, 2],
    "list of tensors": [2],
    "list of numbers and tensors": [],
    "int32": [2, 4],
    "mask": [3, 4],
    "full mask": [7],
    "masks": [3],
    "slice of tensors": [2, 4],
    "whole tensor": [4],
}


def key_of(form: str) -> Any:
    return FORMS[form] if form in FORMS else positions(form)


def matrix() -> Any:
    return torch.arange(20.0, dtype=torch.float64).reshape(5, 4)


@pytest.mark.parametrize("form", EXPECTED_SHAPES)
def test_reading(form: str) -> None:
    assert shape(matrix()[key_of(form)]) == EXPECTED_SHAPES[form]


@pytest.mark.parametrize("form", EXPECTED_SHAPES)
def test_the_gradient_of_reading_goes_where_it_was_read(form: str) -> None:
    x = matrix().requires_grad_()
    read = x[key_of(form)]
    read.sum().backward()
    assert x.grad.sum().item() == read.numel()
    found = (x.detach() * x.grad).sum().item()
    assert found == read.sum().item()


@pytest.mark.parametrize("form", EXPECTED_SHAPES)
def test_writing_changes_what_is_read(form: str) -> None:
    x = matrix()
    before = x.clone()
    x[key_of(form)] = -1.0
    assert (x[key_of(form)] == -1.0).all()
    touched = (x != before).sum().item()
    counted = torch.zeros(5, 4, dtype=torch.float64)
    counted[key_of(form)] = 1.0
    assert touched == counted.sum().item()


@pytest.mark.parametrize("form", EXPECTED_SHAPES)
def test_the_gradient_of_writing(form: str) -> None:
    x = matrix().requires_grad_()
    value = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    y = x * 1
    y[key_of(form)] = value
    (y * y).sum().backward()
    mask = torch.zeros(5, 4, dtype=torch.float64)
    mask[key_of(form)] = 1.0
    assert torch.equal(x.grad, 2 * x.detach() * (1 - mask))
    written = torch.zeros(5, 4)[key_of(form)].numel()
    assert (0.0 if value.grad is None else value.grad.item()) == 6.0 * written or form == "tensor"


def test_writing_at_a_list_of_lists_writes_two_elements() -> None:
    y = torch.zeros(5, 4)
    y[[[0, 4], [2, 2]]] = 9
    assert y.sum().item() == 18.0
    assert (y[0, 2].item(), y[4, 2].item()) == (9.0, 9.0)


def test_writing_ignores_leading_dimensions_of_length_one() -> None:
    x = torch.zeros(5, 4)
    x[[0, 1]] = torch.ones(1, 1, 2, 4)
    x[2:4] = torch.ones(1, 1, 2, 4)
    assert x.sum().item() == 16.0


def test_positions_between_slices_keep_their_place() -> None:
    x = torch.zeros(2, 3, 4)
    x[0, :, [1, 2]] = torch.arange(6.0).reshape(3, 2)
    assert x[0, 2, 2].item() == 5.0
    assert shape(x[0, :, [1, 2]]) == [3, 2]


@pytest.mark.parametrize(
    ("key", "kind", "words"),
    [
        (7, IndexError, r"index 7 is out of bounds for dimension 0 with size 5"),
        ([7], IndexError, r"index 7 is out of bounds for dimension 0 with size 5"),
        ((0, 0, 0), IndexError, r"too many indices for tensor of dimension 2"),
        (1.5, IndexError, r"only integers, slices .* are valid indices \(got float\)"),
        ({1, 2}, IndexError, r"only integers, slices .* are valid indices \(got set\)"),
        (
            ([0, 1], [0, 1, 2]),
            IndexError,
            r"indexing tensors could not be broadcast together with shapes \[2\], \[3\]",
        ),
        (
            [True, False],
            IndexError,
            r"The shape of the mask \[2\] at index 0 does not match the shape of the indexed tensor",
        ),
        (slice(0, 3, 0), ValueError, r"slice step cannot be zero"),
        (slice(None, None, -1), ValueError, r"step must be greater than zero"),
    ],
    ids=range(9),
)
def test_wrong_keys(key: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        matrix()[key]
    x = matrix()
    with pytest.raises(kind, match=words):
        x[key] = 1.0


def test_short_integers_and_numbers_are_no_positions() -> None:
    for values in (torch.tensor([1, 2], dtype=torch.int16), torch.tensor([1, 2], dtype=torch.int8), torch.tensor([1.0])):
        with pytest.raises(IndexError, match="tensors used as indices must be long, int, byte or bool tensors"):
            matrix()[values]


def test_a_value_of_the_wrong_shape() -> None:
    x = matrix()
    with pytest.raises(RuntimeError, match=r"value tensor of shape \[3\] cannot be broadcast to indexing result of shape"):
        x[[0, 1]] = torch.ones(3, dtype=torch.float64)


REDUCTIONS = ["sum", "mean", "prod", "amax", "amin", "logsumexp", "argmax", "argmin", "median", "all", "any", "std", "var"]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_take_the_keywords_of_numpy(name: str) -> None:
    x = torch.tensor([[1.0, 2.0], [4.0, 3.0]])
    x = x > 2 if name in ("all", "any") else x
    function = getattr(torch, name)
    by_dim = function(x, dim=1, keepdim=True)
    by_axis = function(x, axis=1, keepdims=True)
    first = by_dim[0] if name == "median" else by_dim
    second = by_axis[0] if name == "median" else by_axis
    assert shape(first) == shape(second) == [2, 1]
    assert torch.equal(first, second)
    assert shape(getattr(x, name)(axis=0)[0]) == ([2] if name == "median" else [])


@pytest.mark.parametrize("name", ["sum", "exp", "sqrt", "abs", "mean", "cumsum", "softmax", "sort"])
def test_the_first_argument_is_called_input(name: str) -> None:
    x = torch.tensor([1.0, 4.0])
    more = {"cumsum": {"dim": 0}, "softmax": {"dim": 0}}.get(name, {})
    found = getattr(torch, name)(input=x, **more)
    expected = getattr(torch, name)(x, **more)
    assert torch.equal(found[0] if name == "sort" else found, expected[0] if name == "sort" else expected)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "atan2", "eq", "matmul"])
def test_the_arguments_are_called_input_and_other(name: str) -> None:
    x, y = torch.tensor([1.0, 4.0]), torch.tensor([2.0, 3.0])
    second = {"pow": "exponent"}.get(name, "other")
    assert torch.equal(getattr(torch, name)(input=x, **{second: y}), getattr(torch, name)(x, y))


def test_lists_of_lengths_and_dimensions_have_names() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(torch.flip(x, dims=[1]), x.flip(1))
    assert torch.equal(torch.permute(x, dims=(1, 0)), x.T)
    assert torch.equal(torch.reshape(x, shape=(3, 2)), x.reshape(3, 2))
    assert torch.equal(torch.tile(x, dims=(2, 1)), torch.cat([x, x]))


def test_quotients_are_rounded() -> None:
    a, b = torch.tensor([7.0, -7.0]), torch.tensor([2.0, 2.0])
    assert torch.div(a, b, rounding_mode="trunc").tolist() == [3.0, -3.0]
    assert a.div(b, rounding_mode="floor").tolist() == [3.0, -4.0]
    assert torch.div(a, 2, rounding_mode=None).tolist() == [3.5, -3.5]
    assert torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc").tolist() == [3, -3]
    assert torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc").dtype is torch.int64
    a.requires_grad_()
    a.div(b, rounding_mode="trunc").sum().backward()
    assert a.grad.tolist() == [0.0, 0.0]
    with torch.no_grad():
        assert a.div_(2, rounding_mode="floor").tolist() == [3.0, -4.0]
    with pytest.raises(RuntimeError, match="rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'"):
        torch.div(a, b, rounding_mode="up")


def test_truth_along_a_dimension() -> None:
    x = torch.tensor([[1, 0], [1, 1]])
    assert x.all().item() is False
    assert x.all(1).tolist() == x.bool().all(dim=1).tolist() == [False, True]
    assert x.any(0, keepdim=True).tolist() == [[True, True]]
    assert torch.all(x, dim=(0, 1)).item() is False
    assert torch.any(torch.tensor(0.0)).item() is False
