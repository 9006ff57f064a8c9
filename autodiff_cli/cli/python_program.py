"""Run a Python program in which ``torch`` is this package.

The program runs with the rights of its user, as ``python FILE.py`` does.  This is the only module that runs Python; the programs of
the small language, in other files and in sessions, reach neither Python nor files.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import abc, import_module
from importlib.abc import ExecutionLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING

from autodiff_cli.autograd.dtypes import DTypeLike, default_type, dtype, set_default_dtype
from autodiff_cli.autograd.printing import Size
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.cli.streams import Messages
from autodiff_cli.errors import AutodiffError, GradcheckError
from autodiff_cli.unavailable_names import hint_for

if TYPE_CHECKING:
    from autodiff_cli.lesson.tracing import PythonRecorder

_OWN = (os.path.dirname(os.path.dirname(__file__)) + os.sep, "<frozen importlib", str(abc.__file__))
"""The beginnings of the names of files whose frames are not shown in a traceback."""
_QUIET = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
"""The warnings that Python does not print by default."""


def run(text: str, path: str, arguments: Sequence[str], default: DTypeLike, recorder: PythonRecorder | None = None) -> int:
    """Run a program as Python does, print the traceback of its error, and return its exit code.

    Args:
        text, path: the program, and its path or ``-`` for standard input.
        arguments: the rest of ``sys.argv``.
        default: the default type of ``torch``.
        recorder: what records the program, if it has a lesson.
    """
    recording: AbstractContextManager[None] = nullcontext() if recorder is None else recorder.tracing()
    with _as_main(path, arguments), _importing(_Torch(default)), _names_of_pytorch():
        try:
            with recording:
                _Program(text, path).run()
        except SystemExit as stop:
            if stop.code is None or isinstance(stop.code, int):
                return stop.code or 0
            sys.stderr.write(f"{stop.code}\n")
            return 1
        except (KeyboardInterrupt, BrokenPipeError):
            raise
        except BaseException as problem:
            _show(problem)
            return 1
        return 0


def program_name(path: str) -> str:
    """Return Python's name of the file of a program; ``-`` is standard input."""
    return "<stdin>" if path == "-" else path


class _Program(ExecutionLoader):
    """The loader of a program."""

    def __init__(self, text: str, path: str) -> None:
        self._text, self._path = text, path

    def get_source(self, fullname: str) -> str:
        return self._text

    def get_filename(self, fullname: str) -> str:
        return program_name(self._path)

    def run(self) -> None:
        """Run the program as the module ``__main__``."""
        main = sys.modules["__main__"] = ModuleType("__main__")
        main.__loader__ = self
        if self._path != "-":
            main.__file__ = self._path
        self.exec_module(main)


class _Torch(MetaPathFinder, Loader):
    """An importer for which ``torch`` and its modules are this package and its modules; it sets the ``default`` type as well."""

    def __init__(self, default: DTypeLike) -> None:
        self._default = default

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Let this object load ``torch`` and its modules; ``None`` leaves a module to the other importers."""
        return spec_from_loader(name, self) if name.partition(".")[0] == "torch" else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of this package, if there is one, in the place of an empty module, as a module may do when it runs."""
        name = module.__name__
        inside = name.partition(".")[2]
        try:
            sys.modules[name] = import_module(f"autodiff_cli.{inside}".rstrip("."))  # nothing is inside for ``torch`` itself
        except ModuleNotFoundError:
            place, _, own = inside.rpartition(".")
            hint = hint_for(place, own)
            raise ModuleNotFoundError(f"No module named '{name}'" + (f"\n  hint: {hint}" if hint else ""), name=name) from None
        if not inside:
            set_default_dtype(self._default)


@contextmanager
def _as_main(path: str, arguments: Sequence[str]) -> Iterator[None]:
    """Let ``sys`` and ``warnings`` be inside a ``with`` block as they are in a program that Python runs."""
    names = ("argv", "path", "stderr", "excepthook", "unraisablehook")
    before = {name: getattr(sys, name) for name in names}
    main = sys.modules["__main__"]
    sys.argv = [path, *arguments]
    sys.path = ["" if path == "-" else os.path.dirname(os.path.abspath(path)), *sys.path]
    sys.stderr = sys.stderr.unescaped if isinstance(sys.stderr, Messages) else sys.stderr
    sys.excepthook, sys.unraisablehook = sys.__excepthook__, sys.__unraisablehook__
    try:
        with warnings.catch_warnings():
            if not sys.warnoptions:
                warnings.simplefilter("default")
                for category in _QUIET:
                    warnings.simplefilter("ignore", category)
            yield
    finally:
        sys.modules["__main__"] = main
        for name, value in before.items():
            setattr(sys, name, value)


@contextmanager
def _importing(finder: _Torch) -> Iterator[None]:
    """Import ``torch`` with a finder inside a ``with`` block; a real ``torch`` and the default type are restored at the end."""

    def pop_torch() -> dict[str, ModuleType]:
        return {name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] == "torch"}

    before, kind = pop_torch(), default_type()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        pop_torch()
        sys.modules.update(before)
        set_default_dtype(kind)


@contextmanager
def _names_of_pytorch() -> Iterator[None]:
    """Print the names of PyTorch for its classes inside a ``with`` block, and for each error that of its first built-in base."""
    names = {Tensor: ("torch", "Tensor"), Size: ("torch", "Size"), dtype: ("torch", "dtype")}
    errors = [AutodiffError]
    for error in errors:
        errors += error.__subclasses__()  # which the loop reaches later
        names[error] = ("builtins", _first_builtin_base(error).__name__)
    names[GradcheckError] = ("torch.autograd.gradcheck", "GradcheckError")
    before = {kind: (kind.__module__, kind.__name__) for kind in names}
    try:
        _rename(names)
        yield
    finally:
        _rename(before)


def _first_builtin_base(error: type[Exception]) -> type:
    """Return the first base of an exception class, or of its bases in turn, that is a class of Python."""
    bases = (base for one in error.__mro__ for base in one.__bases__)
    return next(base for base in bases if base.__module__ == "builtins")


def _rename(names: dict[type, tuple[str, str]]) -> None:
    """Give classes other modules and names, which are what Python prints."""
    for kind, (module, name) in names.items():
        kind.__module__ = module
        kind.__name__ = kind.__qualname__ = name


def _show(problem: BaseException) -> None:
    """Print an exception as Python does, without frames of this package."""
    seen: set[BaseException] = set()
    chain: list[BaseException | None] = [problem]
    for error in chain:  # which grows in the loop
        if error is not None and error not in seen:
            seen.add(error)
            error.__traceback__ = _program_frames(error.__traceback__)
            chain += [error.__cause__, error.__context__]
    sys.excepthook(type(problem), problem, problem.__traceback__)


def _program_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Remove the frames of this package from a traceback, a linked list, and return its first frame; ``None`` if none is left."""
    frames = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_OWN):
            frames.append(traceback)
        traceback = traceback.tb_next
    first = None
    for frame in reversed(frames):
        frame.tb_next = first
        first = frame
    return first
