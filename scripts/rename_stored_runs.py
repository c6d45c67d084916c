"""Renames keys in results/runs, and the files, whose names contain a digest of the keys.

    python scripts/rename_stored_runs.py

Stored runs are data: a parameter that gets a new name in the code, or is named where it was a
default, gets it in the stored runs too, and no number changes. Running the script a second time
changes nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

from graphgate.experiments.run_store import RunSpec
from graphgate.io.files import write_json

RUNS = Path(__file__).parents[1] / "results" / "runs"
KEYS = {"settings": "params"}
# Parameters that a method's experiments had by default before they named them.
ADDED = {"gate-edges": {"preset": "authors"}}
PARAMS = {"dimensions": "n_components", "embedding_size": "n_components"}


def main() -> None:
    changed = 0
    for file in sorted(RUNS.rglob("*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        content = {KEYS.get(key, key): value for key, value in content.items()}
        content["params"] = {PARAMS.get(key, key): of for key, of in content["params"].items()}
        content["params"] = ADDED.get(content["method"], {}) | content["params"]
        fields = {key: of for key, of in content.items() if key not in ("run", "versions")}
        path = RUNS / RunSpec(**fields | {"unseen": tuple(fields["unseen"])}).file
        if path != file:
            write_json(path, content)
            file.unlink()
            changed += 1
    print(f"renamed {changed} runs")


if __name__ == "__main__":
    main()
