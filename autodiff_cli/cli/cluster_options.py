"""Options of ``map`` that say who works: this process, or a cluster."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from autodiff_cli.cli import options

if TYPE_CHECKING:
    from autodiff_cli.data.cluster.coordinator import Settings

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Size(click.ParamType):  # type: ignore[type-arg]
    """Bytes, such as ``64M``."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int:
        """The number of bytes."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?", value.strip(), re.IGNORECASE)
        size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
        if not size:
            self.fail(f"'{value}' is no size, such as 64M", param, context)
        return size


of_cluster = options.stack(
    [
        click.option(
            "--engine",
            default="local",
            show_default=True,
            type=click.Choice(["local", "dask"]),
            help="Who works: this process, or a Dask cluster.",
        ),
        click.option("--scheduler", metavar="ADDRESS", help="Of a cluster: tcp://HOST:8786.  [default: one of this machine]"),
        click.option(
            "--workers",
            metavar="N",
            type=click.IntRange(1),
            help="Processes of a cluster of this machine.  [default: all processors]",
        ),
        click.option("--partition-bytes", metavar="SIZE", type=Size(), help="How much of a file one task takes.  [default: 64M]"),
        click.option("--partition-rows", metavar="N", type=click.IntRange(1), help="The same in rows."),
    ]
)


def settings(
    target: str | None,
    engine: str,
    scheduler: str | None,
    workers: int | None,
    threads: int | None,
    partition_bytes: int | None,
    partition_rows: int | None,
    unbuffered: bool,
    **_: Any,
) -> Settings | None:
    """What a cluster needs to know, if there is to be one.

    Raises:
        click.UsageError: for options that do not go together.
    """
    from autodiff_cli.data import output

    own = {"--scheduler": scheduler, "--workers": workers, "--partition-bytes": partition_bytes, "--partition-rows": partition_rows}
    if engine != "dask":
        for name, value in own.items():
            if value is not None:
                raise click.UsageError(f"{name} is for a cluster\n  hint: add --engine dask")
        if output.is_folder(target):
            raise click.UsageError(f"'{target}' is a folder\n  hint: name a file; --engine dask writes many files into a folder")
        return None
    if unbuffered:
        raise click.UsageError("--unbuffered is for a stream, and --engine dask reads files")
    for name, value in (("--workers", workers), ("--threads", threads)):
        if scheduler is not None and value is not None:
            raise click.UsageError(f"{name} is for a cluster of this machine, and --scheduler names another")
    if partition_bytes is not None and partition_rows is not None:
        raise click.UsageError("--partition-bytes or --partition-rows, not both")
    from autodiff_cli.compiler.program import processors
    from autodiff_cli.data.cluster.coordinator import Settings
    from autodiff_cli.data.cluster.partitions import BYTES, Limits

    return Settings(scheduler, workers or processors(), threads or 1, Limits(partition_bytes or BYTES, partition_rows))
