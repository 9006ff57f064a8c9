"""Kernels: instructions of a program as one loop over groups of rows, as text in LLVM's IR.

A kernel reads each column once and writes each result once; what is between stays in registers.  It computes whole groups of
rows, so every row takes the same path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.llvm import elementary
from autodiff_cli.compiler.llvm.array_protocol import KINDS, KernelColumn, vector
from autodiff_cli.compiler.llvm.ir import Builder, Value
from autodiff_cli.compiler.llvm.operations import Unknown
from autodiff_cli.compiler.partition import computing, resolved
from autodiff_cli.compiler.schedule import UFUNCS
from autodiff_cli.errors import FOREIGN

_MEMORY: Final = {"f64": "double", "f32": "float", "i1": "i8"}
"""The type of an element in memory, by kind."""


def kernel(
    width: int,
    inline: bool,
    columns: Sequence[Instruction],
    scalars: Sequence[Instruction],
    instructions: Iterable[Instruction],
    results: Sequence[Operand],
) -> str:
    """Return the kernel that computes operands of a program for rows, as a module in LLVM's IR.

    Its function is ``void kernel(void **columns, void **scalars, void **results, int64_t rows)``.  The number of rows is a multiple
    of that of a group, and a scalar is an array with equal elements for the rows of a group.

    Args:
        width: the number of rows of a group.
        inline: see ``ir.Builder``.
        columns: the instructions whose values are in memory.
        scalars: the instructions whose values are the same for all rows.
        instructions: the instructions to compute, in tape order.
        results: what is written to memory; an instruction in its own type, a constant as float64.

    Raises:
        Unknown: if a kernel cannot compute one of the instructions; see ``uncomputable``.
    """
    builder = Builder(width, inline)
    known = _loaded_vectors(builder, "in", columns) | _loaded_vectors(builder, "same", scalars)
    for instruction in instructions:
        known[instruction] = _append_instruction(builder, instruction, known)
    values = [known[op].value if type(op) is Instruction else builder.constant(float(op)) for op in map(resolved, results)]
    return module(builder, list(map(_kind, columns)), list(map(_kind, scalars)), values)


def _loaded_vectors(builder: Builder, name: str, instructions: Sequence[Instruction]) -> dict[Instruction, KernelColumn]:
    """Return the vectors that ``module`` loads from the arrays ``name``: %in0, %in1, ..."""
    return {op: KernelColumn(Value(builder, f"%{name}{i}", _kind(op)), op.dtype) for i, op in enumerate(instructions)}


def uncomputable(instructions: Iterable[Instruction]) -> set[Instruction]:
    """Return the instructions that a kernel cannot compute, because they depend on values or have no machine code."""
    builder = Builder(1)
    refused = set()
    for instruction in instructions:
        # The code is not run, so the values of the operands do not matter: poison is LLVM's undefined value.
        operands = {op: KernelColumn(Value(builder, "poison", _kind(op)), op.dtype) for op in computing(instruction.operands)}
        try:
            _append_instruction(builder, instruction, operands)
        except Unknown:
            refused.add(instruction)
    return refused


def _kind(instruction: Instruction) -> str:
    """Return the kind of the vector of an instruction; ``f64`` for a type without vectors, such as int64."""
    return KINDS.get(instruction.dtype, "f64")


def _append_instruction(builder: Builder, instruction: Instruction, known: Mapping[Instruction, KernelColumn]) -> KernelColumn:
    """Append an instruction: an elementary function, or what its forward function describes.  May raise ``Unknown``."""
    primitive, dtype = instruction.primitive, instruction.dtype
    assert primitive is not None
    argument = known[computing(instruction.operands)[0]].value if len(instruction.operands) == 1 else None
    if argument is not None and argument.kind in ("f64", "f32"):  # elementary functions take one vector, of doubles
        value = elementary.call(builder, primitive.name, [builder.convert(argument, "f64")], *instruction.statics)
        if value is not None:
            return KernelColumn(builder.convert(value, argument.kind), dtype)
    operands: list[Any] = [known[op] if type(op) is Instruction else op for op in map(resolved, instruction.operands)]
    forward: Callable[..., Any] = UFUNCS.get(primitive.forward, primitive.forward)
    try:
        result = forward(*operands, *instruction.statics)
    except FOREIGN as error:
        raise Unknown(f"{primitive.name}: {error}") from None
    return KernelColumn(vector(builder, result, dtype), dtype)


def module(builder: Builder, columns: Sequence[str], scalars: Sequence[str], results: Sequence[Value]) -> str:
    """Return the module of a kernel, given the kinds of its columns and scalars, and its results.

    The block ``entry`` loads the addresses of arrays and the scalars ``same``; ``loop`` loads a group of rows of the columns,
    ``in``, computes the results, and stores them in ``out``.
    """
    begin: list[str] = []
    loaded: list[str] = []
    stored: list[str] = []
    for i, kind in enumerate(scalars):
        begin += [*_array_address("same", i), *_vector_load(f"same{i}", f"%same.at{i}", kind, builder)]
    for i, kind in enumerate(columns):
        begin += _array_address("in", i)
        loaded += [f"%in.from{i} = getelementptr {_MEMORY[kind]}, ptr %in.at{i}, i64 %row"]
        loaded += _vector_load(f"in{i}", f"%in.from{i}", kind, builder)
    for i, value in enumerate(results):
        begin += _array_address("out", i)
        stored += _vector_store(i, value, builder)
    step, test = f"%next = add i64 %row, {builder.width}", "%more = icmp slt i64 %next, %rows"
    blocks = {
        "entry": [*begin, "br label %loop"],
        "loop": ["%row = phi i64 [0, %entry], [%next, %latch]", *loaded, *builder.lines, *stored, "br label %latch"],
        "latch": [step, test, "br i1 %more, label %loop, label %done"],
        "done": ["ret void"],
    }
    return _module_text(builder, blocks)


def _module_text(builder: Builder, blocks: Mapping[str, list[str]]) -> str:
    """Return the module of a kernel, given the instructions of its blocks by label, with the functions that they call."""
    body = "\n".join(f"{label}:\n" + "\n".join(f"  {line}" for line in lines) for label, lines in blocks.items())
    head = "define void @kernel(ptr noalias %in, ptr noalias %same, ptr noalias %out, i64 %rows) #0 {"
    # An aligned stack: a vector that is stored across two lines of the cache is loaded again much later.
    attributes = 'attributes #0 = { nounwind alignstack=64 "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
    return "\n".join([*builder.declared.values(), *builder.definitions.values(), head, body, "}", attributes, ""])


def _array_address(name: str, i: int) -> list[str]:
    """Return the instructions that load the address of the array ``i`` among the arrays ``name``."""
    return [f"%{name}.slot{i} = getelementptr ptr, ptr %{name}, i64 {i}", f"%{name}.at{i} = load ptr, ptr %{name}.slot{i}"]


def _vector_load(name: str, source: str, kind: str, builder: Builder) -> list[str]:
    """Return the instructions that load the vector ``%name`` from the address ``source``; conditions are bytes in memory."""
    if kind != "i1":
        return [f"%{name} = load {builder.type(kind)}, ptr {source}, align 1"]
    memory = f"<{builder.width} x i8>"
    return [
        f"%{name}.bytes = load {memory}, ptr {source}, align 1",
        f"%{name} = icmp ne {memory} %{name}.bytes, zeroinitializer",
    ]


def _vector_store(i: int, value: Value, builder: Builder) -> list[str]:
    """Return the instructions that store the vector of the result ``i``; conditions become bytes in memory."""
    element, text, stored = _MEMORY[value.kind], value.text, []
    if value.kind == "i1":
        stored.append(f"%out{i} = zext {builder.type('i1')} {text} to <{builder.width} x i8>")
        text = f"%out{i}"
    stored.append(f"%out.to{i} = getelementptr {element}, ptr %out.at{i}, i64 %row")
    return [*stored, f"store <{builder.width} x {element}> {text}, ptr %out.to{i}, align 1"]
