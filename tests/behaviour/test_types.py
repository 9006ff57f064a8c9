"""Types of elements: the objects, casts, promotion, and what each function that creates a tensor makes."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from tests.behaviour import torch

FLOATS = ["float64", "float32", "float16"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8"]
TYPES = [*FLOATS, *INTEGERS, "bool"]


@pytest.fixture(params=["float32", "float64"], autouse=True)
def default_type(request):
    """Every test runs with both default types."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, request.param))
    yield getattr(torch, request.param)
    torch.set_default_dtype(before)


@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_one_object(name):
    kind = getattr(torch, name)
    assert torch.zeros(2, dtype=kind).dtype is kind
    assert repr(kind) == str(kind) == f"torch.{name}"
    assert isinstance(kind, torch.dtype)
    assert kind.itemsize == np.dtype(name).itemsize
    assert kind.is_floating_point == (name in FLOATS)
    assert kind.is_signed == (name not in ("uint8", "bool"))
    assert not kind.is_complex
    assert copy.deepcopy(kind) is kind
    assert pickle.loads(pickle.dumps(kind)) is kind
    assert {kind: 1}[kind] == 1


def test_types_have_second_names():
    assert torch.float is torch.float32
    assert torch.double is torch.float64
    assert torch.half is torch.float16
    assert torch.long is torch.int64
    assert torch.int is torch.int32
    assert torch.short is torch.int16


def test_the_default_type(default_type):
    assert torch.get_default_dtype() is default_type
    assert torch.tensor(1.5).dtype is torch.tensor([1.5]).dtype is default_type
    with pytest.raises(TypeError, match=r"only floating-point types are supported as the default type"):
        torch.set_default_dtype(torch.int32)


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", TYPES)
def test_casts_give_the_type_that_was_asked_for(source, target):
    x = torch.tensor([0, 1, 3]).to(getattr(torch, source))
    wanted = getattr(torch, target)
    y = x.to(wanted)
    assert y.dtype is wanted
    assert x.to(dtype=wanted).dtype is x.type(wanted).dtype is x.to(y).dtype is x.type_as(y).dtype is wanted
    assert torch.as_tensor(x, dtype=wanted).dtype is wanted
    assert x.dtype is getattr(torch, source)
    assert (y is x) == (source == target)
    assert y.tolist() == ([0, 1, 1] if "bool" in (source, target) else [0, 1, 3])


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("double", "float64"),
        ("float", "float32"),
        ("half", "float16"),
        ("long", "int64"),
        ("int", "int32"),
        ("short", "int16"),
        ("char", "int8"),
        ("byte", "uint8"),
        ("bool", "bool"),
    ],
)
def test_the_methods_of_the_casts(method, name):
    for x in (torch.tensor([1, 2]), torch.tensor([1.0, 2.0]), torch.tensor([1, 2]) > 1):
        assert getattr(x, method)().dtype is getattr(torch, name)


def test_a_large_integer_keeps_its_digits():
    assert torch.tensor(16777217).double().item() == 16777217.0
    assert torch.tensor(16777217).float().item() == 16777216.0


def test_gradients_have_the_type_of_the_leaf():
    x = torch.tensor([1.0, 2.0], dtype=torch.float32, requires_grad=True)
    y = x.double()
    assert y.requires_grad
    assert y.dtype is torch.float64
    assert y.grad_fn.name() == "ToCopyBackward0"
    (y * y).sum().backward()
    assert x.grad.dtype is torch.float32
    assert x.grad.tolist() == [2.0, 4.0]
    assert x.to(torch.float32) is x
    assert not x.long().requires_grad
    assert not x.bool().requires_grad


def test_gradients_through_a_mixed_product():
    a = torch.tensor([1.0, 2.0], dtype=torch.float32, requires_grad=True)
    b = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    (a * b).sum().backward()
    assert (a.grad.dtype, b.grad.dtype) == (torch.float32, torch.float64)
    da, db = torch.autograd.grad((a * b).sum(), (a, b), create_graph=True)
    assert (da.dtype, db.dtype) == (torch.float32, torch.float64)


