"""``jvp``, ``jacfwd`` and ``hessian``: forward mode as transformations of functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from autodiff_cli.autograd.forward_ad.custom import check_size
from autodiff_cli.autograd.forward_ad.dual import Level, dual_of, parts_of
from autodiff_cli.autograd.primitives.interface_kinds import FUNCTION, checks
from autodiff_cli.autograd.primitives.structural import reshaped, zeros_of
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.autograd.transforms.pytrees import Tree, argument_positions, leaves, mapped, rebuilt, structure
from autodiff_cli.autograd.transforms.reverse import Argnums, Transformed, jacrev, pair_of, standard_basis
from autodiff_cli.autograd.transforms.vmap import vmap, with_dimension_moved
from autodiff_cli.errors import DtypeError, GraphError


@checks(func=FUNCTION)
def jvp(
    func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """Return the outputs of ``func``, and the product of its Jacobian with ``tangents``.

    Args:
        func: the function; its outputs are tensors, or tuples, lists and dictionaries of tensors.
        primals: the inputs, as a tuple.
        tangents: the tangents of the inputs, with the same structure.
        strict: whether to raise an error, instead of returning zeros, if an output does not depend on the inputs.
        has_aux: whether ``func`` returns a pair of its outputs and another result, which is the third result of ``jvp``.
    """
    name = "jvp(f, primals, tangents)"
    _check_jvp_inputs(name, primals, tangents)
    with Level() as level:
        inputs = [_checked_dual(p, t, level) for p, t in zip(leaves(primals), leaves(tangents), strict=True)]
        result = func(*rebuilt(primals, inputs))
        output, aux = pair_of(result, name) if has_aux else (result, None)
        pairs = [_checked_parts(name, value, level, strict) for value in leaves(output)]
        primal_output = rebuilt(output, [primal for primal, _ in pairs])
        tangent_output = rebuilt(output, [tangent for _, tangent in pairs])
        if not has_aux:
            return primal_output, tangent_output
        return primal_output, tangent_output, mapped(lambda x: parts_of(x, level)[0] if isinstance(x, Tensor) else x, aux)


def _checked_parts(name: str, value: Any, level: Level, strict: bool) -> tuple[Tensor, Tensor]:
    """Return the primal and the tangent of an output, 0 for a constant, which ``strict`` refuses; ``name`` is for the message."""
    if not isinstance(value, Tensor):
        raise GraphError(f"{name}: expected f(*args) to return only tensors, got unsupported type {type(value)}")
    primal, tangent = parts_of(value, level)
    if tangent is None and strict:
        raise GraphError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    return primal, (zeros_of(primal) if tangent is None else tangent)


def _check_jvp_inputs(name: str, primals: Tree, tangents: Tree) -> None:
    """Raise GraphError unless primals are a tuple, and tangents tensors in the same structure; ``name`` begins the message."""
    if not isinstance(primals, tuple):
        raise GraphError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    if structure(primals) != structure(tangents):
        raise GraphError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            f"tensors, tangents also must be. Got primals with structure {structure(primals)} and tangents with structure "
            f"{structure(tangents)}"
        )
    for what, tree in (("primals", primals), ("tangents", tangents)):
        if not leaves(tree):
            raise GraphError(f"{name}: Expected {what} to contain at least one Tensor.")
        for value in leaves(tree):
            if not isinstance(value, Tensor):
                raise GraphError(f"{name}: Expected {what} to only contain Tensors, got {type(value)}")


def _checked_dual(primal: Tensor, tangent: Tensor, level: Level) -> Tensor:
    """Return the dual tensor of a primal and a tangent; raise an error if their shapes differ, or they are not floats."""
    check_size(primal, tangent)
    if not primal.is_floating_point():
        raise DtypeError(f"Expected primal to be floating point or complex, but got: {primal.dtype}")
    return dual_of(primal, tangent, level)


@checks(func=FUNCTION)
def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Transformed:
    """Return a function that computes the Jacobian of ``func`` by forward mode: one pass for all elements of the inputs at once.

    Args:
        func, argnums, has_aux: see ``jacrev``.
        randomness, chunk_size: see ``vmap``.
    """

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        chosen = argument_positions(argnums, len(args))
        primals = tuple(args[i] for i in chosen)
        inputs = leaves(primals)
        for value in inputs:
            if not isinstance(value, Tensor):
                raise GraphError(f"jacfwd: Expected all inputs to be Tensors, got {type(value)}")

        def jacobian_column(*units: Tensor) -> Any:
            """Return the product of the Jacobian with a unit vector; with ``has_aux``, also the other result of ``func``."""
            call = functools.partial(_called_with, func, args, chosen)
            _, *products = jvp(call, primals, rebuilt(primals, units), has_aux=has_aux)  # without the outputs
            return tuple(products) if has_aux else products[0]

        results = vmap(jacobian_column, randomness=randomness)(*[tensor_on(unit) for unit in standard_basis(inputs)])
        columns, aux = results if has_aux else (results, None)
        trees = [rebuilt(primals, _blocks(column, inputs)) for column in leaves(columns)]
        result = rebuilt(columns, [tree if isinstance(argnums, tuple) else tree[0] for tree in trees])  # [0]: of the only argument
        return (result, mapped(lambda x: x[0], aux)) if has_aux else result  # each column has the same other result

    return jacobian


def _called_with(func: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...], *values: Any) -> Any:
    """Return the result of a function for arguments of which those at the positions are replaced by values."""
    replaced = list(args)
    for i, value in zip(positions, values, strict=True):
        replaced[i] = value
    return func(*replaced)


def _blocks(columns: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """Return the Jacobian of an output with respect to each input, given its columns, stacked along the first dimension."""
    shape, first, blocks = tuple(columns.shape[1:]), 0, []  # ``first`` is the first column of an input
    for x in inputs:
        size = math.prod(x.shape)
        blocks.append(reshaped(with_dimension_moved(columns[first : first + size], 0, len(shape)), (*shape, *x.shape)))
        first += size
    return blocks


@checks(func=FUNCTION)
def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Transformed:
    """Return a function that computes the second derivatives of ``func``: forward mode over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)
