"""What MkDocs loads before it builds the site."""

import re
from typing import Any

from pygments.lexers.shell import BashSessionLexer

# A prompt is "$ " on these pages: the names %1 and %2 in tables are none of csh.
BashSessionLexer._ps1rgx = re.compile(r"^(\$ )(.*\n?)")

_PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="(.*?)">\s*<img alt="(.*?)" src="(.*?)">\s*</picture>')


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A picture in two colours follows the switch of the page, where elsewhere it follows the system."""
    return _PICTURE.sub(r"![\2](\3#only-light) ![\2](\1#only-dark)", markdown)
