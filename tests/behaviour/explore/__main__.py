"""``python -m tests.behaviour.explore``: see CONTRIBUTING.md, "Comparing with PyTorch at random"."""

from __future__ import annotations

import argparse
import sys

from tests.behaviour.explore.compare import Difference, difference, shortest
from tests.behaviour.explore.programs import program

Example = tuple[int, list[str], Difference]


def main(arguments: list[str] | None = None) -> int:
    """Run the programs; 1 if one of them differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.behaviour.explore", description="Run random autograd programs on this package and on PyTorch."
    )
    parser.add_argument("--start", type=int, default=0, help="the number of the first program")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--words", action="store_true", help="compare the messages of errors too")
    parser.add_argument("--causes", type=int, default=25, metavar="N", help="print the N most frequent causes")
    parser.add_argument("--show", action="store_true", help="print the programs and run none")
    options = parser.parse_args(arguments)
    numbers = range(options.start, options.start + options.count)
    if options.show:
        for number in numbers:
            print(f"# {number}", *program(number), sep="\n")
        return 0
    causes: dict[tuple[str, ...], list[Example]] = {}
    for number in numbers:
        lines = program(number)
        found = difference(lines, options.words)
        if found is not None:
            lines, found = shortest(lines, found, options.words)
            causes.setdefault(found.cause(lines), []).append((number, lines, found))
    differing = sum(map(len, causes.values()))
    print(f"{differing} of {options.count} programs differ, by {len(causes)} causes")
    for examples in sorted(causes.values(), key=lambda found: (-len(found), found[0][0]))[: options.causes]:
        print(_told(examples))
    return 1 if causes else 0


def _told(examples: list[Example]) -> str:
    """The shortest program of a cause, and what differs behind it."""
    number, lines, found = min(examples, key=lambda example: len(example[1]))
    what = f"{found.what}: {str(found.ours)[:200]} | PyTorch: {str(found.theirs)[:200]}"
    return "\n".join([f"--- {len(examples)} times, program {number}; {what}", *(f"   {line}" for line in lines)])


if __name__ == "__main__":
    sys.exit(main())
