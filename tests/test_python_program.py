"""Programs for PyTorch in ``autodiff run FILE.py``: they print and fail as in Python with PyTorch."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

import autodiff_cli as ad
from tests.pasted import FOLDER, Program, alike, programs, without_addresses
from tests.processes import completed
from tests.shell import streams


@pytest.mark.parametrize("program", list(programs()), ids=lambda program: program.name)
def test_a_program_prints_and_fails_as_with_pytorch(program: Program) -> None:
    with warnings.catch_warnings(record=True):
        printed, told, code = streams(f"autodiff run --python {FOLDER / program.name}.txt")
    assert alike(without_addresses(printed), program.printed), printed
    assert code == (0 if program.raised is None else 1), told
    if program.raised is not None:
        shown = [line for line in told.splitlines() if line.startswith(program.raised.partition(" ")[0])]
        # Versions of PyTorch differ in what they append about a tensor.
        assert program.raised.startswith(shown[-1].partition(": [")[0])
        assert "autodiff_cli" not in told


def run(folder: Path, text: str, options: str = "", name: str = "program.py") -> tuple[str, str, int]:
    (folder / name).write_text(text, encoding="utf-8")
    return streams(f"autodiff run {folder / name} {options}")


def test_a_program_is_main_and_has_its_arguments_and_its_folder(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("value = 7\n", encoding="utf-8")
    text = """
import sys, beside
if __name__ == "__main__":
    print(sys.argv[1:], sys.argv[0] == __file__, beside.value, sys.modules["__main__"].text)
"""
    before = sys.argv, [*sys.path], sys.modules["__main__"], {*sys.modules}, [*sys.meta_path]
    assert run(tmp_path, "text = 1\n" + text, "data.csv -- --epochs 5")[:2] == ("['data.csv', '--epochs', '5'] True 7 1\n", "")
    sys.modules.pop("beside")
    assert before == (sys.argv, sys.path, sys.modules["__main__"], {*sys.modules}, sys.meta_path)


IMPORTS = """
import torch, autodiff_cli
import torch.nn.functional as F
import torch.autograd.forward_ad as fwAD
from torch import nn
from torch.func import vmap
from torch.utils.checkpoint import checkpoint
assert torch is autodiff_cli and F is torch.nn.functional and F.relu is nn.functional.relu
print(torch.tensor(1 / 3).dtype, type(torch.ones(1)), type(torch.ones(1).shape), type(torch.float32))
"""


def test_torch_is_this_package_with_the_default_type_of_pytorch(tmp_path: Path) -> None:
    shown = "<class 'torch.Tensor'> <class 'torch.Size'> <class 'torch.dtype'>\n"
    assert run(tmp_path, IMPORTS) == (f"torch.float32 {shown}", "", 0)
    assert ad.get_default_dtype() is ad.float64
    assert run(tmp_path, IMPORTS, "--dtype float64") == (f"torch.float64 {shown}", "", 0)
    assert "torch" not in sys.modules
    assert ad.get_default_dtype() is ad.float64
    assert str(type(ad.ones(1))) == "<class 'autodiff_cli.autograd.tensor.Tensor'>"
    assert run(tmp_path, "import autodiff_cli as ad; print(ad.get_default_dtype())")[0] == "torch.float64\n"


def test_standard_input_is_a_python_program_on_request() -> None:
    text = "import sys, torch\nwhile True:\n    print(torch.tensor(5.0), sys.argv)\n    break\n"
    assert streams("autodiff run --python - a b", text) == ("tensor(5.) ['-', 'a', 'b']\n", "", 0)
    assert streams("autodiff run -", text)[2] == 2


@pytest.mark.parametrize(
    ("end", "told", "code"),
    [
        ("sys.exit()", "", 0),
        ("sys.exit(7)", "", 7),
        ("sys.exit('no data')", "no data\n", 1),
        ("raise KeyError('x')", "KeyError: 'x'\n", 1),
        ("assert False", "AssertionError\n", 1),
        ("x = = 1", "SyntaxError: invalid syntax\n", 1),
        ("raise KeyboardInterrupt", "", 130),
    ],
)
def test_exit_codes_are_those_of_python(end: str, told: str, code: int, tmp_path: Path) -> None:
    printed, shown, found = run(tmp_path, f"import sys\nprint('begun')\n{end}\n")
    assert (printed, found) == ("" if end.startswith("x = =") else "begun\n", code)
    assert shown.endswith(told)
    assert bool(shown) == bool(told)


FAILS = """\
import torch

