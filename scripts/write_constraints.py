"""Rewrites constraints.txt: the installed version of everything that graphgate[dev] needs.

    python -m scripts.write_constraints

Run it after the test suite has passed in the same environment.
"""

import platform
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

FILE = Path(__file__).parents[1] / "constraints.txt"
HEAD = """\
# The versions that the test suite last ran with, on Python {python}. To install the same:
#     pip install graphgate -c constraints.txt
# Renew it in an environment in which the suite has passed: python -m scripts.write_constraints
"""


def needed(requirement: Requirement, versions: dict[str, str]) -> None:
    """Add the installed versions of a requirement and of what it requires itself."""
    name = canonicalize_name(requirement.name)
    try:
        installed = distribution(name)
    except PackageNotFoundError:  # an extra that is not installed here
        return
    known = name in versions and not requirement.extras
    versions[name] = Version(installed.version).public
    for text in [] if known else installed.requires or []:
        inner = Requirement(text)
        extras = [{"extra": extra} for extra in requirement.extras or {""}]
        if inner.marker is None or any(map(inner.marker.evaluate, extras)):
            needed(inner, versions)


def main() -> None:
    versions: dict[str, str] = {}
    needed(Requirement("graphgate[dev]"), versions)
    del versions["graphgate"]
    lines = [f"{name}=={versions[name]}\n" for name in sorted(versions)]
    FILE.write_text(HEAD.format(python=platform.python_version()) + "".join(lines))


if __name__ == "__main__":
    main()
