"""Random sequences of operations on stores, and damaged files of stores.

    python -m fuzz stores --threads 1 --json results/stores.json

After each operation, or after a process was killed in the middle of one, the store must open, hold
what a plain model of it says (`store_model.py`), and pass `check`. A damaged file must be noticed,
or change nothing (`store_damage.py`).
"""

import tempfile
from collections import Counter
from functools import partial
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from benchmarks.runner import Measurements
from fuzz import store_damage, store_machine


def measure(
    sequences: int = 200, steps: int = 15, damages: int = 300, first_seed: int = 0
) -> Measurements:
    yield {"part": "damaged"}, partial(damage_files, damages, first_seed)
    yield {"part": "sequences"}, partial(run_sequences, sequences, steps, first_seed)


def run_sequences(count: int, steps: int, start: int) -> dict[str, Any]:
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


def damage_files(count: int, start: int) -> dict[str, Any]:
    """Damage files of two stores in turn; fails at the end if something went wrong."""
    outcomes: dict[str, Counter[str]] = {kind: Counter() for kind in store_damage.KINDS}
    wrong = []
    with tempfile.TemporaryDirectory(prefix="graphgate-") as name:
        folder = Path(name)
        for shape in store_damage.SHAPES:
            store_damage.prepare(folder / shape.method, shape)
        turns = product(store_damage.KINDS, store_damage.SHAPES)
        for at, (kind, shape) in enumerate(islice(cycle(turns), count), start):
            made, scratch = folder / shape.method, folder / "scratch"
            outcome, said = store_damage.try_damage(made, scratch, shape, kind, at)
            outcomes[kind][outcome] += 1
            if outcome not in store_damage.OUTCOMES:
                wrong.append(f"{at}: {outcome}: {said}")
    if wrong:
        raise SystemExit("\n".join(wrong))
    kinds = {kind: dict(sorted(counts.items())) for kind, counts in outcomes.items()}
    return {"seeds": [start, start + count - 1], "files": count, "kinds": kinds}
