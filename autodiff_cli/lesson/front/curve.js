/** The curve of the result over one element of an input, with its tangent. */

import { human, sizeOf } from "./numbers.js";
import { element, svg } from "./view.js";

const WIDTH = 420, HEIGHT = 230, PAD = 12, POINTS = 240;

export class Curve {
  constructor(lesson, compute) {
    this.compute = compute;
    const result = lesson.lines.findIndex((line) => line.name === lesson.output);
    this.result = lesson.lines.slice(0, result).reduce((sum, { value }) => sum + sizeOf(value), 0);
    this.line = svg("path", { class: "curve" });
    this.tangent = svg("path", { class: "tangent" });
    this.point = svg("circle", { r: 5, class: "point" });
    this.words = element("p");
    const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "The curve of the result with its tangent" });
    picture.append(this.line, this.tangent, this.point);
    this.root = element("div", {}, picture, this.words);
  }

  /** Draw the curve over an element, around its value. */
  show(lesson, values, { label: name, name: input, index }) {
    const at = values.get(name);
    if (this.name !== name || Math.abs(at - this.middle) > this.span) {
      this.name = name;
      this.middle = at;
      this.span = Math.max(2 * Math.abs(at), 1);
    }
    const left = this.middle - this.span;
    const xs = Array.from({ length: POINTS + 1 }, (_, i) => left + (2 * this.span * i) / POINTS);
    const ys = xs.map((x) => this.value(values, name, x));
    const gradient = lesson.ends.find((end) => end.name === input)?.value.values[index];
    const own = this.value(values, name, at);
    const finite = ys.filter(Number.isFinite).sort((a, b) => a - b);
    if (!finite.length) return;
    // Poles do not flatten the rest of the curve.
    const within = (part) => finite[Math.round(part * (finite.length - 1))];
    const near = Number.isFinite(own) ? own : within(0.5);
    let low = Math.min(within(0.03), near), high = Math.max(within(0.97), near);
    const room = (high - low || Math.abs(high) || 1) * 0.12;
    low -= room;
    high += room;
    const px = (x) => PAD + ((x - left) / (2 * this.span)) * (WIDTH - 2 * PAD);
    const py = (y) => HEIGHT - PAD - ((y - low) / (high - low)) * (HEIGHT - 2 * PAD);
    let path = "", goesOn = false;
    ys.forEach((y, i) => {
      const drawn = Number.isFinite(y) && y >= low - 5 * room && y <= high + 5 * room;
      if (drawn) path += `${goesOn ? "L" : "M"}${px(xs[i]).toFixed(2)} ${py(y).toFixed(2)}`;
      goesOn = drawn;
    });
    this.line.setAttribute("d", path);
    this.point.setAttribute("cx", px(at));
    this.point.setAttribute("cy", py(near));
    this.point.classList.toggle("hidden", !Number.isFinite(own));
    const known = Number.isFinite(gradient) && Number.isFinite(own);
    const along = (x) => `${px(x).toFixed(2)} ${py(own + gradient * (x - at)).toFixed(2)}`;
    this.tangent.setAttribute("d", known ? `M${along(left)}L${along(left + 2 * this.span)}` : "");
    const number = (value) => human(value, lesson.precision);
    const about = `${lesson.symbol} over ${name}, from ${number(left)} to ${number(left + 2 * this.span)}`;
    this.words.textContent = known ? `${about}; the slope of the tangent is ${number(gradient)}` : about;
  }

  value(values, name, x) {
    return this.compute(...[...values].map(([each, value]) => (each === name ? x : value)))[this.result];
  }
}
