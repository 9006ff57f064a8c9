"""What MkDocs loads before it builds the site."""

import re

from pygments.lexers.shell import BashSessionLexer

# A prompt is "$ " on these pages: the names %1 and %2 in tables are none of csh.
BashSessionLexer._ps1rgx = re.compile(r"^(\$ )(.*\n?)")
