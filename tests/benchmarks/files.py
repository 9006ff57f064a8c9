"""``autodiff map`` as whole processes, from file to file, against polars, DuckDB, polars with JAX, and mawk.

python tests/benchmarks/files.py [--rows N] [--rounds N] [--only TEXT] [--folder FOLDER]

All programs compute the value and two derivatives of one expression and copy the columns id, x and y.  polars, DuckDB and mawk
have derivatives by hand.  The programs of one conversion run alternately; what is printed is the minimum of the seconds,
of the seconds on processors (which depend less on other programs), and of the peaks of memory, and the ratios of our seconds to
theirs.  Programs that are not installed are left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

EXPRESSION = "sin(x)*exp(-y**2) + log(x**2 + y**2 + 1)"
COMMAND = [sys.executable, "-m", "autodiff_cli", "map", EXPRESSION]
BARE = "import sys; sys.modules['pyarrow'] = None; from autodiff_cli.cli.main import main; sys.exit(main())"
WITHOUT = [sys.executable, "-c", BARE, "map", EXPRESSION]

POLARS = """
import sys, polars as pl
read, write = {"csv": (pl.scan_csv, "sink_csv"), "ndjson": (pl.scan_ndjson, "sink_ndjson"),
               "parquet": (pl.scan_parquet, "sink_parquet")}[sys.argv[1]]
x, y = pl.col("x"), pl.col("y")
e, q = (-(y**2)).exp(), x**2 + y**2 + 1
new = {"value": x.sin()*e + q.log(), "d_x": x.cos()*e + 2*x/q, "d_y": 2*y/q - 2*y*x.sin()*e}
codec = {"compression": "snappy"} if sys.argv[1] == "parquet" else {}
getattr(read(sys.argv[2]).with_columns(**new), write)(sys.argv[3], **codec)
"""
POLARS_AND_JAX = """
import sys
import jax, jax.numpy as jnp, numpy as np, polars as pl
jax.config.update("jax_enable_x64", True)
form = sys.argv[1]
rows = {"csv": pl.read_csv, "ndjson": pl.read_ndjson, "parquet": pl.read_parquet}[form](sys.argv[2])
both = jax.value_and_grad(lambda x, y: jnp.sin(x)*jnp.exp(-y**2) + jnp.log(x**2 + y**2 + 1), (0, 1))
value, (d_x, d_y) = jax.jit(jax.vmap(both))(rows["x"].to_numpy(), rows["y"].to_numpy())
new = {"value": value, "d_x": d_x, "d_y": d_y}
codec = {"compression": "snappy"} if form == "parquet" else {}
made = rows.with_columns(**{name: pl.Series(np.asarray(column)) for name, column in new.items()})
getattr(made, "write_" + form)(sys.argv[3], **codec)
"""
DUCKDB = """
import sys, duckdb
form = sys.argv[1]
read = {"csv": "read_csv", "ndjson": "read_json", "parquet": "read_parquet"}[form]
options = {"csv": "format csv", "ndjson": "format json", "parquet": "format parquet, compression snappy"}[form]
duckdb.execute(f'''copy (
    select id, x, y, sin(x)*e + ln(q) as value, cos(x)*e + 2*x/q as d_x, 2*y/q - 2*y*sin(x)*e as d_y
    from (select *, exp(-y*y) as e, x*x + y*y + 1 as q from {read}('{sys.argv[2]}'))
) to '{sys.argv[3]}' ({options})''')
"""
MAWK = """
NR == 1 { print $0 ",value,d_x,d_y"; next }
{ e = exp(-$3*$3); s = sin($2)*e; q = $2*$2 + $3*$3 + 1
  printf "%s,%.17g,%.17g,%.17g\\n", $0, s + log(q), cos($2)*e + 2*$2/q, 2*$3/q - 2*$3*s }
