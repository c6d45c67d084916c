"""The versions and the processor that computed a result; every stored result records them."""

import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


def versions() -> dict[str, str]:
    """Versions of Python, graphgate, and the libraries whose kernels determine the numbers."""
    numbers = {"python": platform.python_version(), "graphgate": "unknown"}
    with suppress(PackageNotFoundError):  # run from a source tree that is not installed
        numbers["graphgate"] = version("graphgate")
    libraries = ("torch", "numpy", "scipy", "scikit-learn")
    return numbers | {library: version(library) for library in libraries}


def processor() -> str:
    """The processor's model and the instructions that PyTorch uses, which choose the kernels."""
    from torch.backends.cpu import get_cpu_capability  # most commands need no torch

    return f"{_model()}, {get_cpu_capability()}"


def _model() -> str:
    """Virtual machines often name the brand only, so family and model are given where known."""
    lines: list[str] = []
    with suppress(OSError):
        lines = _CPUINFO.read_text("utf-8").splitlines()
    # Every core repeats the same lines.
    fields = {name.strip(): value.strip() for name, _, value in (s.partition(":") for s in lines)}
    name = fields.get("model name") or platform.processor() or platform.machine()
    if {"cpu family", "model"} <= fields.keys():
        name += f" (family {fields['cpu family']}, model {fields['model']})"
    return name
