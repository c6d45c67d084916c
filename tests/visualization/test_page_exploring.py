"""Exploring a graph of customers on the page, in Chromium: a hub, dates, outliers, 300 towns."""

import json
import os
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from browsing import Seen, launched
from scipy.stats import fisher_exact

from graphgate import Graph, write_page
from graphgate.visualization.maps import COLORS, RAMP

N, HUB_NEIGHBORS, TOWNS = 720, 170, 300
LAPTOP = {"width": 1280, "height": 720}
SEGMENTS = ("students", "families", "retired")
LONG = "customer {} of a branch with a rather long name"

pytestmark = pytest.mark.slow
browser = pytest.fixture(scope="module")(launched)


def town_name(code):
    return "Town 007 & sons" if code == 8 else f"Town {code:03}"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """Three segments, each a disk of the map. Customer 0 knows many; customer 5 earns millions."""
    rng = np.random.default_rng(0)
    segment = np.arange(N) % 3
    centers = np.array([[0, 0], [10, 0], [5, 9]])[segment]
    angle, radius = rng.uniform(0, 2 * np.pi, N), 3 * np.sqrt(rng.uniform(size=N))
    points = centers + np.stack([np.cos(angle), np.sin(angle)], axis=1) * radius[:, None]
    pairs = {(i, i + 3) for i in range(N - 3)} | {(0, int(i)) for i in range(1, HUB_NEIGHBORS + 1)}
    ids = [LONG.format(i) if i % 2 else f"C{i}" for i in range(N)]
    revenue = 100 + 10 * segment + rng.uniform(size=N)
    revenue[5] = 7_000_000
    graph = Graph.from_edges(
        None,
        [(ids[u], ids[v]) for u, v in sorted(pairs)],
        ids=ids,
        attributes={
            "segment": [SEGMENTS[code] for code in segment],
            "revenue": revenue,
            "joined": [date(2020, 1, 1) + timedelta(days=i) for i in range(N)],
            "town": [town_name(i * 7 % TOWNS) for i in range(N)],
            "year": 1900 + np.arange(N) % 100,
        },
    )
    alpha = sp.csr_array(graph.adjacency * 0.5)
    alpha.data *= rng.uniform(0.2, 1.0, alpha.nnz)
    z = np.concatenate([centers, rng.normal(size=(N, 4))], axis=1)
    folder = tmp_path_factory.mktemp("page")
    clusters = rng.integers(1, 4, N)  # that say nothing
    return write_page(
        folder / "page.html", graph, z, alpha, title="Customers", points=points, clusters=clusters
    )


@pytest.fixture(scope="module")
def tab(browser, page_file):
    """One tab for all tests that leave the page as it was."""
    made = Seen(browser, page_file, viewport=LAPTOP)
    made.until("map && map.frames > 0")
    yield made
    assert made.errors == []
    assert [url.partition("#")[0] for url in made.requests] == [page_file.as_uri()]
    made.context.close()


@pytest.fixture
def seen(tab):
    tab.start_again()
    return tab


def color_by(seen, name):
    seen.tab.select_option("#color-by", label=name)


def rgb(color):
    return [int(color[at : at + 2], 16) for at in (1, 3, 5)]


# --- the selected node ----------------------------------------------------------------------------


def test_selecting_fits_the_neighborhood_and_fades_the_rest(seen):
    seen.tab.evaluate("map.zoomBy(4, 0, 0)")
    seen.tab.evaluate("select(0)")
    wide, tall = seen.tab.evaluate("[$('map').clientWidth, $('map').clientHeight]")
    for node in (0, 1, 2, HUB_NEIGHBORS):
        x, y = seen.at(node)
        assert 0 < x < wide
        assert 0 < y < tall
    layers = "map.deck.props.layers.find((layer) => layer.id === 'nodes').props.fade"
    assert seen.tab.evaluate(layers) < 0.3
    whole = seen.tab.evaluate("map.wholeView().zoom")
    seen.tab.evaluate("select(601)")  # its neighbors are in its own disk
    assert seen.tab.evaluate("map.view.zoom") > whole + 0.5
    spots = seen.tab.evaluate("surroundings(601).map((each) => map.toPixels(each))")
    assert all(0 < x < wide and 0 < y < tall for x, y in spots)
    seen.tab.evaluate("select(-1)")
    assert seen.tab.evaluate(layers) == 1


