"""Names of PyTorch and of commands that this package does not have: the error for one, with what to use in its place.

The package has tensors, autograd and functions.  Modules, convolutions, pooling, data loaders and devices are parts of a framework.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import modules
from typing import NoReturn

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
use nn.functional, which has the functions that draw random numbers
    : dropout_?
modules are not part of autodiff: pass the weights as arguments of the function
    func: functional_call|stack_module_state
use evaluate
    : eval
compile() makes a Program of an expression, which takes columns
    : map
draw the numbers with NumPy, and make a tensor of them: they have no derivative
    : multinomial|poisson|randint_like|binomial
use manual_seed, Generator, get_rng_state and set_rng_state
    : random
schedulers are not part of autodiff: assign group['lr'] for each group of optimizer.param_groups
    optim: lr_scheduler
autodiff has SGD, Adam and AdamW; minimize() and fit() find minima to full precision
    optim: [A-Z]\w*
data loaders are not part of autodiff: index a tensor with the numbers of randperm(n)
    utils: data
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
    """Return the error for a name that a module, such as ``autodiff_cli.nn``, does not have, with a hint if PyTorch has it."""
    text = f"module '{module}' has no attribute '{name}'"
    hint = hint_for(module.partition(".")[2], name)
    return AttributeError(f"{text}\n  hint: {hint}" if hint else text, name=name, obj=modules.get(module))


def missing_from(module: str) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a module, which raises the error for a name that the module does not have."""

    def get(name: str) -> NoReturn:
        raise missing(module, name)

    return get


def hint_for(place: str, name: str) -> str | None:
    """Return what to use in place of a name of PyTorch in a module ``place``, such as ``nn``; ``None`` for an unknown name."""
    hint = None
    for line in _TABLE.strip().split("\n"):
        is_hint = not line.startswith(" ")  # for the indented lines that follow
        if is_hint:
            hint = line
            continue
        modules_pattern, _, names_pattern = line.strip().partition(": ")
        if re.fullmatch(modules_pattern, place) and re.fullmatch(names_pattern, name):
            return hint
    return None
