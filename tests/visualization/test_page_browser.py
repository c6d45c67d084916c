"""The page in a real Chromium: it draws, and every control works."""

from io import BytesIO

import numpy as np
import pytest
import scipy.sparse as sp
from browsing import Seen, launched
from matplotlib.image import imread

from graphgate import Graph, write_page
from graphgate.estimators.fitted import EdgeScores
from graphgate.visualization.maps import RAMP

EVIL = "<img src=x onerror='document.title=\"hacked\"'></script><script>document.title='hacked'"
# Far enough apart that each can be pointed at, and none under the zoom buttons.
POINTS = np.array([[0, 2], [1, 2], [2, 2], [0.5, 0], [1, 0], [2, 0]], dtype=float)


pytestmark = pytest.mark.slow
browser = pytest.fixture(scope="module")(launched)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    ids = ["zero", "one", "two", f"three {EVIL}", "four", "five"]
    alpha = np.zeros((6, 6))
    for u, v, there, back in [(0, 1, 0.7, 0.5), (0, 2, 0.1, 0.3), (1, 4, 0.4, 0.4), (4, 5, 0.2, 0)]:
        alpha[u, v], alpha[v, u] = there, back
    graph = Graph.from_edges(
        np.eye(6),
        [(ids[u], ids[v]) for u, v in [(0, 1), (0, 2), (1, 4), (4, 5)]],
        ids=ids,
        labels=["red", "red", "blue", "blue", EVIL, None],
    )
    z = np.array([[1, 0], [1, 0.1], [1, 0.5], [0, 1], [0.1, 1], [-1, 0]])
    return write_page(
        tmp_path_factory.mktemp("page") / "page.html",
        graph,
        z,
        sp.csr_array(alpha),
        title=f"Six {EVIL}",
        points=POINTS,
        columns={f"note {EVIL}": [EVIL, "b", "c", "d", "e", "f"], "year": np.arange(6) + 0.5},
    )


@pytest.fixture(scope="module")
def shared(browser, page_file):
    """One tab for all tests: a new one takes two seconds to draw the map."""
    made = Seen(browser, page_file)
    made.until("map && map.frames > 0")
    yield made
    made.context.close()


@pytest.fixture
def seen(shared, page_file):
    """The tab as after loading."""
    shared.start_again()
    yield shared
    assert shared.errors == []
    assert shared.requests == [page_file.as_uri()]
    assert shared.tab.title().startswith("Six <img")
    assert shared.tab.locator("img").count() == 0


def test_it_draws_the_nodes_in_their_colors(seen):
    seen.tab.uncheck("#show-names")
    seen.tab.wait_for_timeout(300)
    picture = imread(BytesIO(seen.tab.locator("#map").screenshot()))
    for node in (0, 5):
        x, y = (round(at) for at in seen.at(node))
        expected = np.array(seen.tab.evaluate(f"colorOf({node})")) / 255
        np.testing.assert_allclose(picture[y, x, :3], expected, atol=0.12)
    assert seen.tab.inner_text("#counts") == "6 nodes, 4 edges"


def test_a_sketch_is_shown_until_the_map_is_drawn(browser, page_file):
    context = browser.new_context(viewport={"width": 1000, "height": 700})
    tab = context.new_page()
    # Frames are delayed, so that deck.gl has not started yet.
    tab.add_init_script(
        "const later = window.requestAnimationFrame.bind(window); const held = [];"
        "window.requestAnimationFrame = (each) => held.push(each);"
        "window.go = () => { window.requestAnimationFrame = later; held.forEach(later); };"
    )
    tab.goto(page_file.as_uri())
    assert tab.evaluate("map") is None
    tab.click("#zoom-in")  # too early, and no error
    before = tab.evaluate(
        "(() => { const paper = document.querySelector('#map .sketch').getContext('2d');"
        " const at = [0, 1, 2, 3, 4, 5].map((node) => {"
        "  const scale = firstScale(document.getElementById('map'));"
        "  const x = document.getElementById('map').clientWidth / 2"
        "   + (points[2 * node] - SIDE / 2) * scale;"
        "  const y = document.getElementById('map').clientHeight / 2"
        "   - (points[2 * node + 1] - SIDE / 2) * scale; return [x, y]; });"
        " return at.map(([x, y]) => [x, y, ...paper.getImageData(x, y, 1, 1).data]); })()"
    )
    tab.evaluate("go()")
    while not tab.evaluate("Boolean(map && map.frames > 0)"):
        tab.wait_for_timeout(30)
    for node, (x, y, *color) in enumerate(before):
        assert tab.evaluate(f"map.toPixels({node})") == pytest.approx([x, y], abs=0.5)
        assert color[:3] == pytest.approx(tab.evaluate(f"colorOf({node})"), abs=12)
    assert tab.locator("#map .sketch").count() == 0
    context.close()


