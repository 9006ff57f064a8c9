"""Kernels: instructions of a program as one loop over groups of rows, as text in LLVM's IR.

A kernel reads each column once and writes each result once; what is between stays in registers.  The rows of the last group
that do not exist are masked, so every row takes the same path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.llvm.column import KINDS, KernelColumn, Unknown, vector
from autodiff_cli.compiler.llvm.ir import ELEMENTS, Builder, Library, Value
from autodiff_cli.compiler.partition import computing, resolved
from autodiff_cli.compiler.schedule import UFUNCS
from autodiff_cli.errors import FOREIGN

_MEMORY: Final = {"f64": ("double", "f64", 8), "f32": ("float", "f32", 4), "i64": ("i64", "i64", 8), "i1": ("i8", "i8", 1)}
"""The type of an element in memory, its name in intrinsics, and its size in bytes, by kind."""


def kernel(
    width: int,
    library: Library | None,
    columns: Sequence[Instruction],
    scalars: Sequence[Instruction],
    instructions: Iterable[Instruction],
    results: Sequence[Operand],
) -> str:
    """Return the kernel that computes operands of a program for rows, as a module in LLVM's IR.

    Its function is ``void kernel(void **columns, double *scalars, void **results, int64_t rows)``.

    Args:
        width: the number of rows of a group.
        library: see ``ir.Builder``.
        columns: the instructions whose values are in memory.
        scalars: the instructions whose values are the same for all rows.
        instructions: the instructions to compute, in tape order.
        results: what is written to memory; an instruction in its own type, a constant as float64.

    Raises:
        Unknown: if a kernel cannot compute one of the instructions; see ``uncomputable``.
    """
    builder = Builder(width, library)
    known = {
        one: KernelColumn(Value(builder, f"%{name}{i}", _kind(one)), one.dtype)
        for name, given in (("in", columns), ("same", scalars))
        for i, one in enumerate(given)
    }
    for instruction in instructions:
        known[instruction] = _computed(builder, instruction, known)
    values = [known[one].value if type(one) is Instruction else builder.constant(float(one)) for one in map(resolved, results)]
    return _module(builder, list(map(_kind, columns)), list(map(_kind, scalars)), values)


def uncomputable(library: Library | None, instructions: Iterable[Instruction]) -> set[Instruction]:
    """Return the instructions that a kernel cannot compute, because they depend on values or have no machine code."""
    builder = Builder(1, library)
    refused = set()
    for instruction in instructions:
        operands = {one: KernelColumn(Value(builder, "poison", _kind(one)), one.dtype) for one in computing(instruction.operands)}
        try:
            _computed(builder, instruction, operands)
        except Unknown:
            refused.add(instruction)
    return refused


def _kind(instruction: Instruction) -> str:
    return KINDS.get(instruction.dtype.name, "f64")


def _computed(builder: Builder, instruction: Instruction, known: Mapping[Instruction, KernelColumn]) -> KernelColumn:
    """Append one instruction of a program to a kernel."""
    primitive, dtype = instruction.primitive, instruction.dtype
    assert primitive is not None
    if len(instruction.operands) == 1:
        argument = known[computing(instruction.operands)[0]].value
        called = None
        if argument.kind in ("f64", "f32"):
            called = builder.of_vectors(primitive.name, [builder.convert(argument, "f64")], *instruction.statics)
        if called is not None:
            return KernelColumn(builder.convert(called, argument.kind), dtype)
    operands: list[Any] = [known[one] if type(one) is Instruction else one for one in map(resolved, instruction.operands)]
    forward: Callable[..., Any] = UFUNCS.get(primitive.forward, primitive.forward)
    try:
        result = forward(*operands, *instruction.statics)
    except FOREIGN as error:
        raise Unknown(f"{primitive.name}: {error}") from None
    return KernelColumn(vector(builder, result, dtype), dtype)


def _module(builder: Builder, columns: Sequence[str], scalars: Sequence[str], results: Sequence[Value]) -> str:
    """Return the module of a kernel, given the kinds of its columns and scalars, and its results."""
    width, mask = builder.width, builder.type("i1")
    declared = dict(builder.declared)
    begin, places, whole, rest, joined = [], [], [], [], []
    for i, kind in enumerate(columns):
        element, name, size = _MEMORY[kind]
        memory, condition = f"<{width} x {element}>", kind == "i1"
        begin += [f"%slot{i} = getelementptr ptr, ptr %columns, i64 {i}", f"%column{i} = load ptr, ptr %slot{i}"]
        places.append(f"%from{i} = getelementptr {element}, ptr %column{i}, i64 %row")
        whole.append(f"%whole{i} = load {memory}, ptr %from{i}, align {size}")
        load = f"llvm.masked.load.v{width}{name}.p0"
        declared[load] = f"declare {memory} @{load}(ptr, i32, {mask}, {memory})"
        rest.append(f"%rest{i} = call {memory} @{load}(ptr %from{i}, i32 {size}, {mask} %left.mask, {memory} zeroinitializer)")
        joined.append(f"%{'byte' if condition else 'in'}{i} = phi {memory} [%whole{i}, %whole], [%rest{i}, %rest]")
    truths = [f"%in{i} = icmp ne <{width} x i8> %byte{i}, zeroinitializer" for i, kind in enumerate(columns) if kind == "i1"]
    for i, kind in enumerate(scalars):
        begin += _scalar(i, kind, width)
    stored, whole_out, rest_out = [], [], []
    for i, value in enumerate(results):
        element, name, size = _MEMORY[value.kind]
        memory, text = f"<{width} x {element}>", value.text
        begin += [f"%target{i} = getelementptr ptr, ptr %results, i64 {i}", f"%result{i} = load ptr, ptr %target{i}"]
        if value.kind == "i1":
            stored.append(f"%bytes{i} = zext {mask} {text} to {memory}")
            text = f"%bytes{i}"
        stored.append(f"%to{i} = getelementptr {element}, ptr %result{i}, i64 %row")
        whole_out.append(f"store {memory} {text}, ptr %to{i}, align {size}")
        store = f"llvm.masked.store.v{width}{name}.p0"
        declared[store] = f"declare void @{store}({memory}, ptr, i32, {mask})"
        rest_out.append(f"call void @{store}({memory} {text}, ptr %to{i}, i32 {size}, {mask} %mask)")
    blocks = {
        "entry": [*begin, "%any = icmp sgt i64 %rows, 0", "br i1 %any, label %loop, label %done"],
        "loop": [
            "%row = phi i64 [0, %entry], [%next, %latch]",
            *places,
            f"%next = add i64 %row, {width}",
            "%complete = icmp sle i64 %next, %rows",
            "br i1 %complete, label %whole, label %rest",
        ],
        "whole": [*whole, "br label %body"],
        "rest": [
            "%left = sub i64 %rows, %row",
            f"%left.one = insertelement <{width} x i64> poison, i64 %left, i32 0",
            f"%left.all = shufflevector <{width} x i64> %left.one, <{width} x i64> poison, <{width} x i32> zeroinitializer",
            f"%left.mask = icmp slt <{width} x i64> <{', '.join(f'i64 {lane}' for lane in range(width))}>, %left.all",
            *rest,
            "br label %body",
        ],
        "body": [
            *joined,
            f"%mask = phi {mask} [splat (i1 true), %whole], [%left.mask, %rest]",
            *truths,
            *builder.lines,
            *stored,
            "br i1 %complete, label %whole.out, label %rest.out",
        ],
        "whole.out": [*whole_out, "br label %latch"],
        "rest.out": [*rest_out, "br label %latch"],
        "latch": ["%more = icmp slt i64 %next, %rows", "br i1 %more, label %loop, label %done"],
        "done": ["ret void"],
    }
    body = "\n".join(f"{label}:\n" + "\n".join(f"  {line}" for line in lines) for label, lines in blocks.items())
    head = "define void @kernel(ptr noalias %columns, ptr noalias %scalars, ptr noalias %results, i64 %rows) #0 {"
    # An aligned stack: a vector that is stored across two lines of the cache is loaded again much later.
    attributes = 'attributes #0 = { nounwind alignstack=64 "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
    return "\n".join([*declared.values(), *builder.definitions.values(), head, body, "}", attributes, ""])


def _scalar(i: int, kind: str, width: int) -> list[str]:
    """Return the instructions that load a scalar, which is a double in memory, and copy it to all lanes."""
    element, lanes = ELEMENTS[kind], f"<{width} x {ELEMENTS[kind]}>"
    conversion = {
        "f64": f"bitcast double %number{i} to double",
        "f32": f"fptrunc double %number{i} to float",
        "i64": f"fptosi double %number{i} to i64",
        "i1": f"fcmp une double %number{i}, 0.0",
    }
    return [
        f"%place{i} = getelementptr double, ptr %scalars, i64 {i}",
        f"%number{i} = load double, ptr %place{i}",
        f"%one{i} = {conversion[kind]}",
        f"%lane{i} = insertelement {lanes} poison, {element} %one{i}, i32 0",
        f"%same{i} = shufflevector {lanes} %lane{i}, {lanes} poison, <{width} x i32> zeroinitializer",
    ]
