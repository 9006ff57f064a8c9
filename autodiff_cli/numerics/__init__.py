"""Computations on arrays that the tables of rules name."""


def decomposition(name: str, *arguments: object) -> str | None:
    """Return a program of ``decompositions``, or ``None`` if there is none; few commands need that module: import it late."""
    from autodiff_cli.numerics import decompositions

    program = getattr(decompositions, name)
    text: str | None = program(*arguments) if callable(program) else program
    return text