def test_names_of_tensor_types():
    assert torch.zeros(1, dtype=torch.float64).type() == "torch.DoubleTensor"
    assert torch.zeros(1, dtype=torch.int32).type() == "torch.IntTensor"
    assert torch.zeros(1).bool().type() == "torch.BoolTensor"
    assert torch.zeros(1).type("torch.FloatTensor").dtype is torch.float32
    with pytest.raises(ValueError, match="invalid type: 'foo'"):
        torch.zeros(1).type("foo")


def test_types_are_shown():
    assert "dtype" not in repr(torch.tensor([1, 2]))
    assert repr(torch.tensor([1, 2], dtype=torch.int32)) == "tensor([1, 2], dtype=torch.int32)"
    assert repr(torch.tensor([1, 2], dtype=torch.uint8)) == "tensor([1, 2], dtype=torch.uint8)"
    assert repr(torch.tensor([True])) == "tensor([True])"


def test_numpy_has_the_same_types():
    for name in TYPES:
        x = torch.ones(2, dtype=getattr(torch, name))
        assert x.numpy().dtype == np.dtype(name)
        assert torch.from_numpy(x.numpy()).dtype is x.dtype
    assert torch.tensor(np.ones(2, np.int32)).dtype is torch.int32
    assert torch.as_tensor(np.ones(2, np.float32)).dtype is torch.float32


def test_what_functions_create(default_type):
    for make in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn):
        assert make(2).dtype is default_type
        assert make(2, dtype=torch.float32).dtype is torch.float32
        assert make(2, dtype=torch.float64, device="cpu", requires_grad=True).requires_grad
    assert torch.eye(2).dtype is torch.linspace(0, 1, 3).dtype is default_type
    assert torch.full((2,), 3).dtype is torch.int64
    assert torch.full((2,), True).dtype is torch.bool
    assert torch.full((2,), 3.0).dtype is default_type
    assert torch.full((2,), 3, dtype=torch.float32).dtype is torch.float32
    assert torch.arange(3).dtype is torch.arange(0, 3, 1).dtype is torch.int64
    assert torch.arange(3.0).dtype is torch.arange(0, 1, 0.5).dtype is default_type
    assert torch.arange(3, dtype=torch.int32).dtype is torch.int32
    assert torch.tensor([1, 2.5]).dtype is default_type
    assert torch.tensor([True, False]).dtype is torch.bool
    assert torch.tensor([]).dtype is default_type
    half = torch.ones(2, dtype=torch.float16)
    for like in (torch.zeros_like, torch.ones_like, torch.empty_like, torch.rand_like, torch.randn_like):
        assert like(half).dtype is torch.float16
        assert like(half, dtype=torch.float32, requires_grad=True).requires_grad
    assert torch.full_like(half, 2).dtype is half.new_tensor([1, 2]).dtype is half.new_zeros(2, 3).dtype is torch.float16


def test_integers_cannot_require_grad():
    for make in (lambda: torch.zeros(2, dtype=torch.int64, requires_grad=True), lambda: torch.arange(3, requires_grad=True)):
        with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
            make()
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        torch.arange(3).requires_grad_()


@pytest.mark.parametrize(("start", "end", "steps"), [(-10, 10, 7), (0, 10, 4), (10, -10, 8), (0, 5, 1), (-3, 4, 5)])
def test_linspace_rounds_integers_toward_zero(start, end, steps):
    expected = {
        (-10, 10, 7): [-10, -6, -3, 0, 3, 6, 10],
        (0, 10, 4): [0, 3, 6, 10],
        (10, -10, 8): [10, 7, 4, 1, -1, -4, -7, -10],
        (0, 5, 1): [0],
        (-3, 4, 5): [-3, -1, 0, 2, 4],
    }
    found = torch.linspace(start, end, steps, dtype=torch.int64)
    assert found.dtype is torch.int64
    assert found.tolist() == expected[start, end, steps]


