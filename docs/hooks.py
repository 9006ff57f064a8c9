"""Hooks of the MkDocs site."""

import re
from typing import Any

from pygments.lexers.shell import BashSessionLexer

# Only "$ " is a prompt on these pages: the csh prompt of Pygments would match the names %1 and %2 in tables.
BashSessionLexer._ps1rgx = re.compile(r"^(\$ )(.*\n?)")

_PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="(.*?)">\s*<img alt="(.*?)" src="(.*?)">\s*</picture>')


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with pictures that follow the colour scheme of the page instead of the system."""
    return _PICTURE.sub(r"![\2](\3#only-light) ![\2](\1#only-dark)", markdown)
