"""Functions that create tensors: constants and ranges."""  # made from grammar/rules/creation.rules by grammar/compile_rules.py

from autodiff_cli.autograd.primitives.argument_kinds import NUMBER, WHOLE, WHOLES, optional
from autodiff_cli.autograd.primitives.declare import Declarations
declare = Declarations(__name__)
declare.python('zeros', None, parameters=('size',), defaults=(), tensors=(), kinds={'size': WHOLES}, variadic=True, summary='tensor of zeros with the given shape')
declare.python('ones', None, parameters=('size',), defaults=(), tensors=(), kinds={'size': WHOLES}, variadic=True, summary='tensor of ones with the given shape')
declare.python('full', ('size', 'fill_value'), parameters=('size', 'fill_value'), defaults=(), tensors=(), kinds={'size': WHOLES, 'fill_value': NUMBER}, summary='tensor of the given shape, filled with one value')
declare.python('eye', ('n', 'm'), parameters=('n', 'm'), defaults=(None, ), tensors=(), kinds={'n': WHOLE, 'm': optional(WHOLE)}, summary='matrix of n rows and m columns with ones on the diagonal; m defaults to n')
declare.python('arange', ('start', 'end', 'step'), parameters=('start', 'end', 'step'), defaults=(None, 1, ), tensors=(), kinds={'start': NUMBER, 'end': optional(NUMBER), 'step': NUMBER}, summary='numbers from start up to but excluding end in increments of step; a single argument is the end')
declare.python('linspace', ('start', 'end', 'steps'), parameters=('start', 'end', 'steps'), defaults=(), tensors=(), kinds={'start': NUMBER, 'end': NUMBER, 'steps': WHOLE}, summary='evenly spaced numbers from start to end, both included')
declare.python('logspace', ('start', 'end', 'steps', 'base'), parameters=('start', 'end', 'steps', 'base'), defaults=(10.0, ), tensors=(), kinds={'start': NUMBER, 'end': NUMBER, 'steps': WHOLE, 'base': NUMBER}, summary='powers of base with evenly spaced exponents from start to end, both included')
declare.python('tril_indices', ('row', 'col', 'offset'), parameters=('row', 'col', 'offset'), defaults=(0, ), tensors=(), kinds={'row': WHOLE, 'col': WHOLE, 'offset': WHOLE}, summary='rows and columns of the elements on and below a diagonal of a matrix, as a tensor of two rows')
declare.python('triu_indices', ('row', 'col', 'offset'), parameters=('row', 'col', 'offset'), defaults=(0, ), tensors=(), kinds={'row': WHOLE, 'col': WHOLE, 'offset': WHOLE}, summary='rows and columns of the elements on and above a diagonal of a matrix, as a tensor of two rows')
declare.python('zeros_like', (), parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='tensor of zeros with the shape and type of x', methods=())
declare.python('ones_like', (), parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='tensor of ones with the shape and type of x', methods=())