def test_the_class_of_tensors_creates_them(default_type):
    assert torch.Tensor(2).shape == (2,)
    assert torch.Tensor(2, 3).shape == (2, 3)
    assert torch.Tensor().shape == (0,)
    assert torch.Tensor(torch.Size([2, 1])).shape == (2, 1)
    assert torch.Tensor([1, 2]).dtype is default_type
    assert torch.Tensor([1, 2]).tolist() == [1.0, 2.0]
    assert torch.Tensor((1, 2)).tolist() == [1.0, 2.0]
    assert torch.Tensor(np.array([1, 2])).dtype is default_type
    assert torch.Tensor([[1], [2]]).shape == (2, 1)
    ones = torch.ones(2, dtype=default_type)
    assert torch.Tensor(ones).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError):
        torch.Tensor(True)
    with pytest.raises(TypeError):
        torch.Tensor("a")


RESULTS = [
    (("int32", 2), 1, "int32"),
    (("int32", 2), 1.5, "default"),
    (("float16", 2), 1.5, "float16"),
    (("float32", 2), ("float64", None), "float32"),
    (("int32", 2), ("int64", None), "int32"),
    (("int32", 2), ("float64", None), "float64"),
    (("bool", 2), ("uint8", None), "uint8"),
    (("bool", 2), 3, "int64"),
    (("uint8", 2), ("int8", 2), "int16"),
    (("int64", 2), ("float16", 2), "float16"),
    (("float16", 2), ("float32", 2), "float32"),
    (("int8", 2), True, "int8"),
    (("uint8", None), 3, "uint8"),
]


@pytest.mark.parametrize(("first", "second", "expected"), RESULTS)
def test_promotion(first, second, expected, default_type):
    def operand(description):
        if not isinstance(description, tuple):
            return description
        name, length = description
        return torch.ones(() if length is None else (length,), dtype=getattr(torch, name))

    wanted = default_type if expected == "default" else getattr(torch, expected)
    a, b = operand(first), operand(second)
    assert torch.result_type(a, b) is torch.result_type(b, a) is wanted
    assert (a * b).dtype is (b * a).dtype is wanted
    assert (a + b).dtype is wanted


def test_results_of_integers(default_type):
    for name in [*INTEGERS, "bool"]:
        x = torch.ones(2, dtype=getattr(torch, name))
        assert x.sum().dtype is x.prod().dtype is x.cumsum(0).dtype is torch.int64
        assert x.exp().dtype is x.sqrt().dtype is (x / x).dtype is default_type
        assert abs(x.exp()[0].item() - 2.718281828459045) < 1e-6
        assert (x == 1).dtype is torch.bool


def test_questions_about_types():
    assert torch.promote_types(torch.int32, torch.float32) is torch.float32
    assert torch.promote_types(torch.uint8, torch.int8) is torch.int16
    assert torch.promote_types(torch.bool, torch.int64) is torch.int64
    assert torch.can_cast(torch.float64, torch.float32)
    assert torch.can_cast(torch.int64, torch.uint8)
    assert not torch.can_cast(torch.float32, torch.int64)
    assert not torch.can_cast(torch.int64, torch.bool)
    assert torch.is_floating_point(torch.ones(1))
    assert not torch.is_floating_point(torch.ones(1, dtype=torch.int32))
    assert torch.is_tensor(torch.ones(1))
    assert not torch.is_tensor([1.0])
    assert torch.ones(1).is_floating_point()
    assert torch.ones(1).is_signed()
    assert not torch.ones(1).is_complex()


