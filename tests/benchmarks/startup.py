"""Whole processes: what one evaluation costs a shell loop, against importing what it cannot do without.

Run it with ``python tests/benchmarks/startup.py``.  Every command is run in turn, round after round, so that a drift of
the machine's speed falls on all of them alike.  The ratios are of the least times, on the clock and of the processor.
"""

from __future__ import annotations

import compileall
import os
import resource
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import autodiff_cli
from tests.benchmarks.timing import in_turn

ROUNDS = int(os.environ.get("ROUNDS", "40"))
HERE = Path(sys.executable).parent
AUTODIFF = str(HERE / "autodiff") if (HERE / "autodiff").exists() else (shutil.which("autodiff") or "autodiff")
EXPRESSION = ["log(x**3)", "--at", "x=5"]

ONE_THREAD = "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; import numpy"
COMMANDS = {
    "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
    "the same with one thread": [sys.executable, "-c", ONE_THREAD],
    "python -c 'import click'": [sys.executable, "-c", "import click"],
    "autodiff eval --json": [AUTODIFF, "eval", *EXPRESSION, "--json"],
    "autodiff eval (table)": [AUTODIFF, "eval", *EXPRESSION],
    "autodiff grad -q": [AUTODIFF, "grad", *EXPRESSION, "-q"],
    "autodiff --help": [AUTODIFF, "--help"],
    "autodiff --version": [AUTODIFF, "--version"],
}
RATIOS = [
    ("autodiff eval --json", "python -c 'import numpy'", 1.12),
    ("autodiff eval --json", "the same with one thread", 1.12),
    ("autodiff eval (table)", "the same with one thread", 1.35),
    ("autodiff eval (table)", "python -c 'import numpy'", 1.35),
    ("autodiff grad -q", "python -c 'import numpy'", 1.12),
    ("autodiff --help", "python -c 'import click'", 1.05),
    ("autodiff --version", "python -c 'import click'", 1.05),
]


def processor_time() -> float:
    """Return the processor time of all processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    # As an installed wheel has it: pip compiles what it installs, an editable checkout may not.
    compileall.compile_dir(Path(autodiff_cli.__file__).parent, quiet=1)
    run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
    works = {name: partial(run, command) for name, command in COMMANDS.items()}
    for label, clock in (("on the clock", time.perf_counter), ("of the processor", processor_time)):
        least = {name: min(times) for name, times in in_turn(works, ROUNDS, warm=2, clock=clock).items()}
        for name, seconds in least.items():
            print(f"{name:28s} {seconds * 1e3:7.1f} ms {label}")
        for ours, theirs, target in RATIOS:
            print(f"{ours:24s} / {theirs:26s} {least[ours] / least[theirs]:5.2f}   target {target}")
        print()


if __name__ == "__main__":
    main()
