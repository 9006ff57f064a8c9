"""Programs of statements, as ``run`` and ``repl`` take them."""

from __future__ import annotations

import inspect
import re
from random import Random
from typing import Any

from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.script import library
from tests.fuzz import values
from tests.fuzz.expressions import Writer
from tests.fuzz.signatures import Shape


class Program:
    """Writes a program line by line, and knows the shapes of its names.

    Args:
        random: where choices come from.
        noise: how often a part is of a wrong kind.
        given: names that have values before the first line, with their shapes.

    Attributes:
        loose: how often a tensor is taken that may not be fit for what is done to it.
        names: all names with their shapes.
        leaves: names of leaves that require grad; ``made``: of what was computed from them; ``swept``: with a gradient by now.
    """

    def __init__(self, random: Random, noise: float, given: dict[str, Shape]) -> None:
        self.random = random
        self.noise = noise
        self.loose = noise + random.choice((0.0, 0.0, 0.0, 0.1))
        self.writer = Writer(random, noise, 0.03, fixed=True)
        self.names = self.writer.variables
        self.names.update(given)
        self.leaves = list(given)
        self.made: list[str] = []
        self.swept: list[str] = []
        self.fresh = [f"{letter}{k}" for k in ("", 1, 2) for letter in "xyzuvw" if f"{letter}{k}" not in given]
        self.lines: list[str] = []

    def text(self) -> str:
        """The whole program."""
        for _ in range(self.random.randint(1, 3)):
            self.lines.append(self._leaf())
        for _ in range(self.random.randint(1, 8)):
            self.lines.append(self._line())
        if self.random.random() < 0.6:
            self.lines.append(self.random.choice(("show", f"show {self._name()}", f"print({self._name()}.grad)", "show")))
        between = "\n" if self.random.random() < 0.85 else "; "
        text = between.join(self.lines) + "\n"
        if self.random.random() < 0.05:
            text = "".join(f"{'...' if line[:1] in (' ', '') else '>>>'} {line}\n" for line in text.split("\n"))
        return text

    def _new(self, shape: Shape) -> str:
        name = self.fresh.pop(0) if self.fresh else self._name()
        self.names[name] = shape
        for those in (self.leaves, self.made, self.swept):
            if name in those:
                those.remove(name)
        return name

    def _name(self, shape: Shape | None = None) -> str:
        known = [name for name, its in self.names.items() if shape is None or its == shape]
        return self.random.choice(known or list(self.names) or ["x"])

    def _one_of(self, fit: list[str]) -> str:
        """One of those names; now and then any other."""
        return self._name() if not fit or self.random.random() < self.loose else self.random.choice(fit)

    def _leaf(self) -> str:
        shape = self.writer.shape()
        size = ", ".join(map(str, shape))
        needs = self.random.choice((", requires_grad=true",) * 6 + ("", ", dtype=float32", ", requires_grad=true, dtype=float32"))
        made = self.random.random()
        if made < 0.8 or not shape:
            text = f"tensor({values.literal(self.random, shape, 0.04)}{needs})"
        else:
            text = f"{self.random.choice(('rand', 'randn', 'ones', 'zeros'))}({size}{needs})"
        name = self._new(shape)
        if "requires_grad" in needs:
            self.leaves.append(name)
        return f"{name} = {text}"

    def _line(self) -> str:
        ways = (
            (5, self._assignment),
            (4, self._backward),
            (2, self._shown),
            (2, self._attribute),
            (2, self._method),
            (2, self._change),
            (2, self._gradient),
            (1, self._block),
            (1, self._hook),
            (1, self._loop),
            (1, self._function),
            (1, self._pasted),
            (1, self._action),
            (1, self.writer.definition),
            (0.5, self._leaf),
            (0.5, self._unpacked),
        )
        return self.random.choices([way for _, way in ways], [weight for weight, _ in ways])[0]()

    def _assignment(self, recorded: bool = True) -> str:
        known = self.leaves + self.made
        shape = self.names[self.random.choice(known)] if known and self.random.random() < 0.5 else self.writer.shape()
        text = self.writer.expression(shape, self.random.randint(1, 3))
        if known and self.random.random() < 0.7:
            other = [name for name in known if self.names[name] in ((), shape)]
            if other:
                text = f"{self.random.choice(other)}{self.random.choice('+-*/')}({text})"
        needs = recorded and any(re.search(rf"\b{name}\b", text) for name in known)
        name = self._new(shape)
        if needs:
            self.made.append(name)
        return f"{name} = {text}"

    def _backward(self) -> str:
        inputs = f"inputs=[{self._one_of(self.leaves)}]" if self.random.random() < 0.15 else ""
        options = ", ".join(filter(None, (self._options(("retain_graph=true", "create_graph=true"), 0.4), inputs)))
        name = self._one_of(self.made + self.leaves)
        self.swept += [leaf for leaf in self.leaves if leaf not in self.swept]
        if not self.names.get(name, ()):
            return f"{name}.backward({options})"
        if self.random.random() < 0.4:
            gradient = f"tensor({values.literal(self.random, self.names.get(name, ()), 0.05)})"
            return f"{name}.backward({', '.join(filter(None, (f'gradient={gradient}', options)))})"
        return f"sum({name}).backward({options})"

    def _options(self, all_of: tuple[str, ...], often: float) -> str:
        return ", ".join(option for option in all_of if self.random.random() < often)

    def _shown(self) -> str:
        form = self.random.choice(("show {}", "print({})", "{}", "show {0}, {0}.grad", "print({0}, {0}.grad_fn)"))
        return form.format(self._name())

    def _attribute(self) -> str:
        name = self._name()
        pick = self.random.random()
        if pick >= 0.8:
            name = self._one_of(self.made)
            if name not in self.made and self.random.random() > self.loose:
                return name
        known = [*library.ATTRIBUTES[Tensor], "T", "mT", "shape", "ndim"]
        if pick < 0.5:
            return f"{name}.{self.random.choice(known)}"
        if pick < 0.8:
            what = self.random.choice(library.SETTABLE)
            value = self._value(self.names.get(name, ()))
            if what == "requires_grad":
                value = "true" if name in self.leaves + self.made else self.random.choice(("true", "false"))
            return f"{name}.{what} = {'none' if what == 'grad' and self.random.random() < 0.5 else value}"
        return f"{name}.grad_fn.{self.random.choice(('next_functions', 'name()', 'next_functions[0]', 'variable'))}"

    def _value(self, shape: Shape) -> str:
        if self.random.random() < self.loose:
            return self.random.choice(("none", "true", "false", values.wrong(self.random)))
        return self.random.choice((values.literal(self.random, shape, 0.1), self._name(shape)))

    def _method(self) -> str:
        method = self.random.choice(library.METHODS[Tensor])
        changes = method.endswith("_") or method in ("item",)
        plain = [name for name, shape in self.names.items() if name not in self.leaves and (method != "item" or not shape)]
        name = self._one_of(plain if changes else self.leaves + self.made)
        call = f"{name}.{method}({self._arguments(getattr(Tensor, method, None), self.names.get(name, ()), skip=1)})"
        return f"with no_grad: {call}" if changes and name not in plain and self.random.random() > self.loose else call

    def _action(self) -> str:
        name = self.random.choice(list(library.ACTIONS))
        call = f"{name}({self._arguments(library.ACTIONS[name], ())})"
        return f"{self._new(())} = {call}" if self.random.random() < 0.3 else call

    def _arguments(self, function: Any, shape: Shape, skip: int = 0) -> str:
        """Arguments for a Python function, from the names and kinds of its parameters."""
        op = FUNCTIONS.get(getattr(function, "__name__", "").removesuffix("_"))
        if op is not None and skip:
            return ", ".join(self._value(shape if n in op.tensors else ()) for n in op.parameters[skip : op.required])
        try:
            parameters = list(inspect.signature(function).parameters.values())[skip:]
        except (TypeError, ValueError):
            return ""
        written = []
        for parameter in parameters:
            optional = parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD
            if parameter.kind is parameter.VAR_KEYWORD or (optional and self.random.random() < 0.75):
                continue
            value = self._argument(parameter, shape)
            by_name = parameter.kind is parameter.KEYWORD_ONLY or (optional and parameter.kind is not parameter.VAR_POSITIONAL)
            written.append(f"{parameter.name}={value}" if by_name else value)
        return ", ".join(written)

    def _argument(self, parameter: inspect.Parameter, shape: Shape) -> str:
        kind, name = str(parameter.annotation), parameter.name
        if self.random.random() < self.noise:
            return values.wrong(self.random)
        if kind == "bool" or "bool |" in kind:
            return self.random.choice(("true", "false"))
        if name == "dtype":
            return self.random.choice(list(library.DTYPES))
        if name in ("n", "m", "steps", "seed", "size", "start", "end", "dim") or kind == "int":
            return str(self.random.randint(0, 3))
        if name in ("func", "hook", "function"):
            return self.random.choice((*self.writer.functions, "sin", "sum", "f", "exp"))
        if kind == "float":
            return self.random.choice(("1e-6", "0.1", "0"))
        return self.random.choice((self._name(shape), self._name(shape), self._name(), values.literal(self.random, shape, 0.05)))

    def _change(self) -> str:
        name = self._one_of(self.swept or self.leaves)
        shape = self.names.get(name, ())
        gradient = f"0.1*{name}.grad" if name in self.swept or self.random.random() < self.loose else self.writer.number()
        value = self.random.choice((self.writer.number(), gradient, gradient, self._value(shape)))
        sign = self.random.choice(("+=", "-=", "*=", "/=", "**=", "//=", "%=", "@=" if self.random.random() < self.loose else "-="))
        key = "[" + self.random.choice(("0", "-1", ":1", "...", "none", "[0]", f"{name} > 0", "0, 0")) + "]"
        text = f"{name}{key} = {value}" if shape and self.random.random() < 0.5 else f"{name} {sign} {value}"
        return f"with no_grad: {text}" if name in self.leaves and self.random.random() > self.loose else text

    def _gradient(self) -> str:
        one, other = self._one_of(self.made + self.leaves), self._one_of(self.leaves)
        one = one if not self.names.get(one, ()) else f"sum({one})"
        options = "allow_unused=true"
        more = self._options(("retain_graph=true", "create_graph=true", "materialize_grads=true"), 0.5)
        options = ", ".join(filter(None, (options, more))) if self.random.random() > self.loose else more
        inputs = self.random.choice((other, f"[{other}]", f"[{self._one_of(self.leaves)}, {other}]"))
        text = f"grad({', '.join(filter(None, (one, inputs, options)))})"
        return f"{self._new(())} = {text}[0]" if self.random.random() < 0.3 else text

    def _unpacked(self) -> str:
        name = self._one_of(self.leaves)
        return f"{self._new(())}, {self._new(())} = grad(sum({name}*{name}), [{name}, {name}])"

    def _block(self) -> str:
        mode = self.random.choice(("no_grad", "enable_grad", "set_grad_enabled(false)", "set_grad_enabled(true)", "no_grad()"))
        if self.random.random() < 0.4:
            return f"with {mode}: {self._assignment(recorded=False)}"
        return "\n    ".join([f"with {mode}:", *(self._line().replace("\n", "\n    ") for _ in range(self.random.randint(1, 3)))])

    def _lines_of_a_block(self, header: str) -> str:
        body = [self._line().replace("\n", "\n    ") for _ in range(self.random.randint(1, 3))]
        if self.random.random() < self.loose:  # wrong indentation, or nothing in the block
            return self.random.choice((header, "\n".join([header, *body]), "\n  ".join([header, *body, " " + body[0]])))
        return "\n    ".join([header, *body])

    def _loop(self) -> str:
        limits = self.random.choice(
            ("2", "1, 3", "3, 0, -1", "0", "len([1, 2])", self.writer.number() if self.random.random() < 0.3 else "2")
        )
        index = self.random.choice(("i", "step", "_"))
        header = f"for {index} in range({limits}):"
        name = self._one_of(self.leaves)
        if self.random.random() < 0.4:
            return f"{header} print({index}, f'{{{index} + 1:03d}}: {{{name}}}', {index}*2 // 3)"
        return self._lines_of_a_block(header)

    def _function(self) -> str:
        name = self.random.choice(("f", "g", "loss"))
        if self.random.random() < 0.3:
            return f"{name} = lambda a: a*2 + {self.writer.number()}\n{name}({self._name()})"
        result = self.random.choice(("a", "b", "b*a", "sum(a*b)", "a, b"))
        lines = [f"def {name}(a):", f"    b = a*{self.writer.number()}", f"    return {result}"]
        if self.random.random() < 0.3:
            lines.insert(
                2, self.random.choice(("    print(b)", "    with torch.no_grad(): b = b*2", "    for i in range(2): b = b + a"))
            )
        return "\n".join([*lines, f"{name}({self._name()})"])

    def _pasted(self) -> str:
        one, other = self._one_of(self.made + self.leaves), self._one_of(self.leaves)
        ways = (
            "torch.nn.functional.relu({0})",
            "g, = torch.autograd.grad({0}.sum(), {1}, allow_unused=True)",
            "(p, q) = {0}, {1}",
            "p, q = {0}, {1}",
            "params = [{0}, {1}]\ntorch.autograd.grad(sum({0}*{1}), params, allow_unused=True)",
            "{0}.register_hook(lambda grad: print('hook', grad))",
            "{0}.register_hook(lambda grad: 2*grad)",
            "print(f'{{{0}}} {{{1}.grad}}')",
            "with torch.autograd.detect_anomaly(): ({0}*1).sum().backward()",
            "detach({0})*{1}",
            "no_grad({0}*{1}) + {1}.detach()",
            "opt = torch.optim.SGD([{1}], lr=0.1)\nopt.step()\nopt.zero_grad()",
        )
        return self.random.choice(ways).format(one, other)

    def _hook(self) -> str:
        function = self.random.choice(list(self.writer.functions) or ["sin"])
        way = self.random.choice(("register_hook", "register_hook", "register_post_accumulate_grad_hook"))
        text = f"{self._one_of(self.leaves if 'post' in way else self.leaves + self.made)}.{way}({function})"
        return f"hook = {text}\nhook.remove()" if self.random.random() < 0.3 else text
