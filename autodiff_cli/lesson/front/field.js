/** A value over two variables as bands between contour lines, with the gradient at a point. */

import { ticks } from "d3-array";
import { contours } from "d3-contour";
import { scaleLinear } from "d3-scale";

import { RIGHT, axes, labelled, labelledAcross, roomFor } from "./axes.js";
import { human, numberOf } from "./numbers.js";
import { opened, windowOf } from "./sampling.js";
import { element, svg, write } from "./view.js";

const SAMPLES = 121, BANDS = 12, ACROSS = 18, TOP = 12, BOTTOM = 40, SHADES = 7;
/** Two ranges are drawn to the same scale if the ratio of their lengths is at most this factor. */
const ALIKE = 1.6;

export class Field {
  /** `compute` returns the value and its gradient at a point and at the other inputs; it is undefined if the plot has samples only. */
  constructor(plot, compute) {
    [this.plot, this.compute] = [plot, compute];
    this.names = plot.over.map(({ name }) => name);
    const same = (number) => number;
    this.axes = plot.over.map(({ name, low, high }) => ({ name, to: same, from: same, ends: [low, high] }));
    this.frame = svg("g", {});
    this.bands = svg("g", { class: "bands" });
    this.through = svg("path", { class: "through" });
    this.arrows = svg("path", { class: "arrows" });
    this.marks = svg("g", {});
    this.gradient = svg("path", { class: "gradient-arrow" });
    this.dot = svg("circle", { class: "point", r: 5 });
    this.inside = svg("rect", {});
    const clip = svg("clipPath", { id: "inside" }, this.inside);
    const drawn = svg("g", { "clip-path": "url(#inside)" }, this.bands, this.arrows, this.through, this.marks);
    const label = `${plot.expression} over ${this.names.join(" and ")}, as bands between contour lines`;
    this.picture = svg("svg", { role: "img", "aria-label": label }, clip, drawn, this.frame, this.gradient, this.dot);
    this.key = element("div", { class: "bands-key" });
    this.root = element("div", {}, this.picture, this.key);
    this.words = element("p");
    const row = (name) => {
      const cell = element("td");
      return { cell, row: element("tr", {}, element("th", { scope: "row" }, name), cell) };
    };
    this.rows = ["value", ...this.names.map((name) => `d/d${name}`), "length of the gradient"].map(row);
    this.readings = element("div", {}, element("table", {}, ...this.rows.map(({ row }) => row)), this.words);
  }

  others(values) {
    return [...values].filter(([label]) => !this.names.includes(label)).map(([, value]) => value);
  }

  numbers(x, y, others) {
    const [value, ...slopes] = this.compute(x, y, ...others).map(Number);
    return { value, slopes: Number.isNaN(value) ? [NaN, NaN] : slopes };
  }

  /** Return the box and the scales of the picture. */
  areaOf(picture) {
    return picture === this.picture ? this : undefined;
  }

  /** Draw the field over parts of both axes. */
  draw(values, [ends, other], size, given) {
    const others = this.others(values);
    const grid = ([low, high]) => Array.from({ length: SAMPLES }, (_, i) => low + (high - low) * (i / (SAMPLES - 1)));
    if (this.compute) {
      const [xs, ys] = [grid(ends), grid(other)];
      const rows = ys.map((y) => xs.map((x) => this.numbers(x, y, others)));
      this.samples = { xs, ys, value: interrupted(xs, ys, rows), slopes: rows.map((row) => row.map(({ slopes }) => slopes)) };
    } else this.samples ??= this.given();
    this.layout(ends, other, size);
    this.fill();
    this.arrows.setAttribute("d", this.plot.order ? this.pointed() : "");
    this.marks.replaceChildren(...(given ? this.path() : []));
    this.point(values);
  }

  /** Return the samples that Python wrote. */
  given() {
    const { x, y, value, gradient } = this.plot.samples;
    const [across, up] = gradient;
    const slopes = y.map((_, i) => x.map((_, j) => (across ? [across[i][j], up[i][j]].map(numberOf) : [NaN, NaN])));
    return { xs: x, ys: y, value: value.map((row) => row.map(numberOf)), slopes };
  }

