"""PyTorch's names that this package does not have: the error says what is missing and what to use instead."""

from __future__ import annotations

from importlib import import_module

import pytest

import autodiff_cli as ad
from autodiff_cli.unavailable_names import missing


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        ("nn", "Module", "use a function of nn.functional, and nn.Parameter for its weights"),
        ("nn", "Linear", "use nn.functional.linear"),
        ("nn", "MSELoss", "use nn.functional.mse_loss"),
        ("nn", "BCEWithLogitsLoss", "use nn.functional.binary_cross_entropy_with_logits"),
        ("nn", "BatchNorm1d", "use nn.functional.batch_norm"),
        ("nn", "LayerNorm", "use nn.functional.layer_norm"),
        ("nn", "Conv2d", "convolutions, pooling and images are not part of autodiff"),
        ("nn", "MaxPool2d", "convolutions, pooling and images are not part of autodiff"),
        ("nn", "LSTM", "layers are not part of autodiff"),
        ("nn.functional", "conv1d", "convolutions, pooling and images are not part of autodiff"),
        ("nn.functional", "adaptive_avg_pool2d", "convolutions, pooling and images are not part of autodiff"),
        ("nn.functional", "ctc_loss", "write the recursion over the labels with logsumexp"),
        ("optim", "LBFGS", "autodiff has SGD, Adam and AdamW"),
        ("optim", "lr_scheduler", "assign group"),
        ("utils", "data", "index a tensor with the numbers of randperm"),
        ("func", "functional_call", "pass the weights as arguments of the function"),
        ("func", "stack_module_state", "pass the weights as arguments of the function"),
        ("func", "functionalize", "transforms functions as they are"),
        ("", "jit", "autodiff has tensors and autograd only"),
        ("", "load", "use numpy.save and numpy.load"),
        ("", "conv2d", "convolutions, pooling and images are not part of autodiff"),
        ("", "distributions", "sample with normal"),
        ("", "eval", "use evaluate"),
        ("", "map", "compile() makes a Program"),
    ],
)
def test_a_missing_name_says_what_is_near(module: str, name: str, hint: str) -> None:
    place = import_module(f"autodiff_cli.{module}".rstrip("."))
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


def test_losses_take_a_reduction_by_position_as_in_the_language() -> None:
    x, y = ad.tensor([1.0, 3.0]), ad.tensor([0.0, 1.0])
    assert ad.nn.functional.mse_loss(x, y, "sum").item() == ad.mse_loss(x, y, "sum").item() == 5
    with pytest.raises(ValueError, match="'size_average' is deprecated"):
        ad.nn.functional.mse_loss(x, y, size_average=False)
