"""``python -m tests.pages`` rewrites every stale reference page and prints its path."""

from __future__ import annotations

from tests.pages import stale_pages

for path, wanted in stale_pages():
    path.parent.mkdir(exist_ok=True)
    path.write_text(wanted, encoding="utf-8")
    print(path)
