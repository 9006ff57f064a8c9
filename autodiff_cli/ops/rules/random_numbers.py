"""Random tensors, samples of distributions, and in-place methods that draw the elements of a tensor."""  # made from grammar/rules/random_numbers.rules by grammar/compile_rules.py

from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.ops.creation import zeros_like
declare = Declarations(__name__)
normal_of_mean = declare('normal_of_mean', lambda mean, values: values, {'mean': lambda g: zeros_like(g)}, statics={'values': None}, series='fixed', node='NormalBackward1', public=False)
normal_of_std = declare('normal_of_std', lambda std, values: values, {'std': lambda g: zeros_like(g)}, statics={'values': None}, series='fixed', node='NormalBackward2', public=False)
normal_of_both = declare('normal_of_both', lambda mean, std, values: values, {'mean': lambda g: zeros_like(g), 'std': lambda g: zeros_like(g)}, statics={'values': None}, series='fixed', node='NormalBackward3', public=False)
bernoulli_of = declare('bernoulli', lambda x, values: values, {'x': lambda g: zeros_like(g)}, statics={'values': None}, series='fixed', node='BernoulliBackward0', public=False)
uniform_values = declare('uniform_values', lambda x, values: values, {'x': lambda g: zeros_like(g)}, statics={'values': None}, series='fixed', node='UniformBackward0', public=False)
normal_values = declare('normal_values', lambda x, values: values, {'x': lambda g: zeros_like(g)}, statics={'values': None}, series='fixed', node='NormalBackward0', public=False)
bernoulli_values = declare('bernoulli_values', lambda x, values: values, {'x': lambda g: zeros_like(g)}, statics={'values': None}, series='fixed', node='BernoulliBackward2', public=False)
bernoulli_with = declare('bernoulli_with', lambda x, p, values: values, {'x': lambda g: zeros_like(g), 'p': lambda g: zeros_like(g)}, statics={'values': None}, series='fixed', node='BernoulliBackward1', public=False)
