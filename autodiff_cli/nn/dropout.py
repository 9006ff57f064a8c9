"""Functions of ``torch.nn.functional`` that draw random numbers: dropout, and attention with dropout."""

from __future__ import annotations

from autodiff_cli.autograd.primitives.argument_kinds import NUMBER, takes
from autodiff_cli.autograd.primitives.interface_kinds import A_TENSOR, checks
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.generators import default_generator
from autodiff_cli.ops.inplace import change
from autodiff_cli.ops.layers import attention_weights, repeated_heads
from autodiff_cli.ops.layers import scaled_dot_product_attention as _attention
from autodiff_cli.ops.linalg import matmul


@takes(p=NUMBER)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to 0 with probability ``p``, and divide the others by ``1 - p``, which keeps the expected value.

    Args:
        input: the tensor.
        p: the probability.
        training: whether elements are set to 0; if not, as for ``p`` = 0, the input itself is returned.
        inplace: whether the result is written into the input.

    Raises:
        ArgumentError: if ``p`` is not a probability.
    """
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    is_kept = default_generator.numpy.random(tuple(input.shape)) >= p
    scale = 1 / (1 - p) if p < 1 else 0.0  # no element is kept for p = 1
    factors = tensor_on((is_kept * scale).astype(input._data.dtype)[()])  # [()]: a 0-d tensor contains a NumPy scalar
    return change(input, lambda old: old * factors) if inplace else input * factors


@checks(query=A_TENSOR, key=A_TENSOR, value=A_TENSOR, dropout_p=NUMBER)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return softmax(scale*query @ key.mT + attn_mask) @ value, with each weight set to 0 with probability ``dropout_p``.

    The shapes are (..., L, E), (..., S, E) and (..., S, V).  A mask of booleans excludes pairs that are false, and ``is_causal``
    excludes keys after the query.  ``scale`` is 1/sqrt(E) if left out.  ``enable_gqa`` shares keys and values between heads.
    """
    if not dropout_p:
        return _attention(query, key, value, attn_mask, is_causal, scale, enable_gqa)  # type: ignore[no-any-return]
    weights = attention_weights(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    heads = repeated_heads(value, query) if enable_gqa else value
    return matmul(dropout(weights, dropout_p), heads)  # type: ignore[no-any-return]