"""

Commands = dict[str, list[str]]


def peers(form: str, source: str, target: str) -> Commands:
    """The commands of the other programs that are installed."""
    programs = {"polars": POLARS, "DuckDB": DUCKDB, "polars and JAX": POLARS_AND_JAX}
    modules = {"polars": ["polars"], "DuckDB": ["duckdb"], "polars and JAX": ["polars", "jax"]}
    return {
        name: [sys.executable, "-c", program, form, source, target]
        for name, program in programs.items()
        if all(map(find_spec, modules[name]))
    }


def run(command: list[str]) -> tuple[float, float, int]:
    """Run a process; return its seconds, its seconds on processors, and its peak of memory in MiB."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0, command
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def compare(title: str, ours: list[str], others: Commands, rounds: int) -> None:
    """Run the programs alternately, and print the minima."""
    commands = {"autodiff": ours, **others}
    runs: dict[str, list[tuple[float, float, int]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(run(command))
    best = {name: tuple(map(min, zip(*measured, strict=True))) for name, measured in runs.items()}
    print(title)
    for name, (took, busy, peak) in best.items():
        ratios = (
            ""
            if name == "autodiff"
            else "   ratios {:.2f}, {:.2f}".format(*(a / b for a, b in zip(best["autodiff"], (took, busy), strict=False)))
        )
        print(f"  {name:15} {took:7.2f} s, {busy:7.2f} s on processors, {peak:5} MiB{ratios}", flush=True)


def made(folder: Path, rows: int) -> None:
    """Write the input files."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    draw = np.random.default_rng(0)
    (folder / "one.csv").write_text("x,y\n1,2\n")
    schema = pa.schema([("id", pa.int64()), ("x", pa.float64()), ("y", pa.float64())])
    with (
        open(folder / "in.csv", "w") as plain,
        open(folder / "quoted.csv", "w") as quoted,
        open(folder / "in.ndjson", "w") as lines,
        parquet.ParquetWriter(folder / "in.parquet", schema) as columns,
    ):
        plain.write("id,x,y\n")
        quoted.write('"id","x","y"\n')
        for start in range(0, rows, 1 << 20):
            size = min(1 << 20, rows - start)
            ids, (x, y) = np.arange(start, start + size), draw.normal(size=(2, size))
            columns.write_table(pa.table([ids, x, y], schema=schema))
            triples = list(zip(ids.tolist(), x.tolist(), y.tolist(), strict=True))
            plain.write("".join([f"{i},{a!r},{b!r}\n" for i, a, b in triples]))
            quoted.write("".join([f'"n{i}, a",{a!r},{b!r}\n' for i, a, b in triples]))
            lines.write("".join([f'{{"id": {i}, "x": {a!r}, "y": {b!r}}}\n' for i, a, b in triples]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only the comparisons whose title contains this text")
    parser.add_argument("--folder", help="the folder of the files, which a later run uses again; best on a memory disk")
    given = parser.parse_args()
    print(f"{EXPRESSION}: value and two derivatives, {given.rows:,} rows")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(given.folder or name)
        if not (folder / "in.parquet").exists():
            maker = os.fork()  # a process that inherits nothing large counts as small
            if not maker:
                made(folder, given.rows)
                os._exit(0)
            assert os.waitpid(maker, 0)[1] == 0

        def conversion(
            source: str, target: str, ours: list[str] = COMMAND, title: str = "", others: Commands | None = None
        ) -> None:
            title = title or f"{source} to {target}"
            if given.only in title:
                read, write = str(folder / source), str(folder / target)
                compare(title, [*ours, read, "-o", write], others or {}, given.rounds)

        for form in ("csv", "ndjson", "parquet"):
            conversion(f"in.{form}", f"out.{form}", others=peers(form, str(folder / f"in.{form}"), str(folder / f"other.{form}")))
        mawk = shutil.which("mawk")
        awk = {"mawk": ["sh", "-c", f"'{mawk}' -F, '{MAWK}' '{folder}/in.csv' > '{folder}/other.csv'"]} if mawk else {}
        conversion("in.csv", "out.csv", WITHOUT, "in.csv to out.csv without pyarrow", awk)
        conversion("in.ndjson", "out.ndjson", WITHOUT, "in.ndjson to out.ndjson without pyarrow")
        for source, target in (("quoted.csv", "out.csv"), ("in.csv", "out.parquet"), ("in.parquet", "out.csv")):
            conversion(source, target)
        if given.only in "one row":
            numpy = {"import numpy": [sys.executable, "-c", "import numpy"]}
            compare("one row", [*COMMAND, str(folder / "one.csv")], numpy, 3 * given.rounds)


if __name__ == "__main__":
    main()
