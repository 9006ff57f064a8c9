"""``map`` on Parquet files of a simulated object store: processor time and bytes per row, and requests per part.

    python tests/benchmarks/object_store.py

The server (moto) runs in this process, and ``map`` in another one with one thread, whose processor time is measured.  The time on
the clock is that of the server, so it says nothing about a real object store; the last table computes it from assumptions.
"""

from __future__ import annotations

import io
import logging
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from moto.server import ThreadedMotoServer

EXPRESSION = "sin(x)*exp(-y**2)"
FILES, ROWS, GROUP = 4, 3_000_000, 500_000
ROUNDS = int(os.environ.get("ROUNDS", "3"))
TERABYTE = 1e12
NETWORK = (50e6, 100e6, 200e6)
"""Assumed bytes per second of a worker."""


def processor_time(*arguments: str) -> float:
    """The least seconds of processor time of a run, in some rounds; an output folder is new in each round."""
    found = []
    for i in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "autodiff_cli", "map", *(each.replace("ROUND", str(i)) for each in arguments)]
        subprocess.run([*command, "--threads", "1"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def main() -> None:
    """Measure and print."""
    requests = io.StringIO()
    logger = logging.getLogger("werkzeug")
    logger.setLevel(logging.INFO)
    logger.addHandler(logging.StreamHandler(requests))
    logger.propagate = False
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    os.environ |= {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_DEFAULT_REGION": "us-east-1"}
    os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    import s3fs

    store = s3fs.S3FileSystem()
    store.mkdir("bucket")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("one.csv").write_text("x,y\n1,2\n")
        os.mkdir("in")
        for i in range(FILES):
            numbers = np.random.default_rng(i)
            table = pa.table({"id": np.arange(ROWS), "x": numbers.uniform(-3, 3, ROWS), "y": numbers.normal(size=ROWS)})
            pyarrow.parquet.write_table(table, f"in/{i}.parquet", row_group_size=GROUP)
            store.put_file(f"in/{i}.parquet", f"bucket/in/{i}.parquet")
        rows = FILES * ROWS
        start = processor_time(EXPRESSION, "one.csv", "-o", "one.out.csv")
        disk = processor_time(EXPRESSION, "in", "-o", "outROUND/") - start
        read = processor_time(EXPRESSION, "s3://bucket/in/", "-o", "againROUND/") - start
        requests.truncate(0)
        both = processor_time(EXPRESSION, "s3://bucket/in/", "-o", "s3://bucket/outROUND/") - start
        many = requests.getvalue().count(" HTTP/1.1") / ROUNDS
        requests.truncate(0)
        processor_time(EXPRESSION, "s3://bucket/in/0.parquet", "-o", "s3://bucket/oneROUND/")
        one = requests.getvalue().count(" HTTP/1.1") / ROUNDS
        inside, outside = (sum(path.stat().st_size for path in Path(name).iterdir()) / rows for name in ("in", "out0"))
    server.stop()
    print(f"start: {start:.2f} s; bytes per row: {inside:.1f} in, {outside:.1f} out")
    for name, seconds in (("disk", disk), ("object store to disk", read), ("object store to object store", both)):
        print(f"{name}: {seconds / rows * 1e6:.3f} us of processor time per row")
    print(f"requests: {(many - one) / (FILES - 1):.0f} per part")
    terarows = TERABYTE / inside
    print(f"1 TB: {terarows:.3g} rows, {terarows * both / rows:.0f} s of processor time, {terarows * outside / 1e12:.2f} TB out")
    for speed in NETWORK:
        seconds = terarows * (both / rows + (inside + outside) / speed)
        print(f"{speed / 1e6:.0f} MB/s:", *(f"{workers} workers {seconds / workers / 60:.0f} min," for workers in (1, 10, 100)))


if __name__ == "__main__":
    main()
