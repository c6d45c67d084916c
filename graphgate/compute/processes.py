"""The processes of one run. All that is sent between them goes through this module.

Under `torchrun`, every process runs the same program on the same input and does a part of the work;
elsewhere there is one process, and nothing is sent. Traffic is neither encrypted nor authenticated,
so use trusted networks only.
"""

import atexit
import hashlib
import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate

import torch
from torch import Tensor
from torch import distributed as dist

from graphgate.errors import InputError, LostProcessError

_LARGEST = 2**63 - 1
_PATIENCE = 300  # seconds to wait for process 0
_ENVIRONMENT = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # set by torchrun


class Processes:
    """The processes that share a run, seen from one of them.

    Attributes
    ----------
    rank : the number of this process.
    size : how many there are.
    local_size : how many of them share this machine.
    seconds : how long this one has communicated, waiting for others included.
    bytes_sent : how much this one has sent, computed from the sizes of what was exchanged.
    """

    def __init__(self, rank: int = 0, size: int = 1, local_size: int = 1) -> None:
        self.rank, self.size, self.local_size = rank, size, local_size
        self.seconds, self.bytes_sent = 0.0, 0

    @property
    def leads(self) -> bool:
        """Whether this process writes and prints."""
        return self.rank == 0

    def share_of(self, count: int) -> slice:
        """This process's part of `count` items: contiguous, and of equal size up to one."""
        return self.shares(count)[self.rank]

    def shares(self, count: int) -> list[slice]:
        sizes = [count // self.size + (rank < count % self.size) for rank in range(self.size)]
        ends = list(accumulate(sizes))
        return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in place; each of them gets the same one."""
        if self.size > 1:
            with self._communication(2 * tensor.nbytes * (self.size - 1) // self.size):
                dist.all_reduce(tensor)
        return tensor

    def gathered(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of all processes, which have one shape, in the order of ranks."""
        if self.size == 1:
            return [tensor]
        found = [torch.empty_like(tensor) for _ in range(self.size)]
        with self._communication(tensor.nbytes * (self.size - 1)):
            dist.all_gather(found, tensor.contiguous())
        return found

    def exchanged(self, parts: Sequence[Tensor], shapes: Sequence[Sequence[int]]) -> list[Tensor]:
        """Send `parts[r]` to process r; what was received from each, in the given shapes."""
        if self.size == 1:
            return list(parts)
        received = [parts[0].new_empty(*shape) for shape in shapes]
        received[self.rank].copy_(parts[self.rank])
        others = [rank for rank in range(self.size) if rank != self.rank]
        # Nothing is sent where there is nothing to send, of which both sides know.
        messages = [
            dist.P2POp(dist.isend, parts[rank].contiguous(), rank)
            for rank in others
            if parts[rank].numel()
        ]
        messages += [
            dist.P2POp(dist.irecv, received[rank], rank)
            for rank in others
            if received[rank].numel()
        ]
        with self._communication(sum(parts[rank].nbytes for rank in others)):
            for message in dist.batch_isend_irecv(messages) if messages else ():
                message.wait()
        return received

    def to_rows(self, columns: Tensor, d: int) -> Tensor:
        """From this process's share of the D columns to all columns of its share of the M rows.

        columns : (M, D / size); each process has other ones.
        """
        if self.size == 1:
            return columns
        own = self.share_of(len(columns))
        shapes = [(own.stop - own.start, share.stop - share.start) for share in self.shares(d)]
        parts = [columns[share] for share in self.shares(len(columns))]
        return torch.cat(self.exchanged(parts, shapes), dim=1)

    def to_columns(self, rows: Tensor, m: int) -> Tensor:
        """The inverse of `to_rows`, of M rows."""
        if self.size == 1:
            return rows
        own = self.share_of(rows.shape[1])
        shapes = [(share.stop - share.start, own.stop - own.start) for share in self.shares(m)]
        parts = [rows[:, share] for share in self.shares(rows.shape[1])]
        return torch.cat(self.exchanged(parts, shapes))

    def by_columns(self, m: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        """A function that acts on each column, (·, C) -> (R, C), of which each process has a share.

        The result is the same in all of them. Fewer columns than processes are not shared.
        """
        if m.shape[1] < self.size or self.size == 1:
            return function(m)
        shares = self.shares(m.shape[1])
        mine = function(m[:, shares[self.rank]].contiguous())
        shapes = [(len(mine), share.stop - share.start) for share in shares]
        found = self.exchanged([mine] * self.size, shapes)
        return torch.cat(found, dim=1)

    def least(self, number: int | None) -> int | None:
        """The smallest number of any process; None where none of them has one."""
        given = torch.tensor(_LARGEST if number is None else number)
        found = min(int(other) for other in self.gathered(given))
        return None if found == _LARGEST else found

    def broadcast(self, tensor: Tensor, source: int = 0) -> Tensor:
        """The tensor of one process in all of them, in place."""
        if self.size > 1:
            with self._communication(tensor.nbytes * (self.rank == source)):
                dist.broadcast(tensor, source)
        return tensor

    def any(self, flag: bool) -> bool:
        """Whether it is set in any process."""
        return flag if self.size == 1 else bool(self.sum(torch.tensor(int(flag))))

    def wait(self) -> None:
        """Until all processes are here."""
        if self.size > 1:
            with self._communication(0):
                dist.barrier()

    def agree_on(self, what: str, description: str) -> None:
        """Refuse to go on where processes have been given different things."""
        digest = hashlib.sha256(description.encode()).digest()[:7]
        number = torch.tensor(int.from_bytes(digest, "little"))
        if len({int(other) for other in self.gathered(number)}) > 1:
            raise InputError(
                f"the {self.size} processes of this run have different {what}; start all of them "
                "with the same command, on the same files"
            )

    @contextmanager
    def _communication(self, n_bytes: int) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        except RuntimeError as error:
            raise LostProcessError(
                f"process {self.rank} of {self.size} lost another one, which has ended or cannot "
                "be reached any more; see what that one printed, then start all of them again"
            ) from error
        finally:
            self.seconds += time.perf_counter() - start
            self.bytes_sent += n_bytes


@cache
def current_processes() -> Processes:
    """All processes that `torchrun` has started, or that the caller has already joined."""
    if not dist.is_available():
        return Processes()
    if not dist.is_initialized():
        if any(name not in os.environ for name in _ENVIRONMENT) or os.environ["WORLD_SIZE"] == "1":
            return Processes()
        store, rank, size = next(dist.rendezvous("env://"))
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
            store=_store_of_this_start(store, rank, size),
            rank=rank,
            world_size=size,
        )
        atexit.register(dist.destroy_process_group)
    local_size = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return Processes(dist.get_rank(), dist.get_world_size(), local_size)


def _store_of_this_start(store: dist.Store, rank: int, size: int) -> dist.Store:
    """The part of torchrun's store that no earlier start of the same processes has written to.

    The store outlives a restart, with the addresses of processes that have ended in it. Process 0
    proposes a new name. Others answer it with a name of their own, again and again since the first
    proposal that they read may be an old one, until process 0 confirms that name.
    """
    mine = uuid.uuid4().hex
    if rank == 0:
        store.set("graphgate/proposed", mine)
        for other in range(1, size):
            answer = store.get(f"graphgate/{mine}/{other}").decode()  # waits for it
            store.set(f"graphgate/confirmed/{answer}", mine)
        return dist.PrefixStore(mine, store)
    deadline = time.monotonic() + _PATIENCE
    while not store.check([f"graphgate/confirmed/{mine}"]):
        if time.monotonic() > deadline:
            raise LostProcessError(
                f"process {rank} of {size} has not heard of process 0; start all of them again"
            )
        proposed = store.get("graphgate/proposed").decode()
        store.set(f"graphgate/{proposed}/{rank}", mine)
        time.sleep(0.02)
    return dist.PrefixStore(store.get(f"graphgate/confirmed/{mine}").decode(), store)
