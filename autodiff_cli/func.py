"""Function transformations: PyTorch's ``torch.func``."""

from autodiff_cli.autograd.transforms.forward import hessian as hessian
from autodiff_cli.autograd.transforms.forward import jacfwd as jacfwd
from autodiff_cli.autograd.transforms.forward import jvp as jvp
from autodiff_cli.autograd.transforms.reverse import grad as grad
from autodiff_cli.autograd.transforms.reverse import grad_and_value as grad_and_value
from autodiff_cli.autograd.transforms.reverse import jacrev as jacrev
from autodiff_cli.autograd.transforms.reverse import value_and_grad as value_and_grad
from autodiff_cli.autograd.transforms.reverse import vjp as vjp
from autodiff_cli.autograd.transforms.vmap import vmap as vmap
from autodiff_cli.unavailable_names import missing_from

__getattr__ = missing_from(__name__)
