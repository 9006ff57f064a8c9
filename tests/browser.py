"""Pages in a browser.

The browser is Chromium with its driver, from the packages of the system; without them, the tests of pages in a browser are skipped.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any


def data_of(page: str) -> dict[str, Any]:
    """Return the data of a page."""
    (text,) = re.findall(r'<script id="[a-z]+" type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def chromium() -> Any:
    """Return a driver of a headless Chromium without a network."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    switches = ["headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking", "disable-sync"]
    for switch in [*switches, "disable-component-update", "disable-quic", "disable-dev-shm-usage", "window-size=1280,900"]:
        options.add_argument(f"--{switch}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


class Page:
    """A page in a browser."""

    def __init__(self, browser: Any, folder: Path, text: str) -> None:
        self.browser = browser
        self.path = folder / "page.html"
        self.path.write_text(text, encoding="utf-8")
        self.open()

    def open(self, step: str = "") -> None:
        self.browser.get("about:blank")
        self.browser.get_log("browser")
        self.browser.get(self.path.as_uri() + step)
        assert self.one("body").get_attribute("data-ready") == "true"

    def one(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        return self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)", selector
        )

    def press(self, key: str) -> None:
        self.one("body").send_keys(key)

    def wait(self, milliseconds: int) -> None:
        self.browser.execute_script("return new Promise((done) => setTimeout(done, arguments[0]))", milliseconds)

    @property
    def position(self) -> tuple[int, int]:
        at, last = self.one("#count").text.split(" / ")
        return int(at), int(last)

    def errors(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser")]
