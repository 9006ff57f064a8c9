"""Generators of random numbers, as ``torch.Generator``, and the default generator.

The numbers are those of NumPy's PCG64, which differ from PyTorch's for the same seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import ArgumentError, GraphError

__all__ = ["Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

_WORD = (1 << 64) - 1


class Generator:
    """A source of random numbers with a state of its own, as ``torch.Generator``.

    Args:
        device: ``'cpu'``, the only device.
    """

    __slots__ = ("_drawing", "_seed")

    def __init__(self, device: object = "cpu") -> None:
        if str(device) != "cpu":
            raise GraphError(
                f"a generator for the device '{device}' does not exist", hint="autodiff computes with NumPy on the processor"
            )
        self._seed = 0
        self._drawing: np.random.Generator | None = None

    @property
    def numpy(self) -> np.random.Generator:
        """NumPy's generator, which is seeded with 0 at first."""
        if self._drawing is None:
            self._drawing = np.random.default_rng(self._seed)
        return self._drawing

    @property
    def device(self) -> str:
        """The device of the generator."""
        return "cpu"

    def manual_seed(self, seed: int) -> Generator:
        """Start again from a seed, a whole number of at most 64 bits (two's complement if negative); return the generator."""
        number = int(seed)
        if not -(1 << 63) <= number <= _WORD:
            raise ArgumentError("Overflow when unpacking long long", hint="use a seed of at most 64 bits")
        self._seed = number & _WORD
        self._drawing = None
        return self

    def initial_seed(self) -> int:
        """Return the last seed."""
        return self._seed

    def seed(self) -> int:
        """Start again from a seed that is different in every run, and return it."""
        self.manual_seed(int(np.random.SeedSequence().entropy) & _WORD)  # type: ignore[arg-type]
        return self._seed

    def get_state(self) -> Tensor:
        """Return seven int64: seed, whether half a word is left, that half, and state and increment with the low words first."""
        state: Any = self.numpy.bit_generator.state
        words = [self._seed, state["has_uint32"], state["uinteger"]]
        for number in (state["state"]["state"], state["state"]["inc"]):
            words += [number & _WORD, number >> 64]
        return tensor_on(np.array(words, np.uint64).view(np.int64))

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state that ``get_state`` returned, and return the generator."""
        if not isinstance(new_state, Tensor) or new_state._data.dtype != np.int64 or new_state.shape != (7,):
            raise ArgumentError("RNG state must be a tensor that get_state() returned")
        seed, has, rest, *words = new_state._data.view(np.uint64).tolist()
        drawing = np.random.default_rng(0)  # its state is replaced
        drawing.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": words[0] | words[1] << 64, "inc": words[2] | words[3] << 64},
            "has_uint32": has,
            "uinteger": rest,
        }
        self._seed, self._drawing = seed, drawing
        return self

    def clone_state(self) -> Generator:
        """Return another generator in the same state."""
        return Generator().set_state(self.get_state())


default_generator = Generator()
"""The generator of functions that are not given one; its numbers are the same in every run until it is given another seed."""
manual_seed = default_generator.manual_seed
seed = default_generator.seed
initial_seed = default_generator.initial_seed
get_rng_state = default_generator.get_state
set_rng_state = default_generator.set_state


def drawing(name: str, generator: Generator | None) -> np.random.Generator:
    """Return NumPy's generator of the one that the function ``name`` was given, ``None`` for the default; others are an error."""
    if generator is None:
        return default_generator.numpy
    if not isinstance(generator, Generator):
        raise ArgumentError(f"{name}: 'generator' must be a Generator, not {type(generator).__name__}")
    return generator.numpy
