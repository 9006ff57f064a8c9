"""The pages of docs/ agree with the code: generated pages are up to date, and their sources are complete."""

from __future__ import annotations

import json
import re
import runpy
from xml.etree import ElementTree

import pytest

from autodiff_cli.cli.commands import COMMANDS
from autodiff_cli.plotting.picture import THEMES
from tests import pages
from tests.pages import commands, errors, kinks, objects
from tests.pages.expressions_at_kinks import CASES
from tests.points import edges_of
from tests.printed import agrees
from tests.shell import ROOT, run

pytestmark = pytest.mark.usefixtures("at_the_root")

RECORDED = json.loads(kinks.RECORDS.read_text(encoding="utf-8"))["answers"]


@pytest.mark.parametrize("name", pages.PAGES)
def test_the_page_is_up_to_date(name: str) -> None:
    shown = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert agrees(pages.text(name), shown), f"docs/{name} is stale; run: {pages.HOW}"


@pytest.mark.parametrize("folder", ["commands", "functions"])
def test_no_page_is_left_over(folder: str) -> None:
    assert {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / folder).iterdir()} <= set(pages.PAGES)


@pytest.mark.exhaustive
def test_every_command_has_examples_that_work() -> None:
    for name in COMMANDS:
        lines = commands.examples(commands.declared(name))
        assert lines, f"the help of {name} has no example: put one behind \\b"
        for line in lines:
            assert "[exit code" not in commands.printed(line), line


def test_every_error_has_a_command_line_that_provokes_it() -> None:
    names = {kind.__name__ for kind in errors.kinds()}
    assert names == {*errors.EXAMPLES, *errors.UNPROVOKED}, "say in tests/pages/errors.py how to provoke it, or why nothing does"
    for name, line in errors.EXAMPLES.items():
        assert errors.provoked(line) == name


def test_every_exit_code_is_explained() -> None:
    assert {kind.exit_code for kind in errors.kinds()} <= set(errors.CODES)


def test_every_key_of_the_json_is_explained() -> None:
    used = set()
    for name in COMMANDS:
        if name in objects.WITHOUT:
            continue
        for key in objects.keys(objects.answer(objects.example(name))):
            assert objects.meaning(name, key), f"say in KEYS of tests/pages/objects.py what '{key}' of {name} is"
            used |= {key, f"{name}.{key}"}
    used |= set(objects.keys(json.loads(errors.streams(f"{errors.EXAMPLES['UnknownName']} --json")[1])))
    assert set(objects.KEYS) - used <= {f"notes[].{key}" for key in ("kind", "span", "message", "order")} | {
        *(f"checks[].{key}" for key in ("reason", "at", "elements", "mistake")),
        *("reason", "trace", "point", "total", "by"),
        *(key for key in objects.KEYS if key.startswith("integrals")),
    }


def test_notes_have_the_keys_that_the_page_explains() -> None:
    (note,) = objects.answer('autodiff grad "abs(x)" --at x=0 --json')["notes"]
    assert all(f"notes[].{key}" in objects.KEYS for key in note)


def test_pytorch_and_jax_were_asked_about_every_edge() -> None:
    wanted = {kinks.edge_key(op, edge, order) for op in kinks.with_edges() for edge in edges_of(op) for order in kinks.orders(op)}
    wanted |= {kinks.case_key(case) for case in CASES}
    assert wanted == set(RECORDED), "run, where PyTorch and JAX are installed: python -m tests.pages.record_kinks"


@pytest.mark.parametrize("op", kinks.with_edges(), ids=lambda op: op.name)
def test_a_declaration_says_where_pytorch_answers_something_else(op: kinks.FunctionInfo) -> None:
    different = [
        edge
        for edge in edges_of(op)
        for order in kinks.orders(op)
        if not kinks.agree(kinks.ours(op, edge, order), RECORDED[kinks.edge_key(op, edge, order)]["torch"])
    ]
    assert not different or re.search(r"PyTorch\w* ", op.convention), f"convention= of {op.name} is silent about {different}"


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_program_of_the_pictures_draws_a_fit(name: str) -> None:
    program = runpy.run_path(str(ROOT / "docs" / "images" / "make.py"))
    assert THEMES[name].paper in program["fit_drawing"](name).decode()


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_picture_shows_what_the_program_prints(name: str) -> None:
    root = ElementTree.parse(ROOT / "docs" / "images" / f"table-{name}.svg").getroot()
    texts = [
        (float(element.attrib["y"]), float(element.attrib["x"]), element.text or "")
        for element in root.iter("{http://www.w3.org/2000/svg}text")
        if "clip-path" in element.attrib
    ]
    words = " ".join(text for *_, text in sorted(texts)).replace("\xa0", " ").split()
    text = " ".join(words)
    command = text.removeprefix("$ ").partition(" requires_ ")[0]
    assert text.removeprefix("$ ") == f"{command} {' '.join(run(command).split())}", "run: python docs/images/make.py"
