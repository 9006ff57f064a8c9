"""A lesson in Chromium: the time to open it, and the time of a step and of a moved input, for three sizes of an expression; and the
same for a gradient descent as a program, with the time to record it.  Then pages of plots: the time until a moved input is drawn.

python tests/benchmarks/lesson.py
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from autodiff_cli.lesson import plot as plots
from autodiff_cli.lesson.program import to_html
from autodiff_cli.plotting.plot import plot
from tests.browser import Page, chromium
from tests.test_lesson import explained, opened
from tests.test_program_lesson import recorded

DESCENT = """
w = tensor([1, 2, 3], requires_grad=true)
x = tensor([[1, 2, 3], [0.5, -1, 2], [3, 1, 0], [1, 1, 1]])
for i in range({}):
    loss = ((sigmoid(x @ w) - 0.5)**2).mean()
    loss.backward()
    with no_grad():
        w -= 0.1*w.grad
    w.grad.zero_()
"""
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


FRAMES = """
return (async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const f = document.querySelector('[aria-label="slider of a"]'), s = performance.now();
  for (let i = 1; i <= 20; i++) { f.value = i/10; f.dispatchEvent(new Event('input')); await frame(); await frame(); }
  return (performance.now() - s)/20;
})()"""
TERMS = " + ".join(f"sin({k}*x + a)*exp(-{k}*x/40)" for k in range(1, 150))
PLOTS = [
    ("exp(-a*x)*cos(x)", ["x=0:6"]),
    ("tan(x) + floor(a*x)", ["x=-4:4"]),
    (TERMS, ["x=0:3"]),
    ("(1 - x)**2 + a*(y - x**2)**2", ["x=-2:2", "y=-1:3"]),
]


def main() -> None:
    browser = chromium()
    with tempfile.TemporaryDirectory() as folder:
        for count in (10, 50, 166):
            steps = "; ".join(["a0 = x", *(f"a{i} = sin(a{i - 1})*y + {i}" for i in range(1, count + 1)), f"a{count}"])
            page = opened(browser, Path(folder), explained(steps, {"x": 0.5, "y": 0.7}))
            print(f"{3 * count:4} operations: {measured(page)}, moved input {browser.execute_script(MOVES):.1f} ms")
        for count in (3, 30, 90):
            start = time.perf_counter()
            html = to_html("descent.ad", recorded(DESCENT.format(count)), 6)
            took = time.perf_counter() - start
            page = Page(browser, Path(folder), html)
            print(f"{count:4} turns in {page.position[1] + 1} steps: recorded in {took:.2f} s, {measured(page)}")
        for source, over in PLOTS:
            page = Page(browser, Path(folder), plots.to_html(plot(source, over, {"a": 1.0}), 6))
            start = time.perf_counter()
            page.open()
            took = time.perf_counter() - start
            size = page.path.stat().st_size / 1024
            print(f"{size:4.0f} KiB, opens in {took:.2f} s; moved input {browser.execute_script(FRAMES):.0f} ms: {source[:40]}")
    browser.quit()


def measured(page: Page) -> str:
    """Return the size of a page, and the times to open it and to go through all its steps."""
    start = time.perf_counter()
    page.open()
    took = time.perf_counter() - start
    step, slow = page.browser.execute_script(STEPS)
    return f"{page.path.stat().st_size / 1024:4.0f} KiB, opens in {took:.2f} s; step {step:.1f} ms, 99 % below {slow:.1f} ms"


if __name__ == "__main__":
    main()
