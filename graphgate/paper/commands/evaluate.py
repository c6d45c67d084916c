"""`graphgate evaluate`: one method on one dataset, as in the paper."""

from typing import Annotated

import typer

import graphgate
from graphgate.cli.console import print_table
from graphgate.cli.inputs import check_files, import_from_here, parse_params
from graphgate.cli.options import Jobs, Json, Params
from graphgate.cli.outputs import write_result
from graphgate.cli.program import PAPER
from graphgate.paper.commands.group import paper, print_caveats


@paper.command(
    rich_help_panel=PAPER,
    epilog="Example: graphgate evaluate --method gate --dataset cora --setting transductive "
    "--runs 3 --seed 0 --json out.json",
)
def evaluate(
    dataset: Annotated[str, typer.Option(help="cora, citeseer or pubmed.")],
    method: Annotated[
        str, typer.Option(help="gate, linear, the name of a baseline, or your own module:Class.")
    ] = "gate",
    setting: Annotated[
        str,
        typer.Option(help="transductive, inductive, clustering, links or quality."),
    ] = "transductive",
    runs: Annotated[int, typer.Option(min=1, help="Number of runs, each with its own seed.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the first run.")] = 0,
    preset: Annotated[
        str | None, typer.Option(help="Formulation of GATE: authors or paper; default: authors.")
    ] = None,
    set_: Params = None,
    probe: Annotated[
        str | None, typer.Option(help="one-vs-rest or multinomial; default: that of the preset.")
    ] = None,
    unseen: Annotated[
        str | None,
        typer.Option(help="Splits hidden during inductive training: test or test,val."),
    ] = None,
    jobs: Jobs = None,
    json: Json = None,
) -> None:
    """Train and score a method several times and compare with the paper."""
    check_files(json=json)
    source = graphgate.load_dataset(dataset)
    import_from_here([method])
    result = graphgate.evaluate(
        method,
        source,
        setting=setting,
        n_runs=runs,
        random_state=seed,
        preset=preset,
        params=parse_params(set_),
        probe=probe,
        unseen=None if unseen is None else unseen.split(","),
        n_jobs=jobs,
    )
    print_table(result.heads(), [result.row()])
    print_caveats({source.name: source.split})
    content = result.to_dict()
    del content["versions"]  # which are written with every result
    write_result(json, content)
