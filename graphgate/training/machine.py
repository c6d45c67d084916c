"""How much memory a process can still get on this machine, limits of containers included."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


def available_bytes(proc: Path = Path("/proc"), cgroups: Path = _CGROUPS) -> int | None:
    """The least of what the system, the process's control groups and its own limit leave free.

    None where the system tells nothing.
    """
    found = [_system(proc), _own_limit(proc), *_control_groups(proc, cgroups)]
    told = [value for value in found if value is not None]
    return max(0, min(told)) if told else None


def _system(proc: Path) -> int | None:
    kib = _field(proc / "meminfo", "MemAvailable:")
    if kib is not None:
        return kib * 1024
    if sys.platform == "darwin":  # no count of what could be freed: all there is
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _own_limit(proc: Path) -> int | None:
    """`ulimit -v` counts addresses, of which libraries have taken many."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    taken = _field(proc / "self" / "status", "VmSize:")
    if soft == resource.RLIM_INFINITY or taken is None:
        return None
    return soft - taken * 1024


def _control_groups(proc: Path, cgroups: Path) -> list[int]:
    """Free under the limit of every group that the process is in, versions 1 and 2."""
    free = []
    for line in _lines(proc / "self" / "cgroup"):
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            root, most, used, cache = cgroups, "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            root, most = cgroups / "memory", "memory.limit_in_bytes"
            used, cache = "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        path = root / group.lstrip("/")
        # A container often sees its own group as the root, whatever the line says.
        for place in {path, *path.parents, root}:
            if root != place and root not in place.parents:
                continue
            limit, taken = _number(place / most), _number(place / used)
            if limit is not None and taken is not None:
                # Files that were read are counted too, and are given up when memory is short.
                free.append(limit - taken + (_field(place / "memory.stat", cache) or 0))
    return free


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _field(path: Path, name: str) -> int | None:
    for line in _lines(path):
        parts = line.split()
        if parts and parts[0] == name:
            return int(parts[1])
    return None


def _number(path: Path) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].isdigit() else None  # "max": no limit
