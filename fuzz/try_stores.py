"""Random sequences of operations on stores, and damaged files of stores.

    python fuzz/try_stores.py --json results/stores.json

After each operation, or after a process was killed in the middle of one, the store must open, hold
what a plain model of it says (`store_model.py`), and pass `check`. A damaged file must be noticed,
or change nothing (`store_damage.py`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import store_damage
import store_machine
import torch
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from graphgate.io.files import write_json
from graphgate.io.provenance import processor, versions

SEQUENCES, STEPS, DAMAGES = 200, 15, 300


def sequences(count: int, steps: int, start: int) -> dict[str, Any]:
    """Run sequences of operations; an error is that of the first one that fails."""
    store_machine.counts.clear()
    chosen = settings(
        max_examples=count,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    machine = seed(start)(type("Sequence", (store_machine.StoreMachine,), {}))
    run_state_machine_as_test(machine, settings=chosen)
    counts = dict(sorted(store_machine.counts.items()))
    number, total = counts.pop("sequences"), counts.pop("steps")
    assert number >= count
    kills = {name: n for name, n in counts.items() if ", " in name}
    operations = {name: n for name, n in counts.items() if name not in kills}
    return {
        "seed": start,
        "sequences": number,
        "operations_per_sequence": steps,
        "comparisons": total,
        "differences": 0,
        "operations": operations,
        "kills": kills,
    }


def damages(count: int, start: int) -> tuple[dict[str, Any], list[store_damage.Damage]]:
    """Damage files of two stores in turn; also returns what went wrong."""
    outcomes: dict[str, Counter[str]] = {kind: Counter() for kind in store_damage.KINDS}
    wrong = []
    with tempfile.TemporaryDirectory(prefix="graphgate-") as folder:
        made = []
        for shape in store_damage.SHAPES:
            made.append(Path(folder) / shape.method)
            store_damage.prepare(made[-1], shape)
        for at in range(count):
            turn, kind = at % len(made), store_damage.KINDS[at // 2 % len(store_damage.KINDS)]
            shape, scratch = store_damage.SHAPES[turn], Path(folder) / "scratch"
            result = store_damage.try_damage(made[turn], scratch, shape, kind, start + at)
            outcomes[kind][result.outcome] += 1
            if result.outcome not in store_damage.OUTCOMES:
                wrong.append(result)
                print(f"{start + at}: {result}", flush=True)
    kinds = {kind: dict(sorted(counts.items())) for kind, counts in outcomes.items()}
    return {"seeds": [start, start + count - 1], "files": count, "kinds": kinds}, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sequences", type=int, default=SEQUENCES)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--damages", type=int, default=DAMAGES)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    begun = time.time()
    damaged, wrong = damages(given.damages, given.seed)
    result: dict[str, Any] = {
        "command": "python fuzz/try_stores.py --json results/stores.json",
        "processor": processor(),
        "versions": versions()
        | {"lancedb": version("lancedb"), "hypothesis": version("hypothesis")},
        "damaged": damaged,
        "sequences": sequences(given.sequences, given.steps, given.seed),
    }
    result["seconds"] = round(time.time() - begun)
    if given.json is not None:
        write_json(given.json, result)
    print(result)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
