"""Which versions computed something; every stored result names them."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def versions() -> dict[str, str]:
    """Python, graphgate, and the libraries whose kernels decide the numbers."""
    found = {"python": platform.python_version()}
    for package in ("graphgate", "torch", "numpy", "scipy", "scikit-learn"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a source tree that is not installed
            found[package] = "unknown"
    return found
