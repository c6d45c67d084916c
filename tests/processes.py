"""Run a function in several processes that are joined as those of `torchrun` are."""

import os
import pickle
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import multiprocessing

from graphgate.compute.processes import Processes, current_processes


def run_in_processes(size: int, function: Callable[..., Any], *args: Any) -> list[Any]:
    """What `function(processes, *args)` returns in each of `size` children of this process.

    They are forked: what this process has imported they need not import again.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        given = (size, port, folder, function, args)
        multiprocessing.start_processes(_run, given, nprocs=size, start_method="fork")
        return [pickle.loads((Path(folder) / str(rank)).read_bytes()) for rank in range(size)]


def _run(rank: int, size: int, port: int, folder: str, function: Any, args: Any) -> None:
    torch.set_num_threads(1)
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ |= where | {"RANK": str(rank), "WORLD_SIZE": str(size)}
    current_processes.cache_clear()  # the parent may have asked: it is alone
    processes = current_processes()
    assert isinstance(processes, Processes)
    (Path(folder) / str(rank)).write_bytes(pickle.dumps(function(processes, *args)))
    processes.wait()
