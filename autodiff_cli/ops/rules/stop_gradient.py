"""Parts of an expression that derivatives treat as constants."""
# Made from grammar/rules/stop_gradient.rules by ``python grammar/compile_rules.py``.  Do not edit.

import numpy as np

from autodiff_cli.autograd.primitives.declare import Declarations

declare = Declarations(__name__, elementwise=True)

declare.python('detach', None, parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='x without its history: a constant for derivatives, with the value of x', formula='0', convention='the derivative is 0 by definition (PyTorch)', methods=())
declare.python('no_grad', None, parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='x computed without recording: a constant for derivatives, with the value of x', formula='0', convention='the derivative is 0 by definition (PyTorch)', methods=())
detached = declare('detach', lambda x: np.array(x)[()], {'x': None}, decomposition='x', public=False)
unrecorded = declare('no_grad', lambda x: np.array(x)[()], {'x': None}, decomposition='x', public=False)
