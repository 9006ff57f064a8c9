"""Computations on arrays that the tables of rules name."""


def decomposition(name: str, *arguments: object) -> str | None:
    """Return a program of ``decompositions``, which is imported when it is used: ``export`` and few other commands need it."""
    from autodiff_cli.numerics import decompositions

    program = getattr(decompositions, name)
    text: str | None = program(*arguments) if callable(program) else program
    return text
