"""Hypothesis: new examples on every run at a desk, the same ones in CI, where a failure must mean the change.

A mistake in the notes on an evaluation is an error here, where users lose the note only.
"""

from __future__ import annotations

import os

from hypothesis import settings

from autodiff_cli.language import notes

notes.STRICT = True
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("desk", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "desk")