def test_searching_moves_to_a_node(seen):
    seen.tab.fill("#search", "FO")
    assert seen.tab.locator("#matches .name").all_inner_texts() == ["four"]
    seen.tab.evaluate("map.zoomBy(3, 0, 0)")
    assert min(seen.at(4)) < 0 or max(seen.at(4)) > 700  # out of sight
    seen.tab.keyboard.press("Enter")
    assert seen.tab.inner_text("#selected-id") == "four"
    assert 0 < seen.at(4)[0] < 676
    assert 0 < seen.at(4)[1] < 700
    seen.tab.fill("#search", "nobody")
    assert seen.tab.inner_text("#note") == "Nothing found."
    seen.tab.fill("#search", "e")
    seen.tab.keyboard.press("ArrowDown")
    seen.tab.keyboard.press("ArrowDown")
    assert seen.tab.get_attribute("#search", "aria-activedescendant") == "match-1"
    seen.tab.keyboard.press("Escape")
    assert seen.tab.is_hidden("#matches")
    assert seen.tab.inner_text("#selected-id") == "four"


def test_hovering_shows_a_node_as_text(seen):
    seen.tab.mouse.move(*seen.at(3))
    card = seen.tab.inner_text("#card")
    assert card.startswith(f"three {EVIL}")
    assert "blue" in card
    seen.until("map.focus.on")
    seen.tab.mouse.move(5, 5)
    assert seen.tab.is_hidden("#card")
    seen.until("!map.focus.on")


def test_clicking_lists_neighbors_by_attention_and_nearest_nodes(seen):
    seen.tab.mouse.click(*seen.at(0))
    assert seen.tab.inner_text("#selected-id") == "zero"
    assert EVIL in seen.tab.inner_text("#attributes")
    assert seen.listed("neighbors") == ["one", "two"]
    assert seen.tab.locator("#neighbors .kind").all_inner_texts() == ["red", "blue"]
    assert seen.tab.locator("#neighbors .value").all_inner_texts() == ["0.700", "0.100"]
    assert seen.listed("nearest")[:2] == ["one", "two"]
    assert seen.tab.evaluate("map.focus.lines.length") == 2
    seen.tab.click("#neighbors button >> nth=1")
    assert seen.tab.inner_text("#selected-id") == "two"
    assert seen.listed("neighbors") == ["zero"]
    seen.tab.keyboard.press("Escape")
    assert seen.tab.is_hidden("#selected")
    assert seen.tab.evaluate("state.selected") == -1


def test_a_direction_without_attention_is_no_neighbor(seen):
    seen.tab.evaluate("select(5)")
    assert seen.listed("neighbors") == []
    seen.tab.evaluate("select(4)")
    assert seen.listed("neighbors") == ["one", "five"]


def test_the_threshold_hides_weak_edges(seen):
    assert seen.tab.inner_text("#edge-count") == "4 of 4"
    seen.tab.evaluate(
        "() => { $('threshold').value = 50; $('threshold').dispatchEvent(new Event('input')); }"
    )
    assert seen.tab.inner_text("#edge-count") == "2 of 4"
    assert seen.tab.inner_text("#threshold-value") == "0.400"
    assert seen.tab.evaluate("map.lines.count") == 2
    seen.tab.uncheck("#show-edges")
    assert seen.tab.inner_text("#edge-count") == "0 of 4"


def test_the_legend_hides_classes(seen):
    legend = seen.tab.locator("#legend label")
    texts = [" ".join(text.split()) for text in legend.all_inner_texts()]
    assert {"red 2", "blue 2", "missing 1"} < set(texts)
    red = seen.tab.locator("#legend label", has_text="red").locator("input")
    red.uncheck()
    assert seen.tab.evaluate("map.dots.colors[3]") == 0
    assert seen.tab.inner_text("#edge-count") == "1 of 4"
    seen.tab.mouse.click(*seen.at(0))
    assert seen.tab.is_hidden("#selected")  # hidden nodes cannot be clicked
    seen.tab.click("#show-all")
    assert seen.tab.inner_text("#edge-count") == "4 of 4"
    seen.tab.click("#hide-all")
    assert seen.tab.inner_text("#edge-count") == "0 of 4"


def test_coloring_by_a_number(seen):
    seen.tab.select_option("#color-by", label="year")
    assert seen.tab.inner_text("#scale-low") == "0.5"
    assert seen.tab.inner_text("#scale-high") == "5.5"
    assert seen.tab.is_hidden("#legend")
    ends = [[int(color[at : at + 2], 16) for at in (1, 3, 5)] for color in (RAMP[0], RAMP[-1])]
    assert [seen.tab.evaluate(f"colorOf({node})") for node in (0, 5)] == ends


