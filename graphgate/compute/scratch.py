"""Files of a computation that can be interrupted: what is finished is not computed again."""

import fcntl
import os
import shutil
import weakref
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from graphgate.errors import InputError
from graphgate.io.files import make_folder, read_json, write_json

_JOURNAL = "progress.json"


class Scratch:
    """A folder of one process with the files of one run, and a journal of what they contain.

    Parameters
    ----------
    folder : of the process; it is made where there is none.
    run : identifies the run; the files of another one are refused.
    """

    def __init__(self, folder: Path, run: str) -> None:
        self.folder, self._run = folder, run
        self._files: dict[str, BinaryIO] = {}
        self.rounds: dict[str, int] = {}
        make_folder(folder)
        self._lock()
        journal = folder / _JOURNAL
        if not journal.exists():
            return
        try:
            found = read_json(journal, str(journal))
            same, rounds = found["run"] == run, {str(n): int(v) for n, v in found["rounds"].items()}
        except (ValueError, OverflowError, KeyError, TypeError, AttributeError):
            raise InputError(f"{journal} is damaged; remove the folder {folder}") from None
        if not same:
            raise InputError(
                f"{folder} belongs to another run (other parameters, random_state or graph) that "
                "has not finished; remove it, or use another folder"
            )
        self.rounds = rounds

    def _lock(self) -> None:
        """Until this object goes, another one of the same folder is refused."""
        descriptor = os.open(self.folder, os.O_RDONLY)
        weakref.finalize(self, os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{self.folder} is in use by another process; wait for it, or use another folder"
            ) from None

    def file(self, name: str) -> BinaryIO:
        """A file to read and write; what it contained before is kept."""
        path = self.folder / f"{name}.bin"
        path.touch()
        self._files[name] = path.open("r+b", buffering=0)
        return self._files[name]

    def finish(self, stage: str, rounds: int) -> None:
        """Note that so many rounds of a stage are in the files."""
        for file in self._files.values():
            if not file.closed:
                os.fdatasync(file.fileno())
        self.rounds[stage] = rounds
        write_json(self.folder / _JOURNAL, {"run": self._run, "rounds": self.rounds})

    def clear(self) -> None:
        for file in self._files.values():
            file.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):  # other processes may still have files there
            self.folder.parent.rmdir()
