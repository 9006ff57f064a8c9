"""The options of ``map`` for computing in this process, in parts or on a cluster."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import click

from autodiff_cli.cli import options

if TYPE_CHECKING:
    from autodiff_cli.data.parts.coordinator import PartSettings

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class ByteSize(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, such as ``64M``."""

    name = "size"

    def convert(self, value: str | int, param: click.Parameter | None, context: click.Context | None) -> int:
        """Return the number of bytes."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?", value.strip(), re.IGNORECASE)
        size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
        if not size:
            self.fail(f"'{value}' is not a size such as 64M", param, context)
        return size


class Cluster(NamedTuple):
    """The options for computing in one piece, in parts or on a cluster."""

    engine: str
    scheduler: str | None
    workers: int | None
    threads: int | None
    partition_bytes: int | None
    resume: bool

    def settings(self, target: str | None, unbuffered: bool) -> PartSettings | None:
        """Return the settings for an evaluation in parts; ``None`` to compute one file in this process.

        Raises:
            click.UsageError: if two options exclude each other.
        """
        from autodiff_cli.data import output

        dask, many = self.engine == "dask", output.is_folder(target)
        for_cluster = {"--scheduler": self.scheduler, "--workers": self.workers, "--partition-bytes": self.partition_bytes}
        for name, value in for_cluster.items():
            if value is not None and not (dask or (many and name == "--partition-bytes")):
                raise click.UsageError(f"{name} applies only to a cluster\n  hint: add --engine dask")
        if self.resume and not many:
            raise click.UsageError("--resume continues an output of many files\n  hint: name a folder: -o out/")
        if not dask and not many:
            return None
        if unbuffered:
            raise click.UsageError(f"--unbuffered is for a stream, but {'--engine dask' if dask else '-o FOLDER'} reads files")
        for name, value in (("--workers", self.workers), ("--threads", self.threads)):
            if self.scheduler is not None and value is not None:
                raise click.UsageError(f"{name} is for a cluster on this machine, but --scheduler names another cluster")
        from autodiff_cli.compiler.threads import processors
        from autodiff_cli.data.parts.coordinator import PartSettings
        from autodiff_cli.data.parts.partitions import BYTES

        threads = self.threads or (1 if dask else processors())
        return PartSettings(dask, self.scheduler, self.workers or processors(), threads, self.partition_bytes or BYTES, self.resume)


compiled = click.option(
    "--compile/--no-compile",
    "compiling",
    default=None,
    help="Compile to machine code, which needs llvmlite, or use NumPy.  [default: compile if there are enough rows]",
)


cluster = options.together(
    "cluster",
    Cluster,
    click.option(
        "--engine",
        default="local",
        show_default=True,
        type=click.Choice(["local", "dask"]),
        help="Engine: local for this process, dask for a Dask cluster.",
    ),
    click.option(
        "--threads",
        metavar="N",
        type=click.IntRange(1),
        help="Number of threads; on a cluster, per worker.  [default: one per processor; 1 on a cluster]",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler: tcp://HOST:8786.  [default: a new one on this machine]"),
    click.option(
        "--workers",
        metavar="N",
        type=click.IntRange(1),
        help="Number of worker processes on this machine.  [default: one per processor]",
    ),
    click.option("--partition-bytes", metavar="SIZE", type=ByteSize(), help="Number of bytes per task.  [default: 64M]"),
    click.option("--resume", is_flag=True, help="Continue an interrupted run whose output is a folder."),
)