def test_the_lines_of_a_hub_differ_in_strength(seen):
    seen.tab.evaluate("select(0)")
    lines = seen.tab.evaluate("map.focus.lines.map((line) => [line.color[3], line.width])")
    alphas, widths = np.transpose(lines)
    assert len(alphas) == HUB_NEIGHBORS
    assert (np.diff(alphas) >= 0).all()  # the strongest are drawn last
    assert alphas[-1] > 4 * np.median(alphas)
    assert widths[-1] > widths[0]
    assert np.mean(alphas) / 255 < 0.35
    first, last = (f"map.focus.lines.at({at}).to" for at in (-1, 0))
    strongest = seen.tab.evaluate("neighborsOf(0)[0].node")
    assert seen.tab.evaluate(first) == seen.tab.evaluate(f"place({strongest})")
    assert seen.tab.evaluate(last) != seen.tab.evaluate(first)


def test_the_nearest_nodes_come_first_and_are_in_sight(seen):
    seen.tab.evaluate("select(0)")
    rows = seen.tab.locator("#nearest li")
    assert rows.count() == 12
    eighth = rows.nth(7).bounding_box()  # names are long, and wrap
    assert eighth["y"] + eighth["height"] <= LAPTOP["height"]
    assert seen.tab.locator("#neighbors").bounding_box()["y"] > eighth["y"]
    names = seen.tab.locator("#nearest .name, #neighbors .name")
    cut = "(names) => names.filter((name) => name.scrollWidth > name.clientWidth).length"
    assert names.evaluate_all(cut) == 0
    assert any(name == LONG.format(3) for name in seen.listed("neighbors"))


def test_a_phone_shows_nearest_nodes_without_scrolling(browser, page_file):
    made = Seen(browser, page_file, viewport={"width": 390, "height": 844}, has_touch=True)
    made.until("map && map.frames > 0")
    made.tab.evaluate("select(0)")
    assert made.tab.locator("#nearest li").nth(2).bounding_box()["y"] < 844
    assert made.tab.evaluate("document.documentElement.scrollWidth") <= 390
    made.context.close()


# --- colors and edges -----------------------------------------------------------------------------


def test_edges_share_a_fixed_amount_of_ink(seen):
    drawn = """(() => {
      const { positions, colors, count } = map.lines;
      return Array.from({ length: count }, (_, e) => [colors[8 * e + 3], Math.hypot(
        positions[4 * e] - positions[4 * e + 2], positions[4 * e + 1] - positions[4 * e + 3])]);
    })()"""
    alpha, length = np.transpose(seen.tab.evaluate(drawn))
    scale = seen.tab.evaluate("firstScale($('map'))")
    assert (alpha / 255 * length).sum() * scale < 0.08 * (1000 * scale) ** 2
    near = length < 40
    assert alpha[near][:20].mean() > 2 * alpha[near][-20:].mean()  # by importance
    assert alpha[near].mean() > 1.4 * alpha[length > 300].mean()
    seen.tab.fill("#threshold", "90")
    fewer, _ = np.transpose(seen.tab.evaluate(drawn))
    assert len(fewer) < len(alpha) / 5
    assert fewer.mean() > 1.5 * alpha.mean()


def test_dates_read_as_dates(seen):
    color_by(seen, "joined")
    assert seen.tab.inner_text("#scale-low") == "2020-01-01"
    assert seen.tab.inner_text("#scale-high") == str(date(2020, 1, 1) + timedelta(days=N - 1))
    seen.tab.evaluate("select(59)")
    seen.tab.locator("#more").evaluate("(more) => { more.open = true; }")
    shown = seen.tab.inner_text("#selected").split()
    assert "2020-02-29" in shown
    assert "1959" in shown  # a year has no thousands separator


