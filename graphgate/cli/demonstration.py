"""`graphgate demo`: the main job from end to end on carried data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphgate.cli.printing import print_table
from graphgate.cli.program import PAPER, app


@app.command(rich_help_panel=PAPER, epilog="Example: graphgate demo --out demo")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for what it makes.")] = Path("demo"),
    runs: Annotated[int, typer.Option(min=1, help="Runs behind each accuracy.")] = 3,
) -> None:
    """Train on the citation graphs that come with the package, and compare with the paper."""
    from graphgate.cli.demo import DEMO_DATASETS, run_demo
    from graphgate.datasets.citation import load_dataset

    sources = [load_dataset(name) for name in DEMO_DATASETS]
    rows, pages = [], []
    for step in run_demo(sources, out, runs=runs):
        if isinstance(step, Path):
            typer.echo(f"wrote {step}")
            pages += [step] if step.suffix == ".html" else []
        else:
            heads = step.heads()
            rows.append(step.row())
            typer.echo("  ".join(rows[-1][:-2]))
    print_table(heads, rows)
    for source in sources:
        if source.caveat:
            typer.echo(source.caveat)
    typer.echo(f"open {' or '.join(map(str, pages))} in a browser to look around in the graph")
