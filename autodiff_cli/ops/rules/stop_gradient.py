"""Parts of an expression that derivatives treat as constants."""  # made from grammar/rules/stop_gradient.rules by grammar/compile_rules.py

import numpy as np
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.numerics.arithmetic import is_ordinary_tensor
declare = Declarations(__name__, elementwise=True)
detach = declare.composed('detach', lambda x: x.detach() if is_ordinary_tensor(x) else detached(x), dict(), tensors=('x',), summary='x without its history: a constant for derivatives, with the value of x', formula='0', convention='the derivative is 0 by definition (PyTorch)', methods=())
no_grad = declare.composed('no_grad', lambda x: x.detach() if is_ordinary_tensor(x) else unrecorded(x), dict(), tensors=('x',), summary='x computed without recording: a constant for derivatives, with the value of x', formula='0', convention='the derivative is 0 by definition (PyTorch)', methods=())
detached = declare('detach', lambda x: np.array(x)[()], {'x': None}, decomposition='x', public=False)
unrecorded = declare('no_grad', lambda x: np.array(x)[()], {'x': None}, decomposition='x', public=False)
