"""What notebooks show: HTML of tensors, results and lessons, and pictures of graphs and plots."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.cli.main import main
from autodiff_cli.cli.notebook import CommandError
from autodiff_cli.command_result import CommandResult
from autodiff_cli.derivatives.taylor import expand
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.report.html import parts_html
from autodiff_cli.report.styled_text import Text
from tests.shell import run


def tables(html: str) -> list[list[list[str]]]:
    """The texts of the cells of each table; the HTML must be well-formed."""
    root = ElementTree.fromstring(f"<div>{html}</div>")
    return [[["".join(cell.itertext()) for cell in row] for row in table.iter("tr")] for table in root.iter("table")]


class Elements(HTMLParser):
    """The elements of a text, as a browser reads them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


def shown(thing: ad.Tensor | CommandResult) -> str:
    html = thing._repr_html_()
    assert Elements(html).found <= {"table", "thead", "tbody", "tr", "th", "td", "pre", "span", "b", "i", "p"}
    assert Elements(html).attributes <= {"style"}
    return html


def test_a_tensor_is_a_table_of_its_properties() -> None:
    x = ad.tensor([[1.0, 2.0], [3.0, 4.5]], requires_grad=True)
    y = (x**2).sum()
    y.backward()
    ((header, row),) = tables(shown(x))
    found = dict(zip(header, row, strict=True))
    assert found == {
        "value": "[[1,   2],\n [3, 4.5]]",
        "shape": "(2 x 2)",
        "dtype": "float64",
        "requires_grad": "True",
        "is_leaf": "True",
        "grad_fn": "None",
        "grad": "[[2, 4],\n [6, 9]]",
    }
    ((_, row),) = tables(shown(y))
    assert row == ["34.25", "()", "float64", "True", "False", "SumBackward0", "None"]


@pytest.mark.parametrize("shape", [(100_000,), (300, 300), (13, 1), (2, 3, 4, 5), (0, 3)])
def test_a_large_tensor_is_abbreviated(shape: tuple[int, ...]) -> None:
    html = shown(ad.zeros(*shape))
    assert len(html) < 2_000
    assert f"({' x '.join(map(str, shape))})" in html


def test_tensors_of_transformations_and_lost_histories_are_texts() -> None:
    texts = []
    ad.vmap(lambda x: texts.append((shown(x), repr(x))) or x)(ad.ones(3))
    x = ad.ones(3, requires_grad=True).clone()
    with ad.no_grad():
        view = x[:2]
    x.mul_(2)
    first, _ = ad.ones(4, requires_grad=True).clone().split(2)
    with pytest.raises(ad.errors.GraphError):
        first.mul_(2)
    for html, text in [*texts, (shown(view), ""), (shown(first), "")]:
        assert text in "".join(ElementTree.fromstring(f"<div>{html}</div>").itertext())


def test_a_result_shows_the_numbers_of_its_json() -> None:
    result = ad.evaluate("y = x**3; log(y)", at={"x": 5.0}, order=2)
    rows, hessian = tables(shown(result))
    found = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    for row, record in zip(found, result.to_dict()["tensors"], strict=True):
        assert float(row["value"]) == pytest.approx(record["value"], rel=1e-5)
        assert {name: row[name] for name in ("name", "expression")} == {name: record[name] for name in ("name", "expression")}
        for name in ("requires_grad", "is_leaf", "retains_grad", "grad_fn"):
            assert row[name] == str(record[name])
        assert row["grad"] == ("None" if record["grad"] is None else f"{record['grad']:g}")
    assert hessian == [["", "x"], ["x", "-0.12"]]


def test_a_result_shows_its_notes() -> None:
    assert "<p>note: abs at x = 0: the derivative used" in shown(ad.evaluate("abs(x)", at={"x": 0.0}))


def test_text_of_the_user_is_escaped() -> None:
    result = ad.evaluate("where(x < 1, x, 2*x)", at={"x": 0.5})
    html = shown(result)
    assert "where(x &lt; 1, x, 2*x)" in html
    assert "where(x < 1, x, 2*x)" in [row[1] for row in tables(html)[0]]


RESULTS = [
    ad.gradcheck("x**2 + sin(y)", {"x": 1.0, "y": 2.0}, claims=["x=2*x"]),
    ad.root("x**2 + y**2 = 4; x*y = 1", at={"x": 2, "y": 0.5}),
    ad.minimize("(1 - x)**2 + 100*(y - x**2)**2", at={"x": -1.2, "y": 1}),
    ad.propagate("4*pi**2*L/T**2", at={"L": "0.994(1)", "T": "2.001(2)"}),
    ad.fit("y = a*x + b", {"x": np.arange(5.0), "y": np.array([1.0, 3.1, 4.9, 7.2, 9.0])}, at={"a": 1, "b": 0}),
    ad.evaluate("sin(x)*y", at={"x": 1.0, "y": 2.0}, order=3, verify=True),
    expand(Evaluation("sin(x)", {"x": 0.0}), 5),
    ad.explain("log(x**3) + sum(w*x)", {"x": 5.0, "w": [1.0, 2.0]}),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.command)
