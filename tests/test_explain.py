"""``autodiff explain``: contributions multiply and add up to the gradients, and every formula evaluates to the number beside it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.cli.main import main
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import unparse
from tests.accuracy.explained import call_of
from tests.points import samples_of
from tests.processes import completed
from tests.shell import run

GOLDEN = Path(__file__).with_name("golden")
RECORDS = json.loads((GOLDEN / "expressions.json").read_text())["records"]
WALKTHROUGH = {r["id"]: r for r in json.loads((GOLDEN / "walkthrough.json").read_text())["records"]}

assert ad.sin is not None  # declares the functions


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The JSON of ``explain``."""
    assert main(["explain", *arguments, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def array(value: Any) -> Any:
    return np.asarray(value, dtype=float)


def same(got: Any, expected: Any, tolerance: float = 1e-12) -> bool:
    return bool(np.allclose(array(got), array(expected), rtol=tolerance, atol=tolerance, equal_nan=True))


def check_sweep(sweep: dict[str, Any], output: str, values: dict[str, Any], tolerance: float = 1e-12) -> int:
    """Follow a sweep from its start: products, sums over broadcasting, sums over paths, the ends.  How many formulas hold."""
    arrived = {output: array(sweep["start"])}
    parts: dict[str, list[Any]] = {}
    formulas = 0
    for step in sweep["steps"]:
        if isinstance(step["name"], list):
            for name, gradient in zip(step["name"], step["gradient"], strict=True):
                assert same(arrived[name], gradient, tolerance)
        else:
            assert same(arrived[step["name"]], step["gradient"], tolerance), step
        for one in step["contributions"]:
            contribution = array(one["contribution"])
            if one["local"] is not None:
                product = array(step["gradient"]) * array(one["local"])
                if one["broadcast"]:
                    assert list(product.shape) == one["broadcast"]["to"]
                    product = product.sum(tuple(one["broadcast"]["summed"])).reshape(one["broadcast"]["from"])
                if one["untaken"]:
                    product = np.where(contribution == 0, 0.0, product)
                assert same(product, contribution, tolerance), (step, one)
                formulas += check_formula(one, values)
            else:
                assert one["formula"] or one["rule"]
            parts.setdefault(one["to"], []).append((step["name"], contribution))
            arrived[one["to"]] = arrived.get(one["to"], 0.0) + contribution
    for end in sweep["ends"]:
        if not (end["parts"] and end["parts"][0]["from"] == ""):
            assert [part["from"] for part in end["parts"]] == [
                name if isinstance(name, str) else name[0] for name, _ in parts.get(end["name"], [])
            ]
        total = sum((array(part["value"]) for part in end["parts"]), np.zeros(array(end["value"]).shape))
        assert same(total, end["value"], tolerance)
    return formulas


def check_formula(one: dict[str, Any], values: dict[str, Any]) -> int:
    """Evaluate a formula from the values in the forward pass: an ordinary evaluation, with ``%3`` under another name."""
    if one["formula"] is None or one["untaken"]:
        return 0

    def plain(match: re.Match[str]) -> str:
        return "v_" + match[0][1:].replace(".", "_")

    text = re.sub(r"%[\d.]+", plain, one["formula"])
    used = {name: values[name] for name in re.findall(r"[^\W\d]\w*", text) if name in values}
    if "constant" in text or any(value is None for value in used.values()):
        return 0
    with np.errstate(all="ignore"):
        computed = ad.evaluate(text, const={n: array(v) if np.ndim(v) else float(v) for n, v in used.items()}).value
    computed, local = np.broadcast_arrays(computed, array(one["local"]))
    finite = np.isfinite(computed)
    assert np.allclose(computed[finite], local[finite], rtol=1e-4), one
    return 1


def values_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The values of all tensors that are explained, by names that an expression may have."""
    return {re.sub(r"^%", "v_", line["name"]).replace(".", "_"): line["value"] for line in answer["forward"]}


def check(answer: dict[str, Any], tolerance: float = 1e-12) -> int:
    """The sweep of an explanation: the sums of the ends are the gradient, and so are the formulas of the whole chain."""
    values = values_of(answer)
    formulas = check_sweep(answer, answer["output"], values, tolerance)
    assert {end["name"]: end["value"] for end in answer["ends"]} in ({}, answer["grad"])
    for end in answer["ends"]:
        if end["chain"] is not None and np.isfinite(array(end["value"])).all():
            assert "%" not in end["chain"]
            used = {name: value for name, value in values.items() if re.search(rf"\b{name}\b", end["chain"])}
            chain = ad.evaluate(end["chain"], const={n: array(v) if np.ndim(v) else float(v) for n, v in used.items()}).value
            assert np.allclose(array(chain), array(end["value"]), rtol=1e-4), end
    return formulas


@pytest.mark.sampled(4)
@pytest.mark.parametrize("record", RECORDS, ids=lambda r: f"{r['expr']} at {r['at']}")
def test_golden(record: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    given = [f"--at={name}={json.dumps(value)}" for name, value in record["at"].items()]
    answer = explained(capsys, record["expr"], *given)
    assert same(answer["value"], record["value"])
    check(answer)
    for name, expected in record["grad"].items():
        assert same(answer["grad"][name], expected), name


def test_most_of_the_golden_derivatives_have_a_formula(capsys: pytest.CaptureFixture[str]) -> None:
    formulas = 0
    for record in RECORDS[:40]:
        given = [f"--at={name}={json.dumps(value)}" for name, value in record["at"].items()]
        formulas += check(explained(capsys, record["expr"], *given))
    assert formulas > 100


PROGRAMS = {
    "code04": ("y = x**3; z = log(y); z", {"x": 5.0}),
    "code09": ("y = x**3; w = x**2; z = log(y) + sqrt(w); z", {"x": 5.0}),
    "code10": ("y = x**q; z = log(y); z", {"x": 5.0, "q": 3.0}),
    "code11": ("MyPow(a, b) = a**b with grad (b*a**(b-1), a**b*log(a)); y = MyPow(x, q); log(y)", {"x": 5.0, "q": 3.0}),
    "code13": ("y = x*[2, 3, 5]; z = y @ [4, 7, 9]; z", {"x": 5.0}),
    "tut1": ("y = x + 2; z = y*y*3; out = mean(z); out", {"x": [[1.0, 1.0], [1.0, 1.0]]}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_walkthrough(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    program, at = PROGRAMS[name]
    given = [f"--at={variable}={json.dumps(value)}" for variable, value in at.items()]
    answer = explained(capsys, program, *given, "--dtype", "float32")
    check(answer, 1e-5)
    tensors = WALKTHROUGH[name]["stages"][-1]["tensors"]
    for variable in at:
        assert same(answer["grad"][variable], tensors[variable]["grad"], 1e-6)
    arrived = {step["name"]: step["gradient"] for step in answer["steps"]}
    for tensor, expected in tensors.items():
        if expected["retains_grad"]:
            assert same(arrived[tensor], expected["grad"], 1e-6)


def test_walkthrough_gradient(capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(capsys, "3*a**3 - b**2", "--at", "a=[2, 3]", "--at", "b=[6, 4]", "--gradient", "[1, 1]")
    check(answer)
    assert answer["grad"] == {name: WALKTHROUGH["bw2"]["stages"][-1]["tensors"][name]["grad"] for name in "ab"}


OPS = list({op.name: op for op in FUNCTIONS.values()}.values())
TENSORS = {op.name: op for op in OPS if samples_of(op) and not op.variadic}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", TENSORS)
def test_every_function(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for sample in samples_of(TENSORS[name]):
        if len(sample) <= len(TENSORS[name].parameters):
            _explained_as_evaluated(TENSORS[name], sample, capsys)


def _explained_as_evaluated(op: Any, sample: Any, capsys: pytest.CaptureFixture[str]) -> None:
    call, at = call_of(op, sample)
    if not at:
        return
    given = [f"--at={name}={json.dumps(value)}" for name, value in at.items()]
    code = main(["eval", call, *given, "--json"])
    said = capsys.readouterr()
    if code:  # several results, or no number: what has no gradient to start from
        assert "Traceback" not in said.err, call
        call = f"sum({call})" if "scalar outputs" in said.err else f"sum({call}[0])"
        if main(["eval", call, *given, "--json"]):
            capsys.readouterr()
            return
        said = capsys.readouterr()
    answer = explained(capsys, call, *given)
    check(answer, 1e-9)
    assert answer["grad"] == json.loads(said.out)["grad"], (call, given)


# What is said


def test_formulas_have_the_operands_in_them_and_fold_constants(capsys: pytest.CaptureFixture[str]) -> None:
    def formulas(expression: str, *given: str) -> list[str]:
        return [c["formula"] for step in explained(capsys, expression, *given)["steps"] for c in step["contributions"]]

    assert formulas("log(x**3)", "-a", "x=5") == ["1/%1", "3*x**2"]
    assert formulas("y = x**2; y/(1 + y)", "-a", "x=5") == ["1/%1", "-y/%1**2", "1", "2*x"]
    assert formulas("2**x", "-a", "x=3") == ["2**x*log(2)"]
    assert formulas("x**-0.5", "-a", "x=4") == ["-0.5*x**-1.5"]
    assert formulas("(x + 1)*(x - 2)", "-a", "x=4") == ["%2", "%1", "1", "1"]
    assert formulas("relu(x)", "-a", "x=4") == ["1 if x > 0 else 0"]
    assert formulas("f(a, b) = a*b**2 with grad (b**2, 2*a*b); f(x, 3)", "-a", "x=4") == ["9"]
    assert formulas("sin(-x)", "-a", "x=4") == ["cos(%1)", "-1"]
    assert formulas("gelu(x, approximate='tanh')", "-a", "x=1") == [None]  # what is declared is that of the other one


def test_a_function_of_several_operations_shows_what_is_inside(capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(capsys, "y = 1/x; y + l1_loss(x, y)", "-a", "x=5")
    lines = {line["name"]: (line["operation"], line["value"]) for line in answer["forward"]}
    assert lines["y.1"] == ("reciprocal(x)", 0.2)
    assert lines["y"] == ("y.1*1", 0.2)
    assert lines["%1.1"][0] == "x - y"
    assert lines["%1.2"][0] == "abs(%1.1)"
    check(answer)


@pytest.mark.parametrize(
    ("expression", "inside"),
    [("l1_loss(x, 2)", "x - 2"), ("l1_loss(2, x)", "2 - x"), ("l1_loss(c, x)", "2 - x"), ("l1_loss(x, c)", "x - 2")],
)
def test_constants_that_are_not_saved(expression: str, inside: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(capsys, expression, "-a", "x=5", "--const", "c=2", "--quiet-notes")
    assert answer["forward"][2]["operation"] == inside


def test_shapes_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(capsys, "sum(A*x + y)", "-a", "A=[[1, 2, 3], [4, 5, 6]]", "-a", "x=[1, 2, 3]", "-a", "y=[[1], [2]]")
    steps = {step["name"]: step["contributions"] for step in answer["steps"]}
    assert steps["%3"][0]["rule"] == "every element of %2 receives the gradient of its sum"
    assert steps["%2"][1]["broadcast"] == {"from": [2, 1], "to": [2, 3], "summed": [1]}
    assert steps["%1"][1]["broadcast"] == {"from": [3], "to": [2, 3], "summed": [0]}
    answer = explained(capsys, "sum(A*x)", "-a", "A=ones(3, 2, 2)", "-a", "x=[[1], [2]]")
    assert answer["steps"][1]["contributions"][1]["broadcast"] == {"from": [2, 1], "to": [3, 2, 2], "summed": [0, 2]}
    check(answer)
    printed = run('autodiff explain "sum(A*x)" -a "A=[[1, 2], [3, 4]]" -a "x=[1, 2]"')
    assert "x was broadcast from [2] to [2, 2]: its gradient is summed over dimension 0" in printed


def test_a_branch_that_was_not_taken(capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(capsys, "sum(where(x > 0, sqrt(x), x))", "-a", "x=[0, 4]", "--quiet-notes")
    (root,) = [step for step in answer["steps"] if step["grad_fn"] == "SqrtBackward0"]
    assert root["contributions"][0]["untaken"]
    assert root["contributions"][0]["local"] == ["inf", 0.25]
    assert root["contributions"][0]["contribution"] == [0.0, 0.25]
    assert answer["grad"]["x"] == [1.0, 0.25]


def test_conventions_at_kinks() -> None:
    assert "by convention: the derivative at 0 is 0" in run('autodiff explain "abs(x)" -a x=0 --quiet-notes')
    assert "convention" not in run('autodiff explain "abs(x)" -a x=1')


def test_names_that_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert explained(capsys, "x*z", "-a", "x=1,z=2")["symbol"] == "w"
    assert explained(capsys, "w = x*z; w", "-a", "x=1,z=2")["symbol"] == "w"


def test_little_to_explain(capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(capsys, "x", "-a", "x=5")
    assert answer["grad"] == {"x": 1.0}
    assert answer["steps"] == []
    answer = explained(capsys, "3*x", "-a", "x=5,y=2")
    assert answer["grad"] == {"x": 3.0, "y": 0.0}
    assert [end["chain"] for end in answer["ends"]] == ["3", None]
    printed = run("autodiff explain 3*x -a x=5,y=2 --quiet-notes")
    assert "y.grad = None   no gradient arrives: z does not depend on y" in printed
    assert "does not depend on a variable" in run('autodiff explain "2 + 3" --quiet-notes')


def test_a_rule_with_the_gradient_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(capsys, "sum(A @ g)", "-a", "A=[[1, 2]]", "-a", "g=[1, 2]")
    assert [one["formula"] for one in answer["steps"][1]["contributions"]] == ["outer(%gradient, g)", "A.T @ %gradient"]
    printed = run('autodiff explain "sum(A @ g)" -a "A=[[1, 2]]" -a "g=[1, 2]"')
    assert "dz/dA  = outer(dz/d%1, g) = [[1, 2]]" in printed


def test_shared_gradients(capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(capsys, "(x + y)**3", "-a", "x=1,y=2")
    check(answer)
    assert answer["grad"] == {"x": 27.0, "y": 27.0}


@pytest.mark.parametrize(
    ("expression", "at", "chains"),
    [
        ("log(x**3) + sqrt(x**2)", {"x": 5.0}, {"x": "1/(2*sqrt(x**2))*2*x + 1/x**3*3*x**2"}),
        ("y = x**3; log(y)", {"x": 5.0}, {"x": "1/y*3*x**2"}),
        ("r = A @ x - b; sum(r**2)", {"A": [[1, 2], [3, 4]], "x": [1, 2], "b": [3, 1]}, {"x": "A.T @ (2*r)", "A": "outer(2*r, x)"}),
        ("sum(A @ x*y)", {"A": [[1, 2], [3, 4]], "x": [1, 2], "y": 3}, {"x": "A.T @ (y*ones(2))", "y": "sum(A @ x)"}),
        ("mean(x*y + c)", {"x": [1, 2], "y": [3, 4], "c": 1}, {"x": "0.5*y", "c": "sum(0.5*ones(2))"}),
        ("logsumexp(A @ x)", {"A": [[1, 2], [3, 4]], "x": [1, 2]}, {"x": "A.T @ softmax(A @ x)"}),
        ("trace(X.T @ X)", {"X": [[1, 2], [3, 4], [5, 6]]}, {"X": "X.T.T @ eye(2) + (eye(2) @ X.T).T"}),
        ("a @ x + x @ x", {"a": [1, 2], "x": [3, 4]}, {"a": "x", "x": "x + x + a"}),
        ("x @ A @ x", {"A": [[1, 2], [3, 4]], "x": [1, 2]}, {"x": "x @ A + reshape(reshape(x, [1, 2]) @ A.T, [2])"}),
        ("f(a) = a**2; f(sin(x)) + f(x)", {"x": 2.0}, {"x": "2*x + 2*sin(x)*cos(x)"}),
        ("sum(cumprod(x))", {"x": [1.0, 2.0]}, {"x": None}),
    ],
)
def test_the_chain_is_multiplied_out(
    expression: str, at: dict[str, Any], chains: dict[str, str | None], capsys: pytest.CaptureFixture[str]
) -> None:
    answer = explained(capsys, expression, *(f"--at={name}={json.dumps(value)}" for name, value in at.items()))
    check(answer)
    assert {end["name"]: end["chain"] for end in answer["ends"] if end["name"] in chains} == chains


def test_a_chain_that_is_long_or_starts_with_a_gradient_is_not_multiplied_out(capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(capsys, "; ".join([*["x = sin(x)*x"] * 9, "x"]), "-a", "x=2")
    assert answer["ends"][0]["chain"] is None
    answer = explained(capsys, "3*a**2", "--at", "a=[2, 3]", "--gradient", "[1, 2]")
    assert answer["ends"][0]["chain"] is None


def test_arrays_have_shapes() -> None:
    printed = run('autodiff explain "sum(A @ x)" -a "A=[[1, 2, 3], [4, 5, 6]]" -a "x=[1, 2, 3]"')
    assert re.search(r"^A +A +\[\[1, 2, 3\], \[4, 5, 6\]\] +2 x 3$", printed, re.MULTILINE)
    assert "shape" not in run("autodiff explain x**2 -a x=3")
    page = run('autodiff explain "sum(A @ x)" -a "A=[[1, 2, 3], [4, 5, 6]]" -a "x=[1, 2, 3]" --format latex')
    assert r"\in \mathbb{R}^{2 \times 3}" in page


# Size and shape of the page


@pytest.mark.exhaustive
def test_large_programs_and_vectors(capsys: pytest.CaptureFixture[str]) -> None:
    program = "y = x; " + "; ".join(["y = sin(y) + x"] * 300) + "; sum(y)"
    given = ["-a", "x=linspace(0, 1, 50)"]
    answer = explained(capsys, program, *given)
    assert len(answer["steps"]) == 601
    check(answer)
    printed = run(f"autodiff explain '{program}' {given[0]} '{given[1]}'")
    assert "... 541 more steps ..." in printed
    assert "through 301 tensors" in printed
    body = printed.partition("backward")[2]
    assert max(map(len, body.splitlines())) <= 80
    assert len(printed) < 60_000


@pytest.mark.exhaustive
def test_lines_fit() -> None:
    for options in ("", "--precision 17"):
        printed = run(f'autodiff explain "mean(exp(-x**2*y)*tanh(A @ x))" -a "x=[1, 2, 3]" -a y=0.1 -a "A=[[1, 2, 3]]" {options}')
        lines = printed.partition("backward")[2].splitlines()
        assert max(map(len, lines)) <= (80 if "17" not in options else 140)


def test_formats(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["explain", "log(x**3)", "-a", "x=5", "--format"]
    assert main([*command, "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "of,step,name,operation,grad_fn,gradient,to,formula,rule,local,contribution",
        "z,1,%2,log(%1),LogBackward0,1.0,%1,1/%1,,0.008,0.008",
        "z,2,%1,x**3,PowBackward0,0.008,x,3*x**2,,75.0,0.6",
    ]
    assert main([*command, "markdown"]) == 0
    assert "- `dz/dx = dz/d%1 * d%1/dx = 0.008 * 75 = 0.6`" in capsys.readouterr().out
    assert main(["explain", "x**3*y", "-a", "x=2,y=3", "-q"]) == 0
    assert capsys.readouterr().out.split() == ["36.0", "8.0"]


def test_errors(capsys: pytest.CaptureFixture[str]) -> None:
    def error(*arguments: str) -> tuple[int, str]:
        return main(["explain", *arguments]), capsys.readouterr().err

    code, message = error("x**2", "-a", "x=[1, 2]")
    assert code == 3
    assert "grad can be implicitly created only for scalar outputs" in message
    code, message = error("x", "-a", "x=1", "--format", "latx")
    assert code == 2
    assert "latex" in message
    assert error("log(x)", "-a", "x=0", "--strict", "--quiet-notes")[0] == 4


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    programs = [
        ("y_1 = alpha**3; s = sum(y_1*x_max)/1e-9 + x_max[0] + 1/alpha; s", ["-a", "alpha=-5", "-a", "x_max=[1, 2]"]),
        ("log(x**3) + sqrt(x**2)*x", ["-a", "x=5"]),
        ("f(a) = a**2 with grad (2*a); where(x > 0, f(x), 0) + abs(x - 2) + inf*x", ["-a", "x=2", "--quiet-notes"]),
        ("; ".join(["y = x", *["y = sin(y) + x"] * 200]), ["-a", "x=1"]),
        ("mean(A @ x + std(x)*'%'.T) if false else sum(A @ x) # 100%_", ["-a", "x=[1, 2]", "-a", "A=[[1, 2], [3, 4]]"]),
    ]
    for i, (program, given) in enumerate(programs):
        assert main(["explain", program, *given, "--format", "latex"]) == 0
        (tmp_path / f"{i}.tex").write_text(capsys.readouterr().out, encoding="utf-8")
        done = completed(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{i}.tex"], cwd=tmp_path, errors="replace")
        assert done.returncode == 0, done.stdout[-1500:]


def test_a_list_that_is_an_argument_has_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(capsys, "sum([x, 2*x]) + stack([x, x])[0]", "-a", "x=3")
    operations = {line["name"]: line["operation"] for line in answer["forward"]}
    assert [operations[name] for name in ("%2", "%3", "%4")] == ["[x, %1]", "sum(%2)", "stack([x, x])"]
    assert [part["to"] for step in answer["steps"] if step["name"] == "%3" for part in step["contributions"]] == ["%2"]


def test_operations_are_text_of_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(capsys, "sum(stack([x, 2*x])[0, 1:]*x.max()) + (x.T @ x if true else 0)", "-a", "x=[1, 2, 3]")
    operations = [line["operation"] for line in answer["forward"]]
    assert operations[:4] == ["x", "2*x", "stack([x, %1])", "%2[0, 1:]"] or operations[:3] == ["x", "2*x", "stack([x, %1])"]
    for text in operations:
        readable = re.sub(r"%[\d.]+", "v", text)
        assert unparse(parse(readable)) == readable


def test_unnamed_tensors_have_a_letter_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    def page(program: str, at: str) -> str:
        assert main(["explain", program, "-a", at, "--format", "latex"]) == 0
        return capsys.readouterr().out

    assert r"v_{1} &= x^{3}" in page("log(x**3)", "x=2")
    for program, at in (("v_1*v_2 + sin(v_1)", "v_1=1,v_2=2"), ("v1*v2 + sin(v1)", "v1=1,v2=2")):
        text = page(program, at)
        assert r"w_{1} &= v_{1}" in text
        assert r"w_{3} = w_{1} + w_{2}" in text
        assert "v_{3}" not in text
    assert r"u_{1} &= " in page("v*w + sin(v)", "v=1,w=2")
    assert r"u_{1} &= " in page("v_1*z + sin(v_1)", "v_1=1,z=2"), "z is taken, so w is the result"


def test_where_nothing_arrives_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = {
        "table": "y.grad = None   no gradient arrives: z does not depend on y",
        "markdown": "`y.grad = None`, no gradient arrives: `z` does not depend on `y`",
        "latex": r"y\texttt{.grad} &= \texttt{None}",
    }
    for style, text in wanted.items():
        assert main(["explain", "x**2", "-a", "x=5,y=3", "--format", style, "--quiet-notes"]) == 0
        assert text in capsys.readouterr().out


def test_the_help_and_the_error_have_the_formats_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "--help"]) == 0
    assert "markdown, latex." in " ".join(capsys.readouterr().out.split())
    monkeypatch.setenv("AUTODIFF_FORMAT", "latex")
    assert main(["explain", "x", "--at", "x=1"]) == 0
    assert r"\documentclass" in capsys.readouterr().out
    assert main(["eval", "x", "--at", "x=1"]) == 2
    assert capsys.readouterr().err == (
        "error: AUTODIFF_FORMAT is 'latex', which is not a format of eval\n"
        "  hint: use one of table, plain, json, ndjson, csv, tsv, markdown with --format\n"
    )
    assert main(["eval", "x", "--at", "x=1", "--format", "latex"]) == 2
    assert "unknown format 'latex'" in capsys.readouterr().err


def test_the_chain_rule_stops_at_detach(capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(capsys, "y = x**2; y.detach()*x", "-a", "x=3")
    assert [part["to"] for step in answer["steps"] for part in step.get("contributions", [])] == ["x"]


def test_a_derivative_by_hand_of_another_shape(capsys: pytest.CaptureFixture[str]) -> None:
    for program in ("f(a) = sum(a**2) with grad (3*a); f(x)", "f(g) = sum(g**2) with grad (3*g); 2*f(x)"):
        answer = explained(capsys, program, "-a", "x=[2, 3]")
        (made,) = answer["steps"][-1]["contributions"]
        assert made["formula"] == "%gradient*3*x"
        arriving = answer["steps"][-1]["gradient"]
        assert made["contribution"] == answer["grad"]["x"] == [arriving * 6, arriving * 9]
    assert main(["explain", "f(a) = sum(a**2) with grad (a + 1); f(x)", "-a", "x=[2, 3]"]) == 0
    assert "dz/d%1*(x + 1) = [3, 4]" in capsys.readouterr().out


@pytest.mark.exhaustive
def test_a_long_derivative_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    program = f"f(a) = a**2 with grad ({'sin(a)*0 + ' * 3000}2*a); f(x)"
    answer = explained(capsys, program, "-a", "x=3")
    assert answer["steps"][-1]["contributions"][0]["formula"] == "2*x"
    assert answer["grad"] == {"x": 6}


@pytest.mark.parametrize("expression", ["max(x)", "amax(x)", "-min(-x)", "amin(x - 1)", "median(x)", "amax(x, dim=0)"])
def test_ties_are_in_the_words(expression: str, capsys: pytest.CaptureFixture[str]) -> None:
    values = [3.0, 3.0, 2.0] if "min" not in expression or "-x" in expression else [2.0, 2.0, 3.0]
    answer = explained(capsys, expression, "-a", f"x={values}", "--quiet-notes")
    assert sorted(answer["grad"]["x"]) == [0, 0.5, 0.5]
    said = [c["rule"] for step in answer["steps"] for c in step["contributions"] if c["rule"]]
    assert any(
        "receives the gradient, all others receive 0; equal elements share it evenly by convention (PyTorch)" in s for s in said
    )


def test_a_long_program_is_shortened_above_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    program = "".join(["a0=x;", *(f"a{k}=sin(a{k - 1})+x;" for k in range(1, 46)), "a45"])
    assert main(["explain", program, "-a", "x=1"]) == 0
    head = capsys.readouterr().out.partition("forward")[0].strip().splitlines()
    assert len(head) <= 6
    assert max(map(len, head)) <= 80
    assert " ... " in " ".join(head)
    assert head[0].startswith("a0=x; a1=sin(a0)+x; ")
    assert head[-2].endswith("a45=sin(a44)+x; a45")


@pytest.mark.parametrize("style", ["table", "markdown", "latex"])
def test_zero_has_no_sign(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "sum(-(x*y))", "-a", "x=[0, 1],y=[0, 0]", "--format", style]) == 0
    assert not re.search(r"-0(?![.\d])", capsys.readouterr().out)


def test_a_name_that_is_assigned_twice() -> None:
    """The two tensors have two names, also in LaTeX."""
    program = 'autodiff explain "x = x**2; x = x*3; sin(x)" --at x=2'
    result = json.loads(run(f"{program} --json"))
    assert [line["name"] for line in result["forward"]] == ["x", "%1", "x₂", "%2"]
    assert [part["to"] for step in result["steps"] for part in step["contributions"]] == ["x₂", "%1", "x"]
    assert [part["from"] for part in result["ends"][0]["parts"]] == ["%1"]
    assert result["grad"] == {"x": pytest.approx(12 * np.cos(12))}
    assert "x_{2}" in run(f"{program} --format latex")
