"""Function transformations: ``vmap``, ``grad``, ``vjp``, ``jvp`` and the functions that combine them, as in ``torch.func``."""
