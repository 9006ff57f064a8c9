"""Hooks of the MkDocs site."""

import re
import warnings
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.lexers.shell import BashSessionLexer

# Only "$ " is a prompt on these pages: the csh prompt of Pygments would match the names %1 and %2 in tables.
BashSessionLexer._ps1rgx = re.compile(r"^(\$ )(.*\n?)")

_PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="(.*?)">\s*<img alt="(.*?)" src="(.*?)">\s*</picture>')


_PROGRAM = re.compile(r"\((walkthrough/\w+)\.ad\)")
_SECTION = re.compile(r"^## (\w+): .*$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the lesson of each program of the walk-through."""
    from autodiff_cli.lesson.program import to_html
    from autodiff_cli.lesson.recording import Recorder

    for path in sorted(Path(config.docs_dir, "walkthrough").glob("*.ad")):
        recorder = Recorder({}, "float32")
        with warnings.catch_warnings(action="ignore"):
            recorder.record(path.read_text(encoding="utf-8"))
        files.append(File.generated(config, f"walkthrough/{path.stem}.html", content=to_html(path.name, recorder, 6)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Return the page for the site.

    Pictures follow the colour scheme of the page instead of the system.  Links to programs open their lessons.
    """
    if page.file.src_uri == "walkthrough.md":
        markdown = _SECTION.sub(r"\g<0>\n\n[Play this program step by step](walkthrough/\1.html)", markdown)
    markdown = _PROGRAM.sub(r"(\1.html)", markdown)
    return _PICTURE.sub(r"![\2](\3#only-light) ![\2](\1#only-dark)", markdown)
