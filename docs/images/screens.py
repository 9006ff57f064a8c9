"""Draws the screenshots of lessons, in three steps, and of pages of plots: light and dark, wide and narrow.

``python docs/images/screens.py`` writes them beside this file.  It needs Chromium with its driver, and Pillow.
"""

from __future__ import annotations

import io
import tempfile
from base64 import b64decode
from pathlib import Path
from typing import Any

from PIL import Image

from autodiff_cli.cli.main import main
from tests.browser import chromium

HERE = Path(__file__).parent
EXPRESSION = ["explain", "log(x**3) + sqrt(x**2)", "--at", "x=5"]
PROGRAM = ["run", str(HERE.parent / "walkthrough" / "code08.ad")]
SHOTS = [("lesson-forward", EXPRESSION, "3"), ("lesson-backward", EXPRESSION, "14"), ("lesson-result", EXPRESSION, "last")]
WAVE = ["plot", "exp(-a*x)*cos(x)", "--over", "x=0:2*pi", "--at", "a=0.3"]
VALLEY = ["plot", "log(1 + (1 - x)**2 + 100*(y - x**2)**2)", "--over", "x=-2:2,y=-1:3"]
PLOTS = [("plot-page", WAVE), ("field-page", VALLEY)]
SIZES = {"wide": (1180, 760), "narrow": (390, 760)}
COLOURS = 128


def take(browser: Any, address: str, width: int, height: int, theme: str) -> Image.Image:
    """Return the picture of a page."""
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    browser.get("about:blank")
    browser.get(address)
    found = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    return Image.open(io.BytesIO(b64decode(found["data"])))


def screens() -> None:
    browser = chromium()
    with tempfile.TemporaryDirectory() as folder:
        lessons = [(name, command, f"#step={step}") for name, command, step in [*SHOTS, ("lesson-program", PROGRAM, "10")]]
        for name, command, place in [*lessons, *((name, command, "") for name, command in PLOTS)]:
            page = Path(folder, "page.html")
            main([*command, "-o", str(page)])
            for size, (width, height) in SIZES.items():
                for theme in ("light", "dark"):
                    picture = take(browser, page.as_uri() + place, width, height, theme)
                    picture.convert("RGB").quantize(COLOURS).save(HERE / f"{name}-{size}-{theme}.png", optimize=True)
    browser.quit()


if __name__ == "__main__":
    screens()
