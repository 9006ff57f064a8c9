"""``autodiff map`` as whole processes: seconds and memory, from file to file.

python tests/benchmarks/files.py [ROWS] [PARQUET_ROWS] [FOLDER]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXPRESSION = "sin(x)*exp(-y**2) + log(x**2 + y**2 + 1)"
COMMAND = ["-m", "autodiff_cli", "map", EXPRESSION]
WITHOUT = [
    "-c",
    "import sys; sys.modules['pyarrow'] = None; from autodiff_cli.cli.main import main; sys.exit(main())",
    "map",
    EXPRESSION,
]
ROUNDS = 5


def seconds(command: list[str]) -> tuple[float, int]:
    """The median of some rounds, and the peak of memory in MiB."""
    took, peak = [], 0
    for _ in range(ROUNDS):
        start = time.perf_counter()
        process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = status
        took.append(time.perf_counter() - start)
        assert status == 0
        peak = max(peak, used.ru_maxrss // 1024)
    return statistics.median(took), peak


def made(folder: Path, rows: int, parquet_rows: int) -> None:
    """The input files."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(2, rows)).tolist()
    (folder / "one.csv").write_text("x,y\n1,2\n")
    with (
        open(folder / "in.csv", "w") as plain,
        open(folder / "quoted.csv", "w") as quoted,
        open(folder / "in.ndjson", "w") as lines,
    ):
        plain.write("x,y\n")
        quoted.write('"id","x","y"\n')
        for i, (a, b) in enumerate(zip(x, y, strict=True)):
            plain.write(f"{a!r},{b!r}\n")
            quoted.write(f'"n{i}, a",{a!r},{b!r}\n')
            lines.write(f'{{"id": {i}, "x": {a!r}, "y": {b!r}}}\n')
    np.savez(folder / "in.npz", x=x, y=y)
    with parquet.ParquetWriter(folder / "in.parquet", pa.schema([("x", pa.float64()), ("y", pa.float64())])) as file:
        for start in range(0, parquet_rows, 1 << 20):
            block = draw.normal(size=(2, min(1 << 20, parquet_rows - start)))
            file.write_table(pa.table({"x": block[0], "y": block[1]}))


def main(rows: int = 1_000_000, parquet_rows: int = 20_000_000, where: str | None = None) -> None:
    print(f"{EXPRESSION}: value and two derivatives; {rows:,} rows, Parquet to Parquet {parquet_rows:,}")
    with tempfile.TemporaryDirectory(dir=where) as name:
        folder = Path(name)
        maker = os.fork()  # a process that inherits nothing large counts as small
        if not maker:
            made(folder, rows, parquet_rows)
            os._exit(0)
        assert os.waitpid(maker, 0)[1] == 0
        for what, command in (
            ("python -c 'import numpy'", ["-c", "import numpy"]),
            ("one row", [*COMMAND, str(folder / "one.csv")]),
            ("csv to csv, without pyarrow", [*WITHOUT, str(folder / "in.csv"), "-o", str(folder / "out.csv")]),
            ("csv to csv", [*COMMAND, str(folder / "in.csv"), "-o", str(folder / "out.csv")]),
            ("csv with quotes to csv", [*COMMAND, str(folder / "quoted.csv"), "-o", str(folder / "out.csv")]),
            ("csv to parquet", [*COMMAND, str(folder / "in.csv"), "-o", str(folder / "out.parquet")]),
            ("ndjson to ndjson", [*COMMAND, str(folder / "in.ndjson"), "-o", str(folder / "out.ndjson")]),
            ("npz to npz", [*COMMAND, str(folder / "in.npz"), "-o", str(folder / "out.npz")]),
            ("parquet to parquet", [*COMMAND, str(folder / "in.parquet"), "-o", str(folder / "out.parquet")]),
        ):
            took, peak = seconds(command)
            print(f"{what:30} {took:7.2f} s {peak:6} MiB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])
