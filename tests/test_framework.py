"""PyTorch's names that this package does not have: the error says what is missing and what to use instead."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import autodiff_cli as ad
from autodiff_cli.unavailable_names import missing

_, *MISSING = (Path(__file__).parent / "cases" / "missing_names.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(("module", "name", "hint"), [line.split("  ") for line in MISSING])
def test_a_missing_name_says_what_is_near(module: str, name: str, hint: str) -> None:
    place = import_module(f"autodiff_cli.{module}".removesuffix(".torch"))
    assert not hasattr(place, name)
    with pytest.raises(AttributeError) as caught:
        getattr(place, name)
    first, second = str(caught.value).split("\n")
    assert first == f"module '{place.__name__}' has no attribute '{name}'"
    assert second.startswith("  hint: ")
    assert hint in second


def test_a_name_that_does_not_exist_anywhere_has_no_hint() -> None:
    assert str(missing("autodiff_cli", "foo")) == "module 'autodiff_cli' has no attribute 'foo'"


def test_a_parameter_stays_on_the_fast_path() -> None:
    assert type(ad.nn.Parameter(ad.ones(2))) is ad.Tensor


def test_states_of_generators_are_checked() -> None:
    with pytest.raises(TypeError, match="RNG state must be a tensor that get_state"):
        ad.Generator().set_state(ad.zeros(3))
    copy = ad.Generator().manual_seed(4).clone_state()
    assert copy.initial_seed() == 4
    assert ad.rand(2, generator=copy).tolist() == ad.rand(2, generator=ad.Generator().manual_seed(4)).tolist()
    with pytest.raises(RuntimeError, match="a generator for the device 'cuda' does not exist"):
        ad.Generator("cuda")


def test_losses_refuse_deprecated_parameters() -> None:
    x, y = ad.tensor([1.0, 3.0]), ad.tensor([0.0, 1.0])
    assert ad.nn.functional.mse_loss(x, y, reduction="sum").item() == ad.mse_loss(x, y, "sum").item() == 5
    with pytest.raises(ValueError, match="'size_average' is deprecated"):
        ad.nn.functional.mse_loss(x, y, size_average=False)
    with pytest.raises(ValueError, match="'size_average' is deprecated"):  # the third parameter in PyTorch
        ad.nn.functional.mse_loss(x, y, "sum")
