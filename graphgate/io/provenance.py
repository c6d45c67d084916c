"""The versions that computed a result; every stored result records them."""

import platform
from importlib.metadata import PackageNotFoundError, version


def versions() -> dict[str, str]:
    """Versions of Python, graphgate, and the libraries whose kernels determine the numbers."""
    found = {"python": platform.python_version()}
    for package in ("graphgate", "torch", "numpy", "scipy", "scikit-learn"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a source tree that is not installed
            found[package] = "unknown"
    return found
