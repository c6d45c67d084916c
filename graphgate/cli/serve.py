"""`graphgate serve`: a store over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

import graphgate
from graphgate.cli.console import say
from graphgate.cli.program import ANSWERS, app
from graphgate.cli.store import Folder


@app.command(rich_help_panel=ANSWERS, epilog="Example: graphgate serve people --port 8000")
def serve(
    folder: Folder,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8000,
    key_file: Annotated[
        Path | None,
        typer.Option(help="File with the key; default: the environment variable GRAPHGATE_KEY."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Further name that a Host header may have; repeatable."),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds until a request is answered.")] = 10.0,
    max_body: Annotated[int, typer.Option(help="Bytes that a request may have.")] = 8 << 20,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Refuse new nodes and edges.")
    ] = False,
) -> None:
    """Serve a store over HTTP: nodes, similar nodes, suggested edges, and new nodes.

    Other machines are served only with a key, which requests must carry.
    """
    graphgate.serve(
        folder,
        host=host,
        port=port,
        key_file=key_file,
        allowed_hosts=allow_host or (),
        timeout=timeout,
        max_body=max_body,
        read_only=read_only,
        ready=lambda listening: say(
            f"serving {folder} at {listening.address} (its pages: {listening.address}/docs)"
        ),
    )