  layout([low, high], [from, to], { width, height }) {
    const up = labelled(false, [from, to], Math.max(3, Math.round(height / 55)));
    const left = roomFor(up) + 14;
    const shape = (to - from) / (high - low), inner = width - RIGHT - left;
    const alike = shape >= 1 / ALIKE && shape <= ALIKE;
    const tall = Math.min(alike ? inner * shape : height - TOP - BOTTOM, 1.1 * height);
    const wide = alike ? tall / shape : inner;
    this.box = { left, right: left + wide, top: TOP, bottom: TOP + tall };
    const set = (node, attributes) => Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    set(this.picture, { width, height: tall + TOP + BOTTOM, viewBox: `0 0 ${width} ${tall + TOP + BOTTOM}` });
    set(this.inside, { x: left, y: TOP, width: wide, height: tall });
    this.u = scaleLinear([low, high], [left, left + wide]);
    this.v = scaleLinear([from, to], [TOP + tall, TOP]);
    const across = labelledAcross(false, [low, high], wide);
    const names = [
      svg("text", { class: "name", x: left + wide / 2, y: tall + TOP + BOTTOM - 5 }, this.names[0]),
      svg("text", { class: "name left", x: 4, y: TOP + tall / 2 + 4 }, this.names[1]),
    ];
    this.frame.replaceChildren(...axes(this.box, this.u, this.v, across, up).filter((part) => !part.matches(".grid")), ...names);
  }

  /** Fill the bands, and write their limits. */
  fill() {
    const { value } = this.samples;
    const flat = value.flat();
    const levels = this.levels(flat);
    const shade = (i) => `fill: ${mixed(i / Math.max(1, levels.length - 2))}`;
    const lowest = this.contour(-Number.MAX_VALUE, flat);
    const filled = levels.slice(0, -1).map((level, i) => svg("path", { class: "band", style: shade(i), d: i ? this.contour(level, flat) : lowest }));
    this.bands.replaceChildren(...filled);
    const text = (level) => human(level, 6).replace("-", "−");
    const bands = levels.slice(0, -1).flatMap((level, i) => [
      element("span", {}, text(level)),
      svg("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" }, svg("rect", { style: shade(i), width: 10, height: 10 })),
    ]);
    this.key.replaceChildren(element("span", { class: "quiet" }, "value"), ...bands, element("span", {}, text(levels[levels.length - 1])));
  }

  levels(flat) {
    const { window } = this.plot;
    const sorted = flat.filter(Number.isFinite).sort((a, b) => a - b);
    const size = sorted[Math.round(0.9 * (sorted.length - 1))] - sorted[Math.round(0.1 * (sorted.length - 1))];
    const far = sorted.length > 0 && sorted[sorted.length - 1] - sorted[0] > 10 * size;
    const [low, high] = opened(...(window ?? windowOf(flat, far && flat.some(Number.isNaN)) ?? [-1, 1]));
    const found = ticks(low, high, Math.max(1, BANDS - 2));
    const step = found.length > 1 ? found[1] - found[0] : high - low;
    const [first, last] = [found[0] ?? low, found[found.length - 1] ?? high];
    const rounded = (value) => Number(value.toPrecision(12));
    return [...(low < first ? [rounded(first - step)] : []), ...found, ...(high > last ? [rounded(last + step)] : [])];
  }

  /** Return the path of the region in which the value is at least a level; a value that is not a number is not in any region. */
  contour(level, flat = this.samples.value.flat()) {
    const { xs, ys } = this.samples;
    const place = (points, scale, i) => scale(points[0] + ((points[points.length - 1] - points[0]) * (i - 0.5)) / (points.length - 1));
    const { coordinates } = contours().size([xs.length, ys.length]).contour(flat, level);
    const ring = (points) => `M${points.map(([i, j]) => `${place(xs, this.u, i).toFixed(1)} ${place(ys, this.v, j).toFixed(1)}`).join("L")}Z`;
    return coordinates.flat().map(ring).join("");
  }

  /** Return the arrows of the gradient: perpendicular to the contour lines, longer where the slope is larger. */
  pointed() {
    const { left, right, top, bottom } = this.box;
    const spacing = (right - left) / ACROSS, rows = Math.max(3, Math.round((bottom - top) / spacing));
    const found = [];
    for (let i = 0; i < ACROSS; i++) {
      for (let j = 0; j < rows; j++) {
        const x = left + (i + 0.5) * spacing, y = top + ((j + 0.5) * (bottom - top)) / rows;
        const { value, slopes } = this.near(this.u.invert(x), this.v.invert(y));
        const [across, up] = this.onScreen(slopes);
        const length = Math.hypot(across, up);
        if (Number.isFinite(value) && Number.isFinite(length) && length > 0) found.push({ x, y, across, up, length });
      }
    }
    const lengths = found.map(({ length }) => length).sort((a, b) => a - b);
    const typical = lengths[Math.floor(0.95 * (lengths.length - 1))];
    return found.map(({ x, y, across, up, length }) => {
      const part = (Math.min(Math.max(Math.cbrt(length / typical), 0.25), 1) * 0.72 * spacing) / length;
      return arrow(x - (across * part) / 2, y - (up * part) / 2, across * part, up * part);
    }).join("");
  }

  /** Return the direction on the screen in which the value rises. */
  onScreen([across, up]) {
    const scale = Math.abs((this.v(1) - this.v(0)) / (this.u(1) - this.u(0)));
    return [across, -up / scale];
  }

  near(x, y) {
    const { xs, ys, value, slopes } = this.samples;
    const place = (points, at) => Math.max(0, Math.min(points.length - 1, Math.round(((at - points[0]) / (points[points.length - 1] - points[0])) * (points.length - 1))));
    const [i, j] = [place(ys, y), place(xs, x)];
    return { value: value[i][j], slopes: slopes[i][j] };
  }

  path() {
    const points = this.plot.path.map(([x, y]) => [this.u(x), this.v(y)]);
    if (!points.length) return [];
    const circles = points.map(([cx, cy], i) => svg("circle", { class: "step", cx, cy, r: i === points.length - 1 ? 6 : 4 }));
    return [svg("path", { class: "steps", d: `M${points.map((point) => point.join(" ")).join("L")}` }), ...circles];
  }

  /** Show the numbers, the gradient and the contour line at the point. */
  point(inputs) {
    const [x, y] = this.names.map((name) => inputs.get(name));
    const { value, slopes } = this.compute ? this.numbers(x, y, this.others(inputs)) : this.near(x, y);
    const length = Math.hypot(...slopes);
    const text = (number) => human(number, this.plot.precision);
    [value, ...slopes, length].forEach((number, i) => write(this.rows[i].cell, text(number)));
    this.through.setAttribute("d", Number.isFinite(value) ? this.contour(value) : "");
    this.dot.setAttribute("transform", `translate(${this.u(x)} ${this.v(y)})`);
    const [across, up] = this.onScreen(slopes);
    const screen = Math.hypot(across, up), known = Number.isFinite(screen) && screen > 0;
    const drawn = known ? arrow(this.u(x), this.v(y), (across / screen) * 56, (up / screen) * 56) : "";
    this.gradient.setAttribute("d", drawn);
    const at = `At ${this.names[0]} = ${x}, ${this.names[1]} = ${y}`;
    const told = known
      ? `the value is ${text(value)}, as on the whole marked line. The gradient points uphill, and the value rises by ${text(length)} for each unit in this direction.`
      : length === 0 ? "the gradient is 0." : `the value is ${text(value)}, and the gradient is ${text(slopes[0])}, ${text(slopes[1])}.`;
    write(this.words, `${at}, ${told}`);
  }
}