def test_an_outlier_does_not_flatten_a_scale(seen):
    color_by(seen, "revenue")
    assert seen.tab.inner_text("#scale-high") == "≥ 121"
    assert seen.tab.inner_text("#scale-note").startswith("Colors are clipped: 1 value beyond")
    assert "up to 7,000,000" in seen.tab.inner_text("#scale-note")
    low, middle, high, outlier = (seen.tab.evaluate(f"colorOf({node})") for node in (0, 1, 2, 5))
    assert np.linalg.norm(np.subtract(low, high)) > 100
    assert np.linalg.norm(np.subtract(low, middle)) > 50
    assert outlier == rgb(RAMP[-1])


def test_dragging_over_the_histogram_selects_values(seen):
    color_by(seen, "joined")
    box = seen.tab.locator("#ramp").bounding_box()
    across = [box["x"] + part * box["width"] for part in (0.5, 1.1)]
    seen.tab.mouse.move(across[0], box["y"] + 10)
    seen.tab.mouse.down()
    seen.tab.mouse.move(across[1], box["y"] + 10, steps=3)
    seen.tab.mouse.up()
    nodes = seen.tab.evaluate("state.group.nodes")
    assert nodes[-1] == N - 1
    assert nodes[0] == pytest.approx(N / 2, abs=3)
    assert len(nodes) == N - nodes[0]


def test_a_column_of_300_categories_can_be_searched(seen):
    color_by(seen, "town")
    rows = seen.tab.locator("#legend li")
    assert rows.count() == 100
    alphas = seen.tab.evaluate("[...map.dots.colors.filter((_, at) => at % 4 === 3)]")
    assert set(alphas) == {90, 235}  # rare towns are faint
    assert "200 more" in seen.tab.inner_text("#legend-note")
    seen.tab.fill("#legend-search", "town 29")
    assert all("Town 29" in text for text in rows.all_inner_texts())
    assert rows.count() == 10
    seen.tab.click("#show-all")
    shown = seen.tab.evaluate("columns.find((c) => c.name === 'town').names.length")
    assert seen.tab.evaluate("state.hidden.size") == shown + 1 - 10
    seen.tab.fill("#legend-search", "")
    seen.tab.click("#show-all")
    assert seen.tab.evaluate("state.hidden.size") == 1  # missing values, of which there are none


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_are_those_of_the_figures_in_light_and_dark(seen, scheme):
    seen.tab.emulate_media(color_scheme=scheme)
    color_by(seen, "segment")
    names = sorted(SEGMENTS)
    expected = [rgb(COLORS[names.index(SEGMENTS[node % 3])]) for node in range(3)]
    assert [seen.tab.evaluate(f"colorOf({node})") for node in range(3)] == expected
    assert seen.tab.evaluate("[...map.dots.colors.slice(0, 3)]") == expected[0]
    seen.tab.emulate_media(color_scheme="light")


def test_categories_are_named_on_the_map(seen):
    color_by(seen, "segment")
    assert set(seen.tab.locator("#names span").all_inner_texts()) == set(SEGMENTS)
    seen.tab.uncheck("#show-names")
    assert seen.tab.locator("#names span").count() == 0


# --- search and groups ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first", "members"),
    [
        ("stud", "segment: students", N // 3),
        ("Town 299", "town: Town 299", 2),
        ("revenue > 1000", "revenue > 1000", 1),
        ("joined < 2020-02-01", "joined < 2020-02-01", 31),
        ("2021-02", "joined: 2021-02", 28),
        ("year: 1950", "year: 1950", 7),
        ("year: 1950..1952", "year: 1950..1952", 21),
    ],
)
def test_search_finds_values_of_every_kind(seen, text, first, members):
    seen.tab.fill("#search", text)
    assert seen.listed("matches")[0] == first
    seen.tab.keyboard.press("Enter")
    assert seen.tab.inner_text("#group-title") == f"{members} node{'s' * (members > 1)}"
    assert seen.tab.evaluate("state.group.nodes.length") == members


