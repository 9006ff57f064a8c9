"""The hidden folder of a run in a folder of output files: the description of the run, and the records of finished parts.

A run that is interrupted leaves its hidden folder, so that a later run can continue.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from autodiff_cli.data import output, storage, temporary_files
from autodiff_cli.errors import AutodiffError, ClusterError, FileError, MissingPackage, setting

JOB = "job.json"
"""The name of the file that describes the job."""
_RUNNING = ".run"
"""The suffix of the file that a run holds in its hidden folder."""
_PASSING = (FileError, ClusterError, MissingPackage)
"""The errors that may not occur again when a run is continued; the errors of rows have other classes."""


class RunDirectory:
    """The hidden folder of a run.

    Args:
        folder: the path of the hidden folder.

    Attributes:
        run: the name of the run; workers continue only as long as the folder contains a file of this name.
        unfinished: the description of the job that an earlier run did not finish; ``None`` for a new job.
        notes: the notes for the user.
        failed: whether a row failed, as it would again in a continued run.
    """

    unfinished: bytes | None = None

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.run = os.urandom(4).hex() + _RUNNING
        self.notes: list[str] = []
        self.failed = False
        self._held = ExitStack()

    def begin(self) -> None:
        """Create the file that shows that the run goes on."""
        path = storage.join(self.folder, self.run)
        if storage.is_url(path):
            output.write(path, b"")
        else:
            os.close(self._held.enter_context(temporary_files.held(path)))

    def others(self) -> list[str]:
        """Return the paths of the files of other runs in this folder."""
        names = [name for name in storage.names(self.folder) if name.endswith(_RUNNING) and name != self.run]
        return [storage.join(self.folder, name) for name in names]

    def check_alone(self, target: str) -> None:
        """Check that no other run goes on in this folder, as far as the file system knows; an object store does not know.

        Raises:
            FileError: if another run goes on.
        """
        path = next((path for path in self.others() if not storage.is_url(path) and temporary_files.is_held(path)), None)
        if path is not None:
            hint = f"wait until it is finished; if it is not running any more, remove '{path}'"
            raise FileError(f"another run is writing to '{target}'", hint=hint)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Stop the workers at exit."""
        try:
            yield
        except AutodiffError as error:
            self.failed = type(error) not in _PASSING
            if not self.failed and error.hint is None:
                error.hint = f"continue the run with {setting('resume')}"
            raise
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop the workers of the run."""
        self._held.close()
        storage.remove(storage.join(self.folder, self.run))

    def remove(self) -> None:
        """Remove the folder, and first of all the job, without which a later run cannot continue."""
        storage.remove(storage.join(self.folder, JOB))
        storage.remove_folder(self.folder)


@contextmanager
def in_folder(target: str, form: str, resume: bool) -> Iterator[RunDirectory]:
    """Make the hidden folder in a folder of output files, or find that of an unfinished run.

    Args:
        target: the output: ``out/`` or ``out/*.csv``.
        form: the format of the output files.
        resume: whether to continue an unfinished run.

    Raises:
        FileError: if there is an unfinished run and ``resume`` is false, if another run is writing to the folder, or if the
            folder contains files with the names of the output files.
    """
    folder, template = output.split(target, form)
    directory = RunDirectory(storage.join(folder, f".{template.replace('*', '').lstrip('.')}.unfinished"))
    directory.unfinished = storage.content(storage.join(directory.folder, JOB))
    if directory.unfinished is None:
        _check_new(target, folder, template, resume)
    elif not resume:
        directory.check_alone(target)
        hint = f"use {setting('resume')} to continue it, or remove its files and the folder '{directory.folder}'"
        raise FileError(f"'{target}' contains the files of an unfinished run", hint=hint)
    is_new = not storage.is_url(folder) and not os.path.exists(folder)
    if is_new:
        _make(folder, target)
    if not storage.is_url(folder):
        os.makedirs(directory.folder, exist_ok=True)
    directory.begin()
    try:
        directory.check_alone(target)
    except FileError:
        directory.stop()
        raise
    for path in directory.others():
        storage.remove(path)
    directory.notes = temporary_files.removed(storage.join(folder, template))
    complete = False
    try:
        yield directory
        complete = True
    finally:
        with output.undisturbed():
            directory.stop()
            if directory.failed:
                for name in fnmatch.filter(storage.names(folder), template):
                    storage.remove(storage.join(folder, name))
            if complete or directory.failed or not storage.exists(storage.join(directory.folder, JOB)):
                directory.remove()
            if is_new and not complete and not os.listdir(folder):
                os.rmdir(folder)


def _check_new(target: str, folder: str, template: str, resume: bool) -> None:
    """Check that the output folder does not contain files with the names of the output files."""
    if os.path.isfile(folder):
        raise FileError(f"cannot write '{target}': '{folder}' is not a folder")
    existing = sorted(fnmatch.filter(storage.names(folder), template))
    if existing:
        why = "has no unfinished run, but" if resume else "already has"
        raise FileError(f"'{target}' {why} files, such as '{existing[0]}'", hint="remove the files, or name another folder")


def _make(folder: str, target: str) -> None:
    try:
        os.mkdir(folder)
    except OSError as error:
        parent = os.path.dirname(folder)
        reason = f"the folder '{parent}' does not exist" if not os.path.isdir(parent) else error.strerror or error
        raise FileError(f"cannot write '{target}': {reason}") from None
