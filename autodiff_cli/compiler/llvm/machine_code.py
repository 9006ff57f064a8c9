"""Machine code: kernels are compiled by LLVM for this processor, and called without the interpreter's lock."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from autodiff_cli.compiler.llvm import code_cache
from autodiff_cli.lazy import library

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import Array


class LoadedKernel:
    """A compiled kernel; its code is unloaded when it is not used any more.

    Args:
        loaded: the library with the kernel.
        width: the number of rows of a group.
    """

    def __init__(self, loaded: Any, width: int) -> None:
        self._library = loaded
        self._width = width
        self._call = _KERNEL(loaded["kernel"])

    def run(self, columns: Sequence[Array], scalars: Sequence[Array], results: Sequence[Array]) -> None:
        """Compute the results, arrays that are overwritten, from contiguous arrays; see ``kernel.kernel``."""
        rows = len(results[0])
        rest = rows % self._width
        whole = rows - rest  # the number of rows of whole groups
        if whole:
            self._call(_addresses(columns), _addresses(scalars), _addresses(results), whole)
        if rest:  # copies of its rows fill the last group
            last = [np.resize(column[whole:], self._width) for column in columns]
            parts = [np.empty(self._width, array.dtype) for array in results]
            self._call(_addresses(last), _addresses(scalars), _addresses(parts), self._width)
            for array, part in zip(results, parts, strict=True):
                array[whole:] = part[:rest]


def _addresses(arrays: Sequence[Array]) -> Any:
    """Return the addresses of arrays as an array of C, which cannot be empty."""
    return (ctypes.c_void_p * max(len(arrays), 1))(*[array.__array_interface__["data"][0] for array in arrays])


_KERNEL: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class HostCompiler(NamedTuple):
    """The processor and the compiler for it.

    Attributes:
        llvm: the module ``llvmlite.binding``.
        target: the target machine of LLVM.
        linker: LLVM's linker of machine code in memory.
        width: the number of doubles in a vector register.
        name: the processor, its features and the version of LLVM.
    """

    llvm: Any
    target: Any
    linker: Any
    width: int
    name: str


@functools.cache
def machine() -> HostCompiler:
    """Return the compiler for this processor; raise ``MissingPackage`` if llvmlite is not installed."""
    llvm = library("llvmlite.binding", "the compiled engine")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    has_avx512 = features.get("avx512f") and features.get("avx512dq") and features.get("avx512vl")
    has_avx2 = features.get("avx2") and features.get("fma")
    width = 8 if has_avx512 else 4 if has_avx2 else 2  # registers of 512, 256 or 128 bits
    processor, text = llvm.get_host_cpu_name(), features.flatten()
    target = llvm.Target.from_default_triple().create_target_machine(cpu=processor, features=text, opt=2)
    return HostCompiler(llvm, target, llvm.create_lljit_compiler(), width, f"{llvm.llvm_version_info} {processor} {text}")


_kernels: WeakValueDictionary[str, LoadedKernel] = WeakValueDictionary()
_libraries = itertools.count()


def compiled(kernel: str, width: int) -> LoadedKernel:
    """Return a kernel as a function of arrays, given the number of rows of a group; it is loaded once in a process."""
    function = _kernels.get(kernel)
    if function is None:
        function = _kernels[kernel] = LoadedKernel(loaded(kernel, "kernel"), width)
    return function


def loaded(module: str, *symbols: str) -> Any:
    """Return the library of a module in LLVM's IR, which maps symbols to addresses.

    A module with the same text is compiled once for a processor and a version of LLVM.
    """
    host = machine()
    key = hashlib.sha256(f"{host.name}\n{module}".encode()).hexdigest()
    code = code_cache.read(key)
    if code is None:
        code = _object_code(module)
        code_cache.write(key, code)
    builder = host.llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol in symbols:
        builder.export_symbol(symbol)
    return builder.link(host.linker, f"library{next(_libraries)}")


def _object_code(text: str) -> bytes:
    """Return the object file of a module in LLVM's IR, for this processor; higher levels of passes take longer to compile."""
    host = machine()
    module = host.llvm.parse_assembly(text)
    module.verify()
    passes = host.llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, host.llvm.create_pass_builder(host.target, host.llvm.create_pipeline_tuning_options(speed_level=1)))
    code: bytes = host.target.emit_object(module)
    return code
