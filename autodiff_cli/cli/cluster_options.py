"""The options of ``map`` for computing in this process, in parts or on a cluster."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import click

from autodiff_cli.cli import options

if TYPE_CHECKING:
    from autodiff_cli.data.parts.coordinator import PartSettings

_LOCAL = ("local", "numpy", "llvm")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _byte_size(text: str) -> int:
    """Return the number of bytes in a text such as ``64M`` or ``1.5 GiB``, which must not be 0."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if size == 0:
        raise click.UsageError(f"--partition-bytes: '{text}' is not a size such as 64M")
    return size


class Cluster(NamedTuple):
    """The options for computing in one piece, in parts or on a cluster."""

    engine: str
    threads: int | None
    partition_bytes: int | None
    resume: bool

    @property
    def compiler(self) -> str:
        """The engine of one process: machine code, NumPy, or machine code if there are enough rows."""
        return self.engine if self.engine in ("llvm", "numpy") else "auto"

    @property
    def _uses_dask(self) -> bool:
        return self.engine not in _LOCAL

    def settings(self, target: str | None, unbuffered: bool) -> PartSettings | None:
        """Return the settings for an evaluation in parts that writes to ``target``; ``None`` for one file in this process."""
        from autodiff_cli.data import output

        in_folder = output.is_folder(target)
        self._check(in_folder, unbuffered)
        if not (self._uses_dask or in_folder):
            return None
        from autodiff_cli.compiler.threads import processors
        from autodiff_cli.data.parts.coordinator import PartSettings
        from autodiff_cli.data.parts.partitions import BYTES

        cluster = self.engine if self._uses_dask else None
        return PartSettings(cluster, self.threads or processors(), self.partition_bytes or BYTES, self.resume)

    def _check(self, in_folder: bool, unbuffered: bool) -> None:
        """Raise an error if the engine is unknown, or two options exclude each other; ``in_folder`` describes the output."""
        is_address = self._uses_dask and self.engine != "dask"
        in_parts = self._uses_dask or in_folder
        if is_address and ":" not in self.engine:
            hint = "use local, numpy, llvm, dask, or the address of a Dask scheduler"
            raise click.UsageError(f"unknown engine '{self.engine}'\n  hint: {hint}")
        if self.partition_bytes is not None and not in_parts:
            raise click.UsageError("--partition-bytes applies only to a cluster\n  hint: add --engine dask")
        if self.resume and not in_folder:
            raise click.UsageError("--resume continues an output of many files\n  hint: name a folder: -o out/")
        if unbuffered and in_parts:
            reader = "--engine dask" if self._uses_dask else "-o FOLDER"
            raise click.UsageError(f"--unbuffered is for a stream, but {reader} reads files")
        if is_address and self.threads is not None:
            raise click.UsageError("--threads is for this machine, but --engine names another cluster")


cluster = options.together(
    "cluster",
    Cluster,
    click.option(
        "--engine",
        default="local",
        show_default=True,
        metavar="local|numpy|llvm|dask|ADDRESS",
        help="Engine: local for this process, with machine code if there are enough rows; numpy or llvm, which needs llvmlite, for "
        "any number of rows; dask for a new Dask cluster on this machine; or a Dask scheduler: tcp://HOST:8786.",
    ),
    click.option(
        "--threads",
        metavar="N",
        type=click.IntRange(1),
        help="Number of threads, or of the processes of a new cluster.  [default: one per processor]",
    ),
    click.option(
        "--partition-bytes",
        metavar="SIZE",
        callback=options.converted(_byte_size),
        help="Number of bytes per task.  [default: 64M]",
    ),
    click.option("--resume", is_flag=True, help="Continue an interrupted run whose output is a folder."),
)
