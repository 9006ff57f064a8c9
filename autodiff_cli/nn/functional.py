"""Functions of PyTorch's ``torch.nn.functional`` with its parameters: activation functions, losses, normalization and attention."""

import warnings as _warnings
from typing import Any as _Any

from autodiff_cli.autograd.primitives.interface_kinds import A_TENSOR as _A_TENSOR
from autodiff_cli.nn.dropout import dropout as dropout
from autodiff_cli.nn.dropout import scaled_dot_product_attention as scaled_dot_product_attention
from autodiff_cli.nn.signatures import with_parameters as _with
from autodiff_cli.ops import layers as _layers
from autodiff_cli.ops import loss as _loss
from autodiff_cli.ops.rules import activation as _activation
from autodiff_cli.ops.rules import layers as _layer_rules
from autodiff_cli.ops.rules import loss as _loss_rules
from autodiff_cli.ops.rules.arrange import pad as _pad
from autodiff_cli.ops.rules.contract import linear as _linear
from autodiff_cli.ops.rules.elementary import tanh as tanh
from autodiff_cli.unavailable_names import missing_from as _missing_from

# Activation functions

relu = _with(_activation.relu, "input inplace")
relu6 = _with(_activation.relu6, "input inplace")
elu = _with(_activation.elu, "input alpha inplace")
selu = _with(_activation.selu, "input inplace")
celu = _with(_activation.celu, "input alpha inplace")
leaky_relu = _with(_activation.leaky_relu, "input negative_slope inplace")
hardtanh = _with(_activation.hardtanh, "input min_val max_val inplace")
hardsigmoid = _with(_activation.hardsigmoid, "input inplace")
hardswish = _with(_activation.hardswish, "input inplace")
hardshrink = _with(_activation.hardshrink, "input lambd")
softshrink = _with(_activation.softshrink, "input lambd")
tanhshrink = _with(_activation.tanhshrink, "input")
threshold = _with(_activation.threshold, "input threshold value inplace")
silu = _with(_activation.silu, "input inplace")
mish = _with(_activation.mish, "input inplace")
gelu = _with(_activation.gelu, "input approximate")
sigmoid = _with(_activation.sigmoid, "input")
logsigmoid = _with(_activation.logsigmoid, "input")
softplus = _with(_activation.softplus, "input beta threshold")
softsign = _with(_activation.softsign, "input")
glu = _with(_layer_rules.glu, "input dim")
prelu = _with(_layer_rules.prelu, "input weight")


def _with_implicit_dimension(function: _Any) -> _Any:
    """Return ``function(x, dim)`` with PyTorch's parameters: without ``dim`` it warns, and takes 0 or 1 by the dimensions of x."""

    def call(input: _Any, dim: int | None = None, _stacklevel: int = 3, dtype: _Any = None) -> _Any:
        """Call the function, for an input converted to ``dtype`` if it is given; ``_stacklevel`` is PyTorch's, without effect."""
        if dim is None:
            _warnings.warn(
                f"Implicit dimension choice for {function.__name__} has been deprecated. "
                "Change the call to include dim=X as an argument.",
                stacklevel=2,
            )
            _A_TENSOR(input, function.__name__, "input")  # refuses other values, which do not have a shape
            dim = 0 if len(input.shape) in (0, 1, 3) else 1  # as in PyTorch
        return function(input if dtype is None else input.to(dtype), dim)

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    return call


softmax = _with_implicit_dimension(_activation.softmax)
log_softmax = _with_implicit_dimension(_activation.log_softmax)
softmin = _with_implicit_dimension(_layer_rules.softmin)

# Losses

_REDUCTION = "size_average reduce reduction"

mse_loss = _with(_loss_rules.mse_loss, f"input target {_REDUCTION}")
l1_loss = _with(_loss_rules.l1_loss, f"input target {_REDUCTION}")
smooth_l1_loss = _with(_loss_rules.smooth_l1_loss, f"input target {_REDUCTION} beta")
huber_loss = _with(_loss_rules.huber_loss, "input target reduction delta")
binary_cross_entropy = _with(_loss_rules.binary_cross_entropy, f"input target weight {_REDUCTION}")
binary_cross_entropy_with_logits = _with(
    _loss_rules.binary_cross_entropy_with_logits, f"input target weight {_REDUCTION} pos_weight"
)
nll_loss = _with(_loss.nll_loss, "input target weight size_average ignore_index reduce reduction")
cross_entropy = _with(_loss.cross_entropy, "input target weight size_average ignore_index reduce reduction label_smoothing")
kl_div = _with(_loss_rules.kl_div, f"input target {_REDUCTION} log_target")
gaussian_nll_loss = _with(_loss_rules.gaussian_nll_loss, "input target var full eps reduction")
poisson_nll_loss = _with(_loss_rules.poisson_nll_loss, "input target log_input full size_average eps reduce reduction")
hinge_embedding_loss = _with(_loss_rules.hinge_embedding_loss, f"input target margin {_REDUCTION}")
margin_ranking_loss = _with(_loss_rules.margin_ranking_loss, f"input1 input2 target margin {_REDUCTION}", input2="x2")
soft_margin_loss = _with(_loss_rules.soft_margin_loss, f"input target {_REDUCTION}")
cosine_embedding_loss = _with(_loss_rules.cosine_embedding_loss, f"input1 input2 target margin {_REDUCTION}", input2="x2")
triplet_margin_loss = _with(_loss_rules.triplet_margin_loss, f"anchor positive negative margin p eps swap {_REDUCTION}")
multi_margin_loss = _with(_loss_rules.multi_margin_loss, f"input target p margin weight {_REDUCTION}")
multilabel_margin_loss = _with(_loss.multilabel_margin_loss, f"input target {_REDUCTION}")
multilabel_soft_margin_loss = _with(_loss_rules.multilabel_soft_margin_loss, f"input target weight {_REDUCTION}")

# Normalization, attention, and functions of vectors

layer_norm = _with(_layer_rules.layer_norm, "input normalized_shape weight bias eps")
rms_norm = _with(_layer_rules.rms_norm, "input normalized_shape weight eps")
group_norm = _with(_layer_rules.group_norm, "input num_groups weight bias eps")
batch_norm = _with(_layers.batch_norm, "input running_mean running_var weight bias training momentum eps")
instance_norm = _with(_layers.instance_norm, "input running_mean running_var weight bias use_input_stats momentum eps")
normalize = _with(_layer_rules.normalize, "input p dim eps")
one_hot = _with(_layers.one_hot, "tensor num_classes")
embedding = _with(_layer_rules.embedding, "input weight padding_idx")
cosine_similarity = _with(_layer_rules.cosine_similarity, "x1 x2 dim eps")
pairwise_distance = _with(_layer_rules.pairwise_distance, "x1 x2 p eps keepdim")
pdist = _with(_layer_rules.pdist, "input p")
linear = _with(_linear, "input weight bias")
bilinear = _with(_layer_rules.bilinear, "input1 input2 weight bias", input2="x2")
pad = _with(_pad, "input pad mode value")

__getattr__ = _missing_from(__name__)