def test_every_result_shows_the_words_of_its_text(result: CommandResult) -> None:
    html = shown(result)
    found = unescape(re.sub("<[^>]+>", " ", html)).split()
    in_two_lines = {"requires_", "is_", "retains_", "leaf", "grad"}
    expected = [word for word in re.sub("─+", " ", str(result)).split() if word not in in_two_lines]
    assert [word for word in expected if word not in found] == []
    assert html.count("<p>") == len(result.notes)
    assert html.count("<table>") == len(re.findall("^─+$", str(result), re.MULTILINE))


def test_titles_keep_their_style() -> None:
    assert "<i><b>second derivatives</b></i>" in shown(ad.evaluate("x**3", at={"x": 1.0}, order=2))


def test_styles_and_control_characters() -> None:
    html = parts_html([Text("a\x1b[31m<b>", "dim"), Text("c", "bold red")])
    assert "".join(ElementTree.fromstring(html).itertext()) == "a\\x1b[31m<b>\nc"
    assert '<span style="opacity:0.7">a' in html
    assert re.search('<span style="color:#[0-9a-f]{6}"><b>c</b></span>', html)


def nodes_of(svg: str) -> list[str]:
    """The titles of the boxes of a graph."""
    root = ElementTree.fromstring(svg)
    return [str(text.text) for text in root.iter("{http://www.w3.org/2000/svg}text") if text.get("class") == "title"]


def test_a_graph_is_a_picture() -> None:
    graph = ad.graph("y = x**3; log(y)*x", {"x": 5.0})
    assert graph._repr_html_ is None
    assert sorted(nodes_of(graph._repr_svg_())) == sorted(["x", "y", "3", "log", "*"])
    assert ">grad 7.82831<" in graph._repr_svg_()
    assert "log(y)*x" in str(graph)
    assert ">grad" not in ad.graph("y = x**3; log(y)*x")._repr_svg_()


