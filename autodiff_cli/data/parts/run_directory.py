"""The hidden folder of a run in a folder of output files: the description of the run, and the records of finished parts.

A run that is interrupted leaves its hidden folder, so that a later run can continue.
"""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from hashlib import sha256
from typing import Any, BinaryIO

from autodiff_cli.data import output, storage
from autodiff_cli.data.parts.job import RECORD, FolderRun, Job
from autodiff_cli.data.pipeline import ordered
from autodiff_cli.data.row_blocks import Input
from autodiff_cli.errors import AutodiffError, ClusterError, FileError, MissingPackage, setting
from autodiff_cli.language.limited_reading import display_name

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_RUNNING = ".run"
"""The suffix of the file that a run holds in its hidden folder."""
_PASSING = (FileError, ClusterError, MissingPackage)
"""The errors that may not occur again when a run is continued; the errors of rows have other classes."""
_REQUESTS = 16
"""The number of requests to a server at the same time."""
_SETTINGS = {"expression": "the expression", "lets": setting("let"), "keep": setting("no_keep")}
"""The words for fields of ``Task`` that are not the name of a setting."""

Facts = dict[str, Any]
"""What determines the output files of a run, by its name in messages; the values are JSON."""


def facts_of(job: Job, inputs: Sequence[Input], template: str, most: int) -> Facts:
    """Return what determines the output files of a run; see ``Facts``.

    Args:
        job: the job, before the run has a folder.
        inputs: the input files.
        template: the template of the names of the output files.
        most: the maximum number of bytes of a partition.

    Raises:
        FileError: if an input file cannot be read.
    """
    whole = json.loads(job.text())
    paths = [str(file.path) for file in inputs]
    stamps = ordered(storage.stamp, paths, _REQUESTS if any(map(storage.is_url, paths)) else 1)
    return {
        "the version of autodiff": whole["version"],
        "the list of input files": list(map(storage.absolute, paths)),
        **dict(zip(map(display_name, map(storage.absolute, paths)), stamps, strict=True)),
        **{_SETTINGS.get(name, setting(name)): value for name, value in whole["task"].items()},
        setting("input_format"): inputs[0].style,
        setting("columns"): inputs[0].columns and list(inputs[0].columns),
        "the format or the header of the output": [whole["form"], whole["bare"], template],
        setting("partition_bytes"): most,
    }


@contextmanager
def in_folder(target: str, form: str, facts: Facts, resume: bool) -> Iterator[FolderRun]:
    """Make the hidden folder in a folder of output files, or find that of an unfinished run.

    At exit, the hidden folder is removed, unless the run can be continued.  An error of a row also removes the output files.

    Args:
        target: the output: ``out/`` or ``out/*.csv``.
        form: the format of the output files.
        facts: what determines the output files.
        resume: whether to continue an unfinished run.

    Raises:
        FileError: if there is an unfinished run and ``resume`` is false, or it wrote other files; if another run is writing to
            the folder, or the folder contains files with the names of the output files.
    """
    folder, template = output.split(target, form)
    hidden = storage.join(folder, f".{template.replace('*', '').lstrip('.')}.unfinished")
    description, content = storage.join(hidden, "job.json"), json.dumps(facts).encode()
    unfinished = storage.content(description)
    if unfinished is None:
        _check_no_files(target, folder, template, resume)
    with _folder_at(folder, target), ExitStack() as held:
        running = held.enter_context(_running(hidden, target))
        if unfinished is not None:
            _check_continued(unfinished, facts, target, hidden, resume)
        continues = True  # whether a later run can continue this one
        try:
            output.write(description, content)
            yield FolderRun(running, sha256(content).hexdigest()[:16])
            continues = False
        except AutodiffError as error:
            continues = type(error) in _PASSING
            if not continues:
                held.close()  # so that workers stop before the files are removed
                _remove_files(folder, template)
            elif error.hint is None and _has_records(hidden):
                error.hint = f"continue the run with {setting('resume')}"
            raise
        finally:
            with output.undisturbed():
                held.close()
                if not (continues and _has_records(hidden)):
                    storage.remove(description)  # first of all, so that a later run cannot continue without records
                    storage.remove_folder(hidden)
                    _remove_files(folder, f".{template}.*.tmp")  # what killed workers left


@contextmanager
def _folder_at(folder: str, target: str) -> Iterator[None]:
    """Make a folder if it does not exist; at exit, remove a folder that was made and is empty."""
    is_new = not storage.is_url(folder) and not os.path.exists(folder)
    if is_new:
        with output.system_errors(target):
            os.mkdir(folder)
    try:
        yield
    finally:
        if is_new:
            with output.undisturbed(), suppress(OSError):  # it contains files
                os.rmdir(folder)


@contextmanager
def _running(hidden: str, target: str) -> Iterator[str]:
    """Hold a locked file in the hidden folder, whose path is yielded; remove the files of killed runs, which are not locked.

    A locked file of another run, which goes on, raises ``FileError``.  An object store does not know whether another run goes on;
    there, that run ends, because its file is removed.
    """
    running = storage.join(hidden, f"{os.urandom(4).hex()}{_RUNNING}")
    with ExitStack() as held:
        if storage.is_url(hidden):
            output.write(running, b"")
        else:
            os.makedirs(hidden, exist_ok=True)
            _try_lock(held.enter_context(open(running, "xb")))
        held.callback(storage.remove, running)
        names = fnmatch.filter(storage.names(hidden), f"*{_RUNNING}")
        for path in {storage.join(hidden, name) for name in names} - {running}:
            with nullcontext() if storage.is_url(path) else open(path, "r+b") as file:
                if file is not None and not _try_lock(file):
                    hint = f"wait until it is finished; if it is not running any more, remove '{path}'"
                    raise FileError(f"another run is writing to '{target}'", hint=hint)
            storage.remove(path)
        yield running


def _try_lock(file: BinaryIO) -> bool:
    """Lock a file until it is closed, and return whether it was not locked; without locks (on Windows), no file is."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except AttributeError:
        return True
    except OSError:
        return False
    return True


def _has_records(hidden: str) -> bool:
    """Return whether a part is finished."""
    return any(name.endswith(RECORD) for name in storage.names(hidden))


def _remove_files(folder: str, template: str) -> None:
    """Remove the files of a folder whose names match a template."""
    for name in fnmatch.filter(storage.names(folder), template):
        storage.remove(storage.join(folder, name))


def _check_no_files(target: str, folder: str, template: str, resume: bool) -> None:
    """Raise ``FileError`` if a new run would mix its files with others of the same names; ``resume`` only changes the message."""
    if os.path.isfile(folder):
        raise FileError(f"cannot write '{target}': '{folder}' is not a folder")
    existing = sorted(fnmatch.filter(storage.names(folder), template))
    if existing:
        why = "has no unfinished run, but" if resume else "already has"
        raise FileError(f"'{target}' {why} files, such as '{existing[0]}'", hint="remove the files, or name another folder")


def _check_continued(description: bytes, facts: Facts, target: str, hidden: str, resume: bool) -> None:
    """Raise ``FileError`` if an unfinished run, which ``description`` describes, is not continued or writes other files."""
    if not resume:
        hint = f"use {setting('resume')} to continue it, or remove its files and the folder '{hidden}'"
        raise FileError(f"'{target}' contains the files of an unfinished run", hint=hint)
    before = json.loads(description)
    changed = next((name for name in {**before, **facts} if before.get(name) != facts.get(name)), None)
    if changed is not None:
        hint = "repeat the command of this run with the same input files, or write to another folder"
        raise FileError(f"cannot continue the unfinished run in '{target}': {changed} has changed", hint=hint)