@pytest.mark.parametrize(
    "text",
    [
        "segment: students & revenue > 1000",
        "revenue > 1000 and segment: students",
        "segment: students or families",
        "segment: nobody; year: 1950",
        "year: 1950 || size > 3",
    ],
)
def test_several_conditions_are_not_taken_for_one(seen, text):
    seen.tab.fill("#search", text)
    assert seen.listed("matches") == []
    assert seen.tab.inner_text("#note") == "Only one condition is allowed at a time."
    seen.tab.keyboard.press("Enter")
    assert seen.tab.evaluate("state.group") is None


def test_a_sign_within_a_value_joins_nothing(seen):
    seen.tab.fill("#search", "segment: this & that")
    assert seen.listed("matches") == ["segment: this & that"]
    seen.tab.fill("#search", "town: Town 007 & sons")
    assert seen.listed("matches")[0] == "town: Town 007 & sons"
    seen.tab.keyboard.press("Enter")
    assert seen.tab.evaluate("state.group.nodes.length") == 3


def test_search_finds_a_part_of_an_id(seen):
    seen.tab.fill("#search", "omer 17 o")
    assert seen.listed("matches") == [LONG.format(17)]
    seen.tab.keyboard.press("Enter")
    assert seen.tab.inner_text("#selected-id") == LONG.format(17)


def draw_around(seen, nodes):
    """Draws a rectangle around nodes with the lasso."""
    spots = np.array([seen.at(node) for node in nodes])
    box = seen.tab.locator("#map").bounding_box()
    (left, top), (right, bottom) = spots.min(axis=0) - 6, spots.max(axis=0) + 6
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top + 1)]
    places = [(x + box["x"], y + box["y"]) for x, y in corners]
    seen.tab.click("#lasso")
    seen.tab.mouse.move(*places[0])
    seen.tab.mouse.down()
    for place in places[1:]:
        seen.tab.mouse.move(*place, steps=3)
    seen.tab.mouse.up()


def test_a_lasso_selects_describes_and_downloads_a_group(seen):
    view = seen.tab.evaluate("map.view.target")
    draw_around(seen, range(2, N, 3))  # the retired
    assert seen.tab.evaluate("map.view.target") == view  # not a drag
    assert seen.tab.inner_text("#group-title") == f"{N // 3} nodes"
    described = seen.tab.locator("#description li").all_inner_texts()
    assert described[0].split() == ["segment", "retired", "100%,", "elsewhere", "0%"]
    assert any(line.split()[:4] == ["revenue", ">", "110.5", "100%,"] for line in described)
    assert not any(line.startswith("cluster") for line in described)
    faded = seen.tab.evaluate("[map.dots.colors[11], map.dots.colors[7]]")
    assert faded[0] > 200 > 60 > faded[1]
    with seen.tab.expect_download() as waited:
        seen.tab.click("#download")
    text = Path(waited.value.path()).read_text("utf-8")
    ids = [LONG.format(i) if i % 2 else f"C{i}" for i in range(2, N, 3)]
    assert text.splitlines() == ["id", *ids]
    seen.tab.keyboard.press("Escape")
    assert seen.tab.is_hidden("#group")


def test_what_is_described_is_significant_by_fishers_exact_test(seen):
    for a, all_, b, others in [(30, 100, 20, 300), (3, 100, 0, 620), (9, 10, 40, 50)]:
        table = [[a, all_ - a], [b, others - b]]
        expected = fisher_exact(table, alternative="greater").pvalue
        found = seen.tab.evaluate(f"compared({a}, {all_}, {b}, {others}).logP")
        assert found == pytest.approx(np.log(expected), rel=1e-9)


def test_a_random_group_is_not_described(seen):
    rng = np.random.default_rng(1)
    for _ in range(10):
        nodes = rng.choice(N, 100, replace=False).tolist()
        assert seen.tab.evaluate(f"describeGroup({nodes})") == []


def test_ids_in_a_table_are_quoted(seen):
    seen.tab.evaluate("about.ids[0] = 'a, \"b\"'")
    assert seen.tab.evaluate("groupCsv([0, 2])") == 'id\r\n"a, ""b"""\r\nC2\r\n'
    seen.tab.evaluate("about.ids[0] = 'C0'")


# --- keyboard, screen readers, links --------------------------------------------------------------


