"""One progress bar for everything that takes long; silent unless standard error is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[..., None]


@contextmanager
def progress_bar(
    title: str, total: float, *, done: int = 0, show: bool = True
) -> Iterator[Advance]:
    """Yield `advance(steps=1, note="")`; draws on standard error, and only on a terminal."""
    if not (show and sys.stderr is not None and sys.stderr.isatty()):
        yield lambda steps=1, note="": None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TimeRemainingColumn(),
        bars.TextColumn("{task.fields[note]}"),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=total, completed=done, note="")
        yield lambda steps=1, note="": progress.update(task, advance=steps, note=note)
