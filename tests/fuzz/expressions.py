"""Expressions of a shape that is asked for, over all functions, operators and ways to index."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random

from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from tests.fuzz import values
from tests.fuzz.signatures import SHAPES, Call, Shape, signatures

NAMES = ("x", "y", "z", "A", "v", "w", "t", "k1", "é", "pi_2", "e", "beta", "sum")
_ARITHMETIC = ("+", "-", "*", "/", "+", "-", "*", "//", "%", "**", "^")
_COMPARE = ("<", "<=", ">", ">=", "==", "!=")
_WHOLE = re.compile(r"[^\W\d]\w*(\([^()]*\))?|\d+(\.\d+)?|\[[^\[\]]*\]")


@dataclass
class Writer:
    """Writes one program.

    Attributes:
        random: where choices come from.
        noise: how often a part is of a wrong kind or shape.
        nasty: how often a number is an odd one.
        variables: names with their shapes; new ones are added while writing.
        fixed: whether there may be new ones.
        scalar: whether all variables are plain numbers.
        functions: those of the user, with the number of their parameters.
        locals: names that the program itself gives a value.
    """

    random: Random
    noise: float = 0.0
    nasty: float = 0.03
    variables: dict[str, Shape] = field(default_factory=dict)
    fixed: bool = False
    scalar: bool = False
    functions: dict[str, int] = field(default_factory=dict)
    locals: dict[str, Shape] = field(default_factory=dict)

    def shape(self) -> Shape:
        """Some shape, most often that of a number."""
        return () if self.random.random() < 0.6 else self.random.choice(SHAPES)

    def expression(self, shape: Shape, depth: int) -> str:
        """An expression whose value has this shape."""
        if self.noise and self.random.random() < self.noise:
            if self.random.random() < 0.5:
                return values.wrong(self.random)
            shape = self.random.choice(SHAPES)
        if depth <= 0:
            return self.leaf(shape)
        pick = self.random.random()
        if pick < 0.5:
            return self.call(shape, depth)
        if pick < 0.78:
            return self.operator(shape, depth)
        if pick < 0.84:
            return self.indexed(shape, depth)
        if pick < 0.88:
            condition = self.condition(() if self.random.random() < 0.8 else shape, depth - 1)
            return f"({self.expression(shape, depth - 1)} if {condition} else {self.expression(shape, depth - 1)})"
        if pick < 0.92 and self.functions:
            name, arity = self.random.choice(list(self.functions.items()))
            return f"{name}({', '.join(self.expression(shape, depth - 1) for _ in range(arity))})"
        if pick < 0.94 and len(shape) == 2:
            return f"{self.part(shape[::-1], depth)}.{self.random.choice(('T', 'mT'))}"
        if pick > 0.985:
            return self.index_sum(shape, depth)
        return self.leaf(shape)

    def index_sum(self, shape: Shape, depth: int) -> str:
        """A sum or a product over an index, which hides a variable of its name."""
        index = self.random.choice(("k", "i", "n", "x"))
        first = self.random.randint(-1, 2)
        ends = f"{first}..{first + self.random.randint(0, 8)}"
        if self.random.random() < self.noise:
            ends = f"{values.wrong(self.random)}..{self.number()}"
        before = dict(self.locals)
        self.locals[index] = ()
        term = self.expression(shape, depth - 1)
        self.locals = before
        return f"{self.random.choice(('sum', 'prod'))}({index}={ends}, {term})"

    def part(self, shape: Shape, depth: int) -> str:
        """An expression that anything can stand before and behind; now and then without the brackets that it needs."""
        text = self.expression(shape, depth - 1)
        return text if _WHOLE.fullmatch(text) or self.random.random() < 0.1 else f"({text})"

    def leaf(self, shape: Shape) -> str:
        """A variable, or a literal."""
        if self.random.random() < 0.75:
            known = [name for name, its in (*self.variables.items(), *self.locals.items()) if its == shape]
            if known and (self.random.random() < 0.7 or self.fixed):
                return self.random.choice(known)
            free = [name for name in NAMES if name not in self.variables]
            if len(self.variables) < 4 and not self.fixed and (not shape or not self.scalar):
                weights = [8, 6, 4, 3, 2, 2, 2, *[0.5] * len(NAMES)]
                name = self.random.choices(free, weights[len(NAMES) - len(free) :][: len(free)])[0]
                self.variables[name] = shape
                return name
        if shape and self.random.random() < 0.3:
            size = ", ".join(map(str, shape))
            return self.random.choice((f"ones({size})", f"zeros({size})", f"full([{size}], {self.number()})"))
        return values.literal(self.random, shape, self.nasty)

    def number(self) -> str:
        """One number."""
        return values.number(self.random, self.nasty)

    # Calls

    def call(self, shape: Shape, depth: int) -> str:
        """A call to a function, as a function or as a method."""
        known = signatures()
        by_name = known.by_shape.get(shape, {})
        pick = self.random.random()
        if not by_name or pick < self.noise:
            return self.any_call(depth)
        if not shape and pick > 0.6:
            return self.reduced(depth)
        if pick > 0.96:
            return self.one_of_several(shape, depth)
        return self.written(self.random.choice(by_name[self.random.choice(list(by_name))]), depth)

    def written(self, call: Call, depth: int, name: str = "") -> str:
        """A call with arguments of the right shapes."""
        arguments = [a if isinstance(a, str) else self.expression(a, depth - 1) for a in call.arguments]
        named = [f"{name}={text}" for name, text in call.named]
        name = name or (self.random.choice((call.op.name, *call.op.aliases)) if self.random.random() < 0.2 else call.op.name)
        if call.op.tensors and not isinstance(call.arguments[0], str) and self.random.random() < 0.2 and not call.op.variadic:
            text = arguments[0] if _WHOLE.fullmatch(arguments[0]) and not arguments[0][0].isdigit() else f"({arguments[0]})"
            return f"{text}.{name}({', '.join(arguments[1:] + named)})"
        return f"{name}({', '.join(arguments + named)})"

    def reduced(self, depth: int) -> str:
        """A number from a call to any function: some have no result of one of the usual shapes."""
        name = self.random.choice(signatures().names())
        calls = signatures().by_name.get(FUNCTIONS[name].name)
        if calls is None:
            return self.any_call(depth, name)
        call = self.random.choice(calls)
        text, result = self.written(call, depth, name), call.result
        if call.several and not result:  # the parts of nothing
            return f"norm({text})"
        if call.several:
            which = self.random.randrange(len(result))
            text, result = f"{text}[{which}]", result[which]  # type: ignore[assignment]
        if not result:
            return text
        if 0 not in result and self.random.random() < 0.3:
            return f"{text}[{', '.join(str(self.random.randrange(n)) for n in result)}]"  # type: ignore[arg-type]
        return f"{self.random.choice(('sum', 'sum', 'mean', 'norm', 'prod', 'logsumexp'))}({text})"

    def one_of_several(self, shape: Shape, depth: int) -> str:
        """One of the results of a function that has several."""
        known = signatures().several
        calls = [c for all_of in known.values() for c in all_of if shape in c.result]  # type: ignore[operator]
        if not calls:
            return self.leaf(shape)
        call = self.random.choice(calls)
        return f"{self.written(call, depth)}[{call.result.index(shape)}]"  # type: ignore[arg-type]

    def any_call(self, depth: int, name: str = "") -> str:
        """A call to a function, to any one if no name is given, with arguments of any shape, by position and by name."""
        op = FUNCTIONS[name or self.random.choice(signatures().names())]
        count = self.random.randint(op.required, len(op.parameters))
        arguments = []
        for i, parameter in enumerate(op.parameters[:count]):
            value = self.expression(self.shape(), depth - 2) if parameter in op.tensors else self.plain()
            arguments.append(f"{parameter}={value}" if i and self.random.random() < 0.2 else value)
        if self.random.random() < 0.2 and op.defaults:
            arguments.append(f"{self.random.choice(op.parameters[op.required :])}={self.plain()}")
        return f"{op.name}({', '.join(arguments)})"

    def plain(self) -> str:
        """An argument that is not a tensor."""
        pick = self.random.random()
        if pick < 0.5:
            return str(self.random.randint(-2, 3))
        if pick < 0.65:
            return self.random.choice(("true", "false", "none"))
        if pick < 0.8:
            return self.random.choice(("'sum'", "'mean'", "'none'", "'fro'", "'nuc'", "'tanh'", "'ij->ji'", "float32", "int64"))
        return values.wrong(self.random) if pick < 0.85 else values.literal(self.random, self.shape(), 0.2)

    # Operators, conditions, positions

    def operator(self, shape: Shape, depth: int) -> str:
        """Two operands of this shape, one of them perhaps a number; or one operand with a sign."""
        pick = self.random.random()
        if pick < 0.12:
            return f"{self.random.choice('-+')}{self.part(shape, depth)}"
        if pick < 0.2 and len(shape) == 2:
            return f"{self.part((shape[0], 2), depth)} @ {self.part((2, shape[1]), depth)}"
        if pick < 0.25:
            return self.condition(shape, depth)
        one = self.part(shape, depth)
        other = self.part(shape if self.random.random() < 0.5 else (), depth)
        if pick > 0.9:
            one, other = other, one
        space = self.random.choice(("", "", " "))
        sign = self.random.choice(_ARITHMETIC)
        if sign in "**^" and self.random.random() < 0.6:
            other = self.random.choice(("2", "3", "-1", "0.5", "0", "1", self.number()))
        return f"{one}{space}{sign}{space}{other}"

    def condition(self, shape: Shape, depth: int) -> str:
        """A comparison, a chain of them, or several with ``and``, ``or``, ``not``."""
        one = f"{self.part(shape, depth)} {self.random.choice(_COMPARE)} {self.part((), depth)}"
        pick = self.random.random()
        if pick < 0.1:
            return f"{one} {self.random.choice(_COMPARE)} {self.number()}"
        if pick < 0.2:
            return f"({one}) {self.random.choice(('and', 'or'))} ({self.part(shape, depth)} > 0)"
        return f"not {one}" if pick < 0.25 else one

    def indexed(self, shape: Shape, depth: int) -> str:
        """A part of something larger."""
        ways = [
            ((3, *shape), "[" + self.random.choice(("0", "-1", "2", "1,...", "...,0" if not shape else "0")) + "]"),
            ((1, *shape), "[0]"),
        ]
        if shape:
            ways += [(shape, "[...]")]
            ways += [((3, *shape[1:]), f"[:{shape[0]}]"), ((3, *shape[1:]), f"[[{', '.join('0' * shape[0])}]]")]
            ways += [(shape, "[::1]"), (shape, "[:]"), ((*shape, 2), "[..., 0]")]
            if shape[0] == 1:
                ways.append((shape[1:], "[none]"))
        larger, key = self.random.choice(ways)
        if len(larger) > 4:
            return self.leaf(shape)
        return f"{self.part(larger, depth)}{key}"

    # Programs

    def definition(self) -> str:
        """A function of the user, with a derivative by hand now and then."""
        name = self.random.choice([n for n in ("f", "g", "h", "sq") if n not in self.functions] or ["f"])
        parameters = self.random.choice((("a",), ("a",), ("a", "b")))
        inside = Writer(
            self.random, self.noise, self.nasty, dict.fromkeys(parameters, ()), fixed=True, functions=dict(self.functions)
        )
        text = f"{name}({', '.join(parameters)}) = {inside.expression((), 2)}"
        if self.random.random() < 0.3:
            text += f" with grad ({', '.join(inside.expression((), 1) for _ in parameters)})"
        self.functions[name] = len(parameters)
        return text

    def program(self, shape: Shape, depth: int) -> str:
        """Statements, the last of which has this shape."""
        statements = []
        while self.random.random() < 0.25 and len(statements) < 4:
            if self.random.random() < 0.4:
                statements.append(self.definition())
                continue
            its = () if self.scalar else self.shape()
            text = self.expression(its, depth - 1)
            free = [n for n in ("a", "b", "c", "s") if n not in self.locals]
            if free:
                self.locals[free[0]] = its
                statements.append(f"{free[0]} = {text}")
        last = self.expression(shape, depth)
        return self.random.choice(("; ", "\n", ";")).join([*statements, last])
