"""``python -m autodiff_cli``."""

from autodiff_cli.cli.main import run

run()
