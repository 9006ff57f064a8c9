"""``python -m tests.pages`` writes every page of the reference that is not what it should be, and names it."""

from __future__ import annotations

from tests.pages import stale_pages

for path, wanted in stale_pages():
    path.write_text(wanted, encoding="utf-8")
    print(path)
