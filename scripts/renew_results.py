"""Renews results/gate: GATE on the three citation graphs, both settings, both presets.

    python scripts/renew_results.py [--datasets cora,citeseer,pubmed] [--presets authors]

Every file is written by `graphgate evaluate`, whose command it names. The Planetoid files must be
there (GRAPHGATE_DATA, or `graphgate data fetch`): these are numbers on the public split.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

RUNS = {"cora": 10, "citeseer": 10, "pubmed": 3}
RESULTS = Path(__file__).parents[1] / "results" / "gate"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default=",".join(RUNS))
    parser.add_argument("--presets", default="authors")
    parser.add_argument("--settings", default="transductive,inductive")
    options = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    for dataset in options.datasets.split(","):
        for setting in options.settings.split(","):
            for preset in options.presets.split(","):
                name = f"{dataset}-{setting}-{preset}.json"
                command = (
                    f"evaluate --method gate --dataset {dataset} --setting {setting} "
                    f"--preset {preset} --runs {RUNS[dataset]} --seed 0 --json {name}"
                )
                print("graphgate", command, flush=True)
                subprocess.run(
                    [sys.executable, "-m", "graphgate", *command.split()], check=True, cwd=RESULTS
                )


if __name__ == "__main__":
    main()
