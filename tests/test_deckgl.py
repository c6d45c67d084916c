"""The script of deck.gl is the pinned one, and safe to put into a page."""

import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from graphgate import InputError
from graphgate.visualization.page import deckgl

ROOT = Path(__file__).parents[1]


def test_the_installed_script_is_the_pinned_one():
    assert version("pydeck") == deckgl.PYDECK
    script = deckgl.deckgl_script()
    assert "OrthographicView" in script
    assert "</script" not in script.lower()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"pydeck=={deckgl.PYDECK}" in extras["optional-dependencies"]["viz"]


@pytest.mark.parametrize("content", [None, b"another release"])
def test_any_other_script_is_refused(monkeypatch, tmp_path, content):
    folder = tmp_path / "nbextension" / "static"
    folder.mkdir(parents=True)
    if content is not None:
        (folder / "index.js").write_bytes(content)
    spec = type("Spec", (), {"submodule_search_locations": [str(tmp_path)]})
    monkeypatch.setattr(deckgl, "find_spec", lambda name: spec)
    with pytest.raises(
        InputError, match=r"deck\.gl from pydeck .*: pip install 'graphgate\[viz\]'"
    ):
        deckgl.deckgl_script()


def test_without_pydeck_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(deckgl, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'graphgate\[viz\]'"):
        deckgl.deckgl_script()


def test_a_script_cannot_end_its_element():
    script = "a='</SCRIPT>';\r\nb='<!--'\n//# sourceMappingURL=x"
    assert deckgl.embeddable(script) == "a='\\x3C/SCRIPT>';\nb='\\x3C!--'"
