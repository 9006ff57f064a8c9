"""Names of PyTorch and of commands that this package does not have: the error for one, with what to use in its place.

The package has tensors, autograd and functions.  Modules, convolutions, pooling, data loaders and devices are parts of a framework.
"""

from __future__ import annotations

import re
from sys import modules

_WEIGHTS = "use a function of nn.functional, and nn.Parameter for its weights"
_CONVOLUTIONS = "convolutions, pooling and images are not part of autodiff"
_TABLE: tuple[tuple[str, str, str], ...] = (
    (
        r"nn",
        r"Module|ModuleList|ModuleDict|Sequential|Identity|ParameterList|ParameterDict|modules",
        f"modules are not part of autodiff: {_WEIGHTS}",
    ),
    (
        r"nn",
        r"(LSTM|GRU|RNN|Transformer)\w*|MultiheadAttention",
        "layers are not part of autodiff: use nn.functional.linear and scaled_dot_product_attention",
    ),
    (r"nn", r"(Lazy)?(Conv|Fold|Unfold|Upsample|Pixel|Zero|Reflection|Replication|Constant|Circular)\w*|\w*Pool\w*", _CONVOLUTIONS),
    (r"nn", r"[A-Z]\w*", f"modules are not part of autodiff: {_WEIGHTS}"),
    (
        r"(nn\.functional)?",
        r"conv_?\w*|\w*_?(max|avg|lp)_(un)?pool\w*|interpolate|upsample\w*|(un)?fold|grid_sample\w*|affine_grid\w*|(native_)?channel_shuffle"
        r"|pixel_(un)?shuffle|embedding_bag|local_response_norm|feature_\w*|dropout[123]d|\w*rnn\w*|lstm\w*|gru\w*|multi_head_attention_forward",
        f"{_CONVOLUTIONS}; linear, einsum and pad are",
    ),
    (
        r"(nn\.functional)?",
        r"ctc_loss",
        "write the recursion over the labels with logsumexp: it is differentiable",
    ),
    (
        r"(nn\.functional)?",
        r"\w*alpha_dropout_?|native_dropout",
        "use nn.functional.dropout",
    ),
    (
        r"",
        r"dropout_?",
        "use nn.functional, which has the functions that draw random numbers",
    ),
    (r"(nn\.functional)?", r"rrelu_?|triplet_margin_with_distance_loss", "compose it of rand, where and clamp"),
    (
        r"func",
        r"functional_call|stack_module_state",
        "modules are not part of autodiff: pass the weights as arguments of the function",
    ),
    (
        r"func",
        r"functionalize|debug_unwrap",
        "func transforms functions as they are: changes in place inside a function need no rewriting",
    ),
    (r"", r"eval", "use evaluate"),
    (r"", r"map", "compile() makes a Program of an expression, which takes columns"),
    (r"", r"random", "use manual_seed, Generator, get_rng_state and set_rng_state"),
    (r"optim", r"lr_scheduler", "schedulers are not part of autodiff: assign group['lr'] for each group of optimizer.param_groups"),
    (r"optim", r"swa_utils", "averages of parameters are not part of autodiff: keep a copy and call lerp_ on it"),
    (r"optim", r"[A-Z]\w*", "autodiff has SGD, Adam and AdamW; minimize() and fit() find minima to full precision"),
    (r"utils", r"data", "data loaders are not part of autodiff: index a tensor with the numbers of randperm(n)"),
    (
        r"utils\.checkpoint",
        r".*[Ss]elective\w*|CheckpointPolicy",
        "a policy for single operations is not part of autodiff: checkpoint a smaller function",
    ),
    (r"", r"save|load", "pickled files are not part of autodiff: use numpy.save and numpy.load with tensor.numpy()"),
    (
        r"",
        r"distributions",
        "distributions are not part of autodiff: write the log-density with lgamma, xlogy and log_softmax; sample with normal",
    ),
    (
        r"",
        r"cuda|mps|xpu|backends|accelerator|amp|autocast|distributed|multiprocessing",
        "autodiff computes with NumPy on the processor",
    ),
    (
        r"",
        r"jit|fx|onnx|quantization|ao|profiler|sparse|hub|library",
        "autodiff has tensors and autograd only; compile() makes a Program of an expression",
    ),
    (
        r"",
        r"fft|complex\w*|view_as_\w+|real|imag|conj\w*|polar|cfloat|cdouble|stft|istft",
        "complex numbers are not part of autodiff",
    ),
    (r"", r"u?int8|int16|short|float16|half|bfloat16|uint16|uint32|uint64", "use float64, float32, int64 or bool"),
)
"""A module, the names that it does not have, and the hint.  The first two are regular expressions; the first match counts."""


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
    for where, names, hint in _TABLE:
        if re.fullmatch(where, place) and re.fullmatch(names, name):
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
