"""The commands as functions of Python: their JSON objects, their errors and what they show are those of the command line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.cli.usage_errors import option
from autodiff_cli.command_result import CommandResult
from autodiff_cli.errors import ArgumentError, AutodiffError, GraphError
from tests.shell import ROOT, streams

Call = Callable[[], CommandResult]
DECAY = str(ROOT / "docs" / "data" / "decay.csv")

CALLS: list[tuple[Call, str]] = [
    (lambda: ad.evaluate("log(x**3)", at={"x": 5}, order=2), "eval 'log(x**3)' --at x=5 --order 2"),
    (lambda: ad.grad("x*y", at={"x": 1, "y": 2}), "grad 'x*y' --at x=1,y=2"),
    (
        lambda: ad.grad("[x*y, x]", at={"x": 1, "y": "2*pi"}, gradient=[1, 2], wrt="y"),
        "grad '[x*y, x]' -a x=1,y=2*pi --gradient [1,2] --wrt y",
    ),
    (
        lambda: ad.grad("k*x**3", {"x": 2}, {"k": 3}, order=3, dtype="float32"),
        "grad 'k*x**3' -a x=2 --const k=3 --order 3 --dtype float32",
    ),
    (lambda: ad.grad("sqrt(x)", {"x": 0.0}), "grad 'sqrt(x)' --at x=0"),
    (lambda: ad.grad("sin(x)*x", {"x": 0.5}, digits=30), "grad 'sin(x)*x' --at x=0.5 --digits 30"),
    (lambda: ad.diff("log(x**3)"), "diff 'log(x**3)'"),
    (lambda: ad.diff("a*x**2 + b*x", order=2, wrt=["x"]), "diff 'a*x**2 + b*x' --order 2 --wrt x"),
    (lambda: ad.diff("sin(x)*exp(y)", at={"x": "pi/4", "y": 1}), "diff 'sin(x)*exp(y)' --at x=pi/4,y=1"),
    (lambda: ad.diff("c[0]*x**2 + c[1]", const={"c": [2, 3]}), "diff 'c[0]*x**2 + c[1]' --const 'c=[2, 3]'"),
    (lambda: ad.jacobian("[x*y, x + y]", at={"x": 2, "y": 3}), "jacobian '[x*y, x + y]' --at x=2,y=3"),
    (
        lambda: ad.jacobian("A @ v", {"v": [1, 2]}, {"A": [[1, 2], [3, 4]]}),
        "jacobian 'A @ v' --at 'v=[1, 2]' --const 'A=[[1, 2], [3, 4]]'",
    ),
    (lambda: ad.hessian("x**2*y", {"x": 2, "y": 3}, verify=True), "hessian 'x**2*y' --at x=2,y=3 --verify"),
    (lambda: ad.hessian("sum(x**3)*y", {"x": [1, 2], "y": 1}, wrt=["x"]), "hessian 'sum(x**3)*y' --at 'x=[1, 2],y=1' --wrt x"),
    (lambda: ad.jvp("x*y", {"x": 2, "y": 3}, vector={"x": 1}), "jvp 'x*y' --at x=2,y=3 --vector x=1"),
    (lambda: ad.vjp("sin(v)", {"v": [1, 2]}, vector=[1, 10]), "vjp 'sin(v)' --at 'v=[1, 2]' --vector '[1, 10]'"),
    (lambda: ad.hvp("x**2*y", {"x": 2, "y": 3}, vector={"x": 1}), "hvp 'x**2*y' --at x=2,y=3 --vector x=1"),
    (lambda: ad.taylor("exp(x)", {"x": 0}), "taylor 'exp(x)' --at x=0"),
    (lambda: ad.taylor("sin(k*x)", {"x": 0.5, "k": 2}, order=3, wrt="x"), "taylor 'sin(k*x)' --at x=0.5,k=2 --wrt x --order 3"),
    (lambda: ad.explain("log(x**3)", at={"x": 5}), "explain 'log(x**3)' --at x=5"),
    (lambda: ad.explain("sum(x**2)", {"x": [1, 2]}), "explain 'sum(x**2)' --at 'x=[1, 2]'"),
    (lambda: ad.graph("3*x"), "graph '3*x'"),
    (
        lambda: ad.graph("y = x**3; log(y)*y", at={"x": 5}, backward=True, depth=2),
        "graph 'y = x**3; log(y)*y' --at x=5 --backward --depth 2",
    ),
    (lambda: ad.graph("f(a) = a**2; f(x) + f(x)", depth="all"), "graph 'f(a) = a**2; f(x) + f(x)' --depth all"),
    (lambda: ad.plot("abs(x - 1)", over={"x": "0:2:5"}), "plot 'abs(x - 1)' --over x=0:2:5"),
    (lambda: ad.plot("sin(a*x)", {"x": "0:2*pi:7"}, {"a": 3}, order=2), "plot 'sin(a*x)' --over x=0:2*pi:7 --at a=3 --order 2"),
    (lambda: ad.plot("x**2*y", {"x": "0:1:3", "y": "1:2:3"}), "plot 'x**2*y' --over x=0:1:3,y=1:2:3"),
    (lambda: ad.plot("exp(x), 1/x", ["x=0.1:1:4"], log="y"), "plot 'exp(x), 1/x' --over x=0.1:1:4 --log y"),
    (lambda: ad.gradcheck("log(x**3)", {"x": 5}, claims=["x=3/x"]), "gradcheck 'log(x**3)' --at x=5 --claim x=3/x"),
    (lambda: ad.gradcheck("x**2", [{"x": 1}, {"x": 2}], order=2), "gradcheck 'x**2' --at x=1,2 --order 2"),
    (
        lambda: ad.root("x**2 = a", {"x": 1}, const={"a": 2}, sensitivity=["a"]),
        "root 'x**2 = a' --at x=1 --const a=2 --sensitivity a",
    ),
    (lambda: ad.minimize("(1 - x)**2 + y**2", {"x": 0, "y": 1}), "minimize '(1 - x)**2 + y**2' --at x=0,y=1"),
    (
        lambda: ad.propagate("4*pi**2*L/T**2", {"L": "0.994(1)", "T": "2.001(2)"}),
        "propagate '4*pi**2*L/T**2' --at 'L=0.994(1),T=2.001(2)'",
    ),
    (
        lambda: ad.fit("counts = n0*exp(-k*t)", DECAY, at={"n0": 1000, "k": 0.1}),
        f"fit 'counts = n0*exp(-k*t)' {DECAY} --at n0=1000,k=0.1",
    ),
]
IDS = [command for _, command in CALLS]


def as_json(value: Any) -> Any:
    """A JSON object as the command line writes it: numbers that are not finite are strings."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


