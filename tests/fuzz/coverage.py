"""What of the program a command reached: which function called which, and how the command ended.

``cProfile`` notes that in C, which is quicker than a trace function and needs nothing to be installed.
"""

from __future__ import annotations

import cProfile
from collections.abc import Callable
from typing import Any

from tests.fuzz.runner import PACKAGE, Main


def covered(main: Main, args: list[str], features: set[int]) -> int:
    """Run the command line, and add what it reached to ``features``."""
    profile = cProfile.Profile(subcalls=True, builtins=False)
    code: int | str = "raised"
    try:
        code = profile.runcall(main, args)
        return code
    finally:
        features.update(hash((*pair, code)) for pair in _pairs(profile.getstats()))


def _pairs(entries: Any) -> list[tuple[str, str]]:
    pairs = []
    for entry in entries:
        caller = entry.code
        if isinstance(caller, str) or PACKAGE not in caller.co_filename:
            continue
        for called in entry.calls or ():
            if not isinstance(called.code, str) and PACKAGE in called.code.co_filename:
                pairs.append((_name(caller), _name(called.code)))
    return pairs


def _name(code: Any) -> str:
    return f"{code.co_filename}:{code.co_qualname}"


def covering(main: Main, features: set[int]) -> Callable[[list[str]], int]:
    """``main`` with its coverage noted."""
    return lambda args: covered(main, args, features)
