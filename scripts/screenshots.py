"""Screenshots of the interactive page for README.md and docs/, with the bundled Cora graph.

python -m scripts.screenshots        needs chromium on the path
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
# name, method, size, color scheme, and the part of the link that says what is shown
SHOTS = (
    ("explorer", "linear", (1280, 800), "light", ""),
    ("explorer-node", "gate", (1280, 800), "dark", "#node=77758"),
    ("explorer-group", "linear", (1280, 800), "light", "#group=class%3A+Reinforcement_Learning"),
)


def main() -> None:
    if (chromium := shutil.which("chromium")) is None:
        sys.exit("this needs chromium on the path")
    environment = {name: value for name, value in os.environ.items() if name != "GRAPHGATE_DATA"}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for method in dict.fromkeys(method for _, method, *_ in SHOTS):
            page = Path(folder) / f"{method}.html"
            command = [sys.executable, "-m", "graphgate", "explore", "--dataset", "cora"]
            options = ["--method", method, "--out", str(page)]
            subprocess.run([*command, *options], check=True, env=environment)
        for name, method, (width, height), scheme, link in SHOTS:
            tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
            tab.goto((Path(folder) / f"{method}.html").as_uri() + link)
            while not tab.evaluate("Boolean(map && map.frames > 0)"):
                tab.wait_for_timeout(50)
            tab.wait_for_timeout(2000)  # the animation, and the last frame
            tab.screenshot(path=IMAGES / f"{name}.png")
            print(f"wrote {name}.png")
        browser.close()


if __name__ == "__main__":
    main()
