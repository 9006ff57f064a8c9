"""Operations of in-place methods."""  # made from grammar/rules/inplace.rules by grammar/compile_rules.py

import numpy as np
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import where
from autodiff_cli.numerics.arrange import on_diagonal
from autodiff_cli.ops.creation import zeros_like
declare = Declarations(__name__)
filled = declare('fill', lambda x, value: np.full_like(x, value), {'x': lambda g: zeros_like(g)}, statics={'value': 0}, node='FillBackward2', public=False)
filled_with = declare('fill_with', lambda x, value: np.full_like(x, value), {'x': lambda g: zeros_like(g), 'value': lambda g: g}, node='FillBackward3', public=False)
zero = declare('zero', lambda x: np.zeros_like(x), {'x': lambda g: zeros_like(g)}, public=False)
copy = declare('copy', lambda x, y: np.broadcast_to(y, x.shape).astype(x.dtype), {'x': lambda g: zeros_like(g), 'y': lambda g: g}, node='CopyBackwards', public=False)
fill_diagonal = declare('fill_diagonal', lambda x, value, wrap: np.where(on_diagonal(x.shape, wrap), x.dtype.type(value), x), {'x': lambda g, wrap: where(on_diagonal(g.shape, wrap), 0.0, g)}, statics={'value': 0, 'wrap': False}, node='CopySlices', public=False)
