"""Findings of axe-core on the interactive page, by state, color scheme and window size.

AXE_CORE=…/axe-core/axe.min.js python -m scripts.check_accessibility     needs chromium on the path

axe-core is installed with `npm install axe-core`, in a folder outside the repository.
"""

import os
import shutil
import sys
import tempfile
from datetime import date, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from graphgate import load_dataset, write_page
from graphgate.io.files import write_json

OUT = Path(__file__).parents[1] / "results" / "benchmarks" / "accessibility.json"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
STATES = {
    "all nodes": "select(-1)",
    "a node": "select(0)",
    "a group": "selectGroup(queryGroup('class: 3'))",
    "a scale of dates": "(colorBy(columns.find((each) => each.kind === 'date')), repaint())",
}
SIZES = {"desktop": (1440, 900), "tablet": (900, 700), "phone": (390, 844)}
IMPACTS = ("critical", "serious", "moderate", "minor")


def main() -> None:
    axe, chromium = os.environ.get("AXE_CORE"), shutil.which("chromium")
    if axe is None or chromium is None:
        sys.exit("this needs chromium on the path and AXE_CORE, the path of axe.min.js")
    script = Path(axe).read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        page = _page(Path(folder) / "page.html")
        rows = [
            row
            for scheme in ("light", "dark")
            for size in SIZES
            for row in _checked(browser, page, script, scheme, size)
        ]
        versions = {"graphgate": version("graphgate"), "axe-core": rows[0].pop("axe")}
        versions["chromium"] = browser.version
        browser.close()
    for row in rows:
        row.pop("axe", None)
    command = "AXE_CORE=…/axe.min.js python -m scripts.check_accessibility"
    write_json(OUT, {"command": command, "versions": versions, "pages": rows})
    counts = {impact: sum(row["violations"][impact] for row in rows) for impact in IMPACTS}
    print(f"{len(rows)} checks: {counts}")


def _page(path: Path) -> Path:
    """Citeseer with a column of dates, placed at random."""
    graph = load_dataset("citeseer").graph
    rng = np.random.default_rng(0)
    dates = [date(2020, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 900, graph.n_nodes)]
    z = rng.normal(size=(graph.n_nodes, 8)).astype(np.float32)
    return write_page(path, graph, z, points=z[:, :2], title="Citeseer", columns={"read": dates})


def _checked(
    browser: Browser, page: Path, script: str, scheme: Any, size: str
) -> list[dict[str, Any]]:
    width, height = SIZES[size]
    tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    tab.goto(page.as_uri())
    while not tab.evaluate("Boolean(map && map.frames > 0)"):
        tab.wait_for_timeout(50)
    tab.evaluate(script)
    rows = []
    for state, action in STATES.items():
        tab.evaluate(f"({action}, null)")
        report = tab.evaluate("axe.run()")
        counts = {
            impact: sum(each["impact"] == impact for each in report["violations"])
            for impact in IMPACTS
        }
        rows.append(
            {"state": state, "scheme": scheme, "window": size, "violations": counts}
            | {"rules": [each["id"] for each in report["violations"]]}
            | {"passes": len(report["passes"]), "incomplete": len(report["incomplete"])}
            | {"axe": report["testEngine"]["version"]}
        )
    tab.close()
    return rows


if __name__ == "__main__":
    main()
