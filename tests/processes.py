"""Run a function in several processes that are joined as those of `torchrun` are."""

import os
import socket
from collections.abc import Callable
from typing import Any

import torch
from torch import multiprocessing

from graphgate.training.distributed import Processes, current_processes


def run_in_processes(size: int, function: Callable[..., Any], *args: Any) -> list[Any]:
    """What `function(processes, *args)` returns in each of `size` new processes.

    The function is found by its name, so it must be defined in a module.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    multiprocessing.spawn(_run, (size, port, results, function, args), nprocs=size)
    found = dict(results.get() for _ in range(size))
    return [found[rank] for rank in range(size)]


def _run(rank: int, size: int, port: int, results: Any, function: Any, args: Any) -> None:
    torch.set_num_threads(1)
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ |= where | {"RANK": str(rank), "WORLD_SIZE": str(size)}
    processes = current_processes()
    assert isinstance(processes, Processes)
    results.put((rank, function(processes, *args)))
    processes.wait()
