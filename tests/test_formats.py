"""The registry of formats: each one has what its uses need."""

from __future__ import annotations

from autodiff_cli.formats import FORMATS
from autodiff_cli.report.machine_readable import WRITERS


def test_every_format_of_results_has_a_writer() -> None:
    without = {name for name, form in FORMATS.items() if "result" in form.uses and not form.delimiter} - {"table", *WRITERS}
    assert not without, f"add the function that writes {min(without)} to WRITERS in report/machine_readable.py"
