"""Model files of any estimator."""

import pytest
from graphs import random_graph

from graphgate import GATE, InputError, LinearGATE, load_model

ESTIMATORS = {
    "GATE": lambda: GATE((3, 2), epochs=2, random_state=0),
    "LinearGATE": lambda: LinearGATE(2, random_state=0),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_file_says_which_estimator_it_is_of(path, name):
    graph = random_graph(1)
    gate = ESTIMATORS[name]().fit(graph)
    gate.save(path)
    for where in (path, str(path)):
        loaded = load_model(where)
        assert type(loaded).__name__ == name
        assert loaded.transform(graph).tobytes() == gate.transform(graph).tobytes()


@pytest.mark.parametrize(("name", "other"), [("GATE", LinearGATE), ("LinearGATE", GATE)])
def test_a_model_of_the_other_estimator_is_named(path, name, other):
    ESTIMATORS[name]().fit(random_graph(1)).save(path)
    with pytest.raises(InputError) as caught:
        other.load(path)
    assert str(caught.value) == (
        f"{path} holds a {name} model, not a {other.__name__} model; load it with {name}.load, "
        "or any model with load_model"
    )


def test_a_device_is_for_methods_that_have_one(path):
    ESTIMATORS["LinearGATE"]().fit(random_graph(1)).save(path)
    with pytest.raises(InputError, match="holds a LinearGATE, which has no device; omit it"):
        load_model(path, device="cpu")
    ESTIMATORS["GATE"]().fit(random_graph(1)).save(path)
    assert load_model(path, device="cpu").device == "cpu"


def test_what_is_no_model(path, tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_model(path)
    with pytest.raises(InputError, match="is a folder"):
        load_model(tmp_path)
    path.write_bytes(b"x" * 100)
    with pytest.raises(InputError, match="is not a graphgate model file, or it is damaged"):
        load_model(path)
    path.unlink()
    GATE((3,), epochs=1, random_state=0, checkpoint=path).fit(random_graph(1))
    with pytest.raises(InputError, match="its header says 'checkpoint'"):
        load_model(path)
