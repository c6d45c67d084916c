"""Charts: the heights that are drawn."""

import numpy as np

from graphgate.visualization.charts import BarSeries, draw_bars, draw_losses


def test_bars_have_their_heights_and_the_published_marks():
    bars = BarSeries("GATE", [(83.0, 0.5), None], [(83.2, 0.6), (80.9, None)])
    axes = draw_bars(["Cora", "Pubmed"], [bars])
    assert [round(bar.get_height(), 1) for bar in axes.patches] == [83.0]
    heights = [y for line in axes.lines for y in np.atleast_1d(line.get_ydata())]
    assert {83.2, 80.9} <= {round(float(y), 1) for y in heights}


def test_losses_are_one_line_per_series():
    axes = draw_losses({"loss": [3.0, 2.0], "features": [1.0, 0.5]})
    assert [list(line.get_ydata()) for line in axes.lines] == [[3.0, 2.0], [1.0, 0.5]]
    assert axes.get_yscale() == "log"
    assert draw_losses({"loss": [1.0, -1.0]}).get_yscale() == "linear"


def test_error_bars_are_standard_deviations():
    axes = draw_bars(["Cora"], [BarSeries("GATE", [(80.0, 2.5)], [None])])
    (bars,) = axes.collections
    (segment,) = bars.get_segments()
    assert segment[:, 1].tolist() == [77.5, 82.5]
    assert axes.get_ylim() == (75.0, 83.0)
