"""Hooks of the MkDocs site."""

from __future__ import annotations

import base64
import io
import json
import re
import shlex
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

_PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="(.*?)">\s*<img alt="(.*?)" src="(.*?)">\s*</picture>')
_PROGRAM = re.compile(r"\((walkthrough/\w+)\.ad\)")
_SECTION = re.compile(r"^## (\w+): .*$", re.MULTILINE)
_PLOT = re.compile(r"^(autodiff plot .* -o (\w+\.html))$", re.MULTILINE)
_PLOTS = re.compile(r"```sh\n((?:autodiff plot .* -o \w+\.html\n)+)```")
_NOTEBOOK = re.compile(r"\(([\w-]+)\.ipynb\)")
_ABOUT = '<p id="about">'
"""The line of a lesson or plot that says what it is; on the site it begins with a link."""
_ANSI = re.compile(r"\x1b\[[\d;]*m")


def on_startup(**_: Any) -> None:
    """Let only "$ " be a prompt: the csh prompt of Pygments would match the names %1 and %2 in tables."""
    from pygments.lexers.shell import BashSessionLexer

    BashSessionLexer._ps1rgx = re.compile(r"^(\$ )(.*\n?)")


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each notebook, with its outputs; the lesson of each program of the walk-through; and the pages of plots."""
    from mkdocs.structure.files import File

    docs = Path(config.docs_dir)
    one = files.get_file_from_path("lesson.html")
    assert one is not None
    files.remove(one)
    pages = [
        ("lesson.html", one.content_string, "lessons.html", "All lessons"),
        *((name, page, "../lessons.html", "All lessons") for name, page in _lessons(docs / "walkthrough")),
        *((name, page, "../lessons.html", "All lessons") for name, page in _python_lessons(docs.parent / "tests/data/pasted")),
        *((name, page, "plot.html", "Plots") for name, page in _plots((docs / "plot.md").read_text(encoding="utf-8"))),
    ]
    for name, page, home, title in pages:
        link = f'{_ABOUT}<a href="{home}" target="_top">{title}</a> · '
        files.append(File.generated(config, name, content=page.replace(_ABOUT, link, 1)))
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        text = Path(str(file.abs_src_path)).read_text(encoding="utf-8")
        files.append(File.generated(config, file.src_uri.replace(".ipynb", ".md"), content=page_of_notebook(text)))
    return files


def _lessons(folder: Path) -> Iterator[tuple[str, str]]:
    """Return the name and the text of the lesson of each program."""
    from autodiff_cli.lesson.program import to_html
    from autodiff_cli.lesson.statements import Recorder

    for path in sorted(folder.glob("*.ad")):
        recorder = Recorder({}, "float32")
        with warnings.catch_warnings(action="ignore"):
            recorder.record(path.read_text(encoding="utf-8"))
        yield f"walkthrough/{path.stem}.html", to_html(path.name, recorder, 6)


def _python_lessons(folder: Path) -> Iterator[tuple[str, str]]:
    """Return the name and the text of the lesson of each Python program of the walk-through, as people paste it."""
    from autodiff_cli.cli.main import main

    for path in sorted(folder.glob("walkthrough_*.txt")):
        number = path.stem.removeprefix("walkthrough_")
        with (
            tempfile.TemporaryDirectory() as place,
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.showwarning = lambda *_, **__: None
            program, target = Path(place, f"code{number}.py"), Path(place, "lesson.html")
            program.write_text(path.read_text(encoding="utf-8").partition("# prints:\n")[0], encoding="utf-8")
            main(["run", str(program), "-o", str(target)])
            yield f"walkthrough/python{number}.html", target.read_text(encoding="utf-8")


def _plots(markdown: str) -> Iterator[tuple[str, str]]:
    """Return the name and the text of each page that a command of a page writes."""
    from autodiff_cli.cli.main import main

    for command, name in _PLOT.findall(markdown):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, name)
            main([*shlex.split(command)[1:-1], str(target)])
            yield name, target.read_text(encoding="utf-8")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the page for the site.

    Links to notebooks and programs open their pages and lessons, pages of plots have links, and pictures follow the colours
    of the page.
    """
    if page.file.src_uri == "walkthrough.md":
        markdown = _SECTION.sub(_with_lessons, markdown)
    if page.file.src_uri == "plot.md":
        markdown = _PLOTS.sub(_with_links, markdown)
    markdown = _PROGRAM.sub(r"(\1.html)", markdown)
    own = f"({page.file.name}.ipynb)"  # the page of a notebook links to the notebook itself
    markdown = _NOTEBOOK.sub(lambda link: link[0] if link[0] == own else f"({link[1]}.md)", markdown)
    return _PICTURE.sub(r"![\2](\3#only-light) ![\2](\1#only-dark)", markdown)


def _with_lessons(section: re.Match[str]) -> str:
    """Return the heading of a program with links to its lesson, and to that of the Python program that it comes from."""
    python = f", or [the Python program](walkthrough/python{section[1][4:]}.html)" if section[1].startswith("code") else ""
    return f"{section[0]}\n\n[Play this program step by step](walkthrough/{section[1]}.html){python}"


def _with_links(block: re.Match[str]) -> str:
    links = " and ".join(f"[{name}]({name})" for _, name in _PLOT.findall(block[1]))
    return f"{block[0]}\n\nOpen {links}."


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
