"""``python -m tests.accuracy.claims``: whether what root, minimize and gradcheck claim is true, for functions of known truth.

The functions of ``tests.accuracy.known`` have jumps, holes, poles, kinks, plateaus, near-roots and underflowing tails.  Each is
given to ``root --at``, ``root --over --all``, ``minimize`` and ``gradcheck``, and each answer is one of:

- right: a true root, a minimum, a verdict, or a complete list of roots;
- open: the answer says that it is not decided, or not complete; a note may name the place;
- refused: a root or a minimum was not found, which is not a claim; or an error;
- FALSE: a root, a minimum or a ``pass`` where there is none, a true derivative that fails, or a list of roots that is called
  complete and is not.

``--roots N`` asks ``root --over --all`` only, about N polynomials, determinants and piecewise functions; a root at which the
function changes its sign, and that is neither found nor named as not decided, is FALSE too.  The exit code is 1 if an answer is
FALSE.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from tests.accuracy.known import Known, drawn, kink, matrix, moved, multiple, near, simple, where
from tests.shell import streams

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
ROOT_FAMILIES = (simple, simple, simple, multiple, near, where, kink, moved, matrix, matrix, matrix)
Answer = dict[str, Any]


class Judged(NamedTuple):
    """One answer: the family, the command, ``right``, ``open``, ``refused`` or ``FALSE``, and why."""

    family: str
    command: str
    said: str
    line: str
    reason: str = ""


def _asked(*words: str) -> tuple[str, Answer | None]:
    line = shlex.join(["autodiff", *words])
    out, err, code = streams(f"{line} --json")
    assert code in (0, 1, 2, 3), f"{line}: {err}"
    return line, json.loads(out) if out.strip() else None


def _near(known: Known, x: float, bound: float) -> Fraction | None:
    """The root that a number with an error bound stands for."""
    exact, reach = Fraction(x), Fraction(bound) + Fraction(math.ulp(x)) if math.isfinite(bound) else Fraction(10**9)
    close = [root for root, _ in known.roots if abs(root - exact) <= reach]
    if close:
        return min(close, key=lambda root: abs(root - exact))
    for low, high in known.zeros:
        if (low is None or low - reach <= exact) and (high is None or exact <= high + reach):
            return exact
    return None


def _width(bound: Any) -> float:
    return float(bound["x"] if isinstance(bound, dict) else bound)


def root_at(known: Known, start: float) -> Judged:
    line, answer = _asked("root", known.text, "--at", f"x={start!r}")
    said, reason = "refused", ""
    if answer and answer["converged"]:
        x = float(answer["solution"]["x"])
        if not known.knows(x):
            return Judged(known.name, "root --at", "open", line)
        said = "right"
        if _near(known, x, _width(answer["error_bound"])) is None:
            said, reason = "FALSE", f"{x!r} is not a root"
    return Judged(known.name, "root --at", said, line, reason)


def root_over(known: Known, low: float, high: float, all_simple: bool = False) -> Judged:
    line, answer = _asked("root", known.text, "--over", f"x={low!r}:{high!r}", "--all")
    if answer is None:
        return Judged(known.name, "root --over", "refused", line)
    found = []
    for row in answer["roots"]:
        root = _near(known, float(row["x"]), _width(row["error_bound"]))
        if root is None:
            return Judged(known.name, "root --over", "FALSE", line, f"{row['x']!r} is not a root ({row['proof']})")
        found.append(root)
        if row["multiplicity"] != 1:  # close roots within its error count as one
            reach = Fraction(_width(row["error_bound"]))
            found += [one for one, _ in known.roots if one != root and abs(one - Fraction(float(row["x"]))) <= reach]
    complete = bool(answer["complete"])
    edge = 1e-8 * (high - low)
    missed = [(root, crossing) for root, crossing in known.roots if low + edge < root < high - edge and root not in found]
    plateau = any((a is None or a < high) and (b is None or b > low) for a, b in known.zeros)
    reason = ""
    if complete and plateau:
        reason = "complete, although it is 0 on an interval"
    elif complete and missed:
        reason = f"complete, without {float(missed[0][0])!r}"
    elif complete and len(set(found)) < len(found):
        reason = "one root is printed twice"
    elif all_simple:
        named = [float(x) for note in answer["notes"] if note["kind"] == "unresolved" for x in _NUMBER.findall(note["message"])]
        silent = [root for root, crossing in missed if crossing and not any(abs(x - root) <= 1e-5 * (high - low) for x in named)]
        reason = f"without {float(silent[0])!r}" if silent else ""
    return Judged(known.name, "root --over", "FALSE" if reason else "right" if complete else "open", line, reason)


def _minimum(known: Known, x: float, value: float, low: float, high: float) -> bool:
    """Whether a number and its value stand for a local minimum."""
    exact = Fraction(x)
    places = [
        p for p in (*known.special, Fraction(low) if low > -1e9 else None, Fraction(high) if high < 1e9 else None) if p is not None
    ]
    for place in (exact, *places):
        if place is exact and not known.constant(place) and place not in places:
            continue
        there = known.value(place)
        if there is None or not low <= place <= high or not known.is_minimum(place, low, high):
            continue
        equal = abs(value - there) <= 1e-9 * (abs(there) + 1e-30)
        alike = abs(value - there) <= 1e-11 * (1 + abs(there))
        between = any(min(place, exact) < c < max(place, exact) for c in known.special)
        if (abs(place - exact) <= 1e-6 * (1 + abs(exact)) or (abs(place - exact) < 0.05 and not between)) and (alike or equal):
            return True
    return False


def minimum(known: Known, start: float, bounds: tuple[float, float] | None) -> Judged:
    extra = ["--bounds", f"x={bounds[0]!r}:{bounds[1]!r}"] if bounds else []
    low, high = bounds or (-math.inf, math.inf)
    line, answer = _asked("minimize", known.text, "--at", f"x={start!r}", *extra)
    if answer is None or not answer["solution"] or answer["value"] is None:
        return Judged(known.name, "minimize", "refused", line)
    x, value, verdict = float(answer["solution"]["x"]), float(answer["value"]), answer["verdict"]
    if not known.knows(x):
        return Judged(known.name, "minimize", "open", line)
    said, reason = "refused", ""
    if answer["converged"]:
        true = _minimum(known, x, value, low, high)
        said, reason = ("right", "") if true else ("FALSE", f"{verdict} at {x!r} with the value {value!r}")
    elif verdict == "unbounded" and known.bounded and not bounds:
        said, reason = "FALSE", "it is bounded below"
    elif verdict in ("saddle", "maximum") and _minimum(known, x, value, low, high) and not known.constant(Fraction(x)):
        said, reason = "FALSE", f"{verdict} at the minimum {x!r}"
    return Judged(known.name, "minimize", said, line, reason)


def gradient(known: Known, x: float) -> Judged:
    line, answer = _asked("gradcheck", known.text, "--at", f"x={x!r}")
    kind = known.kind(Fraction(x))
    if answer is None or not answer["checks"]:
        return Judged(known.name, "gradcheck", "refused", line)
    verdict, passed = answer["checks"][0]["verdict"], answer["passed"]
    is_known = known.knows(x) and kind != "hidden" and not 0 < abs(x) < 1e-300
    if verdict == "undecided" or not is_known or not math.isfinite(float(answer["checks"][0]["analytic"])):
        return Judged(known.name, "gradcheck", "open", line)
    wrong = {
        "smooth": verdict != "pass",
        "kink": verdict != "kink",
        "jump": verdict in ("pass", "kink") or passed,
        "undefined": verdict == "pass" or passed,
    }[kind]
    return Judged(known.name, "gradcheck", "FALSE" if wrong else "right", line, f"{verdict}, but it is {kind}" if wrong else "")


def _start(draw: random.Random, known: Known) -> float:
    """A simple number, a break, or a number beside a break or a root."""
    places = [float(x) for x in (*known.breaks, *(x for x, _ in known.roots)) if abs(x) < 4]
    if places and draw.random() < 0.4:
        place = draw.choice(places)
        return draw.choice([place, place + 0.3, place - 0.3, math.nextafter(place, -9), place + 1e-6])
    return draw.choice([draw.randint(-24, 24) / 8, draw.uniform(-3, 3), draw.uniform(-3, 3), draw.choice([-30.0, 30.0, 0.0])])


def claims(count: int, seed: int, only: str = "") -> Iterator[Judged]:
    """The answers of the four commands to random functions; those of the i-th function depend on the seed and i alone."""
    for i in range(count):
        known = drawn(seed * 1_000_003 + i)
        draw = random.Random(f"{seed} {i}")
        starts = [_start(draw, known) for _ in range(3)]
        span = draw.choice([(-3.0, 3.0), (-2.0, 2.5), (-3.1, 2.7)])
        bounds = draw.choice([None, None, (-2.0, 2.0)])
        breaks = [float(c) for c in known.breaks if Fraction(float(c)) == c and abs(c) < 4]
        if breaks and draw.random() < 0.6:
            starts[2] = draw.choice(breaks)
        if only in "root --at":
            yield root_at(known, starts[0])
        if only in "root --over":
            yield root_over(known, *span)
        if only in "minimize":
            yield minimum(known, starts[1], bounds)
        if only in "gradcheck":
            yield gradient(known, starts[2])


def roots(count: int, seed: int) -> Iterator[Judged]:
    """The answers of ``root --over --all``, which may not miss a root at which the function changes its sign."""
    for i in range(count):
        yield root_over(drawn(seed * 1_000_003 + i, ROOT_FAMILIES), -3.1, 3.2, all_simple=True)


def main() -> int:
    """Print how many answers are right, for each family and command, and each false one as a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--roots", type=int, default=0)
    parser.add_argument("--only", default="", help="root, root --at, root --over, minimize or gradcheck")
    given = parser.parse_args()
    counts: Counter[tuple[str, str, str]] = Counter()
    began = time.perf_counter()
    for one in roots(given.roots, given.seed) if given.roots else claims(given.count, given.seed, given.only):
        counts[one.command, one.family, one.said] += 1
        if one.said == "FALSE":
            print(f"{one.reason}: {one.line}", flush=True)
    columns = ("right", "open", "refused", "FALSE")
    print(f"{'':28}" + "".join(f"{said:>9}" for said in columns))
    rows = sorted({(command, family) for command, family, _ in counts})
    for row in [*rows, *((command, "all") for command in sorted({command for command, _ in rows}))]:
        numbers = [
            sum(n for key, n in counts.items() if key[0] == row[0] and row[1] in (key[1], "all") and key[2] == said)
            for said in columns
        ]
        print(f"{row[0]:12}{row[1]:16}" + "".join(f"{number:9,}" for number in numbers))
    print(f"{counts.total():,} answers in {time.perf_counter() - began:.0f} s")
    return int(any(said == "FALSE" for _, _, said in counts))


if __name__ == "__main__":
    sys.exit(main())
