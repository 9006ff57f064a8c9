"""The nodes and the outputs of functions with a custom VJP; see ``autograd.function``."""
