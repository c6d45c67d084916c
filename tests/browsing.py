"""The page in a Chromium tab."""

from __future__ import annotations

import shutil
import time

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)


def launched():
    """One Chromium; skips without playwright or Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield made
        made.close()


class Seen:
    """A tab, with its errors and requests."""

    def __init__(self, browser, path, link="", **settings):
        settings.setdefault("viewport", {"width": 1000, "height": 700})
        self.context = browser.new_context(reduced_motion="reduce", **settings)
        self.tab = self.context.new_page()
        self.errors, self.requests = [], []
        self.tab.on("console", self._console)
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(path.as_uri() + link)

    def _console(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def start_again(self):
        """The page as after loading: nothing selected, hidden or searched, the whole map."""
        self.tab.mouse.move(0, 0)
        self.tab.evaluate("(history.replaceState(null, '', '#'), readLink(), map.goTo(null))")
        self.tab.fill("#search", "")

    def until(self, expression, seconds=30.0):
        """Waits until an expression is true; the page's policy forbids playwright's own."""
        end = time.monotonic() + seconds
        while not self.tab.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            self.tab.wait_for_timeout(30)

    def at(self, node):
        return self.tab.evaluate(f"map.toPixels({node})")

    def listed(self, name):
        return self.tab.locator(f"#{name} .name").all_inner_texts()
