"""The public names of the library, in one flat module from which ``autodiff_cli`` imports them on first use.

Each function of the language is listed under all of its names, so that type checkers find them.
"""

import math
from typing import TYPE_CHECKING as _TYPE_CHECKING

from autodiff_cli.autograd import dtypes as _dtypes
from autodiff_cli.autograd import modes as _modes
from autodiff_cli.autograd.dtypes import dtype as dtype
from autodiff_cli.autograd.dtypes import float16 as float16
from autodiff_cli.autograd.dtypes import float32 as float32
from autodiff_cli.autograd.dtypes import float64 as float64
from autodiff_cli.autograd.dtypes import get_default_dtype as get_default_dtype
from autodiff_cli.autograd.dtypes import int8 as int8
from autodiff_cli.autograd.dtypes import int16 as int16
from autodiff_cli.autograd.dtypes import int32 as int32
from autodiff_cli.autograd.dtypes import int64 as int64
from autodiff_cli.autograd.dtypes import set_default_dtype as set_default_dtype
from autodiff_cli.autograd.dtypes import uint8 as uint8
from autodiff_cli.autograd.modes import enable_grad as enable_grad
from autodiff_cli.autograd.modes import inference_mode as inference_mode
from autodiff_cli.autograd.modes import is_grad_enabled as is_grad_enabled
from autodiff_cli.autograd.modes import is_inference_mode_enabled as is_inference_mode_enabled
from autodiff_cli.autograd.modes import set_grad_enabled as set_grad_enabled
from autodiff_cli.autograd.printing import Size as Size
from autodiff_cli.autograd.reverse.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from autodiff_cli.autograd.reverse.anomaly import is_anomaly_enabled as is_anomaly_enabled
from autodiff_cli.autograd.reverse.anomaly import set_anomaly_enabled as set_anomaly_enabled
from autodiff_cli.autograd.tensor import Tensor as Tensor
from autodiff_cli.autograd.tensor import Tensor as Variable  # noqa: F401
from autodiff_cli.autograd.tensor import is_inference as is_inference
from autodiff_cli.autograd.transforms.vmap import vmap as vmap
from autodiff_cli.compiler.program import Program as Program
from autodiff_cli.derivatives.evaluate import Result as Result
from autodiff_cli.derivatives.evaluate import evaluate as evaluate
from autodiff_cli.derivatives.evaluate import grad as grad
from autodiff_cli.evaluation.compile import compile as compile
from autodiff_cli.gradient_checking.check import Report as Report
from autodiff_cli.gradient_checking.check import gradcheck as gradcheck
from autodiff_cli.limits import unlimited as unlimited
from autodiff_cli.ops import arithmetic as _arithmetic
from autodiff_cli.ops.casts import *  # noqa: F403
from autodiff_cli.ops.creation import *  # noqa: F403
from autodiff_cli.ops.generators import *  # noqa: F403
from autodiff_cli.ops.names.public import *  # noqa: F403
from autodiff_cli.ops.random_numbers import *  # noqa: F403

if _TYPE_CHECKING:
    from autodiff_cli.code_generation.export import export as export
    from autodiff_cli.derivatives.matrices_and_products import hessian as hessian
    from autodiff_cli.derivatives.matrices_and_products import hvp as hvp
    from autodiff_cli.derivatives.matrices_and_products import jacobian as jacobian
    from autodiff_cli.derivatives.matrices_and_products import jvp as jvp
    from autodiff_cli.derivatives.matrices_and_products import vjp as vjp
    from autodiff_cli.derivatives.taylor import taylor as taylor
    from autodiff_cli.explanation.explain import explain as explain
    from autodiff_cli.graph_drawing.draw import graph as graph
    from autodiff_cli.lesson.notebook_frame import Lesson as Lesson
    from autodiff_cli.plotting.plot import plot as plot
    from autodiff_cli.solvers.fitting.fit import fit as fit
    from autodiff_cli.solvers.minima.minimize import minimize as minimize
    from autodiff_cli.solvers.roots.root import root as root
    from autodiff_cli.solvers.uncertainty.propagation import propagate as propagate
    from autodiff_cli.symbolic.diff import diff as diff
else:
    _later = {
        "Lesson": "autodiff_cli.lesson.notebook_frame:Lesson",
        "diff": "autodiff_cli.symbolic.diff:diff",
        "explain": "autodiff_cli.explanation.explain:explain",
        "export": "autodiff_cli.code_generation.export:export",
        "fit": "autodiff_cli.solvers.fitting.fit:fit",
        "graph": "autodiff_cli.graph_drawing.draw:graph",
        **{name: f"autodiff_cli.derivatives.matrices_and_products:{name}" for name in ("hessian", "hvp", "jacobian", "jvp", "vjp")},
        "minimize": "autodiff_cli.solvers.minima.minimize:minimize",
        "plot": "autodiff_cli.plotting.plot:plot",
        "propagate": "autodiff_cli.solvers.uncertainty.propagation:propagate",
        "root": "autodiff_cli.solvers.roots.root:root",
        "taylor": "autodiff_cli.derivatives.taylor:taylor",
    }
    """The names whose modules are imported when they are used, because they need many modules; ``diff`` takes expressions too."""

# PyTorch's names for data types and constants.
bool = _dtypes.bool_
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
e, inf, nan, pi = math.e, math.inf, math.nan, math.pi

# Functions with parameters that operators or functions of the language do not have, and a context manager.
add, sub, subtract = _arithmetic.add, _arithmetic.sub, _arithmetic.sub
div = divide = true_divide = _arithmetic.div
no_grad = _modes.no_grad
