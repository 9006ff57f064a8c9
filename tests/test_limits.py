"""Limits: large requests are refused before memory or time is used, and can be allowed."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli import limits
from autodiff_cli.errors import LimitError
from autodiff_cli.script.interpreter import Interpreter
from tests.shell import run

_, *HUNGRY = (Path(__file__).parent / "cases" / "limits.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("case", HUNGRY, ids=[case[:40] for case in HUNGRY])
def test_what_is_too_large_is_refused_before_memory_is_taken(case: str) -> None:
    command, message = case.split(" refused: ")
    tracemalloc.start()
    try:
        printed = run(f"autodiff {command}")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert message in printed
    assert printed.endswith("[exit code 3]\n")
    assert peak < 2**29 + 2**26, "of which the output that is not printed takes most"


@pytest.mark.exhaustive
def test_the_bytes_of_all_tensors_count(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    monkeypatch.setattr(limits, "MOST_BYTES", limits.held() + 10 * 2**20)
    assert "need 0.0 GiB at the same time" in run('autodiff eval "ones(2**19) + ones(2**19) + ones(2**19)"')
    assert run('autodiff eval "sum(ones(2**19) + ones(2**18 * 2))" -q --no-limits') == "1048576.0\n"
    # Backward needs a gradient for each tensor.
    assert "at the same time" in run('autodiff grad "sum(x**2)" --at "x=ones(2**18)" -q')
    assert run('autodiff eval "sum(x**2)" --at "x=ones(2**18)" --no-grad --quiet-notes -q') == "262144.0\n"


def test_memory_counts_until_it_is_freed() -> None:
    gc.collect()
    before = limits.held()
    result = ad.evaluate("x + 1", {"x": np.ones(2**18)}, no_grad=True)
    assert limits.held() == before + 2 * 8 * 2**18  # the variable and the sum
    del result
    gc.collect()
    assert limits.held() == before


@pytest.mark.parametrize("expression", ["x.repeat(2).sum()", "cumsum(sin(x), 0).sum()", "sin(x).reshape(2, -1).sum(dim=0)"])
def test_notes_look_at_a_sample_of_a_large_tensor(expression: str) -> None:
    evaluate = ad.evaluate(expression, {"x": np.ones(2**18)}, no_grad=True)
    tracemalloc.start()
    try:
        assert evaluate.notes == []
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()


@pytest.mark.exhaustive
def test_many_small_tensors_count(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    monkeypatch.setattr(limits, "MOST_BYTES", limits.held() + 2 * 2**20)
    loop = "x = ones(1000).requires_grad_()\nfor i in range({}):\n    {}\n"
    list(Interpreter({}).run(loop.format(1000, "y = x*x")))  # freed in each turn
    gc.collect()
    list(Interpreter({}).run(loop.format(200, "x = x*x")))
    gc.collect()
    with pytest.raises(LimitError, match="at the same time"):
        list(Interpreter({}).run(loop.format(1000, "x = x*x")))


def test_views_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    monkeypatch.setattr(limits, "MOST_BYTES", limits.held() + 3 * 2**20)
    assert run('autodiff eval "sum(expand(x, [2**20]))" --at x=1 --no-grad --quiet-notes -q') == "1048576.0\n"


def test_difference_of_all_orders_ends() -> None:
    assert run('autodiff jvp "diff(x, 1e18)" --at "x=[1, 2, 3]" --vector "x=[1, 2, 3]" -q') == ""
    assert ad.diff(ad.tensor([1.0, 4.0, 9.0]), 2).tolist() == [2.0]
    assert ad.diff(ad.tensor([1.0, 4.0, 9.0]), 5).tolist() == []


def test_repeats_are_those_of_numpy() -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(ad.repeat_interleave(ad.tensor(x), [2, 0, 1], 1).numpy(), np.repeat(x, [2, 0, 1], 1))
    assert np.array_equal(ad.repeat_interleave(ad.tensor(x), 3).numpy(), np.repeat(x, 3))


def test_programs_that_grow_like_a_power_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autodiff_cli.evaluation.evaluator.Evaluator.most_operations", 1000)
    doubling = "; ".join(["f0(x) = x + x", *(f"f{i}(x) = f{i - 1}(x) + f{i - 1}(x)" for i in range(1, 12)), "f11(x)"])
    with pytest.raises(LimitError, match="more than 1,000 operations"):
        ad.evaluate(doubling, {"x": 1.0})


def test_limits_are_lifted_inside_the_block_only() -> None:
    with ad.unlimited():
        assert limits.lifted()
        limits.check_count(2, 1, "{} of {}")
    assert not limits.lifted()
    with pytest.raises(LimitError, match="2 of 1"):
        limits.check_count(2, 1, "{} of {}")


@pytest.mark.parametrize("style", ["-q", "--json", "--format csv", "--format plain"])
@pytest.mark.parametrize("command", ["eval x", "grad sum(x)", "vjp sum(x)"])
def test_output_is_counted_in_every_format(command: str, style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_PRINTED", 50)
    name, expression = command.split()
    gradient = ' --gradient "ones(100)"' if name == "eval" else ""
    assert "numbers, more than the limit of 50" in run(f'autodiff {name} "{expression}" --at "x=ones(100)" {style}{gradient}')


def test_tables_show_tensors_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_PRINTED", 50)
    assert "[1, 1, 1, ..., 1] (100)" in run('autodiff grad "sum(x)" --at "x=ones(100)"')
    assert "[1, 1, 1, ..., 1] (100)" in run('autodiff eval "sum(x)" --at "x=ones(100)"')


def test_rows_of_nothing_count() -> None:
    assert "a tensor of 1,000,000,000 elements" in run('autodiff eval "zeros(1000000000, 0)" --json')
    assert "the output has 100,000,000 numbers" in run('autodiff eval "zeros(100000000, 0)" --json')
    assert "[] (100000 x 0)" in run('autodiff eval "zeros(100000, 0)"')


def test_positions_that_take_too_many_elements_are_refused() -> None:
    said = run("autodiff eval 'a=arange(30000); sum(ones(1, 1)[0*reshape(a,[30000,1]), 0*reshape(a,[1,30000])])*x' --at x=1")
    assert "a tensor of 900,000,000 elements is more than the limit of" in said
    assert run('autodiff eval "ones(2, 3, 4)[[0, 1], :, [2, 3]]" -q --quiet-notes') == "1.0\n" * 6
    assert "12" in run('autodiff eval "sum(x[[true, false], [0, 0, 1], :])" --at "x=ones(2, 2, 4)"')
