"""Public functions and classes of the Python interface refuse values of wrong kinds with an error of ours."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import autodiff_cli as ad
from autodiff_cli.errors import ArgumentError, AutodiffError, DtypeError, IndexOutOfRange
from tests.fuzz.interface import drawn, outcome

X = ad.tensor([1.0, 2.0], requires_grad=True)


def test_only_our_errors_come_out() -> None:
    """About one in four of the calls; ``python -m tests.fuzz.interface`` makes all."""
    calls = drawn(1400)
    assert len({call.name for call in calls}) > 140
    found = [text for text in map(outcome, calls) if text]
    assert not found, "\n".join(found[:5])


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ad.func.grad(None), ArgumentError, "grad: 'func' must be a function, not none"),
        (lambda: ad.func.vmap(3), ArgumentError, "vmap: 'func' must be a function, not 3"),
        (lambda: ad.autograd.gradcheck("x", X), ArgumentError, "gradcheck: 'func' must be a function, not 'x'"),
        (lambda: ad.optim.SGD([X], lr="a"), ArgumentError, "SGD: 'lr' must be a number or a tensor with one element, not 'a'"),
        (lambda: ad.optim.Adam([X], betas=3), ArgumentError, "Adam: 'betas' must be a pair of numbers, not 3"),
        (lambda: ad.optim.SGD([{"p": [X]}], lr=0.1), ArgumentError, "under the key 'params'"),
        (lambda: ad.autograd.backward(3), ArgumentError, "all outputs have to be Tensors or GradientEdges, but got int"),
        (lambda: ad.autograd.grad(X.sum(), 4), AutodiffError, "all inputs have to be Tensors or GradientEdges, but got int"),
        (lambda: ad.evaluate("x", 3), ArgumentError, "evaluate: 'at' must be a dictionary of names and values"),
        (lambda: ad.compile(3), ArgumentError, "compile: 'expression' must be an expression, which is a text, not 3"),
        (lambda: ad.minimize("x**2", [1]), ArgumentError, "minimize: 'at' must be a dictionary"),
        (lambda: ad.fit("y=a*x", None), ArgumentError, "fit: 'data' must be a file name, a list of file names, or a dictionary"),
        (lambda: ad.fit("y = a*x", {"x": [1.0], "y": [2.0]}, sigma=2.0), ArgumentError, "fit: 'sigma' must be an expression"),
        (lambda: ad.graph(3), ArgumentError, "graph: 'expression' must be"),
        (lambda: ad.Lesson(1), ArgumentError, "Lesson takes a program, an explanation or a plot, not int"),
        (lambda: X.type_as(3), ArgumentError, "type_as: 'other' must be a tensor, not 3"),
        (lambda: ad.tensor(1.0).size(0), IndexOutOfRange, "Dimension specified as 0 but tensor has no dimensions"),
        (lambda: ad.tensor([[1], [2, 3]]), DtypeError, "cannot make a tensor of these values"),
    ],
)
def test_the_message_names_the_function_and_the_kind(call: Callable[[], object], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()
