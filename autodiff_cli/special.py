"""The functions of ``torch.special``."""

from autodiff_cli.ops.activation import log_softmax as log_softmax
from autodiff_cli.ops.activation import sigmoid as expit
from autodiff_cli.ops.activation import softmax as softmax
from autodiff_cli.ops.airy import *  # noqa: F403
from autodiff_cli.ops.bessel import *  # noqa: F403
from autodiff_cli.ops.bessel import j0 as bessel_j0
from autodiff_cli.ops.bessel import j1 as bessel_j1
from autodiff_cli.ops.bessel import k0 as modified_bessel_k0
from autodiff_cli.ops.bessel import k1 as modified_bessel_k1
from autodiff_cli.ops.bessel import y0 as bessel_y0
from autodiff_cli.ops.bessel import y1 as bessel_y1
from autodiff_cli.ops.bessel_orders import *  # noqa: F403
from autodiff_cli.ops.elementary import exp2 as exp2
from autodiff_cli.ops.elementary import expm1 as expm1
from autodiff_cli.ops.elementary import log1p as log1p
from autodiff_cli.ops.elementary import round as round
from autodiff_cli.ops.elliptic import *  # noqa: F403
from autodiff_cli.ops.factorials import *  # noqa: F403
from autodiff_cli.ops.factorials import digamma as psi
from autodiff_cli.ops.factorials import lgamma as gammaln
from autodiff_cli.ops.faddeeva import *  # noqa: F403
from autodiff_cli.ops.incomplete import *  # noqa: F403
from autodiff_cli.ops.logarithms import *  # noqa: F403
from autodiff_cli.ops.special import *  # noqa: F403
from autodiff_cli.ops.zeta_functions import *  # noqa: F403
