"""Runs the commands that docs/ show and keeps what they print in results/outputs.json.

    python -m scripts.capture_outputs; python -m scripts.render_tables

On the Cora that comes with the package, in a new folder; every command as a user would type it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from graphgate.io.files import write_json
from graphgate.io.provenance import versions

ROOT = Path(__file__).parents[1]
GRAPH = "papers/edges.csv --nodes papers/nodes.csv --words words"
# By the name of the place in the page that shows them.
COMMANDS = {
    "export": ["graphgate data export cora papers"],
    "estimate": [f"graphgate estimate {GRAPH}"],
    "run": [
        f"graphgate embed {GRAPH} --run run1",
        "ls run1",
        "graphgate embed --repeat run1",
    ],
    "report": ["cat run1/report.json"],
    "gate": [f"graphgate embed {GRAPH} --dims 64,32 --epochs 60 --run run2", "ls run2"],
    "similar": ["graphgate similar run1/embedding.parquet --node 35 --top 3"],
    "cluster": ["graphgate cluster run1/embedding.parquet --out clusters.csv"],
    "classify": ["graphgate classify run1/embedding.parquet"],
    "predict": [f"graphgate predict-links {GRAPH} --model run1/model.safetensors --top 5"],
    "link": ["graphgate links --dataset cora", "graphgate links --dataset cora --method vgae"],
}


def main() -> None:
    carried = {name: value for name, value in os.environ.items() if name != "GRAPHGATE_DATA"}
    carried["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), carried["PATH"]])
    shown: dict[str, list[dict[str, str]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, commands in COMMANDS.items():
            shown[name] = []
            for command in commands:
                done = subprocess.run(
                    command.split(),
                    cwd=folder,
                    env=carried | {"XDG_CACHE_HOME": folder},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=True,
                )
                lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
                shown[name].append({"command": command, "prints": "\n".join(lines)})
                print(f"$ {command}\n{done.stdout}", flush=True)
    captured = {
        "command": "python -m scripts.capture_outputs",
        "versions": versions(),
        "shown": shown,
    }
    write_json(ROOT / "results" / "outputs.json", captured)


if __name__ == "__main__":
    main()
