"""Run the numerical tests as if on other processors, and with more threads.

    python -m scripts.emulate_processors --json results/processors.json
    python -m scripts.emulate_processors --only AVX2

Libraries choose their kernels by the instructions that a processor has; environment variables make
them choose those of others. Each setting first computes reference products, decompositions and
functions. A setting that changes none of their bits emulates nothing on this processor: it counts
as not run. In the others, the tests marked `numerical` must pass. At least three settings must
change a bit. Options that this script does not know go to pytest.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
FEWEST = 3
THREADS = "GRAPHGATE_TEST_THREADS"
Setting = dict[str, str]


def settings() -> dict[str, Setting]:
    """The environment variables of every setting, by its name."""
    numpy_features = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    torch_default = {"ATEN_CPU_CAPABILITY": "default"}
    torch_avx2 = {"ATEN_CPU_CAPABILITY": "avx2"}
    mkl_sse = {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}
    prescott = {"OPENBLAS_CORETYPE": "Prescott"}
    haswell = {"OPENBLAS_CORETYPE": "Haswell"}
    numpy_baseline = {"NPY_DISABLE_CPU_FEATURES": " ".join(numpy_features)}
    compatible = {"MKL_CBWR": "COMPATIBLE"}
    return {
        "torch default": torch_default,
        "torch avx2": torch_avx2,
        "MKL SSE4.2": mkl_sse,
        "MKL compatible": compatible,
        "OpenBLAS Prescott": prescott,
        "OpenBLAS Haswell": haswell,
        "OpenBLAS Zen": {"OPENBLAS_CORETYPE": "Zen"},
        "OpenBLAS SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
        "NumPy baseline": numpy_baseline,
        "AVX2": torch_avx2 | {"MKL_CBWR": "AVX2"} | haswell | numpy_baseline,
        "oldest": torch_default | compatible | prescott | numpy_baseline,
        "two threads": {THREADS: "2"},
        "three threads": {THREADS: "3"},
    }


def environment(setting: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without such variables, with those of a setting."""
    cleared = {name for variables in settings().values() for name in variables}
    kept = {name: value for name, value in os.environ.items() if name not in cleared}
    threads = setting.get(THREADS, "1")
    libraries = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    # More threads than cores must not wait for each other in loops.
    kept |= {THREADS: threads, "OMP_WAIT_POLICY": "passive"}
    return kept | dict.fromkeys(libraries, threads) | dict(setting)


def reference() -> dict[str, str]:
    """Digests of what the libraries compute from fixed inputs."""
    import scipy.linalg
    import scipy.sparse as sp
    import torch

    from graphgate.nn.pattern import csr_tensor

    torch.set_num_threads(int(os.environ.get(THREADS, "1")))
    rng = np.random.default_rng(0)
    results: dict[str, Any] = {}
    for kind in ("float32", "float64"):
        a, b = (rng.normal(size=shape).astype(kind) for shape in ((1500, 203), (203, 37)))
        s = sp.random_array((1500, 1500), density=0.02, format="csr", rng=1).astype(kind)
        ta, tb = torch.from_numpy(a), torch.from_numpy(b)
        indptr, indices, values = map(torch.from_numpy, (s.indptr, s.indices, s.data))
        ts = csr_tensor(indptr, indices, values, s.shape)
        results |= {
            f"torch product {kind}": ta @ tb,
            f"torch sparse product {kind}": ts @ ta,
            f"torch softmax {kind}": ta.softmax(dim=1),
            f"torch sum {kind}": ta.sum(dim=1),
            f"torch singular values {kind}": torch.linalg.svd(tb)[1],
            f"NumPy product {kind}": a @ b,
            f"NumPy exponential {kind}": np.exp(a),
            f"NumPy sum {kind}": a.sum(),
            f"NumPy singular values {kind}": np.linalg.svd(b)[1],
            f"SciPy sparse product {kind}": s @ a,
            f"SciPy singular values {kind}": scipy.linalg.svd(b)[1],
        }
    return {
        name: hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
        for name, values in results.items()
    }


def computed(setting: Mapping[str, str]) -> dict[str, str]:
    """The reference in a new process with a setting."""
    command = [sys.executable, __file__, "--reference"]
    done = subprocess.run(
        command, env=environment(setting), stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def changed(expected: Mapping[str, str], setting: Mapping[str, str]) -> list[str]:
    """The computations whose bits a setting changes."""
    digests = computed(setting)
    return [name for name, digest in digests.items() if digest != expected[name]]


def tests_pass(setting: Mapping[str, str], arguments: list[str]) -> bool:
    command = [sys.executable, "-m", "pytest", "-m", "numerical", "-p", "no:cacheprovider"]
    return (
        subprocess.run([*command, *arguments], env=environment(setting), cwd=ROOT).returncode == 0
    )


def run(name: str, expected: Mapping[str, str], arguments: list[str]) -> dict[str, Any]:
    """What a setting changes and, if that is anything, whether the tests pass."""
    setting = settings()[name]
    differing = changed(expected, setting)
    outcome: dict[str, Any] = {"variables": setting, "changed": differing}
    print(f"{name}: changes {', '.join(differing) or 'no bit; not run'}", flush=True)
    if differing:
        start = time.perf_counter()
        outcome["passed"] = tests_pass(setting, arguments)
        outcome["seconds"] = round(time.perf_counter() - start)
    return outcome


def verdict(outcomes: Mapping[str, Mapping[str, Any]]) -> tuple[int, str]:
    """Exit code and a line that says why."""
    run = {name: outcome for name, outcome in outcomes.items() if outcome["changed"]}
    failed = [name for name, outcome in run.items() if not outcome["passed"]]
    idle = [name for name in outcomes if name not in run]
    summary = f"{len(run)} of {len(outcomes)} settings changed a bit"
    if idle:
        summary += f"; not run: {', '.join(idle)}"
    if failed:
        return 1, f"{summary}; tests fail with: {', '.join(failed)}"
    if len(run) < min(FEWEST, len(outcomes)):
        return 1, f"{summary}, fewer than {min(FEWEST, len(outcomes))}"
    return 0, f"{summary}; the numerical tests pass with all of these"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=settings(), action="append", help="run this setting")
    parser.add_argument("--json", type=Path, help="file for the outcome")
    parser.add_argument("--reference", action="store_true", help=argparse.SUPPRESS)
    given, arguments = parser.parse_known_args()
    if given.reference:
        print(json.dumps(reference()))
        return 0
    expected = computed({})
    outcomes: dict[str, dict[str, Any]] = {}
    for name in given.only or settings():
        outcomes[name] = run(name, expected, arguments)
        code, summary = verdict(outcomes)
        if given.json:  # after each setting: all of them take an hour
            write(given.json, summary, outcomes)
    print(summary)
    return code


def write(path: Path, summary: str, outcomes: Mapping[str, Any]) -> None:
    from graphgate.io.provenance import processor, versions

    record = {
        "command": "python -m scripts.emulate_processors --json results/processors.json",
        "versions": versions(),
        "cpu": processor(),
        "summary": summary,
        "settings": outcomes,
    }
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
