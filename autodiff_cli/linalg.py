"""The functions of ``torch.linalg``."""

from autodiff_cli.ops import decompose as _decompose
from autodiff_cli.ops.arrange import vander as vander
from autodiff_cli.ops.contract import chain_matmul as multi_dot
from autodiff_cli.ops.contract import cross_along as cross
from autodiff_cli.ops.decompose import lstsq as lstsq
from autodiff_cli.ops.decompose import norm_of as norm
from autodiff_cli.ops.linalg import matmul as matmul
from autodiff_cli.ops.names.linalg import *  # noqa: F403
from autodiff_cli.ops.rules.norms import vector_norm as vector_norm
from autodiff_cli.ops.rules.views import diagonal as diagonal

solve_triangular = _decompose._solve_triangular
