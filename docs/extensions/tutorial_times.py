"""Prints how long each tutorial ran, when the site has been built."""

import sys
from collections.abc import Mapping

from sphinx.application import Sphinx


def lines(seconds: Mapping[str, float]) -> list[str]:
    """One line per tutorial, and their sum.

    >>> lines({"tutorials/2-b": 1.5, "tutorials/1-a": 60})
    ['tutorials/1-a: 60.0 s', 'tutorials/2-b: 1.5 s', 'all 2 tutorials: 61.5 s']
    """
    each = [f"{name}: {time:.1f} s" for name, time in sorted(seconds.items())]
    return [*each, f"all {len(seconds)} tutorials: {sum(seconds.values()):.1f} s"]


def _print(app: Sphinx, error: Exception | None) -> None:
    if error is not None:
        return
    pages = getattr(app.env, "nb_metadata", {})  # of myst-nb
    runs = {
        name: page["exec_data"]
        for name, page in pages.items()
        if name.startswith("tutorials/") and page.get("exec_data")
    }
    seconds = {name: run["runtime"] for name, run in runs.items() if run["runtime"] is not None}
    sys.stdout.write("\n".join([*lines(seconds), ""]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", _print)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
