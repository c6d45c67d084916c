"""Commands in a child of this process, which has imported everything already."""

import os
import resource
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from graphgate import GATE, LinearGATE, similar, write_page, write_run
from graphgate.__main__ import main

_IMPORTED = (GATE, LinearGATE, similar, write_page, write_run)  # before a child needs them

TIMEOUT = 120


class Ended(NamedTuple):
    """code : the exit code, or minus the signal that ended the process."""

    code: int
    out: str
    err: str


class Fork:
    """A running `graphgate`.

    Parameters
    ----------
    stdout, stderr : a descriptor, -1 for a closed stream, or None to keep what is printed.
    prepare : called in the child first.
    """

    def __init__(
        self,
        *arguments: Any,
        stdout: int | None = None,
        stderr: int | None = None,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self._read: dict[int, Any] = {}
        given = {1: stdout, 2: stderr}
        for number, descriptor in list(given.items()):
            if descriptor is None:
                self._read[number], given[number] = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            code = 99
            try:
                for number, descriptor in given.items():
                    os.close(number) if descriptor == -1 else os.dup2(descriptor, number)
                names = {1: "stdout", 2: "stderr"}
                for number, name in names.items():
                    closed = given[number] == -1
                    setattr(sys, name, None if closed else os.fdopen(number, "w", closefd=False))
                prepare()
                sys.argv = ["graphgate", *map(str, arguments)]
                main()
            except SystemExit as stop:
                code = stop.code or 0
            except BaseException:
                import traceback

                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(code)
        self._text: dict[int, str] = {}
        self._threads = []
        for number, end in self._read.items():
            os.close(given[number])
            thread = threading.Thread(target=self._collect, args=(number, end))
            thread.start()
            self._threads.append(thread)

    def _collect(self, number: int, end: int) -> None:
        with os.fdopen(end, "rb") as file:
            self._text[number] = file.read().decode(errors="replace")

    def send(self, signal: int) -> None:
        os.kill(self.pid, signal)

    def wait(self) -> Ended:
        status = os.waitpid(self.pid, 0)[1]
        for thread in self._threads:
            thread.join(TIMEOUT)
        code = os.waitstatus_to_exitcode(status)
        return Ended(code, self._text.get(1, ""), self._text.get(2, ""))


def fork(*arguments: Any, **options: Any) -> Ended:
    return Fork(*arguments, **options).wait()


def largest_file(size: int) -> Callable[[], None]:
    """A disk that is full as soon as a file has this many bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def hidden_files(folder: Path | str = ".") -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]
