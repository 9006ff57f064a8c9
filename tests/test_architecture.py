"""The house: who imports whom, and what no module does."""

from __future__ import annotations

import ast
import functools
import sys
from pathlib import Path

from tests.processes import completed
from tests.shell import ROOT

PACKAGE = ROOT / "autodiff_cli"
FLOORS = {
    **dict.fromkeys(("errors", "limits", "lazy", "suggest", "deadline", "signals", "text", "walk"), 0),
    "autograd": 1,
    "ops": 2,
    "nn": 3,
    "compiler": 3,
    "language": 4,
    "evaluation": 5,
    "precise": 6,
    "notes": 7,
    "derivatives": 8,
    "report": 9,
    **dict.fromkeys(("gradcheck", "script", "explain", "graph", "plot", "symbolic", "export", "data"), 10),
    "cli": 11,
}
"""The rooms from the ground up: a room imports from those below it only."""
OWNERS = {
    "rich": {"report", "explain", "graph", "plot"},
    "matplotlib": {"plot"},
    "plotext": {"plot"},
    "pyarrow": {"data"},
    "click": {"cli"},
    "lark": {"language"},
    "mpmath": {"precise"},
    "scipy": {"ops"},
    "dask": {"data"},
    "distributed": {"data"},
    "sympy": {"symbolic"},
    "prompt_toolkit": {"cli"},
}
# The one reach upwards: the engine's constants and conversions are declared operations too, needed when they are used.
ALLOWED = {("autograd", "ops")}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def _imports(path: Path) -> list[tuple[str, bool]]:
    """What a module imports, and whether it does so at the top."""
    tree = _tree(path)
    top = set(map(id, tree.body))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.module, id(node) in top))
        elif isinstance(node, ast.Import):
            found.extend((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith("library"):
            found.extend((name.value, False) for name in node.args[:1] if isinstance(name, ast.Constant))
    return found


def test_no_module_reaches_up() -> None:
    wrong = []
    for path in MODULES:
        room = path.relative_to(PACKAGE).parts[0]
        for name, at_top in _imports(path):
            parts = name.split(".")
            if parts[0] in OWNERS and room not in OWNERS[parts[0]]:
                wrong.append(f"{path} imports {name}")
            if parts[0] == "autodiff_cli" and len(parts) > 1 and parts[1] in FLOORS:
                above = FLOORS[parts[1]] > FLOORS[room]
                if above and ((room, parts[1]) not in ALLOWED or at_top):
                    wrong.append(f"{path} imports {name}")
    assert len(MODULES) > 150
    assert wrong == []


def test_nothing_evaluates_text_as_python() -> None:
    for path in [*MODULES, *PACKAGE.glob("*.py")]:
        names = {node.func.id for node in ast.walk(_tree(path)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        assert not names & {"eval", "exec", "compile", "__import__"}, path
        assert not {name.split(".")[0] for name, _ in _imports(path)} & {"pickle", "socket", "urllib", "http", "requests"}, path


def _loaded(code: str) -> set[str]:
    shown = completed(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(' '.join(sys.modules), file=sys.stderr)"],
        check=True,
    )
    return set(shown.stderr.split())


def test_help_loads_no_numpy() -> None:
    loaded = _loaded("from autodiff_cli.cli.main import main\nmain(['--help'])")
    assert not loaded & {"numpy", "lark", "rich", "autodiff_cli.autograd.tensor"}


def test_json_loads_no_rich_and_no_lark() -> None:
    loaded = _loaded("from autodiff_cli.cli.main import main\nmain(['eval', 'log(x**3)', '--at', 'x=5', '--json'])")
    assert "numpy" in loaded
    assert not loaded & {"lark", "rich", "scipy", "autodiff_cli.autograd.taylor_mode"}


def test_single_numbers_load_no_scipy() -> None:
    loaded = _loaded(
        "import autodiff_cli as ad\nfor f in (ad.erf, ad.erfc, ad.lgamma, ad.gamma, ad.ndtr, ad.gelu): f(ad.tensor(0.5))"
    )
    assert "autodiff_cli.ops.special" in loaded
    assert not any(name.startswith("scipy") for name in loaded)


def test_a_small_evaluation_installs_the_common_functions_only() -> None:
    loaded = _loaded("from autodiff_cli.cli.main import main\nmain(['eval', 'log(x**3)', '--at', 'x=5', '--json'])")
    assert "autodiff_cli.ops.elementary" in loaded
    assert not loaded & {"autodiff_cli.ops.special", "autodiff_cli.ops.decompose", "autodiff_cli.ops.loss", "autodiff_cli.api"}
    loaded = _loaded("from autodiff_cli.cli.main import main\nmain(['eval', 'erf(x) + log(x)', '--at', 'x=5', '--json'])")
    assert "autodiff_cli.ops.special" in loaded


def test_the_library_loads_no_command_line() -> None:
    loaded = _loaded("import autodiff_cli as ad\nad.log(ad.tensor(5.0))\nad.evaluate('x', at={'x': 1})")
    assert not loaded & {"click", "rich", "lark"}


def test_operators_of_tensors_are_known_to_type_checkers() -> None:
    import autodiff_cli as ad

    tree = ast.parse((PACKAGE / "autograd" / "tensor.py").read_text(encoding="utf-8"))
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    declared = {node.name for block in blocks for node in ast.walk(block) if isinstance(node, ast.FunctionDef)}
    missing = [name for name in declared - {"__getattr__"} if name not in vars(type(ad.ones(1)))]
    assert len(declared) > 25
    assert missing == []
