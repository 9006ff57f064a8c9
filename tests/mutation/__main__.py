"""``python -m tests.mutation --count 300`` makes small mistakes in copies of the program, and names those that no test notices.

The first run learns which functions each test enters; it takes as long as the tests do, twice.  What it learns, the copies
and the results stay in the folder ``--scratch``, and a further run goes on from there.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutation.changes import Change, changes
from tests.mutation.known import KNOWN, known

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("**/*.py",)
GENERATED = ("language/_tables.py",)
REFERENCE = (
    "tests/test_pages.py",
    "tests/behaviour/test_tables.py::test_program[names:",
    "tests/test_declarations.py::test_each_says",
    "tests/test_declarations.py::test_inside",
    "tests/test_bad_arguments.py::test_the_kind",
)
"""Tests of what is declared when a module is imported."""
FEW = 50
"""So many tests of one function are enough."""
FRESHNESS = "tests/test_rules.py::test_the_modules_are_those_of_the_tables"
"""The test that notices every change of a compiled module, whether it matters or not."""
PYTEST = (
    *(sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "tests.mutation.calls"),
    *("--deselect", FRESHNESS),
)


@dataclass(frozen=True)
class Mutant:
    """A mistake in a module; its name is what ``--only`` takes."""

    module: str
    change: Change

    @property
    def name(self) -> str:
        return f"{self.module}:{self.change.place}"


def copied(target: Path) -> Path:
    """Copy what Git knows of the tree, and what is new in it."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True, encoding="utf-8"
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def tested(folder: Path, arguments: Iterable[str], limit: float, **environment: str) -> tuple[int | None, str]:
    """Run pytest in a copy: its exit code, ``None`` if it took longer than the limit in seconds, and what it printed."""
    process = subprocess.Popen(
        [*PYTEST, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=limit)
        return process.returncode, printed
    except subprocess.TimeoutExpired:
        return None, f"longer than {limit:g} s"
    finally:
        # A test may have left processes behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


class Entered:
    """Which tests enter a function of the package, learnt by running each file of tests once in a copy."""

    def __init__(self, scratch: Path, jobs: int) -> None:
        self.seconds: dict[str, float] = {}
        self.tests: defaultdict[str, list[str]] = defaultdict(list)
        folder = scratch / "copy"
        if not folder.exists():
            copied(folder)
        files = sorted(str(path.relative_to(folder)) for path in (folder / "tests").rglob("test_*.py"))
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda name: self._learn(folder, name, scratch), files))
        for path in sorted(scratch.glob("calls-*.json")):
            for test, (seconds, names) in json.loads(path.read_text(encoding="utf-8")).items():
                self.seconds[test] = seconds
                for name in names:
                    self.tests[name].append(test)

    @staticmethod
    def _learn(folder: Path, name: str, scratch: Path) -> None:
        path = scratch / f"calls-{name.replace('/', '-')}.json"
        if not path.exists():
            code, printed = tested(folder, ["--maxfail=1000", name], 3600, AUTODIFF_CALLS=str(path))
            if code not in {0, 1, 5}:
                path.unlink(missing_ok=True)
                raise SystemExit(f"{name}: {printed}")
            print(f"learnt {name}", *printed.splitlines()[-1:], file=sys.stderr, flush=True)

    def by(self, mutant: Mutant, source: str) -> list[str]:
        """Return the tests that can notice a mistake, the likeliest first.

        These are the tests that enter the function with the mistake, and after them those that enter a function of the
        same statement, or one that has the name in it that the statement defines, or any of the module: what runs when a
        module is imported is entered by no test.  In each group the quick ones of each kind come first.
        """
        change, top = mutant.change, None
        tree = ast.parse(source)
        for statement in tree.body:
            if statement.lineno <= change.line <= (statement.end_lineno or 0):
                top = statement
        assert top is not None
        inside = _functions(top)
        around = [one for one in inside if _holds(one, change)]
        defined = {node.id for target in getattr(top, "targets", []) for node in ast.walk(target) if isinstance(node, ast.Name)}
        using = [one for one in _functions(tree) if defined & {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}]
        groups = [{self._name(mutant, one) for one in functions} for functions in (around[-1:], inside, using)]
        groups.append({name for name in self.tests if name.startswith(f"{mutant.module}:")})
        found: dict[str, None] = {}
        for names in groups:
            if len(found) < FEW:
                found |= dict.fromkeys(self._ordered({test for name in names for test in self.tests.get(name, ())}))
        return [*([] if around else [test for test in self.seconds if test.startswith(REFERENCE)]), *found]

    @staticmethod
    def _name(mutant: Mutant, function: ast.FunctionDef | ast.Lambda) -> str:
        return f"{mutant.module}:{min([function.lineno, *(one.lineno for one in getattr(function, 'decorator_list', ()))])}"

    def _ordered(self, tests: set[str]) -> list[str]:
        kinds: defaultdict[str, list[str]] = defaultdict(list)
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            kinds[test.partition("[")[0]].append(test)
        ranked = [(rank, self.seconds[test], test) for kind in kinds.values() for rank, test in enumerate(kind)]
        return [test for _, _, test in sorted(ranked)]


