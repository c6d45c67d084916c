"""The experiments are those of the paper, and every one makes its method."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiment_runs import own

from graphgate.datasets.planetoid import NAMES
from graphgate.estimators.registry import find_method
from graphgate.paper import experiments
from graphgate.paper.experiments import experiment as experiment_module
from graphgate.paper.experiments.experiment import CLASSIFICATION_SETTINGS, find_experiment
from graphgate.paper.experiments.methods import ROWS, find_row
from graphgate.paper.experiments.reproduce import table_rows


def test_candidates_are_all_combinations():
    experiment = own(params={"level": 1.0, "form": "x"}, sweep={"form": ["a", "b"], "k": [1, 2]})
    assert experiment.candidates() == [
        {"level": 1.0, "form": form, "k": k} for form in ("a", "b") for k in (1, 2)
    ]
    assert own(params={"level": 1.0}).candidates() == [{"level": 1.0}]


def test_the_parameters_of_the_paper():
    for name, (weight, epochs) in {
        "cora": (0.5, 100),
        "citeseer": (20.0, 100),
        "pubmed": (0.5, 500),
    }.items():
        for method, preset in (("gate", "authors"), ("gate-paper", "paper")):
            experiment = find_experiment(method, name, "transductive")
            gate = find_row(method).make(experiment.params, 9)
            assert (gate.structure_weight, gate.epochs) == (weight, epochs)
            assert (gate.preset, gate.random_state, gate.dims) == (preset, 9, (512, 512))


def test_methods_are_keyed_by_name():
    assert all(find_row(name) is method for name, method in ROWS.items())
    assert all(name == method.name for name, method in ROWS.items())


def test_the_methods_of_the_paper_are_registered():
    """With the parameters of its experiments, for commands on citation graphs."""
    row = find_method("gae")
    assert row is ROWS["gae"]
    assert row.published_params("cora", "links") == find_experiment("gae", "cora", "links").params
    assert find_method("gcn").published_params("cora", "inductive") == {}
    assert find_method("a:B").published_params("cora", "links") == {}


KIPF_WELLING = {  # AUC and AP of their table 1
    "gae": {"cora": (91.0, 92.0), "citeseer": (89.5, 89.9), "pubmed": (96.4, 96.5)},
    "vgae": {"cora": (91.4, 92.6), "citeseer": (90.8, 92.0), "pubmed": (94.4, 94.7)},
}


@pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed"])
@pytest.mark.parametrize("method", ["gate", "gae", "vgae"])
def test_experiments_of_clustering_and_links(method, dataset):
    for setting in ("clustering", "links"):
        experiment = find_experiment(method, dataset, setting)
        assert (experiment.n_runs, dict(experiment.sweep)) == (10, {})
        ROWS[method].make(experiment.params, 0)
        told = KIPF_WELLING.get(method, {}).get(dataset) if setting == "links" else None
        values = {metric: mean for metric, (mean, _) in experiment.published.items()}
        assert values == ({} if told is None else dict(zip(("auc", "ap"), told, strict=True)))


FILES = sorted(Path(experiments.__file__).parent.glob("*/*.toml"))


# The paper's two tables of accuracies, and the bars of its two figures of variants, for Cora,
# Citeseer and Pubmed; None where it has no value.
PAPER = {
    "transductive": {
        "raw": [(47.9, 0.4), (49.4, 0.2), (69.1, 0.3)],
        "deepwalk": [(67.2, None), (43.2, None), (65.3, None)],
        "label-propagation": [(68.0, None), (45.3, None), (63.0, None)],
        "deepwalk-features": [(70.7, 0.6), (51.4, 0.5), (74.3, 0.9)],
        "vgae": [(72.4, 0.2), (55.7, 0.2), (71.6, 0.4)],
        "gae": [(81.8, 0.1), (69.2, 0.9), (78.2, 0.1)],
        "dgi": [(82.3, 0.6), (71.8, 0.7), (76.8, 0.6)],
        "gate": [(83.2, 0.6), (71.8, 0.8), (80.9, 0.3)],
        "planetoid-t": [(75.7, None), (62.9, None), (75.7, None)],
        "chebyshev": [(81.2, None), (69.8, None), (74.4, None)],
        "monet": [(81.7, 0.5), None, (78.0, 0.3)],
        "gcn": [(81.5, None), (70.3, None), (79.0, None)],
        "stogcn": [(82.0, 0.8), (70.9, 0.2), (79.0, 0.4)],
        "gat": [(83.0, 0.7), (72.5, 0.7), (79.0, 0.3)],
        "gate-no-features": [(82.1, 0.8), (69.5, 0.9), (77.4, 0.9)],
        "gate-no-structure": [(81.6, 0.5), (71.4, 0.7), (74.9, 0.4)],
        "gate-uniform": [(76.8, 0.8), (67.5, 0.6), (74.4, 0.9)],
    },
    "inductive": {
        "graphsage-lstm": [(50.1, 0.2), (40.3, 0.2), (77.1, 0.1)],
        "graphsage-pool": [(57.5, 0.2), (45.9, 0.2), (79.9, 0.1)],
        "vgae": [(58.4, 0.4), (55.4, 0.2), (71.1, 0.2)],
        "graphsage-mean": [(67.0, 0.2), (52.8, 0.1), (79.3, 0.1)],
        "graphsage-gcn": [(74.3, 0.1), (54.5, 0.1), (77.5, 0.1)],
        "gae": [(80.5, 0.1), (69.1, 0.9), (78.1, 0.2)],
        "gate": [(82.5, 0.5), (71.5, 0.7), (80.8, 0.3)],
        "planetoid-i": [(61.2, None), (64.7, None), (77.2, None)],
        "gat": [(76.4, 0.2), (66.4, 0.2), (77.7, 0.03)],
        "gate-no-features": [(81.7, 0.8), (68.8, 0.99), (74.6, 0.2)],
        "gate-no-structure": [(81.3, 0.5), (71.4, 0.6), (74.8, 0.4)],
        "gate-uniform": [(75.8, 0.9), (66.9, 0.7), (74.2, 0.9)],
    },
}


# Methods that the paper does not have, with the values of their own papers.
PAPER["transductive"] |= {
    "cca-ssg": [(84.0, 0.4), (73.1, 0.3), (81.0, 0.4)],
    "graphmae": [(84.2, 0.4), (73.4, 0.4), (81.1, 0.4)],
}

# Two readings of what the paper has one value for.
for values in PAPER.values():
    values["gate-paper"] = values["gate"]
    values["gate-ones"] = values["gate-uniform"]


each_method = pytest.mark.parametrize("name", ROWS)


@each_method
@pytest.mark.parametrize("dataset", NAMES)
def test_published_values_are_those_of_the_paper(name, dataset):
    column = ("cora", "citeseer", "pubmed").index(dataset)
    for setting in CLASSIFICATION_SETTINGS:
        row, experiment = PAPER[setting].get(name), find_experiment(name, dataset, setting)
        if row is None:
            assert experiment is None or not experiment.published, setting
        else:
            assert experiment is not None, f"no [{setting}] in {name}/{dataset}.toml"
            assert experiment.published.get("accuracy") == row[column], setting


def test_methods_are_in_the_order_of_the_paper():
    for setting, values in PAPER.items():
        rows = table_rows(setting)
        places = [rows.index(name) for name in values if name in rows]
        assert places == sorted(places), setting


@pytest.mark.parametrize("name", ROWS)
def test_every_method_has_experiments(name):
    named = {(file.parent.name, file.stem) for file in FILES}
    assert {(name, dataset) for dataset in NAMES} <= named


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_every_experiment_makes_its_method(file):
    name, dataset = file.parent.name, file.stem
    assert name in ROWS
    assert dataset in NAMES
    cells = [find_experiment(name, dataset, setting) for setting in CLASSIFICATION_SETTINGS]
    cells = [cell for cell in cells if cell is not None]
    assert cells, "neither [transductive] nor [inductive]"
    for cell in cells:
        assert cell.source.strip()
        assert cell.seconds > 0
        assert cell.n_runs >= 1
        assert all(len(values) > 1 for values in cell.sweep.values())
        for settings in cell.candidates():
            method = find_row(name).make(settings, 11)
            assert method.random_state == 11
            for key, value in settings.items():
                assert getattr(method, key) == value


def test_the_parameters_of_a_setting_replace_those_of_the_file(tmp_path, monkeypatch):
    (tmp_path / "gcn").mkdir()
    (tmp_path / "gcn" / "cora.toml").write_text(
        "n_runs = 4\n[params]\nhidden = 8\nepochs = 5\n"
        "[transductive]\nn_runs = 2\nparams = {epochs = 9}\n[inductive]\n"
    )
    monkeypatch.setattr(experiment_module.resources, "files", lambda _: tmp_path)
    found = find_experiment("gcn", "cora", "transductive")
    assert (found.params, found.n_runs) == ({"hidden": 8, "epochs": 9}, 2)
    found = find_experiment("gcn", "cora", "inductive")
    assert (found.params, found.n_runs) == ({"hidden": 8, "epochs": 5}, 4)