@pytest.mark.parametrize(("call", "command"), CALLS, ids=IDS)
def test_the_dictionary_is_the_json_object_of_the_command(call: Call, command: str) -> None:
    printed, err, code = streams(f"autodiff {command} --json")
    assert code == 0, err
    assert as_json(call().to_dict()) == json.loads(printed)


@pytest.mark.parametrize(("call", "command"), CALLS, ids=IDS)
def test_a_shell_shows_what_the_command_prints(call: Call, command: str) -> None:
    result = call()
    printed, err, _ = streams(f"autodiff {command} --color never")
    notes = "".join(f"note: {each['message']}\n" for each in result.notes)
    assert f"{result!r}\n" == f"{printed}{notes}"
    assert [line for line in err.splitlines() if line.startswith("note:")] == notes.splitlines()


@pytest.mark.extras
@pytest.mark.parametrize("call", [call for call, _ in CALLS], ids=IDS)
def test_a_notebook_shows_every_result(call: Call) -> None:
    from IPython.core.formatters import DisplayFormatter

    result = call()
    shown, _ = DisplayFormatter().format(result)
    assert shown["text/plain"] == repr(result)
    picture = result.command in ("graph", "plot")
    assert shown["image/svg+xml" if picture else "text/html"].lstrip().startswith("<")
    assert ("text/html" in shown) is not picture


WRONG: list[tuple[Call, str]] = [
    (lambda: ad.grad("x*y"), "grad 'x*y'"),
    (lambda: ad.grad("x*y", {"x": 1}), "grad 'x*y' --at x=1"),
    (lambda: ad.grad("3"), "grad 3"),
    (lambda: ad.grad("lgo(x)", {"x": 1}), "grad 'lgo(x)' --at x=1"),
    (lambda: ad.grad("[x, x]", {"x": 1}), "grad '[x, x]' --at x=1"),
    (lambda: ad.grad("x", {"x": 1}, dtype="float16"), "grad x --at x=1 --dtype float16"),
    (lambda: ad.grad("1/x", {"x": 0.0}, strict=True), "grad 1/x --at x=0 --strict"),
    (lambda: ad.diff("x*y", at={"x": 1}), "diff 'x*y' --at x=1"),
    (lambda: ad.diff("x", order=0), "diff x --order 0"),
    (lambda: ad.jacobian("x"), "jacobian x"),
    (lambda: ad.hessian("[x, x]", {"y": 1}), "hessian '[x, x]' --at y=1"),
    (lambda: ad.jvp("x", {"x": 1}), "jvp x --at x=1"),
    (lambda: ad.vjp("x", {"x": 1}, vector=[1, 2]), "vjp x --at x=1 --vector [1,2]"),
    (lambda: ad.taylor("x*y", {"x": 1, "y": 1}), "taylor 'x*y' --at x=1,y=1"),
    (lambda: ad.explain("x"), "explain x"),
    (lambda: ad.graph("x", depth=0), "graph x --depth 0"),
    (lambda: ad.graph("x", backward=True), "graph x --backward"),
    (lambda: ad.plot("x", {"x": (1, 0)}), "plot x --over x=1.0:0.0"),
    (lambda: ad.plot("x*y", {"x": (0, 1)}), "plot 'x*y' --over x=0:1"),
    (lambda: ad.plot("x", {"x": (1, 2)}, log="y", y_range=(-1, 1)), "plot x --over x=1:2 --log y --y-range=-1:1"),
    (lambda: ad.gradcheck("x", {"x": 1}, order=3), "gradcheck x --at x=1 --order 3"),
]


