"""The programs in ``grammar/`` that compile tables into modules of the package, as modules."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from tests.shell import ROOT


def compiler_of(tables: str) -> ModuleType:
    """Return the module ``grammar/compile_TABLES.py``."""
    name = f"compile_{tables}"
    spec = importlib.util.spec_from_file_location(name, ROOT / "grammar" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