def reachable(output: ad.Tensor) -> list[str]:
    """The names of the nodes behind a tensor, each once."""
    found, stack = {}, [output.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and id(node) not in found:
            found[id(node)] = node
            stack += [following for following, _ in node.next_functions]
    return sorted(type(node).__name__ for node in found.values())


def test_the_graph_of_a_tensor_has_its_nodes_and_changes_nothing() -> None:
    x, w = ad.tensor([1.0, 2.0], requires_grad=True), ad.tensor(3.0, requires_grad=True)
    y = x**3
    z = (ad.log(y) * w + x).sum()
    graph = ad.graph(z, names={"x": x, "y": y}, saved=True)
    assert x.grad is None
    assert sorted(node.label for node in graph.nodes) == reachable(z)
    assert sorted(nodes_of(graph._repr_svg_())) == reachable(z)
    assert {node.name: node.value.tolist() for node in graph.nodes if node.name == "x"} == {"x": [1.0, 2.0]}
    assert [node.label for node in graph.nodes if node.name == "y"] == ["PowBackward0"]
    assert graph.memory is not None
    z.backward()
    grads = [node.grad.tolist() for node in ad.graph(z, names={"x": x}).nodes if node.name == "x"]
    assert grads == [x.grad.tolist()]


def test_the_graph_of_a_tensor_marks_hooks() -> None:
    x = ad.tensor(2.0, requires_grad=True)
    y = x**2
    z = ad.exp(y)
    x.register_hook(lambda g: g)
    x.register_post_accumulate_grad_hook(lambda x: None)
    removed = y.register_hook(lambda g: 2 * g)
    z.grad_fn.register_prehook(lambda g: g)
    z.retain_grad()
    names = {"x": x, "y": y}
    graph = ad.graph(z, names=names)
    assert {node.label: node.hooks for node in graph.nodes} == {"AccumulateGrad": 2, "PowBackward0": 1, "ExpBackward0": 1}
    picture = graph._repr_svg_()
    assert picture.count(">2 hooks<") == 1
    assert picture.count(">1 hook<") == 2
    removed.remove()
    assert ad.graph(z, names=names)._repr_svg_().count(">1 hook<") == 1


def test_graphs_that_cannot_be_drawn() -> None:
    with pytest.raises(ad.errors.GraphError, match="does not require grad"):
        ad.graph(ad.ones(3))
    with pytest.raises(ad.errors.ArgumentError, match="belong to expressions"):
        ad.graph(ad.ones(3, requires_grad=True), {"x": 1})
    with pytest.raises(ad.errors.UnknownName, match="lgo"):
        ad.graph("lgo(x)")


@pytest.mark.exhaustive
def test_a_deep_graph_is_drawn_in_part() -> None:
    x = ad.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y + 1.0
    graph = ad.graph(y)
    assert len(graph.nodes) < 5_000
    assert "nodes further from the output are hidden; set depth" in graph.notes[0]["message"]
    assert len(ad.graph(y, depth=3).nodes) == 5


@pytest.mark.parametrize("over", [None, {"x": (-3, 3)}, {"x": "-pi:pi:50"}])
def test_a_plot_is_a_picture(over: dict[str, tuple[float, float] | str] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    plot = ad.plot("sin(x)", over)
    assert plot._repr_html_ is None
    assert ElementTree.fromstring(plot._repr_svg_()).tag == "{http://www.w3.org/2000/svg}svg"
    assert "━━━━ value   ━ ━  d/dx" in str(plot)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert plot._repr_svg_() is None


def test_a_plot_over_two_variables() -> None:
    field = ad.plot("sin(x)*y", {"x": (0, np.float64(1)), "y": (0, 2)}, order=0)
    assert field.to_dict()["over"] == {"x": [0, 1], "y": [0, 2]}
    assert "<svg" in field._repr_svg_()
    with pytest.raises(ad.errors.UsageError):
        ad.plot("sin(x)", {"x": (1, 0)})


def test_a_plot_that_moves_is_its_page_in_a_frame() -> None:
    plot = ad.plot("sin(a*x)", {"x": (0, 2)}, {"a": 3})
    lesson = ad.Lesson(plot)
    assert 'id="plot"' in lesson.html
    assert lesson.html.count("plotCode") > 0
    assert escape(lesson.html) in lesson._repr_html_()
    assert str(lesson) == str(plot)


def test_a_lesson_is_its_page_in_a_frame_and_the_explanation_as_text() -> None:
    explanation = ad.explain("where(x < 1, x, 2)*cos(x)", {"x": 0.5})
    lesson = ad.Lesson(explanation)
    html = lesson._repr_html_()
    (source,) = re.findall(r'<iframe srcdoc="(.*?)" title="lesson" sandbox="allow-scripts"', html, re.DOTALL)
    assert unescape(source) == lesson.html
    assert "<script" not in html
    assert explanation._repr_html_() in html
    assert str(lesson) == str(explanation)
    assert explanation.to_dict() == ad.explain("where(x < 1, x, 2)*cos(x)", {"x": 0.5}).to_dict()


class FakeShell:
    """A notebook that collects what is displayed."""

    def __init__(self) -> None:
        self.display_pub = self
        self.published: list[dict[str, str]] = []
        ad.load_ipython_extension(self)

    def register_magic_function(self, func: Callable[..., None], magic_kind: str, magic_name: str) -> None:
        assert (magic_kind, magic_name) == ("line_cell", "autodiff")
        self.magic = func

    def publish(self, data: dict[str, str]) -> None:
        self.published.append(data)

    def error(self, line: str, cell: str | None = None) -> str:
        """The text that IPython shows instead of a traceback."""
        with pytest.raises(CommandError) as raised:
            self.magic(line, cell)
        return "\n".join(raised.value._render_traceback_())


@pytest.fixture
def shell() -> FakeShell:
    return FakeShell()


def test_a_line_is_a_command_of_the_shell(shell: FakeShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.magic('eval "log(x**3)" --at x=5')
    (shown,) = shell.published
    result = ad.evaluate("log(x**3)", at={"x": 5})
    assert shown == {"text/plain": str(result), "text/html": result._repr_html_()}
    shell.magic('grad "x**2" --at x=3 -q')
    shell.magic('grad "x**2" --at x=3 --json')
    assert capsys.readouterr().out.startswith('6.0\n{"schema":')
    assert len(shell.published) == 1


def test_options_of_tables_apply(shell: FakeShell) -> None:
    shell.magic('grad "x/3" --at x=1 --precision 3')
    assert tables(shell.published[0]["text/html"]) == [[["variable", "gradient"], ["x", "0.333"]]]
    assert "0.333\n" in shell.published[0]["text/plain"] + "\n"


def test_notes_are_displayed_unless_they_are_suppressed(shell: FakeShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.magic('grad "abs(x)" --at x=0')
    assert shell.published[1]["text/plain"].startswith("note: abs at x = 0")
    shell.magic('grad "abs(x)" --at x=0 --quiet-notes')
    assert len(shell.published) == 3
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("line", ['graph "log(x**3)" --at x=5', 'plot "sin(x)" --over x=-3:3'])
def test_graphs_and_plots_are_pictures(line: str, shell: FakeShell) -> None:
    shell.magic(line)
    assert ElementTree.fromstring(shell.published[0]["image/svg+xml"]).tag == "{http://www.w3.org/2000/svg}svg"
    assert "text/html" not in shell.published[0]


def test_a_plot_without_matplotlib_is_text(shell: FakeShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    shell.magic('plot "sin(x)" --over x=-3:3')
    assert list(shell.published[0]) == ["text/plain"]
    assert "━━━━ value" in shell.published[0]["text/plain"]


def test_a_cell_without_a_command_continues_a_session(shell: FakeShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.magic(
        "", "x = tensor(5.0, requires_grad=true)\nwith no_grad:\n    a = 2*x\n\n    b = a + 1\ny = log(x**3)\ny.backward()\n"
    )
    shell.magic("", "x.grad\nb\nshow x\n:grad y\n:grad y\nx + 1\nhelp x\n")
    printed = capsys.readouterr().out.splitlines()
    assert printed[:3] == ["tensor(0.6000)", "tensor(11.)", "tensor(6., grad_fn=<AddBackward0>)"]
    assert printed[3].startswith("x: tensor(5.0, requires_grad=true)")
    first, second, again = (tables(each["text/html"])[0] for each in shell.published)
    assert second == again
    assert first[1][:3] == ["x", "tensor(5.0, requires_grad=true)", "5"]
    assert second == [["variable", "gradient"], ["x", "0.6"]]


def test_repl_begins_another_session(shell: FakeShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.magic("", "x = 1")
    shell.magic("repl --at y=2", "y*3")
    shell.magic("", "y")
    assert "'x'" in shell.error("", "x")
    shell.magic("repl --at z=4")
    shell.magic("", "z")
    assert capsys.readouterr().out == (
        "tensor(6., grad_fn=<MulBackward0>)\ntensor(2., requires_grad=True)\ntensor(4., requires_grad=True)\n"
    )


def test_a_cell_with_a_command_is_its_input(shell: FakeShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.magic("grad --at x=5 -q", "y = x**3\nlog(y)\n")
    shell.magic("--at x=3", "x*2")
    shell.magic("run --at x=4", "x*2")
    shell.magic('fit "y = a*x" - --at a=1 -q', "x,y\n1,2\n2,4\n3,6\n")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["0.6", "tensor(6., grad_fn=<MulBackward0>)", "tensor(8., grad_fn=<MulBackward0>)"]
    assert float(lines[3]) == pytest.approx(2)


def test_errors_are_shown_as_on_the_command_line(shell: FakeShell, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        'grad "lgo(x)" --at x=5',
        'grad "x" --wrong',
        'grad "x*y" --at x=1',
        "nonsense",
        'eval "x" --at x=1 -o /no/such.json',
    ):
        assert shell.error(command) + "\n" == re.sub(r"\[exit code \d\]\n", "", run(f"autodiff {command}"))
    assert shell.error('grad "x').startswith("error: a quote is not closed")
    assert "did you mean 'backward'?" in shell.error("", "x = tensor(1.0, requires_grad=true)\nx.backwrd()")
    capsys.readouterr()


def test_a_failed_check_is_displayed_and_ends_the_cell(shell: FakeShell) -> None:
    assert shell.error('gradcheck "x**2" --at x=3 --claim x=3*x').startswith("error: the claim x=3*x gives 9")
    assert "fail" in shell.published[0]["text/html"]


def test_an_interruption_reaches_ipython(shell: FakeShell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("autodiff_cli.derivatives.evaluate.evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        shell.magic('eval "x" --at x=1')


def test_nothing_of_the_notebook_stays_behind(shell: FakeShell, capsys: pytest.CaptureFixture[str]) -> None:
    streams = sys.stdin, sys.stdout, sys.stderr
    shell.magic('eval "x" --at x=1')
    shell.error('eval "x')
    assert (sys.stdin, sys.stdout, sys.stderr) == streams
    main(["grad", "x**2", "--at", "x=3"])
    assert "gradient" in capsys.readouterr().out


def test_a_lesson_of_a_program_is_the_page_of_the_command(tmp_path: Path) -> None:
    program = "# two paths\nx = tensor(5.0, requires_grad=true)\ny = log(x**3) + x\ny.backward()\n"
    (tmp_path / "p.ad").write_text(program)
    run(f"autodiff run {tmp_path}/p.ad -o {tmp_path}/lesson.html")
    lesson = ad.Lesson(program)
    assert lesson.html == (tmp_path / "lesson.html").read_text(encoding="utf-8")
    text = re.sub(r' srcdoc="[^"]*"', "", lesson._repr_html_())
    ((_, x, y),) = tables(text)
    assert (x[0], x[2], x[-1], y[0], y[-2:]) == ("x", "5", "1.6", "y", ["AddBackward0", "None"])
    assert "y.backward()" in text
    assert "y.backward()" in str(lesson)
    assert "error: unknown function" in str(ad.Lesson("x = tensor(5)\ny = lgo(x)"))
