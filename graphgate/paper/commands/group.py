"""The group of the commands, and their notes about splits."""

import typer

from graphgate.cli.console import say
from graphgate.paper.experiments import methods as methods  # `find_method` finds them

paper = typer.Typer()


def print_caveats(splits: dict[str, str]) -> None:
    """Say on standard error which results are not on the public split."""
    for name, split in splits.items():
        if split == "seeded":
            say(
                f"{name}: a seeded split of the same sizes, not the public split; "
                f"`graphgate data fetch {name}` downloads that",
                err=True,
            )
