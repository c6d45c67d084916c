"""`graphgate onnx`: a model for other runtimes."""

from pathlib import Path
from typing import Annotated

import typer

import graphgate
from graphgate.cli.console import say
from graphgate.cli.conventions import Output
from graphgate.cli.program import EMBEDDINGS, app


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate onnx model.safetensors --out encoder.onnx",
)
def onnx(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of LinearGATE.")],
    out: Annotated[Path, typer.Option(help="ONNX file to write."), Output("onnx")],
) -> None:
    """Write the encoder of a linear model as an ONNX file.

    Its inputs are features that were propagated along the edges, its output is the embedding.
    """
    graphgate.export_onnx(graphgate.load_model(model), out)
    say(f"wrote {out}")
