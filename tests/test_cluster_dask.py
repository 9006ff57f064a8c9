"""``map --engine dask`` on local processes: killed workers, interrupts, ports, unreachable schedulers."""

from __future__ import annotations

import filecmp
import glob
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil
import pytest

from autodiff_cli.data.parts import scheduler
from autodiff_cli.errors import ClusterError
from tests.mapping import run_map
from tests.processes import LIMIT, started, unfinished, until

MAP = [sys.executable, "-m", "autodiff_cli", "map"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "OMP_NUM_THREADS": "1"}
SCHEDULER, WORKER = ([sys.executable, "-m", f"distributed.cli.dask_{name}"] for name in ("scheduler", "worker"))
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": ENVIRONMENT}
pytestmark = pytest.mark.extras
SLOW = "inv([[x, 1], [1, y]]).sum()"
"""An expression whose rows are computed one by one."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
        with scheduler.local_cluster(2) as found:
            yield found


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AUTODIFF_FORMAT", raising=False)
    monkeypatch.chdir(tmp_path)


def save(rows: int) -> None:
    Path("d.csv").write_text("x,y\n" + "".join(f"{2 + i / 7},{3 + i / 3}\n" for i in range(rows)))


def run_of(*arguments: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """A run in a session of its own, as in a terminal."""
    command = [*MAP, SLOW, "d.csv", "--engine", "dask", *arguments]
    return started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=True)


def done() -> list[str]:
    """Notes on partitions that are computed."""
    return glob.glob("out/.*.unfinished/*.done")


def begun(process: subprocess.Popen[str]) -> bool:
    """Whether rows of the first partitions are written."""
    return any(size > 1_000 for size in unfinished(process))


@pytest.mark.parametrize("target", ["o.csv", "out/"])
def test_a_killed_worker_loses_nothing(cluster: Any, target: str) -> None:
    save(1500)
    local = run_map(SLOW, "d.csv", "-o", "local.csv")
    assert local.code == 0
    victim = next(iter(cluster.workers.values())).pid
    with run_of("-o", target, "--engine", cluster.scheduler_address, "--partition-bytes", "1800") as process:
        until(lambda: len(done()) > 3 or begun(process) or process.poll() is not None)
        assert process.poll() is None
        os.kill(victim, signal.SIGKILL)
        _, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err) == (0, local.err)
    assert not psutil.pid_exists(victim) or psutil.Process(victim).status() == psutil.STATUS_ZOMBIE
    assert sorted(os.listdir()) == ["d.csv", "local.csv", target.rstrip("/")]
    written = [Path(target)] if target == "o.csv" else sorted(Path(target).iterdir())
    header, *rows = Path("local.csv").read_bytes().splitlines(keepends=True)
    assert b"".join(path.read_bytes().removeprefix(header) for path in written) == b"".join(rows)


def test_a_scheduler_without_workers_and_one_that_is_lost() -> None:
    """It says so at once and waits; a run that lost its scheduler is continued without one."""
    save(3000)
    with started([*SCHEDULER, "--port", "0", "--no-dashboard", "--scheduler-file", "s.json"], **QUIET) as head:
        until(lambda: Path("s.json").exists() and Path("s.json").read_text().endswith("}"))
        address = json.loads(Path("s.json").read_text())["address"]
        with run_of("-o", "out/", "--engine", address, "--partition-bytes", "1800") as process:
            assert process.stderr.readline() == "note: the scheduler does not have workers yet; waiting for workers\n"
            with started([*WORKER, address, "--nworkers", "1", "--nthreads", "1", "--no-dashboard"], **QUIET) as worker:
                until(lambda: len(done()) > 3 or process.poll() is not None)
                head.kill()
                _, err = process.communicate(timeout=LIMIT)
                family = psutil.Process(worker.pid).children(recursive=True)
                worker.terminate()
    # A process that still writes for the lost run may do so; what it leaves is removed by the run after its end.
    assert psutil.wait_procs(family, timeout=LIMIT)[1] == []
    assert process.returncode == 5
    assert f"error: the connection to the scheduler at {address} was lost\n  hint: continue the run with --resume" in err
    assert run_map(SLOW, "d.csv", "-o", "out/", "--partition-bytes", 1_800, "--resume").code == 0
    assert run_map(SLOW, "d.csv", "-o", "right/", "--partition-bytes", 1_800).code == 0
    assert filecmp.cmpfiles("out", "right", os.listdir("right"), shallow=False)[0] == os.listdir("right")
    assert sorted(os.listdir("out")) == sorted(os.listdir("right"))


def test_the_first_of_many_errors(cluster: Any) -> None:
    save(200)
    with open("d.csv", "a") as file:
        file.write("1,no\n" * 100)
    arguments = ("--engine", cluster.scheduler_address, "-o", "o.csv", "--partition-bytes", 360)
    result = run_map("x*y", "d.csv", *arguments)
    assert (result.code, os.listdir()) == (5, ["d.csv"])
    assert result.err.startswith("error: 'd.csv', line 202: column 'y' contains 'no', which is not a number")
    assert result.err.count("\n") == 2


def test_an_interrupt_leaves_nothing_behind() -> None:
    save(20_000)  # more than it has time for; it reads all of them before the first partition is computed
    with run_of("-o", "o.csv", "--threads", "2", "--partition-bytes", "3600") as process:
        until(lambda: begun(process) or process.poll() is not None)
        family = psutil.Process(process.pid).children(recursive=True)
        assert len(family) > 2
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, out, err) == (130, "", "")
    assert os.listdir() == ["d.csv"]
    _, alive = psutil.wait_procs(family, timeout=LIMIT)
    assert alive == []


def test_a_killed_client_leaves_nothing(cluster: Any) -> None:
    save(1500)
    arguments = ("-o", "o.csv", "--engine", cluster.scheduler_address, "--partition-bytes", "1800")
    with run_of(*arguments) as process:
        until(lambda: begun(process) or process.poll() is not None)
        process.kill()
        process.wait(LIMIT)
    assert os.listdir() == ["d.csv"]


def test_other_clients_cannot_connect() -> None:
    with scheduler.connected("dask", 1, print) as results:
        assert list(results(divmod, [(7, 2)])) == [(3, 1)]
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        sockets = [one for process in processes for one in process.net_connections() if one.status == psutil.CONN_LISTEN]
        assert len(sockets) > 2
        assert {one.laddr.ip for one in sockets} == {"127.0.0.1"}
        assert not any(one.laddr.port in (8786, 8787) for one in sockets)


def test_what_a_worker_cannot_do(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    with scheduler.connected(cluster.scheduler_address, 0, print) as results:
        with pytest.raises(ClusterError, match="a worker failed: ZeroDivisionError"):
            list(results(divmod, [(1, 0)]))
        with pytest.raises(ClusterError, match="several workers ended while they computed the same partition"):
            list(results(os._exit, [(1,)]))


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "TIMEOUT", 0.5)
    save(3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        listening = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        for address, code, message in (
            ("tcp://127.0.0.1:1", 5, "the scheduler at tcp://127.0.0.1:1 does not answer"),
            (listening, 5, f"the scheduler at {listening} does not answer"),
            ("carrier-pigeon://loft", 2, "--engine 'carrier-pigeon://loft' is not an address"),
        ):
            result = run_map("x", "d.csv", "-o", "o.csv", "--engine", address)
            assert (result.code, os.listdir()) == (code, ["d.csv"])
            assert message in result.err
            assert "  hint: " in result.err


def test_a_worker_that_ends_while_the_cluster_starts_is_an_error_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(scheduler, "local_cluster", start)
    with (
        pytest.raises(ClusterError, match="the workers did not start: Nanny failed to start"),
        scheduler.connected("dask", 1, print),
    ):
        pass
