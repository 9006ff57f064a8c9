"""The sections of help texts, and the order of the options in them."""

from __future__ import annotations

import click

_SECTIONS = {
    "Values": "over at const wrt order gradient vector dtype",
    "Uncertainty": "u dof corr cov level monte_carlo",
    "Autograd": "retain_grad backward hooks saved retain_graph zero_grad create_graph inputs no_grad",
    "Solver": """fix bounds subject sigma loss maximize all derive predict by share sigma_x weights profile
        sensitivity trace""",
    "Input": "let where python columns input_format delimiter decimal comment skip_lines on_error",
    "Totals": "sum mean groups",
    "Picture": "depth y_range log steps",
    "Checks": "claims verify digits strict",
    "Output": """to path target style quiet as_json precision color keep keep_columns
        unbuffered resume""",
    "Other": "simplify stable shape symmetric quiet_notes no_limits help",
    "Cluster": "engine threads partition_bytes",
}
"""The parameters in each section of a help text."""
SECTION = {name: section for section, listed in _SECTIONS.items() for name in listed.split()}
_ORDER = {name: place for place, name in enumerate(SECTION)}


def _rank(parameter: click.Parameter) -> int:
    """Return the place of a parameter in the help text; arguments are first."""
    return _ORDER.get(str(parameter.name), len(_ORDER)) if isinstance(parameter, click.Option) else -1


class Command(click.Command):
    """A command whose help text lists options by section."""

    def get_help_option_names(self, context: click.Context) -> list[str]:
        """Return both names of the help option."""
        return ["-h", "--help"]

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        """Return the parameters in the order of the help text."""
        return sorted(super().get_params(context), key=_rank)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section in which the command has options; an option that no section lists is in ``Other``."""
        rows: dict[str, list[tuple[str, str]]] = {section: [] for section in _SECTIONS}
        for parameter in self.get_params(context):
            row = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
            if row is not None:
                rows[SECTION.get(str(parameter.name), "Other")].append(row)
        for section, listed in rows.items():
            if listed:
                with formatter.section(section):
                    formatter.write_dl(listed)
