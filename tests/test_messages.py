"""Messages: wrapped on a terminal, with a remedy; limits that can be lifted; blocks that come through a pipe."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from autodiff_cli import limits
from autodiff_cli.cli.main import main
from autodiff_cli.errors import AutodiffError, LimitError
from autodiff_cli.language.parser import parse
from autodiff_cli.ops import creation
from autodiff_cli.report import diagnostics
from autodiff_cli.script.statements import ends_block
from autodiff_cli.wording import shortened, two_lines
from tests.shell import ROOT, run


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_errors_fit_a_terminal(columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(diagnostics, "_columns", lambda: columns)
    long = " + ".join(["sin(x)*cos(x)"] * 20)
    for arguments in (["eval", f"{long} + lgo(x) + {long}", "--at", "x=1"], ["eval", "x**2", "--at", "x=1", "--backward", "2"]):
        assert main(arguments) != 0
        lines = capsys.readouterr().err.splitlines()
        assert max(map(len, lines)) <= columns
        (carets,) = [i for i, line in enumerate(lines) if set(line) == {" ", "^"}]
        start, end = lines[carets].index("^"), lines[carets].rindex("^") + 1
        assert lines[carets - 1][start:end] in ("lgo", "x**2")


def test_carets_end_with_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Where what is wrong goes on in the next one."""
    assert main(["eval", "2*([1, 2]\n + [1, 2, 3 + 4 + 5 + 6])"]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:3] == ["  2*([1, 2]", "     ^^^^^^"]


def test_notes_fold_between_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    main(["grad", "abs(x - 2)", "--at", "x=2"])
    whole = capsys.readouterr().err
    assert whole.count("\n") == 1
    monkeypatch.setattr(diagnostics, "_columns", lambda: 40)
    main(["grad", "abs(x - 2)", "--at", "x=2"])
    folded = capsys.readouterr().err
    assert max(map(len, folded.splitlines())) <= 40
    assert folded.split() == whole.split()


def test_no_limits_lifts_the_limit_on_elements(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(limits, "MOST_ELEMENTS", 10)
    assert main(["eval", "sum(ones(11))", "-q"]) == 3
    assert capsys.readouterr().err.endswith("hint: --no-limits allows it\n")
    assert main(["eval", "sum(ones(11))", "-q", "--no-limits"]) == 0
    assert capsys.readouterr().out == "11.0\n"
    assert main(["eval", "sum(ones(11))", "-q"]) == 3
    assert main(["eval", "sum(arange(0, inf))", "--no-limits"]) == 3
    with limits.unlimited(), pytest.raises(LimitError, match="would contain infinitely many numbers"):
        creation.arange(0, float("inf"))


@pytest.mark.parametrize("command", ["grad", "diff", "graph", "plot", "map", "root", "minimize", "taylor"])
@pytest.mark.parametrize(("written", "meant"), [("np.exp", "exp"), ("np.linalg.det", "det"), ("math.pi", "pi")])
def test_a_python_module_is_not_a_variable(
    command: str, written: str, meant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("x\n1\n")
    expression = f"x - {written}(x)" if meant != "pi" else f"x - {written}"
    files = [str(rows)] if command == "map" else []
    assert main([command, expression, *files, *(["--at", "x=1"] if command in ("grad", "root", "minimize", "taylor") else [])]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: module '{written.partition('.')[0]}' is not available\n  {expression}\n      ^")
    assert f"hint: write '{meant}' instead of '{written}'" in said


def test_a_variable_may_have_the_name_of_a_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "sp.sum()", "--at", "sp=[1, 2]", "-q"]) == 0
    assert capsys.readouterr().out == "3.0\n1.0\n1.0\n"


@pytest.mark.parametrize(
    ("expression", "message", "hint"),
    [
        ("sin(, 2)", "unexpected ','", "write a value before ','"),
        ("* 2", "unexpected '*'", "write a value before '*'"),
        ("[1, , 2]", "unexpected ','", "write a value before ','"),
        ("x if y", "the expression is incomplete after 'y'", "complete the expression"),
        ("2*x = 3", "unexpected '='", "write == to compare"),
        ("x*y, x+y", "unexpected ','", "write [x*y, x+y] for a list"),
        ("N,N*2", "unexpected ','", "write [N,N*2] for a list"),
        ("a, b", "unexpected ','", "write [a, b] for a list, or a, b = ... to name the elements of a list"),
        ("f(a, b) = a; x, 2*y = 3", "unexpected ','", "write [a, b] for a list"),
        ("3,5*2", "unexpected ','", "write 3.5 with a decimal point, or [3,5*2] for a list"),
        ("1,234,567.5*x", "unexpected ','", "write 1234567.5 without commas, or [1,234,567.5*x] for a list"),
        ("1,2,3", "unexpected ','", "write [1,2,3] for a list"),
        ("sin(30°)", "unexpected character '°'", "write an angle in degrees as deg2rad(30)"),
        ("x⁴", "unexpected character '⁴'", "write **4"),
        ("½*x", "unexpected character '½'", "write (1/2)"),
    ],
)
def test_what_the_parser_expected(expression: str, message: str, hint: str) -> None:
    with pytest.raises(AutodiffError) as caught:
        parse(expression)
    assert caught.value.message == message
    assert (caught.value.hint or "").startswith(hint)


COMMANDS_AT_A_POINT = ["eval", "grad", "jacobian", "hessian", "vjp", "taylor", "explain", "graph", "gradcheck", "minimize", "root"]


@pytest.mark.parametrize("command", COMMANDS_AT_A_POINT)
def test_an_unknown_function_is_reported_before_values_that_would_not_help(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "f(a) = a; f(integrate(x, 0, 1))"]) == 2
    assert capsys.readouterr().err.startswith("error: unknown function 'integrate'\n")


