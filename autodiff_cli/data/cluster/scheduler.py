"""Dask: a cluster of this machine, or one that is there, and calls of plain functions on it."""

from __future__ import annotations

import asyncio
import logging
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from autodiff_cli.errors import ClusterError, UsageError
from autodiff_cli.lazy import library

Made = TypeVar("Made")
TIMEOUT = 10
"""Seconds in which a scheduler has to answer."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C waits; processes that are started in the meantime never see it, so that the client alone ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    # It would unblock the signal when it is started.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def check_there() -> None:
    """Import Dask.

    Raises:
        MissingPackage: if it is not installed.
    """
    library("distributed", "--engine dask")


class Cluster:
    """Workers that answer calls.

    Args:
        client: of Dask.
        where: what messages call the cluster.

    Attributes:
        notes: what a person should know about it.
    """

    def __init__(self, client: Any, where: str, notes: Sequence[str] = ()) -> None:
        self._client = client
        self._where = where
        self._calls = 0
        self.notes = list(notes)

    def each(
        self, function: Callable[..., Made], arguments: Sequence[tuple[Any, ...]], failed: Callable[[Made], bool]
    ) -> Iterator[tuple[int, Made]]:
        """Results as they come, each with its position; behind one that ``failed`` nothing more is begun.

        Raises:
            ClusterError: if the workers cannot do it at all.
        """
        from distributed import as_completed

        if not arguments:
            return
        self._calls += 1
        digits = len(str(len(arguments)))
        keys = [f"autodiff-{self._client.id}-{self._calls}-{i:0{digits}}" for i in range(len(arguments))]
        futures = self._client.map(function, *zip(*arguments, strict=True), key=keys, pure=False)
        waiting = {key: (i, future) for i, (key, future) in enumerate(zip(keys, futures, strict=True))}
        done = as_completed(futures, loop=self._client.loop, with_results=True, raise_errors=False)
        del futures
        for future, made in done:
            if future.key not in waiting:
                continue
            i, _ = waiting.pop(future.key)
            if future.status != "finished":
                raise self._lost(future, made)
            yield i, made
            if failed(made):
                later = [key for key, (j, _) in waiting.items() if j > i]
                self._client.cancel([waiting.pop(key)[1] for key in later])

    def _lost(self, future: Any, made: Any) -> ClusterError:
        """Why there is no result."""
        from distributed import KilledWorker

        if future.status != "error":
            return ClusterError(f"the connection to {self._where} was lost")
        error = made[1] if isinstance(made, tuple) else future.exception()
        if isinstance(error, KilledWorker):
            hint = "look at the memory of the workers; smaller partitions need less: --partition-bytes"
            return ClusterError("several workers ended while they computed the same partition", hint=hint)
        if isinstance(error, ModuleNotFoundError):
            return ClusterError(f"a worker has no package {error.name}", hint="install the same packages on all machines")
        return ClusterError(f"a worker failed: {type(error).__name__}: {error}")


@contextmanager
def connected(address: str | None, workers: int, threads: int, scratch: str) -> Iterator[Cluster]:
    """A cluster, of this machine if there is no address; it is closed on the way out, and a remote one left alone.

    Args:
        address: of a scheduler.
        workers: processes of a cluster of this machine.
        threads: of each of them.
        scratch: a folder for what Dask puts on disk.

    Raises:
        UsageError: for what is no address.
        ClusterError: if the scheduler does not answer.
    """
    from distributed import Client

    # Each logger of Dask has a level and a handler of its own.
    silent = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    where = f"the scheduler at {address}" if address else "the cluster of this machine"
    cluster: Any = None
    client: Any = None
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if address is None:
                cluster = _of_this_machine(workers, threads, scratch)
            try:
                if address is not None:
                    asyncio.run(_answered(address))
                client = Client(address or cluster, timeout=TIMEOUT, set_as_default=False)
            except ValueError as error:
                raise UsageError(f"--scheduler '{address}' is no address: {error}", hint="--scheduler tcp://HOST:8786") from None
            except (OSError, TimeoutError):
                hint = "is it running, and can this machine reach it? Start one: dask scheduler"
                raise ClusterError(f"{where} does not answer within {TIMEOUT} seconds", hint=hint) from None
            notes = _notes(client, caught)
        yield Cluster(client, where, notes)
    finally:
        with undisturbed():
            for part in (client, cluster):
                if part is not None:
                    with suppress(OSError, TimeoutError, RuntimeError):
                        part.close()
        logging.disable(silent)


async def _answered(address: str) -> None:
    """Shake hands once; the client of Dask waits for that without an end."""
    from distributed import Security
    from distributed.comm import connect

    secured = Security().get_connection_args("client")
    comm = await asyncio.wait_for(connect(address, timeout=TIMEOUT, **secured), TIMEOUT)
    await comm.close()


def _of_this_machine(workers: int, threads: int, scratch: str) -> Any:
    """Processes that listen to this machine alone."""
    from dask import config
    from distributed import LocalCluster

    # Dask's workers hand memory back to the system after every operation, and fetch it again for the next one; ours need
    # little of it, always the same.
    given = config.get("distributed.nanny.pre-spawn-environ")
    kept = {name: value for name, value in given.items() if not name.startswith("MALLOC_")}
    with undisturbed(), config.set({"distributed.nanny.pre-spawn-environ": kept}):
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            host="127.0.0.1",
            dashboard_address=None,
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL + 1,
            memory_limit=None,
            local_directory=scratch,
        )


def _notes(client: Any, caught: Sequence[Any]) -> list[str]:
    notes = []
    if any("version" in str(warning.message).lower() for warning in caught):
        notes.append("the cluster has other versions of Python or its packages; if it fails, install the same ones everywhere")
    if not client.scheduler_info()["workers"]:
        notes.append("the scheduler has no workers yet; waiting for some")
    return notes
