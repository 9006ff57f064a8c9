"""The command as a process: streams, exit codes, standard input, files, pipes, interruptions, colours, completion."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from autodiff_cli.cli import plain_evaluation
from tests.processes import LIMIT, completed, started, until
from tests.shell import streams

AUTODIFF = [sys.executable, "-m", "autodiff_cli"]


SETTINGS = ("AUTODIFF_FORMAT", "NO_COLOR", "FORCE_COLOR")


def run(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """What the command prints in a pipe, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name in SETTINGS:
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        out, err, code = streams(shlex.join(["autodiff", *arguments]), stdin)
    return subprocess.CompletedProcess(arguments, code, out, err)


def run_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in SETTINGS}
    return completed([*AUTODIFF, *arguments], stdin=subprocess.DEVNULL, env={**clean, **environment}, check=False)


def test_expression_from_standard_input_and_file(tmp_path: Path) -> None:
    assert run("grad", "-", "--at", "x=3", "-q", stdin="x**2\n").stdout == "6.0\n"
    file = tmp_path / "f.txt"
    file.write_text("# a program\ny = x**2\ny*2\n")
    assert run("grad", f"@{file}", "--at", "x=3", "-q").stdout == "12.0\n"
    file.write_bytes(b"\xff\xfe\x00")
    assert run("grad", f"@{file}", "--at", "x=3").returncode == 5


def test_values_from_files(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([1.0, 2.0]))
    (tmp_path / "v.csv").write_text("1,2\n3,4\n")
    (tmp_path / "v.json").write_text("[1, 2, 3]")
    for name, expected in (("v.npy", [2.0, 4.0]), ("v.csv", [[2.0, 4.0], [6.0, 8.0]]), ("v.json", [2.0, 4.0, 6.0])):
        answer = json.loads(run("grad", "sum(x**2)", "--at", f"x=@{tmp_path / name}", "--json").stdout)
        assert answer["grad"]["x"] == expected