def test_nodes_and_groups_can_be_selected_by_keyboard(seen):
    seen.tab.focus("#map")
    seen.tab.keyboard.press("Enter")
    first = seen.tab.evaluate("state.selected")
    assert first >= 0
    assert seen.tab.inner_text("#status").startswith("Selected ")
    seen.tab.keyboard.press("n")
    assert seen.tab.evaluate("state.selected") == seen.tab.evaluate(f"nearestOf({first})[0].node")
    seen.tab.keyboard.press("p")
    assert seen.tab.evaluate("state.selected") == first
    seen.tab.keyboard.press("Escape")
    seen.tab.keyboard.press("0")
    seen.tab.keyboard.press("v")
    assert seen.tab.inner_text("#group-title") == f"{N} nodes"
    seen.tab.keyboard.press("/")
    assert seen.tab.evaluate("document.activeElement.id") == "search"


def test_a_link_restores_the_view(browser, page_file, seen):
    color_by(seen, "segment")
    seen.tab.locator("#legend input").nth(1).uncheck()
    seen.tab.fill("#threshold", "40")
    draw_around(seen, [1, 4, 7, 10])
    seen.tab.evaluate("(select(7), map.zoomBy(1.5, 100, 100))")
    seen.until("location.hash.includes('view=')")
    said = "[state.column.name, [...state.hidden], state.threshold, state.selected,"
    said += " state.group.nodes, map.view.zoom, map.view.target, map.lines.count]"
    before = seen.tab.evaluate(said)
    seen.tab.wait_for_timeout(300)  # the address follows
    link = "#" + seen.tab.url.partition("#")[2]
    again = Seen(browser, page_file, link, viewport=LAPTOP)
    again.until("map && map.frames > 0")
    after = again.tab.evaluate(said)
    assert after[:4] == before[:4]
    assert len(set(after[4]) ^ set(before[4])) <= 2  # corners are rounded
    assert after[5] == pytest.approx(before[5], abs=0.01)
    assert after[6] == pytest.approx(before[6], abs=0.1)
    assert after[7] == pytest.approx(before[7], abs=2)
    assert again.errors == []
    again.context.close()


def test_a_link_to_a_node_shows_its_neighborhood(browser, page_file):
    made = Seen(browser, page_file, "#node=C600", viewport=LAPTOP)
    made.until("map && map.frames > 0")
    assert made.tab.inner_text("#selected-id") == "C600"
    assert made.tab.evaluate("map.doublings()") > 0.5
    made.context.close()


@pytest.mark.parametrize(
    "link",
    [
        "#color=nothing&hide=9.x&node=nobody&group=what&outline=1.2&view=a_b_c&weakest=<b>",
        "#node=&outline=a.b.c.d.e.f&group=revenue>&hide=",
        "#%E0%A4%A",
    ],
)
def test_a_link_to_nothing_is_ignored(seen, link):
    seen.tab.evaluate(f"(history.replaceState(null, '', {json.dumps(link)}), readLink())")
    assert seen.tab.evaluate("[state.selected, state.group, state.column.name]") == [
        *(-1, None, "cluster")
    ]


def test_every_control_has_a_name(seen):
    seen.tab.evaluate("select(0)")
    missing = """[...document.querySelectorAll('input, select, button, [tabindex]')].filter(
      (control) => !control.labels?.length && !control.ariaLabel && !control.textContent.trim())"""
    assert seen.tab.evaluate(f"{missing}.map((control) => control.id)") == []
    row = seen.tab.locator("#nearest button").first
    assert row.inner_text().split()[-1].replace(".", "").isdigit()


AXE = os.environ.get("AXE_CORE", "")


@pytest.mark.skipif(not Path(AXE).is_file(), reason="set AXE_CORE to the path of axe.min.js")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_has_no_serious_findings(seen, scheme):
    seen.tab.emulate_media(color_scheme=scheme)
    seen.tab.evaluate(Path(AXE).read_text("utf-8"))
    for state in ("select(-1)", "select(0)", "selectGroup(queryGroup('segment: retired'))"):
        seen.tab.evaluate(f"({state}, null)")
        found = seen.tab.evaluate("axe.run().then((found) => found.violations)")
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
    seen.tab.emulate_media(color_scheme="light")
