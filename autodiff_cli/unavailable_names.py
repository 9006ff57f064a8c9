"""Names of PyTorch and of commands that this package does not have: the error for one, with what to use in its place.

The package has tensors, autograd and functions.  Modules, convolutions, pooling, data loaders and devices are parts of a framework.
"""

from __future__ import annotations

import re
from sys import modules

_TABLE = r"""
modules are not part of autodiff: use a function of nn.functional, and nn.Parameter for its weights
    nn: Module|ModuleList|ModuleDict|Sequential|Identity|ParameterList|ParameterDict|modules
layers are not part of autodiff: use nn.functional.linear and scaled_dot_product_attention
    nn: (LSTM|GRU|RNN|Transformer)\w*|MultiheadAttention
convolutions, pooling and images are not part of autodiff; linear, einsum and pad are
    nn: (Lazy)?(Conv|Fold|Unfold|Upsample|Pixel|Zero|Reflection|Replication|Constant|Circular)\w*|\w*Pool\w*
    (nn\.functional)?: conv_?\w*|\w*_?(max|avg|lp)_(un)?pool\w*|interpolate|upsample\w*|(un)?fold|(grid_sample|affine_grid)\w*
    (nn\.functional)?: (native_)?channel_shuffle|pixel_(un)?shuffle|embedding_bag|local_response_norm|feature_\w*|dropout[123]d
    (nn\.functional)?: \w*rnn\w*|(lstm|gru)\w*|multi_head_attention_forward
modules are not part of autodiff: use a function of nn.functional, and nn.Parameter for its weights
    nn: [A-Z]\w*
write the recursion over the labels with logsumexp: it is differentiable
    (nn\.functional)?: ctc_loss
use nn.functional.dropout
    (nn\.functional)?: \w*alpha_dropout_?|native_dropout
use nn.functional, which has the functions that draw random numbers
    : dropout_?
compose it of rand, where and clamp
    (nn\.functional)?: rrelu_?|triplet_margin_with_distance_loss
modules are not part of autodiff: pass the weights as arguments of the function
    func: functional_call|stack_module_state
func transforms functions as they are: changes in place inside a function need no rewriting
    func: functionalize|debug_unwrap
use evaluate
    : eval
compile() makes a Program of an expression, which takes columns
    : map
use manual_seed, Generator, get_rng_state and set_rng_state
    : random
schedulers are not part of autodiff: assign group['lr'] for each group of optimizer.param_groups
    optim: lr_scheduler
averages of parameters are not part of autodiff: keep a copy and call lerp_ on it
    optim: swa_utils
autodiff has SGD, Adam and AdamW; minimize() and fit() find minima to full precision
    optim: [A-Z]\w*
data loaders are not part of autodiff: index a tensor with the numbers of randperm(n)
    utils: data
a policy for single operations is not part of autodiff: checkpoint a smaller function
    utils\.checkpoint: .*[Ss]elective\w*|CheckpointPolicy
pickled files are not part of autodiff: use numpy.save and numpy.load with tensor.numpy()
    : save|load
distributions are not part of autodiff: write the log-density with lgamma, xlogy and log_softmax; sample with normal
    : distributions
autodiff computes with NumPy on the processor
    : cuda|mps|xpu|backends|accelerator|amp|autocast|distributed|multiprocessing
autodiff has tensors and autograd only; compile() makes a Program of an expression
    : jit|fx|onnx|quantization|ao|profiler|sparse|hub|library
complex numbers are not part of autodiff
    : fft|complex\w*|view_as_\w+|real|imag|conj\w*|polar|cfloat|cdouble|stft|istft
use float64, float32, int64 or bool
    : u?int8|int16|short|float16|half|bfloat16|uint16|uint32|uint64
"""
"""Hints, each followed by modules and the names that they do not have, as regular expressions; the first match counts."""


def missing(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module does not have, with a hint if PyTorch has it.

    Args:
        module: the name of the module, such as ``autodiff_cli.nn``.
        name: the name that was looked up.
    """
    text = f"module '{module}' has no attribute '{name}'"
    hint = hint_for(module.partition(".")[2], name)
    return AttributeError(f"{text}\n  hint: {hint}" if hint else text, name=name, obj=modules.get(module))


def hint_for(place: str, name: str) -> str | None:
    """Return what to use in place of a name of PyTorch, or ``None`` for an unknown name.

    Args:
        place: the module without ``autodiff_cli.``, such as ``nn.functional``.
        name: the name in this module.
    """
    near = _function_near(place, name)
    if near is not None:
        return f"modules are not part of autodiff: use nn.functional.{near}"
    hint = None
    for line in _TABLE.strip().split("\n"):
        module, _, names = line.strip().partition(": ")
        if not line.startswith(" "):
            hint = line
        elif re.fullmatch(module, place) and re.fullmatch(names, name):
            return hint
    return None


_OF_LAYERS = {
    "bce": "binary_cross_entropy",
    "bcewithlogits": "binary_cross_entropy_with_logits",
    "kldiv": "kl_div",
    "crossentropy": "cross_entropy",
}


def _function_near(place: str, name: str) -> str | None:
    """Return the function of ``nn.functional`` that computes what a layer such as ``nn.MSELoss`` does."""
    if place != "nn" or not name[:1].isupper():
        return None
    functional = modules.get("autodiff_cli.nn.functional")
    known = {each.replace("_", ""): each for each in vars(functional) if each[0] != "_"} if functional else {}
    plain = re.sub(r"\dd$", "", name).lower()
    return known.get(plain) or _OF_LAYERS.get(plain.removesuffix("loss"))
