"""The rooms of the package: imports, sizes, and what a run loads."""

from __future__ import annotations

import ast
import functools
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tests.processes import completed
from tests.shell import ROOT

PACKAGE = ROOT / "autodiff_cli"
FLOORS = {
    **dict.fromkeys(("arrays", "command_result", "deadline", "errors", "formats"), 0),
    **dict.fromkeys(("lazy", "limits", "number_text", "postorder", "signals", "structs"), 0),
    **dict.fromkeys(("suggest", "unavailable_names", "wording"), 0),
    "autograd": 1,
    "numerics": 1.5,
    "ops": 2,
    **dict.fromkeys(("nn", "optim", "utils", "func", "linalg", "special", "compiler"), 3),
    "language": 4,
    "evaluation": 5,
    "precise": 6,
    "notes": 7,
    "derivatives": 8,
    "report": 9,
    **dict.fromkeys(
        ("gradient_checking", "script", "explanation", "graph_drawing", "plotting", "symbolic", "code_generation", "data"), 10
    ),
    "solvers": 11,
    "lesson": 11,
    "cli": 12,
    "public_names": 13,
}
"""The rooms from the ground up: a room imports from those below it only."""
BUDGETS = {
    "autograd": 9908,
    "cli": 4067,
    "code_generation": 1186,
    "compiler": 2939,
    "data": 5636,
    "derivatives": 1086,
    "evaluation": 3324,
    "explanation": 1995,
    "gradient_checking": 1136,
    "graph_drawing": 1882,
    "language": 1484,
    "lesson": 2001,
    "nn": 285,
    "notes": 2139,
    "numerics": 4225,
    "ops": 4629,
    "optim": 347,
    "plotting": 2138,
    "precise": 2186,
    "report": 1609,
    "root": 1575,
    "script": 1511,
    "solvers": 13261,
    "symbolic": 5155,
    "utils": 292,
}
"""The most lines of each room.  A budget may only fall, unless docs/design.md gives a reason."""
DOORS = {
    "evaluation": {"autodiff_cli.solvers.implicit.definition"},
    "unavailable_names": {"autodiff_cli.nn.functional"},
    "command_result": {f"autodiff_cli.report.{name}" for name in ("html", "latex_tables", "result_tables")},
    "derivatives": {
        "autodiff_cli.report.latex_equations",
        "autodiff_cli.report.result_tables",
        "autodiff_cli.symbolic.matrices.diff",
    },
    "autograd": {"autodiff_cli.report.html", "autodiff_cli.ops.batching"},
}
"""The modules above a room that it names and does not import: what shows its results, and what adds rules to it."""
OWNERS = {
    "rich": {"report"},
    "matplotlib": {"plotting"},
    "plotext": {"plotting"},
    "pyarrow": {"data"},
    "click": {"cli"},
    "lark": set(),
    "mpmath": {"precise"},
    "scipy": {"numerics", "ops", "solvers"},
    "dask": {"data"},
    "distributed": {"data"},
    "fsspec": {"data"},
    "aiohttp": {"data"},
    "sympy": {"symbolic"},
}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)
BY_NAME = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in PACKAGE.rglob("*.py")}


class Source(NamedTuple):
    """What one walk over a module finds.

    Attributes:
        imports: the modules that it imports, inside functions and by ``library`` too.
        needed: those that not only annotations need.
        options: the lines of texts that name an option of the command line; docstrings are left out.
        untyped: the number of parameters that may be anything.
        called: the names of the functions that it calls by a name.
    """

    imports: set[str]
    needed: set[str]
    options: list[str]
    untyped: int
    called: set[str]


