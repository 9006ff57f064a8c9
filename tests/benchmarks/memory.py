"""What a chain of blocks keeps for the backward pass: with and without checkpoints, and with saved tensors on disk.

``python tests/benchmarks/memory.py`` (with PyTorch installed, its number of saved tensors is printed too).
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

import autodiff_cli as ad
from autodiff_cli.utils.checkpoint import checkpoint, checkpoint_sequential

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

BLOCKS, SIZE = 200, 20_000


def block(x: Any) -> Any:
    """Save five vectors: the inputs of sin and cos, both factors, and the result of tanh."""
    return (x.sin() * x.cos() + x).tanh()


def plain(x: Any) -> Any:
    for _ in range(BLOCKS):
        x = block(x)
    return x


def in_checkpoints(x: Any) -> Any:
    for _ in range(BLOCKS):
        x = checkpoint(block, x, use_reentrant=False)
    return x


def in_segments(segments: int) -> Callable[[Any], Any]:
    return lambda x: checkpoint_sequential([block] * BLOCKS, segments, x, use_reentrant=False)


def on_disk(folder: str) -> AbstractContextManager[None]:
    """Hooks that write each saved tensor to a file, and remove the file with the graph."""

    class File:
        count = 0

        def __init__(self, data: Any) -> None:
            self.path = os.path.join(folder, f"{File.count}.npy")
            File.count += 1
            np.save(self.path, data)

        def __del__(self) -> None:
            os.remove(self.path)

    return ad.autograd.graph.saved_tensors_hooks(lambda x: File(x.detach().numpy()), lambda file: ad.tensor(np.load(file.path)))


def measured(name: str, run: Callable[[Any], Any], hooks: AbstractContextManager[Any] | None = None) -> Any:
    """Print the memory after the forward pass, the highest memory of both passes, and their time."""
    x = ad.linspace(0.1, 1.0, SIZE, requires_grad=True)
    gc.collect()
    start = time.perf_counter()
    tracemalloc.start()
    with hooks or nullcontext():
        out = run(x).sum()
    kept, _ = tracemalloc.get_traced_memory()
    out.backward()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    seconds = time.perf_counter() - start
    vector = 8 * SIZE
    print(f"{name:44s} {kept / 2**20:8.1f} MiB {kept / vector:7.0f} vectors {peak / 2**20:8.1f} MiB {seconds:7.2f} s")
    return x.grad.tolist()


def saved_by(library: Any) -> tuple[int, int]:
    """Return the number of values that the nodes of the chain save, and of different tensors among them."""
    seen: list[Any] = []

    def pack(x: Any) -> Any:
        seen.append(x)
        return x

    x = library.linspace(0.1, 1.0, SIZE, dtype=library.float64).requires_grad_()
    with library.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        plain(x)
    addresses = {(x.data_ptr() if hasattr(x, "data_ptr") else x._data.ctypes.data) for x in seen}
    return len(seen), len(addresses)


if __name__ == "__main__":
    print(f"{BLOCKS} blocks on vectors of {SIZE:,} float64 ({8 * SIZE / 2**20:.2f} MiB each)\n")
    print(f"{'':44s} {'after the forward pass':>29s} {'peak':>12s} {'time':>9s}")
    expected = measured("no checkpoint", plain)
    runs: list[tuple[str, Callable[[Any], Any]]] = [
        ("a checkpoint for each block", in_checkpoints),
        *((f"{n} segments of {BLOCKS // n} blocks", in_segments(n)) for n in (5, 14, 50)),
    ]
    for name, run in runs:
        assert measured(name, run) == expected, name
    with tempfile.TemporaryDirectory() as folder:
        assert measured("saved tensors on disk", plain, on_disk(folder)) == expected
    print()
    for library in (ad, torch):
        if library is not None:
            values, tensors = saved_by(library)
            print(
                f"{library.__name__}: {values:,} values saved, {values / BLOCKS:.0f} by each block; {tensors:,} different tensors"
            )
