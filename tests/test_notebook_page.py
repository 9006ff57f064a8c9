"""The page on notebooks is a notebook: running it gives the outputs that it shows.

``UPDATE_CASES=1 pytest tests/test_notebook_page.py`` writes the outputs into the notebook; read the difference before you commit.
"""

from __future__ import annotations

import importlib.util
import os
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.printed import agrees
from tests.shell import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytestmark = pytest.mark.extras
PAGE = ROOT / "docs" / "notebook.ipynb"
_ANSI = re.compile(r"\x1b\[[\d;]*m")
_FRAME = re.compile(r' srcdoc="[^"]*"')
"""The page of a lesson, which has its own tests."""
FORMS = ("text/plain", "text/html", "image/svg+xml")


def outputs(cell: Any) -> list[dict[str, str]]:
    """The outputs of a cell, each as its forms."""
    found = []
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            found.append({output.name: output.text})
        elif output.output_type == "error":
            found.append({"error": _ANSI.sub("", "\n".join(output.traceback))})
        else:
            found.append(dict(output.data))
    return found


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook with the outputs of a fresh kernel."""
    notebook = nbformat.read(PAGE, as_version=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        for name in ("AUTODIFF_FORMAT", "NO_COLOR", "FORCE_COLOR"):
            patch.delenv(name, raising=False)
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False).execute(cwd=str(ROOT))
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook


def test_the_outputs_are_those_of_a_fresh_run(fresh: Any) -> None:
    if os.environ.get("UPDATE_CASES"):
        nbformat.write(fresh, PAGE)
        return
    kept = nbformat.read(PAGE, as_version=4)
    for cell, again in zip(kept.cells, fresh.cells, strict=True):
        assert cell.get("execution_count") == again.get("execution_count")
        assert len(outputs(cell)) == len(outputs(again)), cell.source
        for output, new in zip(outputs(cell), outputs(again), strict=True):
            assert output.keys() == new.keys(), cell.source
            for form in output:
                if "matplotlib" not in output[form]:  # its pictures depend on its version
                    assert agrees(*(_FRAME.sub("", text) for text in (new[form], output[form]))), f"{cell.source}\n{form}"


def test_only_the_cell_that_shows_an_error_fails(fresh: Any) -> None:
    failing = [cell.source for cell in fresh.cells for output in outputs(cell) if "error" in output or "stderr" in output]
    assert failing == ['%autodiff grad "lgo(x**3)" --at x=5']


def test_every_form_is_well_formed_and_loads_nothing(fresh: Any) -> None:
    seen = set()
    for cell in fresh.cells:
        for output in outputs(cell):
            seen |= {*output}
            html = _FRAME.sub("", output.get("text/html", ""))
            ElementTree.fromstring(f"<div>{html}</div>")
            assert not re.search(r"<script|<link|src=|href=|url\(", html)
            if "image/svg+xml" in output:
                ElementTree.fromstring(output["image/svg+xml"])
    assert seen == {*FORMS, "stdout", "error"}


def test_the_page_of_the_site_has_all_cells_and_outputs() -> None:
    specification = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    assert specification is not None
    assert specification.loader is not None
    hooks = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(hooks)
    notebook = nbformat.read(PAGE, as_version=4)
    page = hooks.page_of_notebook(PAGE.read_text(encoding="utf-8"))
    pictures = 0
    for cell in notebook.cells:
        assert cell.source in page
        for output in outputs(cell):
            assert output.get("text/html", "").strip() in page
            assert output.get("stdout", output.get("error", "")).strip() in page
            pictures += "image/svg+xml" in output
    assert page.count("data:image/svg+xml;base64,") == pictures > 1