def test_limits_of_types(default_type):
    assert torch.finfo(torch.float32).eps == 2.0**-23
    assert torch.finfo(torch.float64).eps == 2.0**-52
    assert torch.finfo(torch.float64).tiny == torch.finfo(torch.float64).smallest_normal == 2.0**-1022
    assert torch.finfo(torch.float16).max == 65504.0
    assert torch.finfo().dtype == str(default_type).removeprefix("torch.")
    assert (torch.iinfo(torch.int32).min, torch.iinfo(torch.int32).max) == (-(2**31), 2**31 - 1)
    assert torch.iinfo(torch.uint8).bits == 8
    assert "eps=1.19209e-07" in repr(torch.finfo(torch.float32))
    with pytest.raises(TypeError, match="requires a floating point input type"):
        torch.finfo(torch.int32)
    with pytest.raises(TypeError, match="requires an integer input type"):
        torch.iinfo(torch.float32)


def test_writing_in_place_keeps_the_type():
    x = torch.ones(2, dtype=torch.int32)
    with pytest.raises(RuntimeError, match=r"result type (Float|Double) can't be cast to the desired output type Int"):
        x.add_(1.5)
    x.add_(torch.ones(2, dtype=torch.int64))
    assert x.dtype is torch.int32
    x[0] = 7.9
    assert x.tolist() == [7, 2]


def test_data_of_another_type():
    x = torch.ones(2, dtype=torch.float32, requires_grad=True)
    x.sum().backward()
    with pytest.raises(RuntimeError, match="data set to a tensor that requires gradients must be floating point"):
        x.data = torch.ones(2, dtype=torch.int64)
    x.grad = None
    x.data = torch.ones(3, dtype=torch.float64)
    (x * 2).sum().backward()
    assert x.grad.dtype is torch.float64
    assert x.grad.shape == (3,)


def test_a_gradient_of_another_type_is_refused():
    x = torch.ones(2, dtype=torch.float32, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"assign a gradient with dtype 'double' to a tensor with .*dtype 'Float'"):
        x.grad = torch.ones(2, dtype=torch.float64)


def test_the_device():
    x = torch.ones(2)
    assert x.device == torch.device("cpu")
    assert repr(x.device) == "device(type='cpu')"
    assert str(x.device) == x.device.type == "cpu"
    assert x.device.index is None
    assert repr(torch.device("cuda:1")) == repr(torch.device("cuda", 1)) == "device(type='cuda', index=1)"
    assert x.cpu() is x
    assert x.to("cpu") is x
    assert x.to(x.device) is x
    assert x.to(device="cpu") is x
    assert x.to("cpu", torch.int32).dtype is torch.int32
    assert x.to(x.dtype, copy=True) is not x
    assert not x.is_cuda
    assert x.is_cpu
    assert not x.is_sparse
    assert x.get_device() == -1
    assert torch.zeros(2, device=torch.device("cpu")).device == x.device
    assert torch.tensor([1.0], device="cpu").tolist() == [1.0]
    assert not torch.cuda.is_available()


def test_words_of_linear_algebra_about_integers():
    with pytest.raises(RuntimeError, match=r"linalg\.vector_norm: Expected a floating point or complex tensor as input\. Got Long"):
        torch.linalg.vector_norm(torch.tensor([1, 2]))


def test_how_elements_are_stored() -> None:
    x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    assert x.stride() == (3, 1)
    assert x.T.stride() == (1, 3)
    assert x.stride(0) == 3
    assert (x.itemsize, x.nbytes, x.ndimension(), x.nelement(), len(x)) == (8, 48, 2, 6, 2)
    assert x.data_ptr() == x.view(6).data_ptr()
    assert x.T.is_contiguous() is False
    assert x.T.contiguous().stride() == (2, 1)
    assert x.is_same_size(torch.ones(2, 3))
    assert torch.tensor([2.0]).is_nonzero()
    assert x.size(1) == x.size(-1) == 3
    assert f"{torch.tensor(1.5):.2f}" == "1.50"
    assert [10, 20, 30][torch.tensor(1)] == 20
