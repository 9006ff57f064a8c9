"""The names of ``import autodiff_cli as ad``: the documented ones, for programs and for type checkers alike."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from importlib import import_module

import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from tests.shell import ROOT

PUBLIC = {name for name in dir(ad) if not name.startswith("__")}
BESIDE_FUNCTIONS = {
    *("Tensor", "Variable", "Size", "tensor", "as_tensor", "from_numpy", "is_tensor", "manual_seed"),
    *("empty", "rand", "randn", "empty_like", "full_like", "rand_like", "randn_like"),
    *("Generator", "default_generator", "seed", "initial_seed", "get_rng_state", "set_rng_state"),
    *("bernoulli", "normal", "randint", "randperm"),
    *("dtype", "bool", "int64", "long", "float32", "float", "float64", "double", "get_default_dtype", "set_default_dtype"),
    *("float16", "half", "int32", "int", "int16", "short", "int8", "uint8", "finfo", "iinfo", "device", "asarray"),
    *("can_cast", "promote_types", "result_type", "is_floating_point", "cuda"),
    *("enable_grad", "set_grad_enabled", "is_grad_enabled", "inference_mode", "is_inference_mode_enabled"),
    *("is_inference", "is_anomaly_enabled", "is_anomaly_check_nan_enabled", "set_anomaly_enabled"),
    *("get_default_device", "set_default_device", "accelerator"),
    *("e", "inf", "nan", "pi"),
    *("evaluate", "Result", "compile", "Program", "gradcheck", "Report", "unlimited", "vmap"),
    *("fit", "minimize", "propagate", "root", "plot", "explain", "export", "graph", "Lesson"),
    *("grad", "jacobian", "hessian", "jvp", "vjp", "hvp", "taylor"),
    *("autograd", "errors", "func", "linalg", "nn", "optim", "special", "utils"),
}


def test_dir_has_the_public_names_only() -> None:
    assert PUBLIC - set(FUNCTIONS) == BESIDE_FUNCTIONS


def test_every_function_is_there_by_each_of_its_names() -> None:
    assert set(FUNCTIONS) <= PUBLIC
    for name, function in FUNCTIONS.items():
        assert getattr(ad, name) is getattr(ad, function.name)


def test_the_pages_of_functions_have_the_functions_that_are_public() -> None:
    page = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "functions").glob("*.md"))
    listed = set(re.findall(r"^## `(\w+)\(", page, re.MULTILINE))
    listed |= {name for also in re.findall(r"Aliases: ((?:`\w+`(?:, )?)+)", page) for name in re.findall(r"\w+", also)}
    assert listed == set(FUNCTIONS) & PUBLIC


def _starred(name: str) -> Iterable[str]:
    module = import_module(name)
    return getattr(module, "__all__", [each for each in vars(module) if each[0] != "_"])


def test_type_checkers_know_each_of_them() -> None:
    tree = ast.parse((ROOT / "autodiff_cli" / "public_names.py").read_text(encoding="utf-8"))
    known = {"autograd", "errors", "func", "linalg", "nn", "optim", "special", "utils"}
    for node in [part for one in tree.body for part in (one.body if isinstance(one, ast.If) else [one])]:
        if isinstance(node, ast.ImportFrom):
            star = node.names[0].name == "*"
            known |= set(_starred(str(node.module))) if star else {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            known |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    assert {name for name in known if not name.startswith("_")} == PUBLIC


@pytest.mark.parametrize("name", ["annotations", "import_module", "install_all", "sum_to", "math"])
def test_what_modules_need_themselves_is_not_public(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'autodiff_cli' has no attribute '{name}'"):
        getattr(ad, name)
