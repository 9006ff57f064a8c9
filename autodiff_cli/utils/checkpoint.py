"""Checkpoints, as in ``torch.utils.checkpoint``: a function whose saved tensors are computed again in the backward pass.

A checkpointed function saves its inputs only, and is called a second time in the backward pass.  This takes less memory and
more time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, NoReturn

from autodiff_cli.autograd.function import Function
from autodiff_cli.autograd.modes import enable_grad, is_grad_enabled, no_grad
from autodiff_cli.autograd.primitives.interface_kinds import FUNCTION, checks
from autodiff_cli.autograd.reverse.engine import current_pass
from autodiff_cli.autograd.reverse_mode import backward
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, CheckpointError, GraphError, type_name
from autodiff_cli.framework import missing
from autodiff_cli.ops.generators import get_rng_state, set_rng_state
from autodiff_cli.utils.operator_log import OperatorLogs
from autodiff_cli.utils.recomputation import Describe, GraphExecGroup, Region

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "GraphExecGroup",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]
Step = Callable[[Any], Any]
"""One function of ``checkpoint_sequential``."""

_UNSAID = (
    "{name}: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling checkpoint without "
    "use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve the current default "
    "behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between the two variants."
)
_SUPPRESSED = (
    "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the checkpointed "
    "forward. This is not supported because checkpoint cannot return a value for a failed forward."
)

_early_stop: ContextVar[bool | None] = ContextVar("autodiff_checkpoint_early_stop", default=None)
_debug: ContextVar[bool | None] = ContextVar("autodiff_checkpoint_debug", default=None)


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Return a ``with`` block that overrides ``early_stop`` for the checkpoints that are called in it."""
    reset = _early_stop.set(enable)
    try:
        yield
    finally:
        _early_stop.reset(reset)


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Return a ``with`` block that overrides ``debug`` for the checkpoints that are called in it."""
    reset = _debug.set(enabled)
    try:
        yield
    finally:
        _debug.reset(reset)


def noop_context_fn() -> Contexts:
    """Return two contexts that do nothing: the default of ``context_fn``."""
    return nullcontext(), nullcontext()


def _shape_and_type(tensor: Tensor) -> dict[str, object]:
    return {"shape": tensor.shape, "dtype": tensor.dtype}


_CHECKS: dict[str, Describe | None] = {"default": _shape_and_type, "none": None}


@checks(function=FUNCTION)
def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Return ``function(*args, **kwargs)``, whose saved tensors are computed again when the backward pass needs them.

    The function must compute the same when it is called again.  The state of the default random number generator is restored for
    the second call, unless ``preserve_rng_state=False`` is passed.

    Args:
        function: the function; it may return several tensors, and other objects.
        args: its positional arguments.
        use_reentrant: ``False`` for the recommended variant, which supports all ways of differentiation.  ``True`` for the
            variant that calls the function without recording and runs a backward pass inside the backward pass: it supports
            ``backward()`` without ``inputs`` only, and at least one argument must be a tensor that requires grad.  ``None``
            is ``True`` with a warning.
        context_fn: a function that returns two contexts, for the first call and for the second call.
        determinism_check: ``"default"`` to compare the shapes and types of the tensors that both calls save, or ``"none"``.
        debug: whether an error about a difference lists the operations of both calls.
        early_stop: whether the second call stops as soon as all values that are needed were computed.
        kwargs: the keyword arguments of the function (with ``use_reentrant=False``), and ``preserve_rng_state``.

    Raises:
        ArgumentError: if an option does not exist or is not supported by the variant.
        CheckpointError: in the backward pass, if the second call saves other tensors than the first.
    """
    if use_reentrant is None:
        warnings.warn(_UNSAID.format(name="torch.utils.checkpoint"), stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _recomputed(function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop)
    _check_no_keywords(kwargs)
    if context_fn is not noop_context_fn or debug is not False:
        raise ArgumentError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def _check_no_keywords(kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ArgumentError(f"Unexpected keyword arguments: {','.join(kwargs)}")


def _recomputed(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    preserve: bool,
    context_fn: Callable[[], Contexts],
    determinism_check: str,
    debug: bool,
    early_stop: bool,
) -> Any:
    """Call a function whose saved tensors are recomputed; see ``checkpoint`` for the arguments."""
    on_error = None
    if _first_of(_debug.get(), debug):
        if context_fn is not noop_context_fn:
            raise ArgumentError("debug=True is incompatible with non-default context_fn")
        logs = OperatorLogs()
        context_fn, on_error = logs.contexts, logs.explain
    if determinism_check not in _CHECKS:
        raise ArgumentError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    first, second = context_fn()
    state = get_rng_state() if preserve else None

    def recompute(*given: Any) -> None:
        with _random_state(state), second:
            function(*given, **kwargs)

    if not is_grad_enabled():
        return function(*args, **kwargs)
    region = Region(recompute, args, _first_of(_early_stop.get(), early_stop), _CHECKS[determinism_check], on_error)
    with region.hooks(), first:
        result = function(*args, **kwargs)
        region.end()
        return result
    raise GraphError(_SUPPRESSED)


def _first_of(override: bool | None, value: bool) -> bool:
    return value if override is None else override


@contextmanager
def _random_state(state: Tensor | None) -> Iterator[None]:
    """Return a ``with`` block in which random numbers start from a state; ``None`` for a block that does nothing."""
    if state is None:
        yield
        return
    outside = get_rng_state()
    set_rng_state(state)
    try:
        yield
    finally:
        set_rng_state(outside)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a function, with each tensor replaced by a leaf with the same values and ``requires_grad``.

    Raises:
        GraphError: if ``inputs`` is not a tuple.
    """
    if not isinstance(inputs, tuple):
        raise GraphError(f"Only tuple of tensors is supported. Got Unsupported input type: {type_name(inputs)}")
    return tuple(one.detach().requires_grad_(one._requires_grad) if isinstance(one, Tensor) else one for one in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no argument is a tensor that requires grad."""
    if not any(isinstance(one, Tensor) and one._requires_grad for one in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """A function that is called without recording, and again in a backward pass inside the backward pass."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.state = get_rng_state() if preserve_rng_state else None
        ctx.others = {i: arg for i, arg in enumerate(args) if not isinstance(arg, Tensor)}
        ctx.save_for_backward(*(arg for arg in args if isinstance(arg, Tensor)))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        running = current_pass.get()
        if running is not None and running.needed is not None:
            raise GraphError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
                "the `inputs` argument."
            )
        tensors = iter(ctx.saved_tensors)
        count = len(ctx.others) + len(ctx.saved_slots)
        inputs = detach_variable(tuple(ctx.others[i] if i in ctx.others else next(tensors) for i in range(count)))
        with _random_state(ctx.state), enable_grad():
            outputs = ctx.run_function(*inputs)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs if isinstance(outputs, tuple) else (outputs,), grads, strict=False)
            if isinstance(output, Tensor) and output._requires_grad
        ]
        if not pairs:
            raise GraphError(
                "none of output has requires_grad=True, this checkpoint() is not necessary",
                hint="call the function without checkpoint, or pass use_reentrant=False",
            )
        backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return None, None, *(one.grad if isinstance(one, Tensor) else None for one in inputs)


def __getattr__(name: str) -> NoReturn:
    raise missing(__name__, name)


def checkpoint_sequential(
    functions: Sequence[Step] | Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Call functions in sequence, with a checkpoint for each segment of the sequence except the last.

    Args:
        functions: the functions; each takes the result of the previous function.
        segments: the number of segments.
        input: the argument of the first function.
        use_reentrant: see ``checkpoint``.
        kwargs: ``preserve_rng_state``, see ``checkpoint``.
    """
    if use_reentrant is None:
        warnings.warn(_UNSAID.format(name="torch.utils.checkpoint.checkpoint_sequential"), stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    _check_no_keywords(kwargs)
    steps: list[Step] = list(functions)
    length = len(steps) // segments

    def run(first: int, end: int) -> Step:
        def call(value: Any) -> Any:
            for step in steps[first:end]:
                value = step(value)
            return value

        return call

    end = 0
    for first in range(0, length * (segments - 1), length):
        end = first + length
        input = checkpoint(run(first, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(end, len(steps))(input)