/** Return a colour between those of the style sheet for the lowest and the highest values. */
function mixed(part) {
  const at = part * (SHADES - 1), i = Math.min(Math.floor(at), SHADES - 2);
  return `color-mix(in srgb, var(--band-${i}), var(--band-${i + 1}) ${Math.round(100 * (at - i))}%)`;
}

/** Return the path of an arrow from a point. */
function arrow(x, y, across, up) {
  const head = Math.min(6, Math.hypot(across, up) * 0.45), angle = Math.atan2(up, across);
  const [tipX, tipY] = [x + across, y + up];
  const side = (turn) => `${(tipX - head * Math.cos(angle + turn)).toFixed(1)} ${(tipY - head * Math.sin(angle + turn)).toFixed(1)}`;
  const tip = `${tipX.toFixed(1)} ${tipY.toFixed(1)}`;
  return `M${x.toFixed(1)} ${y.toFixed(1)}L${tip}M${side(0.5)}L${tip}L${side(-0.5)}`;
}

/** Return the values, nan where the rise to a neighbour does not match the gradient, as at jumps and poles. */
function interrupted(xs, ys, rows) {
  const all = rows.flat().map(({ value }) => value).filter(Number.isFinite).sort((a, b) => a - b);
  const part = (share) => all[Math.round(share * (all.length - 1))];
  const span = part(0.9) - part(0.1) || all[all.length - 1] - all[0] || 1;
  const breaks = (a, b, step, k) => {
    const expected = (step * (a.slopes[k] + b.slopes[k])) / 2;
    return Math.abs(b.value - a.value - expected) > Math.max(span / 10, 0.6 * Math.abs(expected));
  };
  const [across, up] = [xs[1] - xs[0], ys[1] - ys[0]];
  return rows.map((row, i) =>
    row.map((each, j) => {
      const next = row[j + 1], above = rows[i + 1]?.[j];
      return (next && breaks(each, next, across, 0)) || (above && breaks(each, above, up, 1)) ? NaN : each.value;
    }),
  );
}
