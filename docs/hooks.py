"""Hooks of the MkDocs site."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

_PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="(.*?)">\s*<img alt="(.*?)" src="(.*?)">\s*</picture>')
_NOTEBOOK = re.compile(r"\(([\w-]+)\.ipynb\)")
_ANSI = re.compile(r"\x1b\[[\d;]*m")


def on_startup(**_: Any) -> None:
    """Let only "$ " be a prompt: the csh prompt of Pygments would match the names %1 and %2 in tables."""
    from pygments.lexers.shell import BashSessionLexer

    BashSessionLexer._ps1rgx = re.compile(r"^(\$ )(.*\n?)")


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each notebook, with its outputs."""
    from mkdocs.structure.files import File

    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        text = Path(str(file.abs_src_path)).read_text(encoding="utf-8")
        files.append(File.generated(config, file.src_uri.replace(".ipynb", ".md"), content=page_of_notebook(text)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the page with links to the pages of notebooks, and pictures that follow the colour scheme of the page."""
    own = f"({page.file.name}.ipynb)"  # the page of a notebook links to the notebook itself
    markdown = _NOTEBOOK.sub(lambda link: link[0] if link[0] == own else f"({link[1]}.md)", markdown)
    return _PICTURE.sub(r"![\2](\3#only-light) ![\2](\1#only-dark)", markdown)


def page_of_notebook(text: str) -> str:
    """Return the Markdown of a notebook."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```{'text' if source.startswith('%%') else 'python'}\n{source}\n```")
            parts += map(_output, cell["outputs"])
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    """Return an output in its richest form."""
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    if output["output_type"] == "error":
        return f"```text\n{_ANSI.sub('', chr(10).join(output['traceback']))}\n```"
    data = {form: "".join(text) for form, text in output["data"].items()}
    if "image/svg+xml" in data:
        picture = base64.b64encode(data["image/svg+xml"].encode()).decode()
        return f'<img alt="the output of the cell" src="data:image/svg+xml;base64,{picture}">'
    if "text/html" in data:
        return f'<div class="output">\n{data["text/html"]}</div>'
    return f"```text\n{data['text/plain']}\n```"