def outer(x):
    def hook(g):
        raise ValueError("in the hook")
    x.register_hook(hook)
    try:
        (2 * x).backward()
    except ValueError as error:
        raise RuntimeError("outside") from error

outer(torch.tensor(1.0, requires_grad=True))
"""


def test_a_traceback_has_the_frames_of_the_user_only(tmp_path: Path) -> None:
    told = run(tmp_path, FAILS)[1]
    assert [line.split(", line ")[1] for line in told.splitlines() if ", line " in line] == [
        "8, in outer",
        "5, in hook",
        "12, in <module>",
        "10, in outer",
    ]
    assert told.splitlines()[-1] == "RuntimeError: outside"


def test_errors_have_the_names_of_python(tmp_path: Path) -> None:
    text = """
import torch
for wrong in (lambda: torch.ones(2) @ torch.ones(3), lambda: torch.ones(2)[5], lambda: torch.tensor(1, requires_grad=True)):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__)
"""
    assert run(tmp_path, text)[0] == "RuntimeError\nIndexError\nRuntimeError\n"


def test_warnings_are_those_of_python(tmp_path: Path) -> None:
    text = "import torch, warnings\nx = torch.ones(1, requires_grad=True)\n(x * 2).grad\nwarnings.warn('old', DeprecationWarning)\n"
    with warnings.catch_warnings(record=True) as told:
        run(tmp_path, text)
    assert [(one.filename, one.lineno) for one in told] == [(str(tmp_path / "program.py"), 3)]
    assert "The .grad attribute of a Tensor that is not a leaf" in str(told[0].message)


@pytest.mark.parametrize("option", ["--at x=1", "--const x=1", "--json", "-q", "--format csv", "--precision 3"])
def test_options_of_the_small_language_are_refused(option: str, tmp_path: Path) -> None:
    printed, told, code = run(tmp_path, "print(1)\n", option)
    assert (printed, code) == ("", 2)
    assert "has no meaning for a Python program" in told
    assert "after --" in told


def test_other_mistakes_on_the_command_line(tmp_path: Path) -> None:
    assert "write the options of a Python program after --" in run(tmp_path, "print(1)\n", "--epochs 5")[1]
    assert "only a Python program, FILE.py, has arguments" in run(tmp_path, "x = 1\n", "data.csv", "program.ad")[1]
    assert streams(f"autodiff run {tmp_path / 'none.py'}")[2] == 5
    assert "unknown dtype" in run(tmp_path, "import torch\n", "--dtype int64")[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import torch\ntorch.nn.Linear(2, 1)", "use a function of nn.functional"),
        ("import torch.nn as nn\nclass Net(nn.Module):\n    pass", "use a function of nn.functional, and nn.Parameter for"),
        ("import torch\ntorch.set_default_device('cuda')", "tensors are on the device 'cpu'"),
        ("import torch.utils.data", "index a tensor with the numbers of randperm(n)"),
        ("from torch.utils.data import DataLoader", "index a tensor with the numbers of randperm(n)"),
        ("import torch.distributions", "write the log-density with lgamma"),
    ],
)
def test_what_is_missing_leads_on(text: str, words: str, tmp_path: Path) -> None:
    printed, told, code = run(tmp_path, text)
    assert (printed, code) == ("", 1)
    assert f"hint: {words}" in told or words in told


def test_the_device_cpu_is_accepted(tmp_path: Path) -> None:
    text = """
import torch
device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
print(f"Using {device} device")
torch.set_default_device(device)
torch.set_default_device(torch.device("cpu"))
print(torch.get_default_device(), torch.ones(2, device=device).to(device), torch.cuda.is_available())
"""
    assert run(tmp_path, text) == ("Using cpu device\ncpu tensor([1., 1.]) False\n", "", 0)


def test_a_process_ends_as_in_python(tmp_path: Path) -> None:
    text = """import atexit, threading
atexit.register(print, 'last')
threading.Thread(target=lambda: print('thread ', end='')).start()
print('main ', end='')
raise SystemExit(3)
"""
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    done = completed([sys.executable, "-m", "autodiff_cli", "run", str(tmp_path / "program.py")])
    assert (sorted(done.stdout.split()), done.stdout.split()[-1], done.returncode) == (["last", "main", "thread"], "last", 3)
