"""The functions of ``torch.linalg``."""

from autodiff_cli.ops.arrange import vander as vander
from autodiff_cli.ops.contract import chain_matmul as multi_dot
from autodiff_cli.ops.contract import cross_along as cross
from autodiff_cli.ops.decompose import *  # noqa: F403
from autodiff_cli.ops.decompose import _solve_triangular as solve_triangular
from autodiff_cli.ops.decompose import lstsq as lstsq
from autodiff_cli.ops.decompose import norm_of as norm
from autodiff_cli.ops.linalg import matmul as matmul
from autodiff_cli.ops.matrices import *  # noqa: F403
from autodiff_cli.ops.rules.decompose import *  # noqa: F403
from autodiff_cli.ops.rules.decompose import vecdot as vecdot
from autodiff_cli.ops.rules.matrices import *  # noqa: F403
from autodiff_cli.ops.rules.matrices import cholesky as cholesky
from autodiff_cli.ops.rules.matrices import inv as inv
from autodiff_cli.ops.rules.matrices import matrix_exp as matrix_exp
from autodiff_cli.ops.rules.matrices import pinv as pinv
from autodiff_cli.ops.rules.matrices import solve as solve
from autodiff_cli.ops.rules.norms import vector_norm as vector_norm
from autodiff_cli.ops.rules.views import diagonal as diagonal
