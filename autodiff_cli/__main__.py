"""The entry point of ``autodiff`` and of ``python -m autodiff_cli``.

It imports next to nothing, and says what an interruption does before anything large is imported.
"""

import os
import sys


def run() -> None:
    """Run the command line of this process, and end the process."""
    code = 130
    try:
        from autodiff_cli import signals

        signals.on_interrupt(signals.leave)
        from autodiff_cli.cli.console_script import run as run_process

        code = run_process()
    except KeyboardInterrupt:
        pass
    except Exception as error:  # half of an installation, no memory for the modules
        code = 71 if isinstance(error, MemoryError) else 70
        _say(f"error: autodiff cannot start: {str(error) or type(error).__name__}\n")
    # Taking the interpreter down object by object costs as much as a small evaluation.
    os._exit(code)


def _say(text: str) -> None:
    try:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
    except (OSError, ValueError):
        pass


if __name__ == "__main__":
    run()
