"""The bar charts of the ablation."""

import numpy as np

from graphgate.paper.charts import ablation_charts, draw_bars
from graphgate.paper.experiments.experiment import find_experiment
from graphgate.paper.experiments.protocol import RunResult
from graphgate.paper.experiments.run_store import RunSpec, RunStore


def test_ablation_charts_come_from_stored_runs(tmp_path):
    store = RunStore(tmp_path / "runs")
    assert ablation_charts(tmp_path) == {}
    experiment = find_experiment("gate-uniform", "cora", "transductive")
    for seed, accuracy in enumerate((80.0, 84.0)):
        metrics = {"accuracy": accuracy, "macro_f1": 80.0, "val_accuracy": None}
        spec = RunSpec.of(experiment, "public", experiment.params, seed)
        store.add(spec, RunResult(seed, metrics, 1.0, 1.0, 1))
    charts = ablation_charts(tmp_path)
    assert list(charts) == ["ablation-transductive"]
    heights = [bar.get_height() for bar in charts["ablation-transductive"].patches]
    assert heights == [82.0]


def test_bars_have_their_heights_and_the_published_marks():
    bars = [(83.0, 0.5), None], [(83.2, 0.6), (80.9, None)]
    axes = draw_bars(["Cora", "Pubmed"], {"GATE": bars})
    assert [round(bar.get_height(), 1) for bar in axes.patches] == [83.0]
    heights = [y for line in axes.lines for y in np.atleast_1d(line.get_ydata())]
    assert {83.2, 80.9} <= {round(float(y), 1) for y in heights}


def test_error_bars_are_standard_deviations():
    axes = draw_bars(["Cora"], {"GATE": ([(80.0, 2.5)], [None])})
    (bars,) = axes.collections
    (segment,) = bars.get_segments()
    assert segment[:, 1].tolist() == [77.5, 82.5]
    assert axes.get_ylim() == (75.0, 83.0)
