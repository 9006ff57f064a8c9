"""Whole processes: what one evaluation costs a shell loop, against importing what it cannot do without.

Run it with ``python tests/benchmarks/startup.py``.  Every command is run in turn, round after round, so that a drift of
the machine's speed falls on all of them alike; the ratios are of medians, pair by pair.
"""

from __future__ import annotations

import compileall
import os
import shutil
import statistics
import subprocess
import sys
from functools import partial
from pathlib import Path

import autodiff_cli
from tests.benchmarks.timing import in_turn, ratio

ROUNDS = int(os.environ.get("ROUNDS", "40"))
HERE = Path(sys.executable).parent
AUTODIFF = str(HERE / "autodiff") if (HERE / "autodiff").exists() else (shutil.which("autodiff") or "autodiff")
EXPRESSION = ["log(x**3)", "--at", "x=5"]

COMMANDS = {
    "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
    "python -c 'import click'": [sys.executable, "-c", "import click"],
    "autodiff eval --json": [AUTODIFF, "eval", *EXPRESSION, "--json"],
    "autodiff eval (table)": [AUTODIFF, "eval", *EXPRESSION],
    "autodiff grad -q": [AUTODIFF, "grad", *EXPRESSION, "-q"],
    "autodiff --help": [AUTODIFF, "--help"],
    "autodiff --version": [AUTODIFF, "--version"],
}
RATIOS = [
    ("autodiff eval --json", "python -c 'import numpy'", 1.12),
    ("autodiff eval (table)", "python -c 'import numpy'", 1.35),
    ("autodiff grad -q", "python -c 'import numpy'", 1.12),
    ("autodiff --help", "python -c 'import click'", 1.05),
    ("autodiff --version", "python -c 'import click'", 1.05),
]


def main() -> None:
    # As an installed wheel has it: pip compiles what it installs, an editable checkout may not.
    compileall.compile_dir(Path(autodiff_cli.__file__).parent, quiet=1)
    run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
    times = in_turn({name: partial(run, command) for name, command in COMMANDS.items()}, ROUNDS, warm=2)
    for name, taken in times.items():
        print(f"{name:28s} {statistics.median(taken) * 1e3:7.1f} ms   (least {min(taken) * 1e3:.1f})")
    print()
    for ours, theirs, target in RATIOS:
        print(f"{ours:24s} / {theirs:26s} {ratio(times[ours], times[theirs]):5.2f}   target {target}")


if __name__ == "__main__":
    main()
