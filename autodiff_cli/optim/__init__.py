"""The counterpart of ``torch.optim``: stochastic gradient descent, Adam and AdamW."""

from autodiff_cli.optim.adam import Adam as Adam
from autodiff_cli.optim.adam import AdamW as AdamW
from autodiff_cli.optim.optimizer import Optimizer as Optimizer
from autodiff_cli.optim.sgd import SGD as SGD
from autodiff_cli.unavailable_names import missing_from

__getattr__ = missing_from(__name__)