@pytest.mark.parametrize(("call", "command"), WRONG, ids=[command for _, command in WRONG])
def test_an_error_is_that_of_the_command(call: Call, command: str) -> None:
    with pytest.raises(AutodiffError) as caught:
        call()
    _, err, code = streams(f"autodiff {command} --json")
    found = json.loads(err)["error"]
    error = caught.value
    assert (error.kind, error.exit_code, error.span and list(error.span)) == (found["kind"], code, found["span"])
    assert "--" not in f"{error.message} {error.hint}"
    error.translate(option)
    assert (error.message, error.hint) == (found["message"], found["hint"])


FUNCTIONS = (ad.grad, ad.diff, ad.jacobian, ad.hessian, ad.jvp, ad.vjp, ad.hvp, ad.taylor, ad.explain, ad.graph, ad.plot)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_wrong_arguments_are_refused_by_name(function: Callable[..., CommandResult]) -> None:
    name = function.__name__
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'foo'"):
        function("x", foo=1)
    with pytest.raises(ArgumentError, match=f"^{name}: 'at' must be a dictionary of names and values.*, not 'x=1'"):
        function("x", at="x=1")
    with pytest.raises(AutodiffError, match=rf"^{name}(: 'expression' must be an expression|\(\): argument 'input')"):
        function({"x": 1})


@pytest.mark.parametrize(
    ("keyword", "hint"),
    [("x", "give values of variables as at={'x': 1.0}"), ("odrer", "did you mean 'order'?"), ("claim", "did you mean 'claims'?")],
)
def test_an_unknown_keyword_leads_on(keyword: str, hint: str) -> None:
    function = ad.gradcheck if keyword == "claim" else ad.grad
    with pytest.raises(ArgumentError, match="got an unexpected keyword argument") as caught:
        function("x**2", **{keyword: 2})
    assert caught.value.hint == hint


def test_a_tensor_is_pointed_to_the_function_of_pytorch() -> None:
    x = ad.tensor([1.0, 4.0, 9.0], requires_grad=True)
    for call in (ad.grad, ad.jacobian, ad.hessian, ad.gradcheck):
        with pytest.raises(ArgumentError, match=r"an expression, which is a text, not a .* tensor") as caught:
            call(x, {})
        assert "autograd." in str(caught.value.hint)
    assert ad.diff(x).tolist() == [3.0, 5.0]
    assert ad.diff(x, n=2).tolist() == [2.0]
    assert ad.diff(np.array([1.0, 2.0])).tolist() == [1.0]


def test_one_name_is_not_a_list_of_letters() -> None:
    at = {"alpha": 2.0, "b": 3.0}
    assert ad.grad("alpha*b", at, wrt="alpha").grad == {"alpha": 3.0}
    assert ad.diff("alpha*b", wrt="alpha").texts == {("alpha",): "b"}
    assert ad.jacobian("alpha*b", at, wrt="alpha").derivatives == {"alpha": 3.0}


def test_the_graph_of_a_tensor_looks_as_asked() -> None:
    x = ad.tensor(5.0, requires_grad=True)
    y = ad.log(x**3)
    assert "PowBackward0" in repr(ad.graph(y))
    assert "prefers-color-scheme" in ad.graph("x**2")._repr_svg_()


def test_a_plot_looks_as_asked() -> None:
    pytest.importorskip("matplotlib")
    plain = ad.plot("sin(x)", {"x": (0, 6)}, order=0)
    looks = ad.plot("sin(x)", {"x": (0, 6)}, order=0, y_range=(-4, 4), theme="dark")
    assert 'width="600pt"' in plain._repr_svg_()
    assert "#58a6ff" in looks._repr_svg_()
    assert repr(looks) != repr(plain)
    assert " 4┤" in repr(looks)
    assert looks.to_dict() == plain.to_dict()
    with pytest.raises(ArgumentError, match=r"^plot: 'theme' must be 'light' or 'dark', not 'blue'"):
        ad.plot("sin(x)", theme="blue")
    with pytest.raises(ArgumentError, match=r"^plot: 'over' must be a dictionary of names and values.* or texts.*, not \[1, 2\]"):
        ad.plot("sin(x)", over=[1, 2])


def test_a_tensor_without_a_graph_is_not_drawn() -> None:
    with pytest.raises(GraphError, match="does not have a graph, because it does not require grad") as caught:
        ad.graph(ad.tensor(1.0))
    assert "requires_grad=True" in caught.value.hint
