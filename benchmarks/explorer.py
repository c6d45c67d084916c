"""The page of the explorer in Chromium: size, time to the first drawing, frames per second.

    python -m benchmarks explorer --json results/benchmarks/explorer.json

Maps are made quickly (a random projection of the features over neighbors, and its principal
components), because what is measured does not depend on how good they are.
"""

import shutil
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA

from benchmarks.inputs import load
from benchmarks.runner import Measurements, spread
from benchmarks.synthetic import block_graph
from graphgate.graph.graph import Graph
from graphgate.visualization.page.page_html import write_page

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)
# Reading a pixel waits until everything asked for before is drawn.
FIRST_DRAWING = """
const look = () => {
  if (!window.firstDrawing) {
    const sketch = document.querySelector("#map .sketch");
    if (!sketch || !sketch.width) return requestAnimationFrame(look);
    sketch.getContext("2d").getImageData(0, 0, 1, 1);
    window.firstDrawing = performance.now();
  }
  const drawn = typeof map !== "undefined" && map && map.frames > 0;
  if (!drawn) return requestAnimationFrame(look);
  const gl = document.querySelector("#map canvas:not(.sketch)").getContext("webgl2");
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  window.mapDrawn = performance.now();
};
requestAnimationFrame(look);
"""
# A pointer that goes round in a circle with the button held, one step a frame. A frame counts when
# the map has moved in it; without a GPU most frames move the picture that is there.
PAN = """([seconds, anew]) => new Promise((done) => {
  const canvas = document.querySelector("#map canvas");
  const send = (type, angle) => canvas.dispatchEvent(new PointerEvent(type, {
    bubbles: true, pointerId: 1, pointerType: "mouse", isPrimary: true, button: 0,
    buttons: type === "pointerup" ? 0 : 1,
    clientX: 450 + 150 * Math.sin(angle), clientY: 400 + 150 * Math.cos(angle),
  }));
  const [start, drawn] = [performance.now(), map.frames];
  let [steps, moved, last] = [0, 0, ""];
  send("pointerdown", 0);
  const slow = map.slow;
  const step = () => {
    if (anew) map.slow = false;
    send("pointermove", ++steps / 15);
    const where = map.view.target.join();
    if (where !== last) moved++;
    last = where;
    const took = (performance.now() - start) / 1000;
    if (took < seconds) return requestAnimationFrame(step);
    send("pointerup", steps / 15);
    map.slow = slow;
    const gl = canvas.getContext("webgl2");
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    const all = (performance.now() - start) / 1000;
    done({ fps: moved / all, drawn: (map.frames - drawn) / all });
  };
  requestAnimationFrame(step);
})"""


def measure(
    datasets: tuple[str, ...] = ("cora", "pubmed", "synthetic"),
    nodes: int = 100_000,
    edges_per_node: int = 5,
    repeats: int = 3,
    seconds: float = 3.0,
) -> Measurements:
    for name in datasets:
        yield {"graph": name}, partial(explore, name, nodes, edges_per_node, repeats, seconds)


def explore(
    name: str, nodes: int, edges_per_node: int, repeats: int, seconds: float
) -> dict[str, Any]:
    synthetic = name == "synthetic"
    graph = block_graph(nodes, edges_per_node=edges_per_node) if synthetic else load(name)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        z, attention, points = quick_embedding(graph)
        write_page(page, graph, z, attention, title=name, points=points)
        size, made = page.stat().st_size, time.perf_counter() - start
        looks = [opened(page, seconds) for _ in range(repeats)]
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "page_megabytes": size / 1e6,
        "seconds_to_make": made,
        "seconds_to_first_drawing": spread([look["first"] for look in looks]),
        "seconds_until_it_moves": spread([look["ready"] for look in looks]),
        "frames_a_second_panning": spread([look["fps"] for look in looks]),
        "frames_a_second_if_all_are_drawn_anew": spread([look["anew"] for look in looks]),
        "renderer": looks[0]["renderer"],
        "browser": looks[0]["browser"],
    }


def quick_embedding(graph: Graph) -> tuple[np.ndarray, sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    projected = graph.x @ rng.normal(size=(graph.n_features, 32)).astype(np.float32)
    degrees = np.maximum(graph.adjacency.sum(axis=1), 1)
    mean = sp.diags_array(1 / degrees) @ graph.adjacency
    z = projected + mean @ projected
    z += mean @ z
    attention = sp.csr_array(mean * 0.8)
    attention.data *= rng.uniform(0.8, 1.2, attention.nnz)
    return z, attention, PCA(2, random_state=0).fit_transform(z)


def opened(page: Path, seconds: float) -> dict[str, Any]:
    """One look at the page in a browser of its own."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("this benchmark needs chromium on the path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.set_default_timeout(300_000)
        tab.add_init_script(FIRST_DRAWING)
        tab.goto(page.as_uri())
        while (ready := tab.evaluate("window.mapDrawn")) is None:
            time.sleep(0.02)
        tab.wait_for_timeout(500)
        panned = tab.evaluate(PAN, [seconds, False])
        tab.wait_for_timeout(1000)
        anew = tab.evaluate(PAN, [seconds, True])
        if not panned["fps"]:
            raise SystemExit("the map did not follow the pointer")
        values = {
            "first": tab.evaluate("window.firstDrawing") / 1000,
            "ready": ready / 1000,
            "fps": panned["fps"],
            "anew": anew["drawn"],
            "renderer": tab.evaluate("rendererName()"),
            "browser": browser.version,
        }
        browser.close()
    return values
