"""The entry point of ``autodiff`` and of ``python -m autodiff_cli``.

It imports only small modules, and sets the interrupt handler before it imports the rest of the package.
"""

import gc
import os
import sys


def run() -> None:
    """Run the command line with the arguments of this process, then end the process with its exit code."""
    code = 130  # 128 + SIGINT, the exit code of an interruption
    # Imports and one evaluation create few reference cycles, so the garbage collector runs rarely.
    gc.set_threshold(200_000, 20, 100)
    try:
        from autodiff_cli import signals

        signals.on_interrupt(signals.leave)
        from autodiff_cli.cli.console_script import run as run_process

        code = run_process()
    except KeyboardInterrupt:
        pass
    except Exception as error:  # the installation is incomplete, or memory is exhausted
        code = 71 if isinstance(error, MemoryError) else 70  # those of OutOfMemory and InternalError
        _say(f"error: autodiff cannot start: {str(error) or type(error).__name__}\n")
    if "autodiff_cli.cli.python_program" in sys.modules:
        sys.exit(code)  # the threads and the exit functions of a user's program, which ran, end as in Python
    # Skip the shutdown of the interpreter, which takes as long as a small evaluation.
    os._exit(code)


def _say(text: str) -> None:
    """Write to standard error, unless it is closed or broken."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
    except (OSError, ValueError):
        pass


if __name__ == "__main__":
    run()
