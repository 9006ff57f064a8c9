"""Make the machine-independent code of rows of text from its source in C: ``python -m tests.native_text --write``.

Without the option, the program only says whether the file is up to date.  The compiler is Clang, from the package ``ziglang`` in
the version of the extra ``test-all``: a later version may write what older versions of LLVM cannot read.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "autodiff_cli" / "data" / "native_text.c"
MODULE = SOURCE.with_suffix(".ll")
OPTIONS = "-target x86_64-linux-gnu -O2 -g0 -Wall -Wextra -Werror -fno-sanitize=all -ffreestanding -fno-stack-protector"
OPTIONS += " -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -Wno-unused-command-line-argument -S -emit-llvm"
_OF_ONE_MACHINE = (
    r"^(; ModuleID|source_filename|target (datalayout|triple)).*\n",
    r'"(target-cpu|target-features|tune-cpu|min-legal-vector-width|no-builtins|stack-protector-buffer-size|no-trapping-math'
    r'|frame-pointer)"(="[^"]*")? ?',
    r" uwtable(\(sync\))?",
    r"^!llvm.*\n",
)
"""What the module does not need, and what only one kind of machine has."""


def module() -> str:
    """Return the module in LLVM's IR that belongs to the source."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.ll"
        command = [sys.executable, "-m", "ziglang", "cc", *OPTIONS.split(), str(SOURCE), "-o", str(path)]
        subprocess.run(command, check=True)
        text = path.read_text(encoding="ascii")
    for pattern in _OF_ONE_MACHINE:
        text = re.sub(pattern, "", text, flags=re.MULTILINE)
    return "; Made from native_text.c by python -m tests.native_text --write\n" + text


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        MODULE.write_text(module(), encoding="ascii")
    elif MODULE.read_text(encoding="ascii") != module():
        sys.exit(f"{MODULE.name} is not up to date: run python -m tests.native_text --write")
