"""The functions that PyTorch keeps in ``torch.linalg``."""

from autodiff_cli.ops.norms import vector_norm as vector_norm
