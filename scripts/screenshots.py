"""Screenshots of the interactive page for README.md and docs/, with the bundled Cora graph.

python scripts/screenshots.py        needs chromium on the path
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
# name, method, size, color scheme, and the id of the selected node
SHOTS = (
    ("explorer", "linear", (1280, 800), "light", None),
    ("explorer-node", "gate", (1280, 800), "dark", "77758"),
)


def main() -> None:
    if (chromium := shutil.which("chromium")) is None:
        sys.exit("this needs chromium on the path")
    environment = {name: value for name, value in os.environ.items() if name != "GRAPHGATE_DATA"}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for name, method, (width, height), scheme, node in SHOTS:
            page = Path(folder) / f"{name}.html"
            command = [sys.executable, "-m", "graphgate", "explore", "--dataset", "cora"]
            options = ["--method", method, "--out", str(page)]
            subprocess.run([*command, *options], check=True, env=environment)
            tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
            tab.goto(page.as_uri())
            tab.wait_for_function("typeof map !== 'undefined' && map && map.frames > 0")
            if node is not None:
                tab.fill("#search", node)
                tab.keyboard.press("Enter")
            tab.wait_for_timeout(2000)  # the animation, and the last frame
            tab.screenshot(path=IMAGES / f"{name}.png")
            print(f"wrote {name}.png")
        browser.close()


if __name__ == "__main__":
    main()
