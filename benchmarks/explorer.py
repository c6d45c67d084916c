"""The explorer's page in Chromium: size, time to the first drawing, frames a second.

    python benchmarks/explorer.py --datasets cora,pubmed,synthetic --json FILE

Maps are made in a hurry (a random projection of the features over neighbours, and its principal
components), because what is measured does not depend on how good they are.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from machine import description, listed, spread, use_threads
from sklearn.decomposition import PCA
from synthetic import block_graph

from graphgate.datasets.citation import load_dataset
from graphgate.graph.graph import Graph
from graphgate.io.files import write_json
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora,pubmed,synthetic")
    parser.add_argument("--nodes", type=int, default=100_000, help="of the synthetic graph")
    parser.add_argument("--edges-per-node", type=int, default=5, help="of the synthetic graph")
    parser.add_argument("--rounds", type=int, default=3, help="times that each page is opened")
    parser.add_argument("--seconds", type=float, default=3.0, help="of panning a round")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for name in listed(options.datasets):
        if name == "synthetic":
            graph = block_graph(options.nodes, edges_per_node=options.edges_per_node)
        else:
            graph = load_dataset(name).graph
        rows.append(_measured(name, graph, options.rounds, options.seconds))
        print(_line(rows[-1]))
    if options.json is not None:
        write_json(options.json, description("explorer.py", use_threads(None)) | {"pages": rows})


def _measured(name: str, graph: Graph, rounds: int, seconds: float) -> dict[str, Any]:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        z, attention, points = _quick_embedding(graph)
        write_page(page, graph, z, attention, title=name, points=points)
        size = page.stat().st_size
        made = time.perf_counter() - start
        opened = [_opened(page, seconds) for _ in range(rounds)]
    return {
        "graph": name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "page_megabytes": size / 1e6,
        "seconds_to_make": made,
        "seconds_to_first_drawing": spread([each["first"] for each in opened]),
        "seconds_until_it_moves": spread([each["ready"] for each in opened]),
        "frames_a_second_panning": spread([each["fps"] for each in opened]),
        "frames_a_second_if_all_are_drawn_anew": spread([each["anew"] for each in opened]),
        "renderer": opened[0]["renderer"],
        "browser": opened[0]["browser"],
    }


def _quick_embedding(graph: Graph) -> tuple[np.ndarray, sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    projected = graph.x @ rng.normal(size=(graph.n_features, 32)).astype(np.float32)
    degrees = np.maximum(graph.adjacency.sum(axis=1), 1)
    mean = sp.diags_array(1 / degrees) @ graph.adjacency
    z = projected + mean @ projected
    z += mean @ z
    attention = sp.csr_array(mean * 0.8)
    attention.data *= rng.uniform(0.8, 1.2, attention.nnz)
    return z, attention, PCA(2, random_state=0).fit_transform(z)


def _opened(page: Path, seconds: float) -> dict[str, Any]:
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
        found = {
            "first": tab.evaluate("window.firstDrawing") / 1000,
            "ready": ready / 1000,
            "fps": panned["fps"],
            "anew": anew["drawn"],
            "renderer": tab.evaluate("rendererName()"),
            "browser": browser.version,
        }
        browser.close()
    return found


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['graph']}: {row['nodes']:,} nodes, {row['edges']:,} edges, "
        f"{row['page_megabytes']:.1f} MB, made in {row['seconds_to_make']:.1f} s, "
        f"first drawing {row['seconds_to_first_drawing']['median']:.2f} s, "
        f"can be moved after {row['seconds_until_it_moves']['median']:.2f} s, "
        f"panning {row['frames_a_second_panning']['median']:.1f} frames a second, "
        f"{row['frames_a_second_if_all_are_drawn_anew']['median']:.1f} if all are drawn anew"
    )


if __name__ == "__main__":
    main()
