"""Machine code: kernels are compiled by LLVM for this processor, and called without the interpreter's lock."""

from __future__ import annotations

import ctypes
import functools
import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

from autodiff_cli.compiler.llvm.kernel import Kernel
from autodiff_cli.lazy import library
from autodiff_cli.ops.scipy_addresses import address

Function = Callable[[Any, Any, Any, int], None]
"""A compiled kernel; see ``kernel.kernel``."""


class Machine(NamedTuple):
    """The processor and the compiler for it.

    Attributes:
        llvm: the module ``llvmlite.binding``.
        target: the target machine of LLVM.
        width: the number of doubles in a vector register.
        fused: whether the processor multiplies and adds with one rounding.
        name: the processor, its features and the version of LLVM.
    """

    llvm: Any
    target: Any
    width: int
    fused: bool
    name: str


@functools.cache
def machine() -> Machine:
    """Return the compiler for this processor.

    Raises:
        MissingPackage: if llvmlite is not installed.
    """
    llvm = library("llvmlite.binding", "the compiled engine")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    wide = features.get("avx512f") and features.get("avx512dq") and features.get("avx512vl")
    fused = bool(features.get("fma") or features.get("neon"))
    width = 8 if wide else 4 if features.get("avx2") and fused else 2
    processor, text = llvm.get_host_cpu_name(), features.flatten()
    target = llvm.Target.from_default_triple().create_target_machine(cpu=processor, features=text, opt=2)
    return Machine(llvm, target, width, fused, f"{llvm.llvm_version_info} {processor} {text}")


_engines: dict[str, tuple[Any, Function]] = {}
"""The execution engine, which owns the code, and the function of each kernel that was compiled."""


def compiled(kernel: Kernel) -> Function:
    """Return a kernel as a function of addresses; a kernel with the same text is compiled once."""
    key = hashlib.sha256(kernel.text.encode()).hexdigest()
    if key not in _engines:
        llvm, target, *_ = machine()
        for name, operands in kernel.special.items():
            llvm.add_symbol(f"scipy.{name}", address(name, operands))
        module = llvm.parse_assembly(kernel.text)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.run(module, llvm.create_pass_builder(target, options))
        engine = llvm.create_mcjit_compiler(module, target)
        engine.finalize_object()
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        _engines[key] = engine, kind(engine.get_function_address("kernel"))
    return _engines[key][1]
