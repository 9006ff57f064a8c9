"""The tables of ``propagate``: the budget of each output, and the correlation of several outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_cli.report.array_text import human
from autodiff_cli.report.table import NUMBER, WORD, Column, Renderable, Table, title
from autodiff_cli.solvers.uncertainty.result import Outcome, Propagation, estimate, percent
from autodiff_cli.wording import shortened


def tables(result: Propagation, precision: int) -> list[Renderable]:
    """Return the budget of each output with its result, then the correlation matrix."""
    parts: list[Renderable] = []
    several = len(result.outputs) > 1
    for outcome in result.outputs:
        parts += [title(shortened(outcome.name))] if several else []
        parts += [_budget_table(outcome.budget, precision), "", *_lines(outcome, precision)]
    if several:
        names = [shortened(output.name, 20) for output in result.outputs]
        rows = [[name, *(human(number, 3) for number in row)] for name, row in zip(names, result.correlation, strict=True)]
        parts += [title("correlation of the outputs"), Table(["", *(Column(name, NUMBER) for name in names)], rows)]
    return parts


def _budget_table(budget: Sequence[Mapping[str, Any]], precision: int) -> Renderable:
    """Return the table of a budget, with a column of finite degrees of freedom; other rows have a contribution and a share only."""
    has_dof = any(math.isfinite(row.get("dof", math.inf)) for row in budget)
    distribution = "distri-\nbution" if has_dof else "distribution"  # so that eight columns fit into 80 characters
    columns = [Column("quantity", style="bold"), Column("estimate", NUMBER), Column("u", NUMBER), Column(distribution, WORD)]
    columns += [Column("dof", WORD, is_right=True)] if has_dof else []
    columns += [Column(header, NUMBER) for header in ("sensitivity", "c·u", "share")]
    rows = []
    for row in budget:
        cells = [""] * (5 if has_dof else 4)  # for the columns between the name and the contribution
        if row["kind"] == "quantity":
            dof = ["∞" if math.isinf(row["dof"]) else human(row["dof"], 3)] if has_dof else []
            u, sensitivity = human(row["u"], precision), human(row["sensitivity"], precision)
            cells = [estimate(row["value"], row["u"], precision), u, row["distribution"], *dof, sensitivity]
        rows.append([row["name"], *cells, human(row["contribution"], precision), f"{percent(row['share'])} %"])
    return Table(columns, rows)


def _lines(outcome: Outcome, precision: int) -> list[str]:
    """Return the result of an output in words, and what terms of second order and random trials say about it, if computed."""
    low, high = (estimate(end, outcome.u, precision) for end in outcome.interval)
    freedom = ", degrees of freedom not defined" if outcome.dof is None else ""  # infinite ones are not mentioned
    if outcome.dof is not None and math.isfinite(outcome.dof):
        freedom = f", {outcome.dof:.1f} degrees of freedom"
    lines = [
        f"{shortened(outcome.name)} = {outcome.result}",
        f"value {estimate(outcome.value, outcome.u, precision)}, u {human(outcome.u, precision)}{freedom}",
        f"{100 * outcome.level:.4g} % interval {low} to {high}: U = {human(outcome.U, 2)} with k = {human(outcome.k, 3)}",
    ]
    if outcome.second_order is not None:
        first = outcome.second_order["first_order"]
        verdict = "is enough" if outcome.second_order["enough"] else "is not enough"
        change = f"u {human(first['u'], precision)} becomes {human(outcome.u, precision)}"
        lines.append(f"second order: shift {human(outcome.second_order['shift'], 2)}, {change}: first order {verdict}")
    return lines if outcome.monte_carlo is None else [*lines, *_trial_lines(outcome.monte_carlo, outcome.level, precision)]


def _trial_lines(result: Mapping[str, Any], level: float, precision: int) -> list[str]:
    """Return the results of the Monte Carlo method in words, with an interval that has the probability ``level``."""
    low, high = (estimate(end, result["u"], precision) for end in result["interval"])
    mean = estimate(result["mean"], result["u"], precision)
    off = " and ".join(human(difference, 2) for difference in result["differences"])
    return [
        f"Monte Carlo, {result['trials']:,} trials: mean {mean}, u {human(result['u'], precision)}",
        f"{100 * level:.4g} % interval {low} to {high}: {result['verdict']}, its ends are {off} away",
    ]
