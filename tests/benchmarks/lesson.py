"""A lesson in Chromium: the time to open it, and the time of a step and of a moved input, for three sizes of a program.

python tests/benchmarks/lesson.py
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.test_lesson import Page, chromium, explained

STEPS = """
const n = document.getElementById('next'), times = [];
while (!n.disabled) {
  const s = performance.now();
  n.click();
  document.body.offsetHeight;  // the layout of the page is part of the step
  times.push(performance.now() - s);
}
times.sort((a, b) => a - b);
return [times.reduce((a, b) => a + b)/times.length, times[Math.floor(0.99*times.length)]]"""
MOVES = """
const f = document.querySelector('.inputs input[type=range]'), s = performance.now();
for (let i = 0; i < 10; i++) { f.value = Number(f.min) + i/10; f.dispatchEvent(new Event('input')); }
return (performance.now() - s)/10"""


def main() -> None:
    browser = chromium()
    with tempfile.TemporaryDirectory() as folder:
        for count in (10, 50, 166):
            steps = "; ".join(["a0 = x", *(f"a{i} = sin(a{i - 1})*y + {i}" for i in range(1, count + 1)), f"a{count}"])
            page = Page(browser, Path(folder), explained(steps, {"x": 0.5, "y": 0.7}))
            start = time.perf_counter()
            page.open()
            took = time.perf_counter() - start
            size = page.path.stat().st_size / 1024
            (step, slow), move = browser.execute_script(STEPS), browser.execute_script(MOVES)
            times = f"step {step:.1f} ms, 99 % below {slow:.1f} ms, moved input {move:.1f} ms"
            print(f"{3 * count:4} operations: {size:4.0f} KiB, opens in {took:.2f} s; {times}")
    browser.quit()


if __name__ == "__main__":
    main()
