"""A plugin for pytest that writes down which functions of the package each test enters.  It runs in the copy of the tree.

``AUTODIFF_CALLS`` names the file that it writes; with ``AUTODIFF_WANTED`` it runs the tests that file names, in that order.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

PACKAGE = str(Path(__file__).resolve().parents[2] / "autodiff_cli") + os.sep
MEMORY = 6 << 30
"""Bytes that the tests of a mutant may take."""


class Calls:
    """The functions that tests enter, as ``path:line``, with the seconds that each test takes."""

    def __init__(self) -> None:
        self.current: set[CodeType] = set()
        self.names: dict[CodeType, str | None] = {}
        self.tests: dict[str, tuple[float, list[str]]] = {}

    def trace(self, frame: FrameType, event: str, argument: Any) -> None:
        self.current.add(frame.f_code)

    def name(self, code: CodeType) -> str | None:
        if code not in self.names:
            inside = code.co_filename.startswith(PACKAGE)
            self.names[code] = f"{code.co_filename[len(PACKAGE) :]}:{code.co_firstlineno}" if inside else None
        return self.names[code]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.current = set()
        threading.settrace(self.trace)  # type: ignore[arg-type]
        sys.settrace(self.trace)  # type: ignore[arg-type]
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            entered, self.current = self.current, set()
            names = {name for code in entered if (name := self.name(code)) is not None}
            self.tests[report.nodeid] = (report.duration, sorted(names))

    def pytest_sessionfinish(self) -> None:
        Path(os.environ["AUTODIFF_CALLS"]).write_text(json.dumps(self.tests), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if "AUTODIFF_CALLS" in os.environ:
        config.pluginmanager.register(Calls())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "AUTODIFF_WANTED" in os.environ:
        wanted = Path(os.environ["AUTODIFF_WANTED"]).read_text(encoding="utf-8").split("\0")
        found = {item.nodeid: item for item in items}
        items[:] = [found[name] for name in wanted if name in found]
