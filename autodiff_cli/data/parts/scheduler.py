"""Function calls on a Dask cluster, either an existing cluster or a new one on this machine."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from autodiff_cli.data.output import undisturbed
from autodiff_cli.data.pipeline import in_order
from autodiff_cli.errors import AutodiffError, ClusterError, UsageError, setting
from autodiff_cli.lazy import library

if TYPE_CHECKING:
    from distributed import Client

Result = TypeVar("Result")
Tell = Callable[[str], None]
"""A function that shows a note to the user at once."""
TIMEOUT = 10
"""The maximum response time of a scheduler in seconds."""
_LEAST_AHEAD = 64
"""The smallest number of calls that are given to a cluster before their results are taken; workers may join it later."""
_OTHER_VERSIONS = (
    "the cluster has other versions of Python or of packages; if an evaluation fails, install the same versions on all machines"
)


@contextmanager
def connected(address: str, workers: int, tell: Tell) -> Iterator[Callable[..., Generator[Any]]]:
    """Connect to a cluster, and yield the function that calls a function on its workers for many arguments, in order.

    ``address`` is that of a scheduler, or ``dask`` for a new cluster of so many ``workers`` on this machine; ``tell`` shows notes
    on the cluster to the user.  At exit, the connection is closed, and a new cluster is shut down.

    Without Dask, ``MissingPackage`` is raised; for an invalid address, ``UsageError``; and ``ClusterError`` if the scheduler does
    not answer, or the workers of a new cluster do not start.
    """
    library("distributed", setting("engine", "dask"))
    # Each Dask logger has its own level and handler, so logging is disabled as a whole.
    level_before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    where = "the cluster on this machine" if address == "dask" else f"the scheduler at {address}"
    with ExitStack() as opened:
        opened.callback(logging.disable, level_before)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            client = _new_cluster(workers, opened) if address == "dask" else _client(address, where)
            opened.callback(_close, client)
        if any("version" in str(warning.message).lower() for warning in caught):  # Dask warns of different versions
            tell(_OTHER_VERSIONS)
        if not client.scheduler_info()["workers"]:
            tell("the scheduler does not have workers yet; waiting for workers")
        yield partial(_results, client, where)


def _client(address: str, where: str) -> Client:
    """Connect to a scheduler, ``where`` in messages.  An invalid address is a ``UsageError``, silence a ``ClusterError``."""
    from distributed import Client

    try:
        asyncio.run(_connect_once(address))
        client = Client(address, timeout=TIMEOUT, set_as_default=False)
    except ValueError as error:
        option = setting("engine")
        hint = f"use an address such as {option} tcp://HOST:8786"
        raise UsageError(f"{option} '{address}' is not an address: {error}", hint=hint) from None
    except OSError:
        hint = "start it with 'dask scheduler', and check that this machine can reach it"
        raise ClusterError(f"{where} does not answer within {TIMEOUT} seconds", hint=hint) from None
    return client


def _new_cluster(workers: int, opened: ExitStack) -> Client:
    """Start a cluster on this machine and connect to it, or raise ``ClusterError``; ``opened`` shuts the cluster down at exit."""
    from distributed import Client

    try:
        cluster = local_cluster(workers)
        opened.callback(_close, cluster)
        client = Client(cluster, timeout=TIMEOUT, set_as_default=False)
    except (OSError, RuntimeError) as error:  # RuntimeError: a worker ended while it started
        hint = "check the memory of this machine, and repeat the command"
        raise ClusterError(f"the workers did not start: {error}", hint=hint) from None
    return client


def _close(part: Any) -> None:
    """Close a client or shut down a cluster, also if its connection is lost."""
    with undisturbed(), suppress(OSError, TimeoutError, RuntimeError):
        part.close()


async def _connect_once(address: str) -> None:
    """Connect once with a timeout, because the Dask client would wait forever; a wrong address is a ``ValueError``."""
    from distributed import Security
    from distributed.comm import connect

    encryption = Security().get_connection_args("client")  # from the configuration of Dask
    connection = await asyncio.wait_for(connect(address, timeout=TIMEOUT, **encryption), TIMEOUT)
    await connection.close()


def local_cluster(workers: int) -> Any:
    """Start a cluster of processes with one thread each that accepts connections only from this machine."""
    from multiprocessing import resource_tracker

    from dask import config
    from distributed import LocalCluster

    # By default, Dask workers return memory to the operating system after every operation and allocate it again for the
    # next one.  The workers here need little memory, and the same amount for each partition, so this would only cost time.
    environment = config.get("distributed.nanny.pre-spawn-environ")
    variables = {name: value for name, value in environment.items() if not name.startswith("MALLOC_")}
    # Processes inherit the block of Ctrl-C, so that only the client ends them.  The resource tracker would unblock it when it
    # starts, so it is started first.
    resource_tracker.ensure_running()
    with undisturbed(), config.set({"distributed.nanny.pre-spawn-environ": variables}):
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL + 1,  # all
            memory_limit=None,  # of a worker
        )


def _results(
    client: Client, where: str, function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]
) -> Generator[Result]:
    """Call a function for each tuple of arguments on the workers of a cluster, named ``where``, and yield the results in order.

    If a call fails, later calls are canceled; a failure that is not an ``AutodiffError`` becomes a ``ClusterError``.  Only some
    results are in the memory of the workers at a time.
    """
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        ahead = max(_LEAST_AHEAD, 3 * sum(client.nthreads().values()))  # 3 for a thread, which does not wait for its next call
        yield from in_order(lambda values: client.submit(function, *values, pure=False), arguments, ahead)
    except AutodiffError:  # of the function, and not of the cluster
        raise
    except (CancelledError, CommClosedError):
        raise ClusterError(f"the connection to {where} was lost") from None
    except KilledWorker:
        hint = f"check the memory of the workers, or use smaller partitions: {setting('partition_bytes')}"
        raise ClusterError("several workers ended while they computed the same partition", hint=hint) from None
    except ModuleNotFoundError as error:
        hint = "install the same packages on all machines"
        raise ClusterError(f"a worker lacks the package {error.name}", hint=hint) from None
    except Exception as error:
        raise ClusterError(f"a worker failed: {type(error).__name__}: {error}") from None