@pytest.mark.parametrize(("name", "content"), [("a.npy", b"no"), ("a.txt", b"1"), ("a.csv", b"\xff\xfe")])
def test_files_that_hold_no_numbers(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    done = run("grad", "sum(x)", "--at", f"x=@{tmp_path / name}")
    assert done.returncode == 5
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert run("grad", "sum(x)", "--at", f"x=@{tmp_path / 'v.npy'}").returncode == 5


def test_results_and_notes_use_their_own_streams() -> None:
    done = run_process("eval", "x**2", "--at", "x=3", "--const", "k=1", "--json")
    assert json.loads(done.stdout)["notes"][0]["kind"] == "unused"
    assert done.stderr == "note: 'k' does not occur in the expression\n"


def test_errors_leave_standard_output_empty() -> None:
    done = run("eval", "lgo(x)", "--at", "x=3", "--json")
    assert (done.stdout, done.returncode) == ("", 2)
    assert json.loads(done.stderr)["error"]["kind"] == "UnknownName"


def test_format_from_the_environment() -> None:
    assert json.loads(run("grad", "x**2", "--at", "x=3", AUTODIFF_FORMAT="json").stdout)["grad"] == {"x": 6.0}
    assert json.loads(run("grad", "lgo(x)", "--at", "x=3", AUTODIFF_FORMAT="json").stderr)["error"]["exit_code"] == 2


def test_numbers_that_are_not_finite_are_text_in_json() -> None:
    text = run("grad", "1/x", "--at", "x=0", "--json").stdout
    answer = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert (answer["value"], answer["grad"]["x"]) == ("inf", "-inf")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bare_numbers_round_trip(dtype: str) -> None:
    quiet = run("grad", "sin(x)*exp(y)/3", "--at", "x=0.1,y=0.7", "-q", "--dtype", dtype).stdout.split()
    exact = json.loads(run("grad", "sin(x)*exp(y)/3", "--at", "x=0.1,y=0.7", "--json", "--dtype", dtype).stdout)["grad"]
    kind = np.dtype(dtype).type
    assert [kind(text) for text in quiet] == [kind(exact["x"]), kind(exact["y"])]
    assert all(len(text.split("e")[0].replace(".", "").lstrip("-0")) <= 17 for text in quiet)


def test_color() -> None:
    plain = run("eval", "x**2", "--at", "x=3")
    assert "\x1b[" not in plain.stdout
    assert "\x1b[" in run("eval", "x**2", "--at", "x=3", FORCE_COLOR="1").stdout
    assert "\x1b[" in run("eval", "x**2", "--at", "x=3", "--color", "always").stdout
    assert "\x1b[" not in run("eval", "x**2", "--at", "x=3", FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "\x1b[" not in run("eval", "x**2", "--at", "x=3", "--color", "never", FORCE_COLOR="1").stdout


def test_computed_columns_stand_out(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("x,y\n3,2\n5,4\n")
    table = run("root", "z = x*y", str(tmp_path / "d.csv"), "--at", "z=1", "--format", "table", "--color", "always").stdout
    rows = [line for line in table.splitlines() if line.startswith(("3", "5"))]
    assert [re.findall(r"\x1b\[1;36m *([\d.]+)", row) for row in rows] == [["6", "0", "1"], ["20", "0", "1"]]


def test_a_wide_table_is_whole_in_a_pipe() -> None:
    out = run("eval", "y = x + 1; y", "--at", "x=[1.23456, 2.34567, 3.45678, 4.56789, 5.67891]", "--gradient", "ones(5)").stdout
    assert "[1.23456, 2.34567, 3.45678, 4.56789, 5.67891]" in out
    assert "[2.23456, 3.34567, 4.45678, 5.56789, 6.67891]" in out
    assert "[1, 1, 1, 1, 1]" in out
    assert all(line == line.rstrip() for line in out.splitlines())


def _in_a_terminal(columns: int, *arguments: str) -> str:
    import pty

    leader, follower = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    shown = b""
    with started([*AUTODIFF, *arguments], stdout=follower, stderr=follower, env={**environment, "TERM": "xterm"}) as process:
        os.close(follower)
        try:
            while piece := os.read(leader, 4096):
                shown += piece
        except OSError:
            pass
        process.wait(LIMIT)
    os.close(leader)
    return shown.decode()


def test_the_readme_example_fits_80_columns() -> None:
    shown = re.sub(r"\x1b\[[0-9;]*m", "", _in_a_terminal(80, "eval", "log(x**3)", "--at", "x=5")).replace("\r", "")
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) == 6
    assert any("PowBackward0" in line for line in lines)


def test_a_wide_table_folds_in_a_narrow_terminal() -> None:
    shown = _in_a_terminal(80, "eval", "sum((A @ v)**2)", "--at", "A=[[1, 2], [3, 4]]", "--at", "v=[0.5, -1.5]", "--color", "never")
    assert max(len(line) for line in shown.replace("\r", "").splitlines()) <= 80
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    for whole in ("requires_", "retains_", "PowBackward0", "SumBackward0"):
        assert whole in shown


def test_markup_is_text() -> None:
    (row,) = [line for line in run("eval", "y = [x, 1][0]; y", "--at", "x=2").stdout.splitlines() if line.startswith("y")]
    assert "[x, 1][0]" in row


def test_interrupted() -> None:
    import fcntl
    import termios

    import psutil

    def unread() -> int:
        return int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder)

    reader, writer = os.pipe()
    with started([*AUTODIFF, "eval", "-"], stdin=reader, stdout=subprocess.DEVNULL) as process:
        os.write(writer, b"x")
        until(lambda: unread() == 0 and psutil.Process(process.pid).status() == psutil.STATUS_SLEEPING)  # it waits for more
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130
    os.close(reader)
    os.close(writer)


def test_the_reader_went_away() -> None:
    # Without a buffer Python drops what a broken pipe did not take, and sees no error.
    command = " ".join(["env -u PYTHONUNBUFFERED", *AUTODIFF, "grad", "'sum(x)'", "--at", "'x=ones(200000)'", "-q"])
    done = completed(["bash", "-c", f"{command} | head -n 1; exit ${{PIPESTATUS[0]}}"])
    assert (done.stdout, done.stderr, done.returncode) == ("1.0\n", "", 141)


def test_completion() -> None:
    offered = run_process(_AUTODIFF_COMPLETE="bash_complete", COMP_WORDS="autodiff gr", COMP_CWORD="1").stdout
    assert "grad" in offered
    options = run_process(_AUTODIFF_COMPLETE="bash_complete", COMP_WORDS="autodiff eval x --re", COMP_CWORD="3").stdout
    assert "--retain-grad" in options


def test_without_arguments_and_help() -> None:
    for arguments in ((), ("--help",), ("-h",)):
        done = run_process(*arguments)
        assert done.returncode == 0
        assert 'autodiff eval "log(x**3)" --at x=5' in done.stdout
    for command in ("eval", "grad", "gradcheck", "functions"):
        assert f"autodiff {command}" in run_process(command, "--help").stdout


def test_streams_that_cannot_be_written_or_read() -> None:
    command = " ".join([*AUTODIFF, "grad", "x**2", "--at", "x=2", "-q"])
    for redirection, code, message in (
        (">/dev/full", 5, "error: cannot write the result: No space left on device\n"),
        (">&-", 5, "error: cannot write the result: standard output is closed\n"),
        ("--at y=1 - <&-", 2, None),
    ):
        done = completed(["bash", "-c", f"{command} {redirection}"])
        assert done.returncode == code
        assert "Traceback" not in done.stderr
        assert message is None or done.stderr == message
    closed = completed(["bash", "-c", " ".join([*AUTODIFF, "eval", "-", "<&-"])])
    assert (closed.returncode, closed.stderr) == (
        5,
        "error: cannot read standard input: it is closed\n  hint: write the text on the command line, or give the name of a file\n",
    )


def test_an_encoding_without_the_letters() -> None:
    done = run_process("eval", "é**2", "--at", "é=2", "--json", PYTHONIOENCODING="ascii")
    assert json.loads(done.stdout)["grad"] == {"é": 4.0}
    assert run_process("eval", "é**2", "--at", "é=2", PYTHONIOENCODING="ascii").returncode == 0


def test_many_variables_in_one_option() -> None:
    names = [f"a{i}" for i in range(1000)]
    answer = run("grad", "+".join(names), "--at", ",".join(f"{n}=[1, 2][0]" for n in names), "-q")
    assert answer.stdout == "1.0\n" * 1000


def test_commas_in_brackets_do_not_separate_variables() -> None:
    assert run("eval", "x + y", "--at", "x=sum([1, 2], dim=0),y=max([1, 5], dim=0)[0]", "-q").stdout.splitlines()[0] == "8.0"


@pytest.mark.parametrize("command", ["eval", "grad"])
@pytest.mark.parametrize("output", [[], ["--json"], ["-q"]])
@pytest.mark.parametrize(
    "words",
    [
        ["log(x**3)", "--at", "x=5"],
        ["sum(k*x*y)", "-a", "x=2,y=[1, 2]", "--const", "k=3"],
        ["abs(x)/x", "--at", "x=0"],
        ["x + y", "--at", "x=1"],
        ["x +", "--at", "x=1"],
        ["x", "--at", "x=1", "--at", "x=2"],
        ["[x, 2*x]", "--at", "x=1"],
    ],
)
def test_common_options_mean_the_same_with_and_without_click(command: str, output: list[str], words: list[str]) -> None:
    assert plain_evaluation.plain_evaluation([command, *words, *output]) is not None
    plain = run(command, *words, *output)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_evaluation, "plain_evaluation", lambda args: None)
        by_click = run(command, *words, *output)
    assert (plain.stdout, plain.stderr, plain.returncode) == (by_click.stdout, by_click.stderr, by_click.returncode)


@pytest.mark.parametrize(
    "words",
    [
        *("", "x y", "-x", "x --at", "x --json -q", "x -q -q", "x --strict", "--at x=1 x", "-q x", "x --json --at x=1"),
        *("x --at=x=1", "-q --at q=1"),
    ],
)
def test_click_reads_the_other_command_lines(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plain_evaluation.plain_evaluation(["eval", *words.split()]) is None
    assert plain_evaluation.plain_evaluation(["eval", "x"]) is not None
    monkeypatch.setenv("AUTODIFF_FORMAT", "csv")
    assert plain_evaluation.plain_evaluation(["eval", "x"]) is None
