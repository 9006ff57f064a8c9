"""Declarations of all operations, by subject.  Importing this package installs them."""

from autodiff_cli.ops.creation import *  # noqa: F403, I001
from autodiff_cli.ops.shape import *  # noqa: F403
from autodiff_cli.ops.views import *  # noqa: F403
from autodiff_cli.ops.arithmetic import *  # noqa: F403
from autodiff_cli.ops.comparison import *  # noqa: F403
from autodiff_cli.ops.elementary import *  # noqa: F403
from autodiff_cli.ops.reduce import *  # noqa: F403
from autodiff_cli.ops.positions import *  # noqa: F403
from autodiff_cli.ops.extremes import *  # noqa: F403
from autodiff_cli.ops.arrange import *  # noqa: F403
from autodiff_cli.ops.norms import *  # noqa: F403
from autodiff_cli.ops.linalg import *  # noqa: F403
from autodiff_cli.ops.contract import *  # noqa: F403
from autodiff_cli.ops.matrices import *  # noqa: F403
from autodiff_cli.ops.determinants import *  # noqa: F403
from autodiff_cli.ops.decompose import *  # noqa: F403
from autodiff_cli.ops.factorials import *  # noqa: F403
from autodiff_cli.ops.special import *  # noqa: F403
from autodiff_cli.ops.logarithms import *  # noqa: F403
from autodiff_cli.ops.bessel import *  # noqa: F403
from autodiff_cli.ops.density import *  # noqa: F403
from autodiff_cli.ops.activation import *  # noqa: F403
from autodiff_cli.ops.loss import *  # noqa: F403
from autodiff_cli.ops.inplace import *  # noqa: F403
