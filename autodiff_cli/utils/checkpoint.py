"""Checkpoints, as in ``torch.utils.checkpoint``: a function whose saved tensors are computed again in the backward pass.

A checkpointed function saves its inputs only, and is called a second time in the backward pass.  This takes less memory and
more time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from autodiff_cli.autograd.modes import is_grad_enabled
from autodiff_cli.autograd.primitives.interface_kinds import FUNCTION, checks
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, CheckpointError
from autodiff_cli.ops.generators import get_rng_state, set_rng_state
from autodiff_cli.unavailable_names import missing_from
from autodiff_cli.utils.recomputation import Region

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential"]

Step = Callable[[Any], Any]
"""One function of ``checkpoint_sequential``."""


@checks(function=FUNCTION)
def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    determinism_check: str = "default",
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    context_fn: object = None,
    debug: bool = False,
    **kwargs: Any,
) -> Any:
    """Return ``function(*args, **kwargs)``, whose saved tensors are computed again when the backward pass needs them.

    The function must compute the same when it is called again.

    Args:
        function: the function; it may return several tensors, and other objects.
        args: its positional arguments.
        use_reentrant: accepted for compatibility with PyTorch; the result is that of ``use_reentrant=False``.
        determinism_check: ``"default"`` to compare the shapes and types of the tensors that both calls save, or ``"none"``.
        early_stop: whether the second call stops as soon as all values that are needed were computed.
        preserve_rng_state: whether the second call starts from the state that the default random number generator had.
        context_fn, debug: PyTorch's options, which are not supported.
        kwargs: the keyword arguments of the function.

    Raises:
        ArgumentError: if ``determinism_check`` does not exist, or ``context_fn`` or ``debug`` is set.
        CheckpointError: in the backward pass, if the second call saves other tensors than the first.
    """
    for name, value in (("context_fn", context_fn), ("debug", debug)):
        if value:
            raise ArgumentError(f"checkpoint: {name} is not supported", hint=f"call checkpoint without {name}")
    if determinism_check not in ("default", "none"):
        raise ArgumentError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    if not is_grad_enabled():  # no node saves a tensor
        return function(*args, **kwargs)
    state = get_rng_state() if preserve_rng_state else None

    def recompute(*inputs: Any) -> None:
        """Call the function again; what it returns is not needed, only the tensors that its nodes save."""
        with nullcontext() if state is None else _random_state(state):
            function(*inputs, **kwargs)

    with Region(recompute, args, early_stop, compares=determinism_check == "default").first_call():
        return function(*args, **kwargs)


@contextmanager
def _random_state(state: Tensor) -> Iterator[None]:
    """Return a ``with`` block in which the default generator has another state; at its end, it has its former state again."""
    outside = get_rng_state()
    set_rng_state(state)
    try:
        yield
    finally:
        set_rng_state(outside)


def checkpoint_sequential(
    functions: Iterable[Step], segments: int, input: Any, use_reentrant: bool | None = None, preserve_rng_state: bool = True
) -> Any:
    """Call functions in sequence, with a checkpoint for each segment except the last, which also gets the remainder.

    Args:
        functions: the functions; each takes the result of the previous function.
        segments: the number of segments, from 1 to the number of functions.
        input: the argument of the first function.
        use_reentrant: accepted for compatibility with PyTorch, without effect.
        preserve_rng_state: see ``checkpoint``.
    """
    steps: list[Step] = list(functions)
    length = len(steps) // segments  # of each segment but the last
    last = length * (segments - 1)  # the position of the first function of the last segment
    for first in range(0, last, length):
        segment = steps[first : first + length]
        input = checkpoint(_run_steps, segment, input, preserve_rng_state=preserve_rng_state)
    return _run_steps(steps[last:], input)


def _run_steps(steps: Sequence[Step], value: Any) -> Any:
    """Call functions in sequence, each with the result of the previous function."""
    for step in steps:
        value = step(value)
    return value


__getattr__ = missing_from(__name__)
