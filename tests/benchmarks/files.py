"""``autodiff map`` as whole processes, from file to file, against polars, DuckDB, polars with JAX, and mawk.

python tests/benchmarks/files.py --table                        # the table of docs/performance.md, in less than 9 minutes
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
from collections.abc import Callable
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
codec = {"parquet": {"compression": "snappy"}, "gz": {"compression": "gzip", "compression_level": 4},
         "zst": {"compression": "zstd", "compression_level": 1}}.get(sys.argv[3].rpartition(".")[2], {})
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
options += {"gz": ", compression gzip", "zst": ", compression zstd"}.get(sys.argv[3].rpartition(".")[2], "")
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
Best = dict[str, tuple[float, float, int]]
"""The least seconds, seconds on processors and MiB of each program."""


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


def measured(ours: list[str], others: Commands, rounds: int) -> Best:
    """Run the programs alternately, and return the minima."""
    commands = {"autodiff": ours, **others}
    runs: dict[str, list[tuple[float, float, int]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(run(command))
    return {
        name: (min(took), min(busy), min(peak)) for name, each in runs.items() for took, busy, peak in [zip(*each, strict=True)]
    }


def compare(title: str, ours: list[str], others: Commands, rounds: int) -> None:
    """Run the programs alternately, and print the minima."""
    best = measured(ours, others, rounds)
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


MANY = 10_000_000
CASES = [
    *((form, "", 1_000_000, cores, 5) for cores in (2, 1) for form in ("csv", "ndjson", "parquet")),
    *((form, codec, 1_000_000, 2, 2) for form in ("csv", "ndjson") for codec in ("gz", "zst")),
    *((form, "", MANY, cores, 1) for cores in (2, 1) for form in ("csv", "ndjson", "parquet")),
]
"""The format, the codec, the number of rows, the number of processors and the number of rounds of each row of the table."""


def table(folder: Path) -> None:
    """Print all comparisons with other programs as a table of Markdown; each row as soon as it is measured."""
    names = [name for name in peers("csv", "", "") if "JAX" not in name]
    columns = ["conversion", "rows", "processors", "autodiff", "on processors", "memory"]
    for name in names:
        columns += [f"{name}, wall", f"{name}, processors", f"{name}, memory"]
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns), flush=True)
    for form, codec, rows, cores, rounds in CASES:
        place = folder / str(rows)
        if not (place / "in.parquet").exists():
            place.mkdir(exist_ok=True)
            apart(made, place, rows)
        suffix = f"{form}.{codec}".rstrip(".")
        source, target, other = (str(place / f"{name}.{suffix}") for name in ("in", "out", "other"))
        if codec and not Path(source).exists():
            apart(packed, Path(f"{place}/in.{form}"), Path(source))
        pinned = ["taskset", "-c", "0"] if cores == 1 else []
        others = {name: [*pinned, *command] for name, command in peers(form, source, other).items() if name in names}
        best = measured([*pinned, *COMMAND, source, "-o", target], others, rounds)
        wall, busy, peak = best["autodiff"]
        cells = [f"{form.upper() if form != 'parquet' else 'Parquet'}{codec and f', {codec}'}", f"{rows:,}", str(cores)]
        cells += [f"{wall:.2f} s", f"{busy:.2f} s", f"{peak} MiB"]
        for name in names:
            cells += [f"{wall / best[name][0]:.2f}", f"{busy / best[name][1]:.2f}", f"{best[name][2]} MiB"]
        print("| " + " | ".join(cells) + " |", flush=True)


def packed(source: Path, target: Path) -> None:
    """Compress a file with the codec of a suffix."""
    import gzip

    import pyarrow as pa

    data = source.read_bytes()
    target.write_bytes(gzip.compress(data, 6) if target.suffix == ".gz" else pa.compress(data, "zstd", asbytes=True))


def apart(make: Callable[..., None], *arguments: object) -> None:
    """Call a function in a process of its own: processes that are measured inherit nothing large."""
    child = os.fork()
    if not child:
        make(*arguments)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only the comparisons whose title contains this text")
    parser.add_argument("--folder", help="the folder of the files, which a later run uses again; best on a memory disk")
    parser.add_argument("--table", action="store_true", help="print the table of docs/performance.md")
    given = parser.parse_args()
    if given.table:
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        with tempfile.TemporaryDirectory(dir=memory) as name:
            table(Path(given.folder or name))
        return
    print(f"{EXPRESSION}: value and two derivatives, {given.rows:,} rows")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(given.folder or name)
        if not (folder / "in.parquet").exists():
            apart(made, folder, given.rows)

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