def test_dragging_and_the_wheel_move_the_map(seen):
    before = seen.at(0)
    seen.tab.mouse.move(300, 300)
    seen.tab.mouse.down()
    seen.tab.mouse.move(340, 320, steps=4)
    seen.tab.mouse.up()
    after = seen.at(0)
    assert np.subtract(after, before) == pytest.approx([40, 20], abs=0.5)
    seen.tab.mouse.move(*after)
    seen.tab.mouse.wheel(0, -200)
    seen.until("!map.view.whole && map.doublings() > 0.5")
    assert seen.at(0) == pytest.approx(after, abs=2)  # pointers are at integer pixels
    assert seen.tab.is_hidden("#selected")  # a drag is not a click
    seen.until("!map.moving && map.drawn === map.view")
    assert seen.tab.evaluate("map.deck.getCanvas().style.transform") == ""


def test_the_keyboard_reaches_everything(seen):
    seen.tab.focus("#map")
    start = seen.tab.evaluate("map.view")
    for key in ("ArrowRight", "ArrowUp", "+"):
        seen.tab.keyboard.press(key)
    moved = seen.tab.evaluate("map.view")
    assert moved["target"][0] > start["target"][0]
    assert moved["target"][1] > start["target"][1]
    assert moved["zoom"] == pytest.approx(start["zoom"] + 0.5)
    seen.tab.keyboard.press("0")
    assert seen.tab.evaluate("map.view.zoom") == pytest.approx(start["zoom"])
    reached = set()
    for _ in range(25):
        seen.tab.keyboard.press("Tab")
        reached.add(seen.tab.evaluate("document.activeElement.id"))
    assert {"zoom-in", "search", "color-by", "show-edges", "threshold"} <= reached
    unnamed = "[...document.querySelectorAll('input, select, button')].filter((control) => "
    unnamed += (
        "!control.labels?.length && !control.ariaLabel && !control.textContent.trim()).length"
    )
    assert seen.tab.evaluate(unnamed) == 0


@pytest.mark.parametrize("width", [420, 1600])
def test_it_fits_narrow_and_wide_windows_in_the_dark(browser, page_file, width):
    size = {"width": width, "height": 800}
    made = Seen(browser, page_file, viewport=size, color_scheme="dark")
    made.until("map && map.frames > 0")
    assert made.tab.evaluate("document.documentElement.scrollWidth") <= width
    assert made.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    for name in ("#map", "#sides" if width < 700 else "#panel"):
        box = made.tab.locator(name).bounding_box()
        assert box["width"] >= 300
        assert box["height"] >= 300
    assert made.errors == []
    made.context.close()


def test_without_webgl_there_is_a_message_and_lists_still_work(browser, page_file):
    context = browser.new_context()
    tab = context.new_page()
    tab.add_init_script(
        "const get = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...more) {"
        " return kind.startsWith('webgl') ? null : get.call(this, kind, ...more); };"
    )
    tab.goto(page_file.as_uri())
    tab.locator("#message").wait_for(state="visible")
    assert "does not support WebGL 2" in tab.inner_text("#message")
    assert tab.locator("#map .sketch").count() == 1  # a static picture
    tab.fill("#search", "zero")
    tab.keyboard.press("Enter")
    assert tab.locator("#neighbors button").count() == 2
    context.close()


def test_edge_scores_read_as_percentiles(browser, tmp_path):
    graph = Graph.from_edges(np.eye(3), [(0, 1), (1, 2)])
    scores = sp.csr_array(np.array([[0, 0.9991, 0], [0.9991, 0, 0.9999], [0, 0.9999, 0]]))
    page = write_page(
        tmp_path / "page.html", graph, np.eye(3), EdgeScores(scores), points=POINTS[:3]
    )
    made = Seen(browser, page)
    made.until("map && map.frames > 0")
    made.tab.evaluate("select(1)")
    assert made.tab.locator("#neighbors .value").all_inner_texts() == ["100 %", "50 %"]
    widths = "[...document.querySelectorAll('#neighbors .bar span')].map((bar) => bar.style.width)"
    assert made.tab.evaluate(widths) == ["100%", "50%"]
    made.tab.fill("#threshold", "50")
    assert made.tab.inner_text("#threshold-label") == "Minimum edge score percentile"
    assert made.tab.inner_text("#threshold-value") == "100 %"
    assert "relative to the others" in made.tab.inner_text("#layout")
    assert made.errors == []
    made.context.close()


def test_without_attention_edges_have_no_values(browser, tmp_path):
    graph = Graph.from_edges(np.eye(3), [(0, 1), (1, 2)])
    page = write_page(tmp_path / "page.html", graph, np.eye(3), points=POINTS[:3])
    made = Seen(browser, page)
    made.until("map && map.frames > 0")
    assert made.tab.is_hidden("#threshold")
    made.tab.evaluate("select(1)")
    assert made.tab.inner_text("#neighbors-title") == "2 neighbors"
    assert made.listed("neighbors") == ["0", "2"]
    assert made.tab.locator("#neighbors .value").count() == 0
    assert made.tab.locator("#nearest .value").count() == 2
    assert "attention" not in made.tab.inner_text("#layout")
    assert made.errors == []
    made.context.close()
