"""The hidden folder of a run in a folder of output files: the description of the run, and the records of finished parts.

A run that is interrupted leaves its hidden folder, so that a later run can continue.
"""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from typing import Any

from autodiff_cli.data import output, storage
from autodiff_cli.data.parts.job import RECORD, FolderRun, Job
from autodiff_cli.data.pipeline import ordered
from autodiff_cli.data.row_blocks import Input
from autodiff_cli.errors import AutodiffError, ClusterError, FileError, MissingPackage, setting
from autodiff_cli.language.limited_reading import display_name

_DESCRIPTION = "job.json"
"""The name of the file with the facts of a run in its hidden folder."""
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

    ``template`` is that of the names of the output files, and ``most`` the maximum number of bytes of a partition.  An input file
    that cannot be read raises ``FileError``.
    """
    job_facts = json.loads(job.text())
    names = [str(file.path) for file in inputs]
    paths = list(map(storage.absolute, names))
    stamps = ordered(storage.stamp, names, _REQUESTS if any(map(storage.is_url, names)) else 1)  # which show changes of the files
    columns = inputs[0].columns  # ``None`` if the files have names
    return {
        "the version of autodiff": job_facts["version"],
        "the list of input files": paths,
        **dict(zip(map(display_name, paths), stamps, strict=True)),
        **{_SETTINGS.get(name, setting(name)): value for name, value in job_facts["task"].items()},
        setting("input_format"): inputs[0].style,
        setting("columns"): None if columns is None else list(columns),
        "the format or the header of the output": [job_facts["form"], job_facts["bare"], template],
        setting("partition_bytes"): most,
    }


@contextmanager
def in_folder(target: str, form: str, facts: Facts, resume: bool) -> Iterator[FolderRun]:
    """Make the hidden folder in a folder of output files, or find that of an unfinished run.

    ``target`` is ``out/`` or ``out/*.csv``, ``form`` the format of the files, ``facts`` what determines them, and ``resume``
    whether an unfinished run is continued.  ``FileError`` is raised if there is an unfinished run and ``resume`` is false, or it
    wrote other files; if another run is writing to the folder, or the folder contains files with the names of the output files.
    """
    folder, template = output.split(target, form)
    hidden = storage.join(folder, f".{template.replace('*', '').lstrip('.')}.unfinished")
    description, content = storage.join(hidden, _DESCRIPTION), json.dumps(facts).encode()
    unfinished = storage.content(description)
    if unfinished is None:
        _check_no_files(target, folder, template, resume)
    with _folder_at(folder, target), ExitStack() as lock:
        running = lock.enter_context(_running(hidden, target))
        if unfinished is not None:
            _check_continued(unfinished, facts, target, hidden, resume)
        with _cleaned_up(lock, hidden, folder, template):
            output.write(description, content)
            yield FolderRun(running, sha256(content).hexdigest()[:16])


@contextmanager
def _cleaned_up(lock: ExitStack, hidden: str, folder: str, template: str) -> Iterator[None]:
    """Release the lock of a run at exit.  Remove its hidden folder unless a later run can continue it from its records.

    An error of a row also removes the output files; another error gets the hint to continue.
    """
    can_continue = True  # also after an interruption, which is not an ``AutodiffError``
    try:
        yield
        can_continue = False  # the run is finished
    except AutodiffError as error:
        can_continue = type(error) in _PASSING  # a ``DataError``, which is a ``FileError``, is one of rows
        if not can_continue:
            lock.close()  # so that workers stop before the files are removed
            _remove_files(folder, template)
        elif error.hint is None and _has_records(hidden):
            error.hint = f"continue the run with {setting('resume')}"
        raise
    finally:
        with output.undisturbed():
            lock.close()
            if not (can_continue and _has_records(hidden)):
                storage.remove(storage.join(hidden, _DESCRIPTION))  # first, so that a later run cannot continue without records
                storage.remove_folder(hidden)
                _remove_files(folder, f".{template}.*.tmp")  # what killed workers left


@contextmanager
def _folder_at(folder: str, target: str) -> Iterator[None]:
    """Make a folder on disk if it does not exist (a server needs none); at exit, remove it if it was made here and is empty."""
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
    """Make a file in the hidden folder that shows that this run goes on, yield its path, and remove it at exit.

    On a disk, the file is locked, and that of another run raises ``FileError``.  An object store does not have locks: a run there
    ends the other runs by removing their files.
    """
    running = storage.join(hidden, f"{os.urandom(4).hex()}{_RUNNING}")
    with ExitStack() as resources:
        if storage.is_url(hidden):
            output.write(running, b"")
        else:
            os.makedirs(hidden, exist_ok=True)
            storage.try_lock(resources.enter_context(open(running, "xb")))
        resources.callback(storage.remove, running)
        for name in fnmatch.filter(storage.names(hidden), f"*{_RUNNING}"):  # of all runs
            path = storage.join(hidden, name)
            if path != running:
                _check_ended(path, target)
                storage.remove(path)
        yield running


def _check_ended(path: str, target: str) -> None:
    """Raise ``FileError`` if the run that holds the file at ``path`` goes on; of one in an object store, this is not known."""
    if storage.is_url(path):
        return
    with open(path, "r+b") as file:
        if not storage.try_lock(file):
            hint = f"wait until it is finished; if it is not running any more, remove '{path}'"
            raise FileError(f"another run is writing to '{target}'", hint=hint)


def _has_records(hidden: str) -> bool:
    """Return whether a part is finished."""
    return any(name.endswith(RECORD) for name in storage.names(hidden))


def _remove_files(folder: str, template: str) -> None:
    """Remove the files of a folder whose names match a template."""
    for name in fnmatch.filter(storage.names(folder), template):
        storage.remove(storage.join(folder, name))


def _check_no_files(target: str, folder: str, template: str, resume: bool) -> None:
    """Raise ``FileError`` if the folder is a file, or has files with names of the output; ``resume`` changes only the message."""
    if os.path.isfile(folder):
        raise FileError(f"cannot write '{target}': '{folder}' is not a folder")
    existing = sorted(fnmatch.filter(storage.names(folder), template))
    if existing:
        verb = "has no unfinished run, but" if resume else "already has"
        raise FileError(f"'{target}' {verb} files, such as '{existing[0]}'", hint="remove the files, or name another folder")


def _check_continued(description: bytes, facts: Facts, target: str, hidden: str, resume: bool) -> None:
    """Raise ``FileError`` if ``resume`` is false, or if ``facts`` differ from those of the unfinished run in ``description``."""
    if not resume:
        hint = f"use {setting('resume')} to continue it, or remove its files and the folder '{hidden}'"
        raise FileError(f"'{target}' contains the files of an unfinished run", hint=hint)
    before = json.loads(description)
    for name in {**before, **facts}:
        if before.get(name) != facts.get(name):
            hint = "repeat the command of this run with the same input files, or write to another folder"
            raise FileError(f"cannot continue the unfinished run in '{target}': {name} has changed", hint=hint)