@pytest.mark.parametrize("command", [*COMMANDS_AT_A_POINT, "diff", "propagate", "export"])
def test_a_comma_outside_of_brackets_is_a_list(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--to", "c"] if command == "export" else []
    code, said = main([command, "x*y, x+y", *options]), capsys.readouterr().err
    assert (code, "write [x*y, x+y] for a list" in said) == (2, True) or "," not in said.splitlines()[0], said


def test_no_real_root_is_said_in_plain_words() -> None:
    said = run("autodiff root 'x**2 + 1' --at x=1")
    assert said.startswith(
        "error: no real root found near the start: the equation comes closest at x = 0, where its sides differ by 1\n"
    )


def test_a_claim_for_the_only_variable_needs_no_name() -> None:
    assert run("autodiff gradcheck 'k*log(x**3)' --at x=5 --const k=2 --claim 6/x -q") == "pass\n"
    assert run("autodiff gradcheck 'log(x**3)' --at x=5 --claim 2/x -q").startswith("fail\n")


@pytest.mark.parametrize(
    ("command", "content", "hint"),
    [
        ("map x*y --delimiter ';'", "x;y\n1,5;2\n", "use --decimal ',' to read numbers with a decimal comma"),
        ("fit y=a*x --delimiter ';'", "x;y\n1,5;2\n", "use --decimal ',' to read numbers with a decimal comma"),
        ("map x*y", "x y\n1 2\n", "its delimiter seems to be ' '; use --delimiter ' '"),
        ("map x*y", "1 2\n3 4\n", "use --delimiter ' '; if it does not have a header, name the columns with --columns x,y"),
        ("map x*y", "speed in m/s\n1\n", "use --let x=COLUMN to read another column"),
        ("plot x*y", "x;y\n1,5;2\n", 'plot data with a fitted model: autodiff fit "y = a + b*x" rows.csv -o fit.svg'),
        ("plot x*y --delimiter ';'", "x;y\n1,5;2\n", 'fitted model: autodiff fit "y = a + b*x" rows.csv -o fit.svg'),
    ],
)
def test_files_with_another_dialect(command: str, content: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(content)
    name, expression, *options = command.split(" ", 2)
    assert hint in run(f"autodiff {name} {expression} rows.csv {' '.join(options)}")


def test_names_of_columns_with_commas_are_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text('name,"x, in m",y\na,1,2\n')
    assert 'it has name, "x, in m", y\n' in run("autodiff map x*y rows.csv")
    assert 'which has name, "x, in m", y\n' in run("autodiff fit z=a*x rows.csv")


def test_where_a_block_ends() -> None:
    assert not ends_block("with no_grad:\n", "w = 1")  # nothing in it yet: the program says so itself
    assert not ends_block("with no_grad:\n  w = 1\n", "  v = 2")
    assert not ends_block("with no_grad:\n  w = 1\n", "")
    assert not ends_block("with no_grad:\n  w = [1,\n", "2]")
    assert ends_block("with no_grad:\n  w = 1\n", "v = 2")


def test_errors_of_the_command_line_have_a_way_out() -> None:
    """Every error that is raised for a person's command line has a hint; those of the engine are PyTorch's words."""
    without = set()
    for path in sorted((ROOT / "autodiff_cli").glob("cli/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                text = ast.unparse(node.exc)
                if "Error(" in text and "hint" not in text and "click" not in text:
                    without.add(f"{path.name}: {text}")
    assert not without


def test_files_that_are_nearly_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "points.csv").write_text("1,2\n3\n")
    monkeypatch.chdir(tmp_path)
    for folder in ("", f"{tmp_path}/"):
        assert main(["eval", "x", "--at", f"x=@{folder}piont.csv"]) == 5
        assert capsys.readouterr().err.endswith(f"hint: did you mean '{folder}points.csv'?\n")
    contents = {
        "points.csv": ("1,2\n3\n", "the number of columns changes from 2 to 1 at row 2"),
        "words.csv": ("1,2\n3,four\n", "'four' in row 2, column 2, is not a number"),
        "empty.csv": ("", "it is empty"),
        "object.json": ('{"a": 1}', "use a number, or nested lists of numbers with rows of equal length"),
        "rows.json": ("[[1], [2, 3]]", "use a number, or nested lists of numbers with rows of equal length"),
        "broken.json": ("[1,", "Expecting value: line 1 column 4 (char 3)"),
        "text.npy": ("1", "use a file that numpy.save wrote for an array of numbers"),
    }
    for name, (text, reason) in contents.items():
        (tmp_path / name).write_text(text)
        assert main(["eval", "x", "--at", f"x=@{name}"]) == 5
        assert capsys.readouterr().err == f"error: '{name}' does not contain an array of numbers\n  hint: {reason}\n"


@pytest.mark.parametrize(
    "command", ['eval "x**2" --at x=3', 'diff "x**2"', 'root "x**2 = 4" --at x=1', 'propagate "x**2" --at "x=1(1)"']
)
def test_bare_numbers_have_no_format(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert '"message": "-q cannot be combined with json"' in run(f"autodiff {command} -q --json")
    assert run(f"autodiff {command} -q --format csv").startswith("error: -q cannot be combined with csv")
    before = run(f"autodiff {command} -q")
    monkeypatch.setenv("AUTODIFF_FORMAT", "json")
    assert run(f"autodiff {command} -q") == before, "a format in the environment is a default"


def test_options_may_follow_an_expression_after_two_hyphens() -> None:
    assert run('autodiff eval -q -- "-x**2" --at x=3') == run('autodiff eval -q "-x**2" --at x=3') == "-9.0\n-6.0\n"
    assert run("autodiff grad -a a=2 'a*a' -q") == "4.0\n"
    assert run('autodiff eval -q --at q=3 -- "-q"') == run('autodiff eval -q --at q=3 " -q"') == "-3.0\n-1.0\n"


def test_every_tensor_in_a_table_has_its_own_name() -> None:
    names = [row["name"] for row in json.loads(run('autodiff eval "x=5*x; x=x+1; x" --at x=5 --json'))["tensors"]]
    assert names == ["x", "%1", "x₂"]


def test_the_scale_of_a_loss_is_blamed_for_its_overflow(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("t,obs\n0,1\n1,3\n2,5\n3,7\n4,9\n")
    for scale in ("1e-300", "1e300"):
        said = run(f"autodiff fit 'obs = a + b*t' {tmp_path / 'd.csv'} --at a=0:10,b=1 --loss cauchy:{scale}")
        assert said.startswith(f"error: the scale {scale} of --loss is outside 1e-100 to 1e100")
        assert said.endswith("[exit code 2]\n")


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("a + b", 60, "a + b"),
        ("y = a + b*x + A1*exp(-(x-m1)**2/s1) + A2*exp(-(x-m2)**2/s2)", 50, "y = a + b*x + ... A2*exp(-(x-m2)**2/s2)"),
        ("y = A1*exp(-(x-m1)**2/(2*s1**2))*A2*exp(-(x-m2)**2)", 40, "y = A1*exp(-(x-m1) ... *exp(-(x-m2)**2)"),
        ("x" * 100, 20, "xxxxxxxx ... xxxxxxx"),
    ],
)
def test_a_long_text_is_cut_between_terms_or_factors(text: str, most: int, expected: str) -> None:
    assert shortened(text, most) == expected
    assert len(expected) <= most


def test_a_long_title_takes_two_lines() -> None:
    assert two_lines("y = a*exp(-t/tau)", 20) == "y = a*exp(-t/tau)"
    assert two_lines("y = a*exp(-t/tau)*cos(w*t + phase) + offset", 40) == "y = a*exp(-t/tau)*cos(w*t + phase) +\noffset"
    assert two_lines("y = " + "a + " * 40 + "b", 20) == "y = a + a + a + a +\na + a + ... + a + b"
