"""``autodiff map`` as a process: pipes that stay open, readers that go away, signals at any moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MAP = [sys.executable, "-m", "autodiff_cli", "map"]
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("AUTODIFF_FORMAT", "PYTHONUNBUFFERED")}


def test_a_row_comes_out_when_it_comes_in() -> None:
    with subprocess.Popen(
        [*MAP, "x**2", "--unbuffered"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=ENVIRONMENT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("x,name\n")
        assert process.stdout.readline() == "x,name,value,d_x\n"
        process.stdin.write("3,a\n")
        assert process.stdout.readline() == "3,a,9.0,6.0\n"
        process.stdin.write('4,"b\nc"\n5,d\n')
        assert [process.stdout.readline() for _ in range(3)] == ['4,"b\n', 'c",16.0,8.0\n', "5,d,25.0,10.0\n"]
        process.stdin.close()
        assert process.wait() == 0


def test_the_reader_went_away() -> None:
    command = f"yes 1.5 | {' '.join(MAP)} 'x**2' --columns x | head -n 2; exit ${{PIPESTATUS[1]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("x,value,d_x\n1.5,2.25,3.0\n", "", 141)


def test_pyarrow_that_cannot_be_imported(tmp_path: Path) -> None:
    """Several threads try to, and it takes a while until each of them knows."""
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow" / "__init__.py").write_text("import time; time.sleep(0.1); raise ImportError('no library')")
    rows = "".join(f"{i}.5\n" for i in range(150_000))
    for part in range(2):
        (tmp_path / f"{part}.csv").write_text("x\n" + rows)
    script = "from autodiff_cli.data import lines; from autodiff_cli.cli.main import main; lines.CHUNK = 1 << 19; exit(main())"
    path = os.pathsep.join([str(tmp_path), os.getcwd(), ENVIRONMENT.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", script, "map", "2*x", "0.csv", "1.csv", "--no-keep", "-q", "--threads", "4"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**ENVIRONMENT, "PYTHONPATH": path},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"{2 * i + 1}.0,2.0" for i in range(150_000)] * 2


def test_standard_output_that_is_the_input(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text("x\n1\n")
    command = f"{' '.join(MAP)} x {file} >> {file}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 2
    assert "standard output is the input too" in done.stderr
    assert file.read_text() == "x\n1\n"


def test_a_full_disk_and_a_closed_stream(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text("x\n" + "1\n" * 100_000)
    for redirection, message in (("> /dev/full", "No space left on device"), (">&-", "standard output is closed")):
        command = f"{' '.join(MAP)} x {file} {redirection}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=ENVIRONMENT)
        assert (done.returncode, done.stderr.count("\n")) == (5, 1)
        assert message in done.stderr
    closed = subprocess.run(["bash", "-c", f"{' '.join(MAP)} x <&-"], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (closed.returncode, closed.stderr) == (5, "error: cannot read standard input: it is closed\n")


@pytest.mark.parametrize("style", ["csv", "npz", "parquet"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_process_that_is_ended_leaves_no_half_file(style: str, number: signal.Signals, tmp_path: Path) -> None:
    if style == "parquet":
        pytest.importorskip("pyarrow")
    target = tmp_path / f"out.{style}"
    target.write_bytes(b"what was there")
    with subprocess.Popen([*MAP, "x**2", "--columns", "x", "-o", target], stdin=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdin is not None
        process.stdin.write(b"1.5\n" * 2_500_000)  # more than one piece
        process.stdin.flush()
        deadline = time.monotonic() + 30
        while len(os.listdir(tmp_path)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.2))
        process.send_signal(number)
        process.wait(30)
    assert target.read_bytes() == b"what was there"
    left = sorted(set(os.listdir(tmp_path)) - {target.name})
    if number == signal.SIGKILL:
        assert process.returncode == -number
        assert all(name.startswith(".") and name.endswith(".tmp") for name in left)
    else:
        assert process.returncode == 128 + number
        assert left == []


def test_the_bar(tmp_path: Path) -> None:
    """In a terminal and after two seconds only, and gone at the end."""
    import pty

    leader, follower = pty.openpty()
    script = (
        "import time; from autodiff_cli.report import progress; progress.PATIENCE = 0.05\n"
        "with progress.Progress() as tick:\n"
        "    tick(10, 0.1); time.sleep(0.1); tick(123456, 0.5); time.sleep(0.3)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stderr=follower, env={**ENVIRONMENT, "TERM": "xterm"}) as process:
        os.close(follower)
        shown = b""
        try:
            while piece := os.read(leader, 4096):
                shown += piece
        except OSError:
            pass
        assert process.wait() == 0
    os.close(leader)
    assert b"123,456 rows" in shown
    assert b"left" in shown
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, env=ENVIRONMENT)
    assert (done.stdout, done.stderr) == (b"", b"")
