"""Parts of an expression that derivatives treat as constants."""
# Made from grammar/rules/stop_gradient.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

import numpy as np

from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction

_declare = Declarations(__name__, elementwise=True)
described = _declare.described

_declare.python('detach', None, parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='x without its history: a constant for derivatives, with the value of x', formula='0', convention='the derivative is 0 by definition (PyTorch)', methods=())
_declare.python('no_grad', None, parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='x computed without recording: a constant for derivatives, with the value of x', formula='0', convention='the derivative is 0 by definition (PyTorch)', methods=())
detached: TensorFunction = _declare('detach', lambda x: np.array(x)[()], {'x': None}, decomposition='x', public=False)
unrecorded: TensorFunction = _declare('no_grad', lambda x: np.array(x)[()], {'x': None}, decomposition='x', public=False)
