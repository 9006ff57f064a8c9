"""The same tests on every run: random ones have fixed examples, and children start as in a terminal.

``HYPOTHESIS_PROFILE=explore`` looks for new examples.  A mistake in the notes on an evaluation is an error here, where users
lose the note only.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from autodiff_cli import notes
from tests.browser import chromium
from tests.shell import ROOT

notes.STRICT = True
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(scope="session", autouse=True)
def _signals_reach_children() -> None:
    """A child inherits a signal that is ignored, as with ``nohup`` or ``&`` in a script, but not a handler."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(scope="session", autouse=True)
def _own_cache_and_width(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The machine code of the tests does not go into the user's cache, and the width of output is not that of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests with a browser, and as exhaustive the cases that are left out of a sample."""
    seen: Counter[str] = Counter()
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        sampled = item.get_closest_marker("sampled")
        if sampled is not None:
            function = item.nodeid.partition("[")[0]
            if seen[function] % sampled.args[0]:
                item.add_marker("exhaustive")
            seen[function] += 1


def pytest_collection_finish() -> None:
    """The items stay until the end: the collector, which many tests call, need not look at them."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The formats and the colours of the output are not those of the user."""
    for name in ("AUTODIFF_FORMAT", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def elsewhere(plain: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands run in a folder of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def at_the_root(plain: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in the folder of the repository."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a driver of Chromium."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        pytest.skip("needs Chromium and its driver: apt-get install chromium chromium-driver")
    driver = chromium()
    yield driver
    driver.quit()