@functools.cache
def _source(path: Path) -> Source:
    imports: set[str] = set()
    needed: set[str] = set()
    called: set[str] = set()
    prose: set[int] = set()
    late: set[str] = set()
    options, untyped = [], 0
    work: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8")), False)]
    while work:
        node, for_types = work.pop()
        found: set[str] = set()
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            found = {name if name in BY_NAME else node.module for name in inside}
        elif isinstance(node, ast.Import):
            found = {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
            if node.func.id.startswith("library"):
                found = {name.value for name in node.args[:1] if isinstance(name, ast.Constant) and isinstance(name.value, str)}
        elif isinstance(node, ast.Expr):
            prose.add(id(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            options += [f"{path}:{node.lineno} {node.value}"] if re.search(r"(?<![\w-])--[a-z]{2}", node.value) else []
            found = {node.value.partition(":")[0]} & BY_NAME.keys()  # a module that is imported when it is first used
            late |= found
        elif isinstance(node, ast.arg):
            untyped += isinstance(node.annotation, ast.Name) and node.annotation.id == "Any"
        imports |= found
        needed |= set() if for_types else found - late
        for_types |= isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        work += [(each, for_types) for each in ast.iter_child_nodes(node)]
    return Source(imports, needed, options, untyped, called)


def test_no_module_reaches_up() -> None:
    wrong = []
    for path in [*MODULES, *(path for path in PACKAGE.glob("*.py") if path.name[0] != "_")]:
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        assert room in FLOORS, f"put the room {room} on its floor in FLOORS"
        for name in _source(path).imports:
            parts = name.split(".")
            if parts[0] in OWNERS and room not in OWNERS[parts[0]]:
                wrong.append(f"{path} imports {name}")
            if (
                parts[0] == "autodiff_cli"
                and len(parts) > 1
                and FLOORS[parts[1]] > FLOORS[room]
                and name not in DOORS.get(room, ())
            ):
                wrong.append(f"{path} imports {name}")
    assert len(MODULES) > 150
    assert wrong == []


def test_no_room_hides_a_public_name() -> None:
    import autodiff_cli as ad

    modules = {path.stem if path.suffix else path.name for path in PACKAGE.iterdir()}
    hidden = modules & {name for name in dir(ad) if not name.startswith("_") and not isinstance(getattr(ad, name), ModuleType)}
    assert not hidden, f"once it is imported, the module hides ad.{min(hidden)}; give it another name"


def test_no_modules_import_each_other() -> None:
    left = {name: {other for other in _source(path).needed if other in BY_NAME} for name, path in BY_NAME.items()}
    while free := [name for name, others in left.items() if not others & left.keys()]:
        for name in free:
            del left[name]
    while ends := [name for name in left if not any(name in others for others in left.values())]:
        for name in ends:
            del left[name]
    assert list(left) == []


def test_only_the_command_line_names_its_options() -> None:
    paths = [path for path in BY_NAME.values() if path.relative_to(PACKAGE).parts[0] != "cli"]
    assert [line for path in paths for line in _source(path).options] == []


def test_no_room_grows() -> None:
    lines: dict[str, int] = {}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0] if path.parent != PACKAGE else "root"
        lines[room] = lines.get(room, 0) + len(path.read_text(encoding="utf-8").splitlines())
    grown = {room: count for room, count in lines.items() if count > BUDGETS.get(room, 0)}
    assert not grown, "more lines than the budgets: take something away, or raise the budget and say why in docs/design.md"


MOST_LINES = 76_000
"""The most lines of the package: whoever adds takes as many away."""


def test_the_package_does_not_grow() -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in BY_NAME.values())
    assert lines <= MOST_LINES, "take lines away elsewhere, and do not raise this number"


def test_parameters_say_what_they_take() -> None:
    assert sum(_source(path).untyped for path in BY_NAME.values() if path.parent.name != "rules") < 300


def test_nothing_evaluates_text_as_python() -> None:
    for path in BY_NAME.values():
        assert not _source(path).called & {"eval", "exec", "compile", "__import__"}, path
        outside = {name.split(".")[0] for name in _source(path).imports - {"urllib.parse"}}
        assert not outside & {"pickle", "socket", "urllib", "http", "requests"}, path


def _loaded(code: str) -> set[str]:
    shown = completed([sys.executable, "-c", f"{code}\nimport sys\nprint(' '.join(sys.modules), file=sys.stderr)"], check=True)
    return set(shown.stderr.split())


def test_help_loads_no_numpy() -> None:
    loaded = _loaded("from autodiff_cli.cli.main import main\nmain(['--help'])")
    assert not loaded & {"numpy", "lark", "rich", "autodiff_cli.autograd.tensor"}


def test_json_loads_no_rich_and_no_lark() -> None:
    loaded = _loaded("from autodiff_cli.cli.main import main\nmain(['eval', 'log(x**3)', '--at', 'x=5', '--json'])")
    assert "numpy" in loaded
    assert not loaded & {"click", "dataclasses", "lark", "rich", "scipy", "threading"}
    assert not loaded & {"autodiff_cli.autograd.taylor_mode", "autodiff_cli.formats", "autodiff_cli.ops.rules.comparison"}


def test_single_numbers_load_no_scipy() -> None:
    loaded = _loaded(
        "import autodiff_cli as ad\nfor f in (ad.erf, ad.erfc, ad.lgamma, ad.gamma, ad.ndtr, ad.gelu): f(ad.tensor(0.5))"
    )
    assert "autodiff_cli.ops.rules.special" in loaded
    assert not any(name.startswith("scipy") for name in loaded)


def test_a_small_evaluation_installs_the_common_functions_only() -> None:
    loaded = _loaded("from autodiff_cli.cli.main import main\nmain(['eval', 'log(x**3)', '--at', 'x=5', '--json'])")
    assert "autodiff_cli.ops.rules.elementary" in loaded
    assert len([name for name in loaded if name.startswith("autodiff_cli")]) <= 79
    assert not loaded & {
        "autodiff_cli.autograd.custom",
        "autodiff_cli.autograd.forward_ad",
        "autodiff_cli.autograd.functional",
        "autodiff_cli.autograd.transforms",
        "autodiff_cli.ops.positions",
        "autodiff_cli.ops.rules.special",
        "autodiff_cli.ops.decompose",
        "autodiff_cli.ops.loss",
        "autodiff_cli.public_names",
    }
    loaded = _loaded("from autodiff_cli.cli.main import main\nmain(['eval', 'erf(x) + log(x)', '--at', 'x=5', '--json'])")
    assert "autodiff_cli.ops.rules.special" in loaded


def test_the_library_loads_no_command_line() -> None:
    loaded = _loaded("import autodiff_cli as ad\nad.log(ad.tensor(5.0))\nad.evaluate('x', at={'x': 1})")
    assert not loaded & {"click", "rich", "lark"}


def test_operators_of_tensors_are_known_to_type_checkers() -> None:
    import autodiff_cli as ad

    tree = ast.parse((PACKAGE / "autograd" / "tensor.py").read_text(encoding="utf-8"))
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    nodes = [node for block in blocks for node in ast.walk(block)]
    declared = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    declared |= {ast.unparse(target) for node in nodes if isinstance(node, ast.Assign) for target in node.targets}
    missing = [name for name in declared - {"__getattr__"} if name not in vars(type(ad.ones(1)))]
    assert len(declared) > 25
    assert missing == []