def _functions(tree: ast.AST) -> list[ast.FunctionDef | ast.Lambda]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]


def _holds(function: ast.FunctionDef | ast.Lambda, change: Change) -> bool:
    body = function.body if isinstance(function.body, list) else [function.body]
    first, last = body[0], body[-1]
    begin, end = (first.lineno, first.col_offset), (last.end_lineno or 0, last.end_col_offset or 0)
    return begin <= (change.line, change.column) <= end


def stages(tests: list[str], seconds: dict[str, float]) -> Iterator[list[str]]:
    """Split tests into what is run first, in a few seconds from a few files, and what is run if nothing failed there."""
    count = Counter(file for file, _ in {(test.partition("::")[0], test.partition("[")[0]) for test in tests})
    files = {file for file, _ in count.most_common(6)}
    first = _within([test for test in tests if test.partition("::")[0] in files], seconds, 8.0)[:200]
    yield first
    known = set(first)
    yield _within([test for test in tests if test not in known], seconds, 60.0)


def _within(tests: list[str], seconds: dict[str, float], budget: float) -> list[str]:
    chosen = []
    for test in tests:
        if seconds[test] <= budget:
            budget -= seconds[test]
            chosen.append(test)
    return chosen


class Runner:
    """Runs the tests on mutants, each in a copy of the tree that no other run uses meanwhile."""

    def __init__(self, copy: Path, jobs: int, limit: float, entered: Entered | None) -> None:
        self.limit = limit
        self.entered = entered
        self.free: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            folder = copy.with_name(f"{copy.name}-{number}")
            shutil.rmtree(folder, ignore_errors=True)
            self.free.put(shutil.copytree(copy, folder))

    def outcome(self, mutant: Mutant, files: list[str]) -> dict[str, object]:
        """Return whether the mutant was killed, and by which test; only ``files`` are run if there are any."""
        folder = self.free.get()
        path = folder / "autodiff_cli" / mutant.module
        source = path.read_text(encoding="utf-8")
        found: dict[str, object] = {"outcome": "", "mutant": mutant.name, "change": mutant.change.shown(source)}
        try:
            changed = mutant.change.applied(source)
            compile(changed, path, "exec")
            path.write_text(changed, encoding="utf-8")
            # A compiled file of the same second and size would be taken for this one.
            for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
                compiled.unlink()
            return found | (self._by_stages(folder, mutant, source) if self.entered else self._by_files(folder, files))
        except SyntaxError:
            return found | {"outcome": "invalid"}
        finally:
            path.write_text(source, encoding="utf-8")
            self.free.put(folder)

    def _by_files(self, folder: Path, files: list[str]) -> dict[str, object]:
        return _judged(*tested(folder, files, self.limit, PYTHONDONTWRITEBYTECODE="1")) or {"outcome": "survived"}

    def _by_stages(self, folder: Path, mutant: Mutant, source: str) -> dict[str, object]:
        assert self.entered is not None
        tests = self.entered.by(mutant, source)
        run = 0
        for stage in stages(tests, self.entered.seconds):
            if stage:
                wanted = folder / ".wanted"
                wanted.write_text("\0".join(stage), encoding="utf-8")
                files = sorted({test.partition("::")[0] for test in stage})
                result = tested(folder, files, self.limit, AUTODIFF_WANTED=str(wanted), PYTHONDONTWRITEBYTECODE="1")
                run += len(stage)
                judged = _judged(*result)
                if judged:
                    return judged
        return {"outcome": "survived", "by": f"{run} of {len(tests)} tests that enter it"}


