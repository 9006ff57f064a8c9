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
        from autodiff_cli.cli.process import run as run_process

        code = run_process()
    except KeyboardInterrupt:
        pass
    except ImportError as error:
        code = 70
        if sys.stderr is not None:
            sys.stderr.write(f"error: autodiff is not installed as a whole: {error}\n")
    # Taking the interpreter down object by object costs as much as a small evaluation.
    os._exit(code)


if __name__ == "__main__":
    run()
