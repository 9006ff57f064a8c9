"""The way to a derivative, rule by rule.

A program is taken apart into named parts, each of which takes one rule.  The rule gives the differential of the part, such as
``du = 2*x*dx``.  The derivative with respect to ``x`` is the coefficient of ``dx`` in the differential of the whole.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple

from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.program import Term
from autodiff_cli.language.latex_names import escaped
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, name_tree, names_in, new_tree, unparse
from autodiff_cli.postorder import postorder
from autodiff_cli.symbolic.matrices.arrays import Array, Arrays, Length
from autodiff_cli.symbolic.matrices.derivative import Derivative
from autodiff_cli.symbolic.matrices.writing import Writer
from autodiff_cli.symbolic.parts import PartReader
from autodiff_cli.symbolic.short_form import ShortForms
from autodiff_cli.symbolic.to_tree import in_written_order, with_names

if TYPE_CHECKING:
    from autodiff_cli.symbolic.differentiate import Derivatives

_PARTS, _RESULTS = "uvwpqrs", "zyf"  # the first names of parts, and those of the result, where the program does not use them
_LONGEST = 60  # the length of a derivative in the names of parts that is left out, if the names do not make it shorter


class Step(NamedTuple):
    """A step to a derivative, with equations as text.

    Attributes:
        rule: the name of the rule.
        of: a part of the expression in variables and earlier parts, ``u = x**2``; for a derivative, what is differentiated.
        gives: the differential of the part, ``du = 2*x*dx``; or the derivative, ``dz/dx = 2*x``.
    """

    rule: str
    of: str
    gives: str


class Derivation:
    """The steps to the derivatives of a program.

    Args:
        source: the text of the program.
        names, by: the names of its variables, and those to differentiate with respect to.
        dims, symmetric: the dimensions of vectors and matrices, and the names of symmetric matrices.
        constants: the values of other names.
        result: the name of the result, if the program does not give it a name; by default, ``z``.

    Attributes:
        steps: a step for each part, in the order of the evaluation.
        differentials, slopes: the differentials of arrays, and their derivatives with respect to each variable in ``by``.
        dims: the dimensions of variables, parts and their differentials.
        whole_name: the name of the result.
        used: the names that a part cannot have, even if the program assigns them to it: those of earlier parts, and of functions.

    Raises:
        NotRecordable: if a part has no formula.
        ShapeError: if shapes do not fit.
    """

    def __init__(
        self,
        source: str,
        names: Sequence[str],
        by: Sequence[str],
        dims: Mapping[str, tuple[Length, ...]],
        symmetric: Sequence[str],
        constants: Mapping[str, Tensor],
        result: str = "",
    ) -> None:
        program, self.arrays = parse(source), Arrays()
        ordered = in_written_order(names, program)  # leaves appear in formulas in the order in which they are created
        leaves = [self.arrays.leaf(name, tuple(dims.get(name, ())), name in symmetric) for name in ordered]
        forms = ShortForms(self.arrays.algebra)
        self.writer = Writer(self.arrays, forms)
        self.differentials = Derivative(self.arrays, {}, (), forms)
        self.slopes = {name: Derivative.by(self.arrays.leaf(name, ()), self.arrays, forms) for name in by}
        self.steps: list[Step] = []
        self.dims = dict(dims)
        self.used = {*FUNCTIONS, *names, *constants}
        self._reserved = self.used | names_in(program)  # letters avoid the names that the program assigns later
        for name in by:
            self.differential(self.arrays.leaf(name, ()))
        reader = PartReader(self, source, leaves, constants)
        whole = reader.whole()
        self.whole_name = result or self.free_name(_RESULTS, self._reserved)
        self.whole = reader.part(whole, self.whole_name)
        if self.whole in self.differentials.of_leaves and self.whole not in leaves:  # a part that may have another name
            self.whole_name = self.whole.symbol.name

    def steps_to_derivative(self, by: str, final: str) -> list[Step]:
        """Return the last steps to a derivative: the coefficient of a differential in the names of parts, and the final formula.

        The final formula is the derivative by the variable ``by`` that ``diff`` prints; a long coefficient beside it is left out.
        """
        differential = self.differential(self.arrays.leaf(by, ()))
        rule = f"coefficient of {differential.symbol.name}"
        coefficient = self.formula(self.slopes[by].of_array(self.whole))
        if coefficient == final:
            formulas = {rule: final}
        elif len(coefficient) > max(_LONGEST, len(final)):
            formulas = {f"{rule}, simplified": final}
        else:
            formulas = {rule: coefficient, "names replaced, simplified": final}
        left = f"d{self.whole_name}/d{by}"
        return [Step(name, self.whole_name, _equation(left, formula)) for name, formula in formulas.items()]

    def depends(self, array: Array) -> bool:
        """Return whether an array depends on a variable."""
        return any(part in self.differentials.of_leaves for part in postorder([array], self.arrays.inside))

    def free_name(self, names: Iterable[str], reserved: Container[str]) -> str:
        """Return the first of some names, or of ``u1``, ``u2`` and so on, that is not reserved, and whose differential is not."""
        candidates = chain(names, (f"u{number}" for number in count(1)))
        return next(name for name in candidates if name not in reserved and f"d{name}" not in reserved)

    def differential(self, leaf: Array) -> Array:
        """Return the leaf of the differential of a variable or a part: ``dx`` for ``x``, or ``ddx`` if the program uses ``dx``."""
        if leaf not in self.differentials.of_leaves:  # the first use creates it, and reserves its name
            name = next(name for name in (f"{'d' * n}{leaf.symbol.name}" for n in count(1)) if name not in self._reserved)
            self.used |= {leaf.symbol.name, name}
            self._reserved |= self.used
            self.differentials.of_leaves[leaf] = self.arrays.leaf(name, leaf.dims, leaf.symmetric)
            self.dims |= {leaf.symbol.name: leaf.dims, name: leaf.dims}
        return self.differentials.of_leaves[leaf]

    def add_part(self, array: Array, name: str, rule: str, text: Syntax) -> Array:
        """Add the step of a part, whose expression is ``text``, and return the leaf that stands for it; choose a missing name."""
        leaf = self.arrays.leaf(name or self.free_name(_PARTS, self._reserved), array.dims, array.symmetric)
        differential = self.formula(self.differentials.of_array(array))
        for slope in self.slopes.values():  # later parts use the leaf
            slope.of_leaves[leaf] = slope.of_array(array)
        part = _equation(leaf.symbol.name, unparse(text))
        self.steps.append(Step(rule, part, _equation(self.differential(leaf).symbol.name, differential)))
        return leaf

    def formula(self, array: Array) -> str:
        """Return an array as a short formula, with differentials at the ends of products."""
        return unparse(with_names(self._with_differentials_last(self.writer.tree(array)), self._reserved))

    def _with_differentials_last(self, tree: Syntax) -> Syntax:
        """Move the differentials in products to the end: ``2*dx*y`` becomes ``2*y*dx``, and ``-dx*y`` becomes ``-y*dx``."""
        names = {leaf.symbol.name for leaf in self.differentials.of_leaves.values()}
        results: dict[Syntax, Syntax] = {}
        for node in postorder([tree], lambda node: node.children):
            new = node.with_children([results[child] for child in node.children])
            results[node] = _with_swapped_factors(new, names) if new.kind == "mul" else new
        return results[tree]


def _with_swapped_factors(product: Syntax, names: Container[str]) -> Syntax:
    """Swap the last two factors of a product if the first of them is one of some names, or its negative."""
    before, last = product.children
    *others, factor = before.children if before.kind == "mul" else [before]
    is_negative = factor.kind == "neg"
    name = factor.children[0] if is_negative else factor
    if unparse(name) not in names:
        return product
    first = new_tree("mul", *others, last) if others else last
    return new_tree("mul", new_tree("neg", first) if is_negative else first, name)


def _equation(name: str, formula: str) -> str:
    """Return ``name = formula``; the statements with which a formula begins come first: ``v1 = exp(x); name = v1**2``."""
    *statements, last = formula.split("; ")
    return "; ".join([*statements, f"{name} = {last}"])


def derivation_steps(
    source: str,
    names: Sequence[str],
    orders: Sequence[Mapping[Term, str]],
    dims: Mapping[str, tuple[Length, ...]],
    symmetric: Sequence[str],
    constants: Mapping[str, Tensor],
) -> tuple[list[Step], dict[str, tuple[Length, ...]]]:
    """Return the steps to derivatives, and the dimensions of their names; ``Derivation`` describes the other arguments.

    ``orders`` contains the derivatives of each order, which are those of the derivatives of the order before.
    """
    steps: list[Step] = []
    all_dims = dict(dims)
    programs: dict[Term, tuple[str, str]] = {(): (source, "")}  # the text, and the name of the result if it has one
    for derivatives in orders:
        following: dict[Term, tuple[str, str]] = {}
        for term, (text, name) in programs.items():
            derivation = Derivation(text, names, [wrt for (wrt,) in orders[0]], dims, symmetric, constants, name)
            steps += derivation.steps
            for variable in [wrt[-1] for wrt in derivatives if wrt[:-1] == term]:
                final = derivatives[*term, variable]
                steps += derivation.steps_to_derivative(variable, final)
                following[*term, variable] = final, f"{derivation.whole_name}_{variable}"
            all_dims |= derivation.dims
        programs = following
    return steps, all_dims


def latex_rows(result: Derivatives) -> str:
    """Return the steps to derivatives as rows of aligned equations in LaTeX: the part, its differential, and the rule."""
    symbols = {name: result.as_latex(name_tree(name)) for name in result.dims}
    differentials = {symbols[f"d{name}"]: rf"\mathrm{{d}}{symbol}" for name, symbol in symbols.items() if f"d{name}" in symbols}
    rows = [
        f"{_latex_equation(step.of, result, differentials)} & {_latex_equation(step.gives, result, differentials)}"
        rf" && \text{{{escaped(step.rule)}}}"
        for step in result.steps
    ]
    return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}\n"


def _latex_equation(text: str, result: Derivatives, differentials: Mapping[str, str]) -> str:
    """Return ``u = x**2`` or ``dz/dx = 2*x`` as two columns in LaTeX; ``differentials`` has replacements in it, as for ``dx``."""
    statements, end, equation = text.rpartition("; ")
    left, _, right = equation.partition(" = ")
    if not right:  # a name alone is left out
        return " &"

    def written(tree: Syntax) -> str:
        """Return the LaTeX of an expression, in which differentials have an upright d."""
        return reduce(lambda latex, names: latex.replace(*names), differentials.items(), result.as_latex(tree))

    numerator, _, denominator = left.partition("/d")
    name = written(name_tree(numerator[1:] if denominator else left))
    if denominator:
        name = rf"\frac{{\partial {name}}}{{\partial {written(name_tree(denominator))}}}"
    return f"{name} &= {written(parse(statements + end + right))}"
