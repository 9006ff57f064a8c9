"""The way to a derivative, rule by rule.

A program is taken apart into named parts, each of which takes one rule.  The rule gives the differential of the part, such as
``du = 2*x*dx``.  The derivative with respect to ``x`` is the coefficient of ``dx`` in the differential of the whole.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
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
from autodiff_cli.symbolic.name_order import in_written_order
from autodiff_cli.symbolic.parts import PartReader
from autodiff_cli.symbolic.short_form import ShortForms
from autodiff_cli.symbolic.to_tree import with_names

if TYPE_CHECKING:
    from autodiff_cli.symbolic.differentiate import Derivatives

_PARTS, _RESULTS = "uvwpqrs", "zyf"
"""The first names of parts, and those of the result, where the program does not use them."""
_LONGEST = 60
"""The length of a derivative in the names of parts that is left out, if the names do not make it shorter."""


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
        names: the names of its variables.
        by: the variables to differentiate with respect to.
        dims: the dimensions of vectors and matrices.
        symmetric: the names of symmetric matrices.
        constants: the values of other names.
        result: the name of the result, if the program does not give it a name; by default, ``z``.

    Attributes:
        steps: a step for each part, in the order of the evaluation.
        dims: the dimensions of variables, parts and their differentials.
        whole_name: the name of the result.

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
        program, self.arrays = parse(source), Arrays(())
        ordered = in_written_order(names, program)
        leaves = [self.arrays.leaf(name, tuple(dims.get(name, ())), name in symmetric) for name in ordered]
        forms = ShortForms(self.arrays.algebra)
        self.writer = Writer(self.arrays, forms)
        self.differentials = Derivative(self.arrays, {}, (), forms)
        self.slopes = {name: Derivative.by(self.arrays.leaf(name, ()), self.arrays, forms) for name in by}
        self.steps: list[Step] = []
        self.dims = dict(dims)
        self._used = {*FUNCTIONS, *names, *constants}
        self._reserved = self._used | names_in(program)  # letters avoid the names that the program assigns later
        for name in by:
            self.differential(self.arrays.leaf(name, ()))
        reader = PartReader(self, source, leaves, constants)
        whole = reader.whole()
        self.whole_name = result or self._free(_RESULTS, self._reserved)
        self.whole = reader.part(whole, self.whole_name)
        if self.whole in self.differentials.of_leaves and self.whole not in leaves:
            self.whole_name = self.whole.symbol.name

    def derivative(self, by: str, final: str) -> list[Step]:
        """Return the steps to a derivative: the coefficient of a differential in the names of parts, and the final formula.

        Args:
            by: the variable.
            final: the derivative that ``diff`` prints.
        """
        name, rule = f"d{self.whole_name}/d{by}", f"coefficient of {self.differential(self.arrays.leaf(by, ())).symbol.name}"
        formula = self.formula(self.slopes[by].of_array(self.whole))
        if formula == final or _LONGEST < len(formula) > len(final):
            return [Step(rule if formula == final else f"{rule}, simplified", self.whole_name, _equation(name, final))]
        steps = {rule: formula, "names replaced, simplified": final}
        return [Step(rule, self.whole_name, _equation(name, text)) for rule, text in steps.items()]

    def depends(self, array: Array) -> bool:
        """Return whether an array depends on a variable."""
        return any(part in self.differentials.of_leaves for part in postorder([array], self.arrays.inside))

    def name_of(self, assigned: str) -> str:
        """Return the name of a part to which the program assigns a name: another one if it is the name of an earlier part."""
        return self._free([assigned], self._used)

    def _free(self, names: Iterable[str], reserved: Container[str]) -> str:
        """Return the first of some names that is not reserved, or ``u1``, ``u2`` and so on."""
        candidates = chain(names, (f"u{number}" for number in count(1)))
        return next(name for name in candidates if name not in reserved and f"d{name}" not in reserved)

    def differential(self, leaf: Array) -> Array:
        """Return the leaf of the differential of a variable or a part: ``dx`` for ``x``, where this name is free."""
        if leaf not in self.differentials.of_leaves:
            name = next(name for name in (f"{'d' * n}{leaf.symbol.name}" for n in count(1)) if name not in self._reserved)
            self._used |= {leaf.symbol.name, name}
            self._reserved |= self._used
            self.differentials.of_leaves[leaf] = self.arrays.leaf(name, leaf.dims, leaf.symmetric)
            self.dims |= {leaf.symbol.name: leaf.dims, name: leaf.dims}
        return self.differentials.of_leaves[leaf]

    def add_part(self, array: Array, name: str, rule: str, text: Syntax) -> Array:
        """Add the step of a part, and return the leaf that stands for it.

        Args:
            array: the part.
            name: its name; by default, a letter.
            rule: the name of its rule.
            text: the part as an expression.
        """
        leaf = self.arrays.leaf(name or self._free(_PARTS, self._reserved), array.dims, array.symmetric)
        differential = self.formula(self.differentials.of_array(array))
        for slope in self.slopes.values():
            slope.of_leaves[leaf] = slope.of_array(array)
        left = self.differential(leaf).symbol.name
        self.steps.append(Step(rule, _equation(leaf.symbol.name, unparse(text)), _equation(left, differential)))
        return leaf

    def formula(self, array: Array) -> str:
        """Return an array as a short formula, with differentials at the ends of products."""
        return unparse(with_names(self._with_differentials_last(self.writer.tree(array)), self._reserved))

    def _with_differentials_last(self, tree: Syntax) -> Syntax:
        names = {leaf.symbol.name for leaf in self.differentials.of_leaves.values()}
        results: dict[Syntax, Syntax] = {}
        for node in postorder([tree], lambda node: node.children):
            new = node.with_children([results[child] for child in node.children])
            before, last = new.children if new.kind == "mul" else (new, new)
            *others, middle = before.children if before.kind == "mul" else [before]
            name = middle.children[0] if middle.kind == "neg" else middle
            if new.kind == "mul" and unparse(name) in names:
                first = new_tree("mul", others[0], last) if others else last
                new = new_tree("mul", first if name is middle else new_tree("neg", first), name)
            results[node] = new
        return results[tree]


def _equation(name: str, formula: str) -> str:
    """Return an equation, after the statements of the formula, if it has any."""
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
    """Return the steps to derivatives, and the dimensions of their names.

    Args:
        source: the text of a program.
        names: the names of its variables.
        orders: the derivatives of each order, by their variables.
        dims: the dimensions of vectors and matrices.
        symmetric: the names of symmetric matrices.
        constants: the values of other names.
    """
    steps: list[Step] = []
    all_dims = dict(dims)
    sources: dict[Term, tuple[str, str]] = {(): (source, "")}
    for derivatives in orders:
        following: dict[Term, tuple[str, str]] = {}
        for term, (text, name) in sources.items():
            derivation = Derivation(text, names, [wrt for (wrt,) in orders[0]], dims, symmetric, constants, name)
            steps += derivation.steps
            for variable in [wrt[-1] for wrt in derivatives if wrt[:-1] == term]:
                final = derivatives[*term, variable]
                steps += derivation.derivative(variable, final)
                following[*term, variable] = final, f"{derivation.whole_name}_{variable}"
            all_dims |= derivation.dims
        sources = following
    return steps, all_dims


def latex_rows(result: Derivatives) -> str:
    """Return the steps to derivatives as rows of aligned equations in LaTeX: the part, its differential, and the rule."""
    symbols = {name: result.as_latex(name_tree(name)) for name in result.dims}
    differentials = {symbols[f"d{name}"]: rf"\mathrm{{d}}{symbol}" for name, symbol in symbols.items() if f"d{name}" in symbols}

    def equation(text: str) -> str:
        before, end, text = text.rpartition("; ")
        left, _, right = text.partition(" = ")
        above, _, below = left.partition("/d")
        parts = [result.as_latex(name_tree(above if not below else above[1:])), *([symbols[below]] if below else [])]
        texts = [*parts, *([result.as_latex(parse(before + end + right))] if right else [])]
        for name, symbol in differentials.items():
            texts = [text.replace(name, symbol) for text in texts]
        if below:
            texts[:2] = [rf"\frac{{\partial {texts[0]}}}{{\partial {texts[1]}}}"]
        return " &= ".join(texts) if right else " &"

    rows = [rf"{equation(step.of)} & {equation(step.gives)} && \text{{{escaped(step.rule)}}}" for step in result.steps]
    return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}\n"
