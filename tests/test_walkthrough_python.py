"""The 32 programs of the walk-through with this package in the place of PyTorch: ``import autodiff_cli as torch``.

Each program is a generator: what it yields, by name, must show what PyTorch showed at that stage.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_cli as torch
from autodiff_cli.autograd import Function, gradcheck
from tests.functions import MyPow, WrongPow

GOLDEN = {r["id"]: r for r in json.loads((Path(__file__).parent / "golden" / "walkthrough.json").read_text())["records"]}
Stage = dict[str, Any]
Program = Callable[[dict[str, Any]], Iterator[Stage]]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


@pytest.fixture(autouse=True)
def _float32() -> Iterator[None]:
    torch.set_default_dtype(torch.float32)
    yield
    torch.set_default_dtype(torch.float64)


def x5(requires_grad: bool = True) -> Any:
    return torch.tensor(5.0, requires_grad=requires_grad)


def cube_and_log(x: Any) -> Stage:
    y = x**3
    return {"x": x, "y": y, "z": torch.log(y)}


def raises(golden: dict[str, Any], step: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError) as caught:
        step()
    assert type(caught.value).__name__ in ("GraphError", "ShapeError", "GradcheckError")
    assert str(caught.value).startswith(golden["error"]["says"].rstrip())


@program
def code01(golden: dict[str, Any]) -> Iterator[Stage]:
    yield cube_and_log(x5(False))


@program
def code02(golden: dict[str, Any]) -> Iterator[Stage]:
    z = [cube_and_log(torch.tensor(value))["z"] for value in (5.001, 5.0)]
    assert ((z[0] - z[1]) / 0.001).item() == pytest.approx(golden["finite_difference"], rel=1e-3)
    yield {}


@program
def code04(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = cube_and_log(x5())
    yield stage
    stage["z"].backward()
    yield stage


@program
def code05(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = cube_and_log(x5())
    stage["y"].retain_grad()
    stage["z"].retain_grad()
    yield stage
    stage["z"].backward()
    yield stage


@program
def code06(golden: dict[str, Any]) -> Iterator[Stage]:
    z = cube_and_log(x5())["z"]
    z.backward()
    raises(golden, z.backward)
    yield {}


@program
def code07(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = cube_and_log(x5())
    stage["z"].backward(retain_graph=True)
    yield stage
    stage["z"].backward()
    yield stage


@program
def code08(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = cube_and_log(x5())
    stage["z"].backward(retain_graph=True)
    yield stage
    stage["x"].grad.zero_()
    yield stage
    stage["z"].backward()
    yield stage


def two_paths() -> Stage:
    x = x5()
    y = x**3
    w = x**2
    return {"x": x, "y": y, "w": w, "z": torch.log(y) + torch.sqrt(w)}


@program
def code09(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = two_paths()
    yield stage
    stage["z"].backward()
    yield stage


def with_exponent(power: Callable[[Any, Any], Any] = lambda a, b: a**b) -> Stage:
    q, x = torch.tensor(3.0, requires_grad=True), x5()
    y = power(x, q)
    return {"q": q, "x": x, "y": y, "z": torch.log(y)}


@program
def code10(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = with_exponent()
    yield stage
    stage["z"].backward()
    yield stage


@program
def code11(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = with_exponent(MyPow.apply)
    yield stage
    stage["z"].backward()
    yield stage


@program
def code12(golden: dict[str, Any]) -> Iterator[Stage]:
    with torch.no_grad():
        stage = with_exponent()
    yield stage
    raises(golden, stage["z"].backward)


def scaled() -> Stage:
    x = x5()
    return {"x": x, "y": x * torch.tensor([2.0, 3.0, 5.0])}


WEIGHTS = [4.0, 7.0, 9.0]


@program
def code13(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = scaled()
    stage["z"] = stage["y"] @ torch.tensor(WEIGHTS)
    yield stage
    stage["y"].retain_grad()
    stage["z"].retain_grad()
    stage["z"].backward()
    yield stage


@program
def code14(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = scaled()
    stage["w"] = stage["y"].detach()
    stage["z"] = stage["w"] @ torch.tensor(WEIGHTS)
    yield stage
    raises(golden, stage["z"].backward)


def cut() -> Stage:
    stage = scaled()
    stage["w"] = stage["y"].detach()
    stage["w"].requires_grad_()
    stage["z"] = stage["w"] @ torch.tensor(WEIGHTS)
    return stage


@program
def code15(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = cut()
    yield stage
    stage["z"].backward()
    yield stage


@program
def code16(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = cut()
    stage["z"].backward()
    stage["y"].backward(gradient=stage["w"].grad)
    yield stage


@program
def code17(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = cube_and_log(x5())
    stage["z"].backward()
    yield {"x": stage["x"], "x.grad": stage["x"].grad}
    raises(golden, lambda: torch.autograd.grad(stage["x"].grad, stage["x"]))


@program
def code18(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = cube_and_log(x5())
    stage["z"].backward(create_graph=True)
    yield {**stage, "x.grad": stage["x"].grad}
    (second,) = torch.autograd.grad(stage["x"].grad, stage["x"])
    assert second.item() == pytest.approx(golden["second_derivative"], rel=1e-6)


@program
def code19(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = cube_and_log(x5())
    seen: list[float] = []

    def double(gradient: Any) -> Any:
        seen.append(gradient.item())
        return gradient * 2

    hook = stage["y"].register_hook(double)
    stage["z"].backward()
    hook.remove()
    assert seen == pytest.approx(golden["hook_saw"], rel=1e-7)
    yield stage


def double_inputs() -> tuple[Any, Any]:
    return (torch.tensor(5.0, dtype=torch.float64, requires_grad=True), torch.tensor(3.0, dtype=torch.float64, requires_grad=True))


@program
def code20(golden: dict[str, Any]) -> Iterator[Stage]:
    assert gradcheck(MyPow.apply, double_inputs()) is golden["gradcheck"]
    yield {}


@program
def code21(golden: dict[str, Any]) -> Iterator[Stage]:
    raises(golden, lambda: gradcheck(WrongPow.apply, double_inputs()))
    yield {}


@program
def code22(golden: dict[str, Any]) -> Iterator[Stage]:
    stage = two_paths()

    def shape(node: Any) -> Any:
        found = {"name": type(node).__name__, "next": [[shape(following), output] for following, output in node.next_functions]}
        if found["name"] == "AccumulateGrad":
            assert node.variable is stage["x"]
            found["variable"] = "x"
        return found

    assert shape(stage["z"].grad_fn) == golden["graph"]
    yield {}


@program
def tut1(golden: dict[str, Any]) -> Iterator[Stage]:
    x = torch.ones(2, 2, requires_grad=True)
    y = x + 2
    z = y * y * 3
    stage = {"x": x, "y": y, "z": z, "out": z.mean()}
    yield stage
    stage["out"].backward()
    yield stage


@program
def tut2(golden: dict[str, Any]) -> Iterator[Stage]:
    a = torch.tensor([[1.5, 2.5], [-1.0, 4.0]])
    a = (a * 3) / (a - 1)
    yield {"a": a}
    a.requires_grad_(True)
    yield {"a": a, "b": (a * a).sum()}


@program
def tut3(golden: dict[str, Any]) -> Iterator[Stage]:
    x, y = torch.ones(5, 5), torch.ones(5, 5)
    z = torch.ones(5, 5, requires_grad=True)
    a = x + y
    yield {"a": a, "b": a + z}


@program
def tut4(golden: dict[str, Any]) -> Iterator[Stage]:
    x = torch.ones(2, 2, requires_grad=True)
    y = x + 2
    y.backward(torch.ones(2, 2), retain_graph=True)
    yield {"x": x, "y": y}


@program
def tut5(golden: dict[str, Any]) -> Iterator[Stage]:
    y = torch.ones(2, 2, requires_grad=True) + 2
    raises(golden, y.backward)
    yield {}


@program
def tut6(golden: dict[str, Any]) -> Iterator[Stage]:
    given = golden["stages"][0]["tensors"]
    w = torch.tensor(given["w"]["value"], requires_grad=True)
    b = torch.tensor(given["b"]["value"], requires_grad=True)
    z = torch.matmul(torch.ones(5), w) + b
    stage = {"w": w, "b": b, "z": z, "loss": torch.nn.functional.binary_cross_entropy_with_logits(z, torch.zeros(3))}
    yield stage
    stage["loss"].backward()
    yield stage


@program
def tut7(golden: dict[str, Any]) -> Iterator[Stage]:
    inp = torch.eye(4, 5, requires_grad=True)
    out = (inp + 1).pow(2).t()
    yield {"inp": inp, "out": out}
    out.backward(torch.ones_like(out), retain_graph=True)
    yield {"inp": inp}
    out.backward(torch.ones_like(out), retain_graph=True)
    yield {"inp": inp}
    inp.grad.zero_()
    out.backward(torch.ones_like(out), retain_graph=True)
    yield {"inp": inp}


@program
def bw1(golden: dict[str, Any]) -> Iterator[Stage]:
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    y = a * b
    y.backward(inputs=[a])
    yield {"a": a, "b": b, "y": y}


@program
def bw2(golden: dict[str, Any]) -> Iterator[Stage]:
    a, b = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor([6.0, 4.0], requires_grad=True)
    q = 3 * a**3 - b**2
    q.backward(gradient=torch.tensor([1.0, 1.0]))
    yield {"a": a, "b": b, "Q": q}


@program
def bw3(golden: dict[str, Any]) -> Iterator[Stage]:
    class Exp(Function):
        @staticmethod
        def forward(ctx: Any, i: Any) -> Any:
            result = i.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (result,) = ctx.saved_tensors
            return g * result

    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    y = Exp.apply(x)
    s = y.sum()
    s.backward()
    yield {"x": x, "y": y, "s": s}


@program
def bw4(golden: dict[str, Any]) -> Iterator[Stage]:
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    y = a * 2
    raises(golden, lambda: torch.autograd.grad(y, b))
    assert torch.autograd.grad(a * 2, b, allow_unused=True) == (golden["allow_unused"],)
    yield {}


def test_every_record_has_its_program() -> None:
    assert set(PROGRAMS) == set(GOLDEN)
    assert len(PROGRAMS) == 32


@pytest.mark.parametrize("name", GOLDEN)
def test_program(name: str) -> None:
    golden = GOLDEN[name]
    stages = iter(golden["stages"])
    for shown in PROGRAMS[name](golden):
        if shown:
            expected = next(stages)["tensors"]
            for tensor in expected:
                _compare(shown[tensor], expected[tensor], f"{name}: {tensor}")
    assert next(stages, None) is None


def _compare(tensor: Any, expected: dict[str, Any], where: str) -> None:
    assert tensor.requires_grad == expected["requires_grad"], where
    assert tensor.is_leaf == expected["is_leaf"], where
    assert tensor.retains_grad == expected["retains_grad"], where
    assert (tensor.grad_fn and type(tensor.grad_fn).__name__) == expected["grad_fn"], where
    assert list(tensor.shape) == expected["shape"], where
    assert tensor.dtype == torch.float32, where
    assert np.allclose(tensor.tolist(), expected["value"], rtol=3e-7, atol=1e-7), where
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        gradient = tensor.grad
    if expected["grad"] is None:
        assert gradient is None, where
    else:
        assert np.allclose(gradient.tolist(), expected["grad"], rtol=3e-7, atol=1e-7), where
