"""Anomaly mode: what it warns of, what nodes store, and which forward call an error names."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.behaviour import leaf, quiet, torch


@contextmanager
def warned() -> Iterator[list[str]]:
    """Collect the texts of all warnings."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield texts
    texts += [str(each.message) for each in found]


class Fails(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise RuntimeError("the rule failed")


class FailsTwice(torch.autograd.Function):  # type: ignore[misc]
    """Its backward pass is recorded, and fails when it is differentiated."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return Fails.apply(grad)


def test_the_mode_warns_when_it_is_enabled() -> None:
    with warned() as texts, torch.autograd.detect_anomaly():
        pass
    assert texts == [
        "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging."
    ]


def test_the_switch_does_not_warn() -> None:
    with warned() as texts, torch.autograd.set_detect_anomaly(True):
        pass
    assert texts == []


def test_an_error_names_the_forward_call() -> None:
    with warned() as texts, torch.autograd.detect_anomaly():
        x = leaf(1.0)
        y = Fails.apply(x)
        with pytest.raises(RuntimeError, match="the rule failed"):
            y.backward()
    assert len(texts) == 2
    assert texts[1].startswith("Error detected in FailsBackward. Traceback of forward call that caused the error:\n")
    assert "y = Fails.apply(x)" in texts[1]
    assert "y.backward()" not in texts[1]


def test_an_error_without_a_forward_place_tells_how_to_get_one() -> None:
    y = Fails.apply(leaf(1.0))
    with warned() as texts, torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="the rule failed"):
        y.backward()
    expected = (
        "Error detected in FailsBackward. No forward pass information available. "
        "Enable detect anomaly during forward pass for more information."
    )
    assert texts[1].startswith(expected)


def test_without_the_mode_an_error_does_not_warn() -> None:
    with torch.autograd.set_detect_anomaly(True):
        y = Fails.apply(leaf(1.0))
    with warned() as texts, pytest.raises(RuntimeError, match="the rule failed"):
        y.backward()
    assert texts == []


def test_an_error_in_a_recorded_backward_pass_names_the_node_that_induced_it() -> None:
    with warned() as texts, torch.autograd.detect_anomaly():
        x = leaf(1.0)
        y = FailsTwice.apply(x)
        (first,) = torch.autograd.grad(y, [x], create_graph=True, grad_outputs=leaf(2.0))
        with pytest.raises(RuntimeError, match="the rule failed"):
            first.backward()
    before, after = texts[-2:]
    assert before.startswith("Error detected in FailsBackward. Traceback of forward call that caused the error:\n")
    induced = "Traceback of forward call that induced the previous calculation:\n"
    assert after.startswith(f"\n\nPrevious calculation was induced by FailsTwiceBackward. {induced}")
    assert "y = FailsTwice.apply(x)" in after


def test_an_inducing_node_without_a_place_says_so() -> None:
    x = leaf(1.0)
    y = FailsTwice.apply(x)
    with warned() as texts, torch.autograd.detect_anomaly():
        (first,) = torch.autograd.grad(y, [x], create_graph=True, grad_outputs=leaf(2.0))
        with pytest.raises(RuntimeError, match="the rule failed"):
            first.backward()
    assert texts[-2].startswith("Error detected in FailsBackward. Traceback of forward call that caused the error:\n")
    assert texts[-1].startswith("Error detected in FailsTwiceBackward. No forward pass information available. ")


def test_nodes_store_their_forward_call() -> None:
    with quiet(), torch.autograd.detect_anomaly():
        y = leaf(1.0).sin()
    assert list(y.grad_fn.metadata) == ["traceback_"]
    assert isinstance(y.grad_fn.metadata["traceback_"], list)
    assert "y = leaf(1.0).sin()" in y.grad_fn.metadata["traceback_"][-1]
    assert leaf(1.0).sin().grad_fn.metadata == {}


def test_nodes_of_a_recorded_pass_store_the_node_that_made_them() -> None:
    with quiet(), torch.autograd.detect_anomaly():
        x = leaf(2.0)
        y = x**3
        (first,) = torch.autograd.grad(y, [x], create_graph=True)
    assert first.grad_fn.metadata["parent_"] is y.grad_fn


def test_nan_is_an_error_that_names_the_forward_call() -> None:
    with warned() as texts, torch.autograd.detect_anomaly():
        x = leaf(0.0)
        y = x.sqrt() * 0
        with pytest.raises(RuntimeError, match=r"Function 'SqrtBackward0' returned nan values in its 0th output."):
            y.backward()
    assert texts[1].startswith("Error detected in SqrtBackward0. Traceback of forward call")
    assert "y = x.sqrt() * 0" in texts[1]


def test_without_check_nan_only_errors_are_reported() -> None:
    with warned() as texts, torch.autograd.detect_anomaly(check_nan=False):
        x = leaf(0.0)
        (x.sqrt() * 0).backward()
        y = Fails.apply(x)
        with pytest.raises(RuntimeError, match="the rule failed"):
            y.backward()
    assert torch.isnan(x.grad)
    assert len(texts) == 2


def test_the_modes_nest() -> None:
    assert not torch.is_anomaly_enabled()
    assert torch.is_anomaly_check_nan_enabled()
    with quiet(), torch.autograd.detect_anomaly():
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (True, False)
        assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (True, True)
        with torch.autograd.set_detect_anomaly(False):
            assert not torch.is_anomaly_enabled()
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()


def test_detect_anomaly_begins_with_the_block() -> None:
    with quiet():
        mode = torch.autograd.detect_anomaly()
    assert not torch.is_anomaly_enabled()
    with mode:
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()


def test_the_mode_is_not_per_thread() -> None:
    import threading

    seen = []
    with torch.autograd.set_detect_anomaly(True):
        thread = threading.Thread(target=lambda: seen.append(torch.is_anomaly_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_an_error_of_a_hook_is_attributed_to_its_node() -> None:
    def hook(grad: Any) -> None:
        raise RuntimeError("the hook failed")

    with warned() as texts, torch.autograd.detect_anomaly():
        x = leaf(1.0)
        y = x.sin()
        y.register_hook(hook)
        z = y.exp()
        with pytest.raises(RuntimeError, match="the hook failed"):
            z.backward()
    assert texts[1].startswith("Error detected in SinBackward0. ")


def test_warnings_that_are_errors_do_not_replace_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        x = leaf([1.0, 2.0])
        y = x + 1
        z = y**2
        y += 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()
    assert "Error detected in PowBackward0" in capsys.readouterr().err
