"""Small mistakes that can be made in a module, each at one place: what a test should notice."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
WORDS = {
    "summary",
    "formula",
    "convention",
    "domain",
    "smooth",
    "samples",
    "edges",
    "hint",
    "source",
    "span",
    "strict",
    "stacklevel",
}
"""Arguments that hold prose, points to test at, or what only guards."""


@dataclass(frozen=True)
class Change:
    """A replacement of one piece of a module's source.

    Attributes:
        line, column, end_line, end_column: where; lines count from 1, columns are bytes from 0.
        kind: of the mistake.
        new: what is written there.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    new: str

    @property
    def place(self) -> str:
        return f"{self.line}:{self.column}:{self.kind}"

    def applied(self, source: str) -> str:
        """The source with the mistake in it."""
        lines = source.encode().splitlines(keepends=True)
        start = sum(map(len, lines[: self.line - 1])) + self.column
        end = sum(map(len, lines[: self.end_line - 1])) + self.end_column
        whole = b"".join(lines)
        return (whole[:start] + self.new.encode() + whole[end:]).decode()

    def shown(self, source: str) -> str:
        """What stands there, and what comes instead, in one line."""
        lines = source.encode().splitlines()[self.line - 1 : self.end_line]
        lines[-1] = lines[-1][: self.end_column]
        lines[0] = lines[0][self.column :]
        return f"{' '.join(line.strip().decode() for line in lines)}  ->  {self.new}"


def changes(source: str) -> Iterator[Change]:
    """Return all mistakes for a module, in the order of the source."""
    for statement in _without_samples(ast.parse(source).body):
        for node in _changeable(statement):
            for kind, place, new in _mistakes(node):
                yield Change(place.lineno, place.col_offset, place.end_lineno or 0, place.end_col_offset or 0, kind, new)


def _without_samples(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Leave out lists with a name that is read for points to test at only."""
    names = [{node.id for node in _changeable(one) if isinstance(node, ast.Name)} for one in statements]
    given = [
        {node.id for target in getattr(one, "targets", ()) for node in ast.walk(target) if isinstance(node, ast.Name)}
        for one in statements
    ]
    kept = [True] * len(statements)
    for i in reversed(range(len(statements))):
        read = set().union(*(names[k] for k in range(i + 1, len(statements)) if kept[k]))
        kept[i] = not (given[i] and not given[i] & read and isinstance(getattr(statements[i], "value", None), ast.Tuple | ast.List))
    return [one for one, is_kept in zip(statements, kept, strict=True) if is_kept]


def _changeable(top: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement that compute something: no annotations, texts, errors, assertions or points to test at."""
    work = [top]
    while work:
        node = work.pop()
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.arg):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.keyword) and node.arg in WORDS:
            continue
        yield node
        inner = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [node.args, *node.body]
        elif isinstance(node, ast.AnnAssign):
            inner = [node.value] if node.value else []
        elif isinstance(node, ast.ClassDef):
            inner = list(node.body)
        work += reversed(inner)


Mistake = tuple[str, ast.expr | ast.stmt, str]


def _mistakes(node: ast.AST) -> Iterator[Mistake]:
    for kind, of in MISTAKES.items():
        if isinstance(node, of):
            yield from KINDS[kind](node)


def _with(node: ast.expr | ast.stmt, **fields: object) -> str:
    """The source of a node with other fields."""
    kept = {name: getattr(node, name) for name in node._fields}
    made = type(node)(**(kept | fields))
    text = ast.unparse(ast.fix_missing_locations(ast.copy_location(made, node)))
    return f"({text})" if isinstance(node, ast.expr) else text


def _comparison(node: ast.Compare) -> Iterator[Mistake]:
    for i, operator in enumerate(node.ops):
        other = COMPARISONS[type(operator)]()
        yield f"comparison{i or ''}", node, _with(node, ops=[*node.ops[:i], other, *node.ops[i + 1 :]])


def _arithmetic(node: ast.BinOp | ast.AugAssign) -> Iterator[Mistake]:
    text = isinstance(node, ast.BinOp) and any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )
    other = OPERATORS.get(type(node.op))
    if other is not None and not text:
        yield "arithmetic", node, _with(node, op=other())


def _constant(node: ast.Constant) -> Iterator[Mistake]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", node, str(not value)
    elif isinstance(value, int | float):
        yield "constant", node, repr(value + 1)


def _sign(node: ast.UnaryOp) -> Iterator[Mistake]:
    if isinstance(node.op, ast.USub | ast.Not):
        yield "sign" if isinstance(node.op, ast.USub) else "not", node, f"({ast.unparse(node.operand)})"


def _and_or(node: ast.BoolOp) -> Iterator[Mistake]:
    yield "and-or", node, _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


def _argument(node: ast.Call) -> Iterator[Mistake]:
    if len(node.args) > 1:
        yield "argument", node, _with(node, args=node.args[:-1])
    for word in node.keywords:
        if word.arg is not None and word.arg not in WORDS:
            yield f"without-{word.arg}", node, _with(node, keywords=[one for one in node.keywords if one is not word])


def _condition(node: ast.If | ast.IfExp | ast.While) -> Iterator[Mistake]:
    if not isinstance(node, ast.While):
        yield "always", node.test, "True"
    yield "never", node.test, "False"


def _filter(node: ast.comprehension) -> Iterator[Mistake]:
    for test in node.ifs:
        yield "always", test, "True"


def _return(node: ast.Return) -> Iterator[Mistake]:
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield "return", node, "return None"


def _bound(node: ast.Slice) -> Iterator[Mistake]:
    for bound in (node.lower, node.upper, node.step):
        if bound is not None:
            yield "bound", bound, ""


def _statement(node: ast.Expr | ast.Break | ast.Continue) -> Iterator[Mistake]:
    if not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call):
        yield "statement", node, "pass"


KINDS: dict[str, Callable[..., Iterator[Mistake]]] = {
    "comparison": _comparison,
    "arithmetic": _arithmetic,
    "constant": _constant,
    "sign": _sign,
    "and-or": _and_or,
    "argument": _argument,
    "condition": _condition,
    "filter": _filter,
    "return": _return,
    "bound": _bound,
    "statement": _statement,
}
MISTAKES: dict[str, tuple[type[ast.AST], ...]] = {
    "comparison": (ast.Compare,),
    "arithmetic": (ast.BinOp, ast.AugAssign),
    "constant": (ast.Constant,),
    "sign": (ast.UnaryOp,),
    "and-or": (ast.BoolOp,),
    "argument": (ast.Call,),
    "condition": (ast.If, ast.IfExp, ast.While),
    "filter": (ast.comprehension,),
    "return": (ast.Return,),
    "bound": (ast.Slice,),
    "statement": (ast.Expr, ast.Break, ast.Continue),
}
