"""Memory that is available on this machine, and what this process takes of it."""

import ctypes
import os
import resource
import sys
from pathlib import Path

_MARGIN = 1.05  # of a limit that is proposed


def format_bytes(amount: float) -> str:
    """A number of bytes with a binary unit."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    digits = 0 if unit in ("bytes", "KiB") or amount >= 100 else 1
    return f"{amount:.{digits}f} {unit}"


def available_bytes(
    proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """The least that the system, the control groups and the process's own limit leave free.

    None where the system does not report it.
    """
    limits = (_system(proc), _address_space(proc), *_control_groups(proc, cgroups))
    least = min((limit for limit in limits if limit is not None), default=None)
    return None if least is None else max(0, least)


def resident_bytes() -> int:
    """What the process takes now; 0 where the system does not report it."""
    return (_field(Path("/proc/self/status"), "VmRSS:") or 0) * 1024


def peak_bytes() -> int:
    """The most that the process has taken; on Linux, since the peak was last reset."""
    peak = _field(Path("/proc/self/status"), "VmHWM:")
    if peak is not None:
        return peak * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def shortage(needed: int, available: int, *, limited: bool = False) -> str:
    """What a fit lacks, what takes the rest, and how much would do, as the end of a sentence.

    limited : whether a limit on the memory of the process decides, not what the machine has.
    """
    taken = resident_bytes()
    lacks, left = f"needs about {format_bytes(needed)} of memory", format_bytes(available)
    others = f"{format_bytes(taken)} that Python, its libraries and the data already take"
    if not limited:
        return f"{lacks}, but {left} is available beside the {others}"
    enough = format_bytes(_MARGIN * (taken + needed))
    return f"{lacks}, but the memory limit leaves {left} beside the {others}; raise it to {enough}"


def release_freed_memory() -> None:
    """Give what was freed back to the system, where the C library keeps it (glibc)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def room_within(limit: int | None) -> int | None:
    """What a limit on the memory of the process leaves now; None without one."""
    return None if limit is None else max(0, limit - resident_bytes())


def _system(proc: Path) -> int | None:
    kib = _field(proc / "meminfo", "MemAvailable:")
    if kib is not None:
        return kib * 1024
    if sys.platform == "darwin":  # it does not report how much could be freed: all there is
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _address_space(proc: Path) -> int | None:
    """`ulimit -v` limits addresses, many of which libraries have taken."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    taken = _field(proc / "self" / "status", "VmSize:")
    if soft == resource.RLIM_INFINITY or taken is None:
        return None
    return soft - taken * 1024


def _control_groups(proc: Path, cgroups: Path) -> list[int]:
    """What is free under the limit of every control group (version 2) of the process."""
    free = []
    for line in _lines(proc / "self" / "cgroup"):
        own = cgroups / line.partition("::")[2].lstrip("/")
        # A container often sees its own group as the root, whatever the line says.
        for folder in {own, *own.parents, cgroups}:
            limit, taken = _number(folder / "memory.max"), _number(folder / "memory.current")
            if limit is not None and taken is not None and folder.is_relative_to(cgroups):
                # Cached files count as taken, but are dropped when memory is short.
                cached = _field(folder / "memory.stat", "inactive_file ") or 0
                free.append(limit - taken + cached)
    return free


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _field(path: Path, name: str) -> int | None:
    found = [line.split() for line in _lines(path) if line.startswith(name)]
    return int(found[0][1]) if found else None


def _number(path: Path) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].isdigit() else None  # "max" is no limit