def _judged(code: int | None, printed: str) -> dict[str, object] | None:
    """What the end of a run says; ``None`` if nothing noticed."""
    if code in {0, 5}:
        return None
    if code is None:
        return {"outcome": "killed", "by": printed}
    failed = [line for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return {"outcome": "killed", "by": failed[0][:160] if failed else printed[-160:]}


def mutants(modules: Iterable[str], folder: Path) -> list[Mutant]:
    """All mutants of modules, named by patterns below the package."""
    package = folder / "autodiff_cli"
    found = []
    paths = {path for pattern in modules for path in package.glob(pattern)} - {package / name for name in GENERATED}
    for path in sorted(paths):
        name = path.relative_to(package).as_posix()
        found += [Mutant(name, change) for change in changes(path.read_text(encoding="utf-8"))]
    return found


def known_mutants(folder: Path) -> list[Mutant]:
    """The mistakes that once passed all tests."""
    package = folder / "autodiff_cli"
    return [Mutant(module, known(name, (package / module).read_text(encoding="utf-8"))) for name, (module, *_) in KNOWN.items()]


def modules(of: Iterable[Mutant]) -> set[str]:
    return {mutant.module for mutant in of}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="runs of the tests at a time")
    parser.add_argument("--limit", type=float, default=300, help="seconds; a mutant that takes longer is killed")
    parser.add_argument("--modules", nargs="+", default=MODULES, help="patterns below autodiff_cli")
    parser.add_argument("--known", action="store_true", help="the mistakes of tests/mutation/known.txt")
    parser.add_argument("--only", nargs="+", help="mutants by name, as the results have them")
    parser.add_argument("--tests", nargs="+", default=[], help="run these files of tests, on the tree as it is now")
    parser.add_argument("--scratch", type=Path, default=ROOT / ".mutants_cache", help="the folder to work in")
    given = parser.parse_args()
    scratch = given.scratch.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    copy = scratch / "copy"
    if given.tests:
        shutil.rmtree(scratch / "now", ignore_errors=True)
        copy = copied(scratch / "now")
    entered = None if given.tests else Entered(scratch, given.jobs)
    everything = known_mutants(copy) if given.known else mutants(given.modules, copy)
    if any(
        (ROOT / "autodiff_cli" / name).read_bytes() != (copy / "autodiff_cli" / name).read_bytes() for name in modules(everything)
    ):
        print(f"The program has changed since it was copied: delete {scratch} to begin anew.", file=sys.stderr)
    if given.only:
        chosen = [mutant for mutant in everything if mutant.name in given.only]
    elif given.known:
        chosen = everything
    else:
        chosen = random.Random(given.seed).sample(everything, min(given.count, len(everything)))
    results = scratch / f"results-{'known' if given.known else given.seed}.jsonl"
    known = {}
    if not given.only and results.exists():
        known = {one["mutant"]: one for one in map(json.loads, results.read_text(encoding="utf-8").splitlines())}
    runner = Runner(copy, given.jobs, given.limit, entered)
    with ThreadPoolExecutor(given.jobs) as pool, results.open("a", encoding="utf-8") as out:
        left = [mutant for mutant in chosen if mutant.name not in known]
        for found in pool.map(lambda mutant: runner.outcome(mutant, given.tests), left):
            known[str(found["mutant"])] = found
            print(
                f"{len(known)}/{len(chosen)}", found["outcome"], found["mutant"], found["change"], found.get("by", ""), flush=True
            )
            if not given.only:
                print(json.dumps(found, ensure_ascii=False), file=out, flush=True)
    print("\nSurvivors:")
    for found in (known[mutant.name] for mutant in chosen):
        if found["outcome"] == "survived":
            print(found["mutant"], found["change"], sep="  ")
    count = Counter(str(known[mutant.name]["outcome"]) for mutant in chosen)
    print(f"{len(chosen)} of {len(everything)} mutants:", ", ".join(f"{number} {what}" for what, number in sorted(count.items())))


if __name__ == "__main__":
    main()
