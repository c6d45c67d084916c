"""The progress bar: on a terminal only."""

import io
import sys

import pytest
from terminals import Terminal

from graphgate.io.progress import progress_bar


@pytest.mark.parametrize(("stream", "show"), [(io.StringIO(), True), (Terminal(), False)])
def test_nothing_is_drawn_unless_asked_on_a_terminal(monkeypatch, stream, show):
    monkeypatch.setattr("sys.stderr", stream)
    with progress_bar("training", 4, show=show) as advance:
        advance(2, note="loss 3")
    assert stream.getvalue() == ""


def test_no_standard_error(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with progress_bar("training", 4) as advance:
        assert advance() is None
    assert sys.stderr is None


def test_title_fraction_and_note_are_drawn_and_erased(monkeypatch):
    """Of eight steps, two were done before; the bar is gone when the work ends."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stderr", Terminal())
    with progress_bar("training", 8, done=2) as advance:
        advance(note="loss 3")
        advance(3, note="loss 2")
    drawn = sys.stderr.getvalue()
    assert "training" in drawn
    assert "75%" in drawn
    assert "loss 2" in drawn
    assert drawn.endswith("\x1b[2K")
