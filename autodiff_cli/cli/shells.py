"""Completion for bash, zsh and fish: the answers to the requests of their scripts.

``_AUTODIFF_COMPLETE=bash_source autodiff`` prints the script.  In contrast to click's script, that of bash supports
expressions: it leaves the quote open after ``log(``, and prevents stars and brackets from being expanded as file names.
"""

from __future__ import annotations

import os
import shlex

from click import shell_completion as click_shells
from click.shell_completion import CompletionItem

from autodiff_cli.cli.commands import cli
from autodiff_cli.cli.completion import Items, completions

_BASH = """\
%(complete_func)s() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        [[ $line ]] || continue
        COMPREPLY+=("$line")
        [[ $line == *[=,/\\(] ]] && compopt -o nospace
    done < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORD="$2" %(complete_var)s=bash_complete "$1" 2>/dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""
_SPECIAL = " ()*;&<>|[]"


class _Offers(click_shells.ShellComplete):
    """The completions of this program; exceptions are ignored so that they do not disturb typing."""

    closes_quotes = True
    """Whether the shell closes the quote after a single completion."""

    def get_completions(self, args: list[str], incomplete: str) -> Items:
        try:
            items = completions(args, incomplete)
        except Exception:
            return []
        if self.closes_quotes and len(items) == 1 and items[0].signature:
            items.append(CompletionItem(items[0].signature))
        return items


class Bash(_Offers, click_shells.BashComplete):
    """Completion for bash, which splits words at characters such as ``=`` and ``(``.

    The whole line is therefore parsed here, and only the part that replaces bash's word is returned.
    """

    source_template = _BASH
    _in_quotes = False  # whether a quote is open at the cursor
    _kept = 0  # the number of characters of the incomplete word that bash does not replace

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words before the cursor and the incomplete one; keep what ``format_completion`` needs of the line."""
        if "COMP_LINE" not in os.environ:
            return super().get_completion_args()
        end = "\0"  # part of the last word, which is then there even if nothing is typed yet
        lexer = shlex.shlex(os.environ["COMP_LINE"] + end, posix=True, punctuation_chars=False)
        lexer.whitespace_split = True
        lexer.commenters = ""
        words: list[str] = []
        try:
            words.extend(lexer)
        except ValueError:  # an unclosed quote
            self._in_quotes = True
            words.append(lexer.token)
        *args, incomplete = words
        incomplete = incomplete.removesuffix(end)
        replaced = os.environ.get("COMP_WORD", incomplete)
        self._kept = len(incomplete) - len(replaced) if incomplete.endswith(replaced) else 0
        return args[1:], incomplete

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return the text that replaces bash's word, after an opening quote if bash would interpret the text."""
        text = item.value[self._kept :]
        return text if self._in_quotes or not any(c in text for c in _SPECIAL) else f'"{text}'


class Zsh(_Offers, click_shells.ZshComplete):
    """Completion for zsh, with click's script."""

    closes_quotes = False


class Fish(_Offers, click_shells.FishComplete):
    """Completion for fish, with click's script."""


def complete(variable: str) -> int:
    """Answer the completion request in an environment variable, and return the exit code."""
    for kind in (Bash, Zsh, Fish):
        click_shells.add_completion_class(kind)
    return click_shells.shell_complete(cli, {}, "autodiff", variable, os.environ[variable])
