"""Processes that share a run: what they exchange, and what happens when one is lost."""

import os
import time

import numpy as np
import pytest
import torch
from processes import run_in_processes

from graphgate.compute.processes import Processes, current_processes
from graphgate.errors import InputError, LostProcessError


def exchanges(processes):
    rank, size = processes.rank, processes.size
    mine = torch.full((3,), float(rank + 1))
    total = processes.sum(mine.clone())
    everyone = torch.stack(processes.gathered(mine))
    # Process r gets r + 1 numbers from each.
    parts = [torch.full((other + 1, 2), float(10 * rank + other)) for other in range(size)]
    received = processes.exchanged(parts, [(rank + 1, 2)] * size)
    shared = processes.broadcast(torch.tensor([rank]), source=size - 1)
    processes.agree_on("graphs", "the same")
    with pytest.raises(InputError, match="have different graphs"):
        processes.agree_on("graphs", f"of {rank}")
    return {
        "sum": total.tolist(),
        "gathered": everyone[:, 0].tolist(),
        "exchanged": [part.tolist() for part in received],
        "broadcast": shared.item(),
        "sent": processes.bytes_sent,
        "seconds": processes.seconds,
        "leads": processes.leads,
        "least": [processes.least(5 + rank), processes.least(None if rank else 9)],
        "none": processes.least(None),
    }


def test_what_processes_exchange():
    found = run_in_processes(2, exchanges)
    for rank, one in enumerate(found):
        assert one["sum"] == [3.0] * 3
        assert one["gathered"] == [1.0, 2.0]
        wanted = [[[10.0 * source + rank] * 2] * (rank + 1) for source in range(2)]
        assert one["exchanged"] == wanted
        assert one["broadcast"] == 1
        assert one["sent"] > 0
        assert one["seconds"] > 0
        assert one["leads"] == (rank == 0)
        assert (one["least"], one["none"]) == ([5, 9], None)


def a_loss(processes):
    if processes.rank == 1:
        os._exit(0)
    time.sleep(0.5)
    with pytest.raises(LostProcessError, match="process 0 of 2 lost another one"):
        processes.sum(torch.ones(1 << 16))
    os._exit(7)  # the others cannot be waited for


def test_a_lost_process_is_named_in_one_sentence():
    with pytest.raises(Exception, match="exit code 7"):
        run_in_processes(2, a_loss)


def test_one_process_sends_nothing(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    current_processes.cache_clear()
    alone = current_processes()
    assert (alone.rank, alone.size, alone.leads) == (0, 1, True)
    tensor = torch.arange(3.0)
    assert alone.sum(tensor) is tensor
    assert alone.gathered(tensor)[0] is tensor
    assert alone.exchanged([tensor], [(3,)])[0] is tensor
    alone.agree_on("graphs", "anything")
    alone.wait()
    assert alone.bytes_sent == 0


@pytest.mark.parametrize("count", [0, 1, 5, 6, 7])
def test_shares_are_contiguous_and_level(count):
    shares = Processes(0, 3).shares(count)
    items = np.arange(count)
    np.testing.assert_array_equal(np.concatenate([items[share] for share in shares]), items)
    sizes = [len(items[share]) for share in shares]
    assert max(sizes) - min(sizes) <= 1
    assert [Processes(rank, 3).share_of(count) for rank in range(3)] == shares
