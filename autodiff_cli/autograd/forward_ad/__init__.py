"""Forward mode with dual numbers: PyTorch's ``torch.autograd.forward_ad``."""

from autodiff_cli.autograd.forward_ad.api import UnpackedDualTensor as UnpackedDualTensor
from autodiff_cli.autograd.forward_ad.api import dual_level as dual_level
from autodiff_cli.autograd.forward_ad.api import make_dual as make_dual
from autodiff_cli.autograd.forward_ad.api import unpack_dual as unpack_dual
