/** Curves over one variable, with the tangents at a point. */

import { scaleLinear } from "d3-scale";

import { RIGHT, axes, labelled, labelledAcross, roomFor } from "./axes.js";
import { human, numberOf } from "./numbers.js";
import { isUnbounded, panelWindow, sampled, windowOf } from "./sampling.js";
import { element, svg, write } from "./view.js";

const TOP = 12, BOTTOM = 40, MARGIN = 0.04;
/** A larger number is not drawn as finite; differences of such numbers may overflow. */
const HUGE = 1e306;
/** The rise across the panel, in pixels, of a tangent that is drawn as vertical. */
const STEEP = 1e7;

export class Curves {
  /** `compute` returns the numbers at a point and at the other inputs; it is undefined if the plot has samples only. */
  constructor(plot, compute) {
    [this.plot, this.compute] = [plot, compute];
    this.log = { x: plot.log.includes("x"), y: plot.log.includes("y") };
    const [{ name, low, high }] = plot.over;
    const [to, from] = [(x) => this.across(x), (u) => this.x(u)];
    this.name = name;
    this.axes = [{ name, to, from, ends: [to(low), to(high)] }];
    this.panels = plot.panels.map((curves) => new Panel(this, curves));
    this.words = element("p");
    this.rows = plot.curves.map(({ label }, k) => {
      const key = svg("svg", { class: "key", viewBox: "0 0 34 8", "aria-hidden": "true" }, svg("path", { class: `curve series-${k}`, d: "M1 4H33" }));
      const cells = [element("td"), element("td")];
      return { cells, row: element("tr", {}, element("th", { scope: "row" }, key, label), ...cells) };
    });
    const heads = ["curve", "value", "slope"].map((text) => element("th", { scope: "col" }, text));
    const body = element("tbody", {}, ...this.rows.map(({ row }) => row));
    this.readings = element("div", {}, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body), this.words);
    this.root = element("div", {}, ...this.panels.map(({ root }) => root));
    if (!compute) {
      const { x, curves } = plot.samples;
      this.samples = { us: x, ys: curves.map((ys) => ys.map(numberOf)), gaps: curves.map(() => new Set()) };
    }
  }

  get box() {
    return this.panels[0].box;
  }

  /** Return the panel of a picture: its box and its scales. */
  areaOf(picture) {
    return this.panels.find(({ root }) => root === picture);
  }

  /** Return the position of a number on the horizontal or the vertical axis. */
  across(x) {
    return this.log.x ? Math.log10(x) : x;
  }

  up(y) {
    if (!this.log.y) return y;
    return y > 0 ? Math.log10(y) : NaN;
  }

  x(u) {
    return this.log.x ? 10 ** u : u;
  }

  /** Draw the curves over a part of the axis.  `given` says whether the inputs are those of the command. */
  draw(values, [[low, high]], size, given) {
    [this.low, this.high] = [low, high];
    const others = this.others(values);
    if (this.compute) this.samples = sampled((u) => this.onAxes(this.x(u), this.numbers(this.x(u), others)), low, high);
    for (const panel of this.panels) panel.measure(size);
    const left = Math.max(...this.panels.map(({ room }) => room));
    for (const panel of this.panels) panel.draw(left, size.width, given);
    this.point(values);
  }

  others(values) {
    return [...values].filter(([label]) => label !== this.name).map(([, value]) => value);
  }

  /** Return the value and the slope of each curve at a point; an unknown slope is undefined. */
  numbers(x, others) {
    const found = this.compute(x, ...others).map((number) => (Math.abs(number) > HUGE ? Math.sign(number) * Infinity : Number(number)));
    return this.plot.curves.map(({ first, order }) => {
      // A derivative is nan where the value is, as for log(x) at negative x.
      const at = (order) => (Number.isNaN(found[first]) ? NaN : found[first + order]);
      return { y: at(order), slope: order + 1 < this.plot.orders ? at(order + 1) : undefined };
    });
  }

  onAxes(x, numbers) {
    const across = this.log.x ? x * Math.LN10 : 1;
    const slope = ({ y, slope }) => (this.log.y ? (slope * across) / (y * Math.LN10) : slope * across);
    return { ys: numbers.map(({ y }) => this.up(y)), slopes: numbers.map((each) => (each.slope === undefined ? undefined : slope(each))) };
  }

  /** Show the numbers and the tangents at the point. */
  point(inputs) {
    const x = inputs.get(this.name);
    const numbers = this.compute ? this.numbers(x, this.others(inputs)) : this.nearest(this.across(x));
    const text = (number) => (number === undefined ? "" : human(number, this.plot.precision));
    numbers.forEach(({ y, slope }, k) => [y, slope].forEach((number, i) => write(this.rows[k].cells[i], text(number))));
    for (const panel of this.panels) panel.point(this.across(x), this.onAxes(x, numbers));
    const values = this.plot.curves.filter(({ order }) => order === 0);
    write(this.words, values.length === 1 ? this.told(x, numbers[0]) : "");
  }

  told(x, { y, slope }) {
    const [value, rise] = [y, slope].map((number) => human(number ?? NaN, this.plot.precision));
    if (slope === undefined) return "";
    if (!Number.isFinite(y)) return `At ${this.name} = ${x}, the value is ${value}.`;
    if (!Number.isFinite(slope)) return `At ${this.name} = ${x}, the derivative is ${rise}: the curve has no tangent.`;
    return `At ${this.name} = ${x}, the slope of the tangent is the derivative, ${rise}.`;
  }

  /** Return the values of the sample nearest to a position, and its derivatives as slopes. */
  nearest(u) {
    const { us, ys } = this.samples;
    const i = us.reduce((best, each, i) => (Math.abs(each - u) < Math.abs(us[best] - u) ? i : best), 0);
    const number = (k) => (this.log.y ? 10 ** ys[k][i] : ys[k][i]);
    const { curves } = this.plot;
    const slopeOf = (k) => (!this.plot.log && curves[k + 1]?.order === curves[k].order + 1 ? number(k + 1) : undefined);
    return curves.map((_, k) => ({ y: number(k), slope: slopeOf(k) }));
  }
}

/** Some of the curves, with axes of their own. */
class Panel {
  constructor(owner, shown) {
    [this.owner, this.shown] = [owner, shown];
    const { curves } = owner.plot;
    const made = (name, attributes) => new Map(shown.map((k) => [k, svg(name, attributes(k))]));
    this.lines = made("path", (k) => ({ class: `curve series-${k}` }));
    this.tangents = made("path", (k) => ({ class: `tangent series-${k}` }));
    this.points = made("circle", (k) => ({ r: 5, class: `point series-${k}` }));
    this.axes = svg("g", {});
    this.marks = svg("g", {});
    this.cursor = svg("path", { class: "cursor" });
    const id = `inside-${shown[0]}`;
    const drawn = [this.cursor, ...[...this.lines.values()].reverse(), this.marks, ...this.tangents.values(), ...this.points.values()];
    this.inside = svg("rect", {});
    const clip = svg("clipPath", { id }, this.inside);
    const label = `${shown.map((k) => curves[k].label).join(", ")} over ${owner.name}`;
    this.root = svg("svg", { role: "img", "aria-label": label }, clip, this.axes, svg("g", { "clip-path": `url(#${id})` }, ...drawn));
  }

  /** Find the window, and the room for its labels. */
  measure({ width, height }) {
    const { plot, samples, low, high, log } = this.owner;
    const seen = (ys) => ys.filter((_, i) => samples.us[i] >= low && samples.us[i] <= high);
    const unbounded = this.shown.map((k) => isUnbounded(samples, k));
    this.height = this.shown.includes(0) ? height : Math.max(height / 2, 150);
    this.window = plot.window;
    if (!plot.window) {
      const [from, to] = panelWindow(this.shown.map((k, i) => windowOf(seen(samples.ys[k]), unbounded[i])), unbounded);
      this.window = [from - (to - from) * MARGIN, to + (to - from) * MARGIN];
    }
    this.labels = [labelledAcross(log.x, [low, high], width - RIGHT), labelled(log.y, this.window, Math.max(3, Math.round(this.height / 55)))];
    this.room = roomFor(this.labels[1]);
  }

  draw(left, width, given) {
    const { low, high, name } = this.owner;
    const box = (this.box = { left, right: width - RIGHT, top: TOP, bottom: this.height - BOTTOM });
    const set = (node, attributes) => Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    set(this.root, { width, height: this.height, viewBox: `0 0 ${width} ${this.height}` });
    set(this.inside, { x: left, y: TOP, width: box.right - left, height: box.bottom - TOP });
    this.u = scaleLinear([low, high], [left, box.right]);
    this.v = scaleLinear(this.window, [box.bottom, TOP]);
    const [across, up] = this.labels;
    const title = svg("text", { class: "name", x: (left + box.right) / 2, y: this.height - 5 }, name);
    this.axes.replaceChildren(...axes(box, this.u, this.v, across, up), title);
    for (const [k, line] of this.lines) line.setAttribute("d", this.path(k));
    this.marks.replaceChildren(...(given ? this.marked() : []));
  }

  /** Return the path of a curve, which does not leave the panel far. */
  path(k) {
    const { us, ys, gaps } = this.owner.samples;
    const far = 2 * this.height;
    const height = (y) => (Number.isFinite(y) ? Math.max(-far, Math.min(far, this.v(y))) : -Math.sign(y) * far);
    let text = "", goesOn = false;
    us.forEach((u, i) => {
      const known = !Number.isNaN(ys[k][i]);
      if (known) text += `${goesOn ? "L" : "M"}${this.u(u).toFixed(2)} ${height(ys[k][i]).toFixed(2)}`;
      goesOn = known && !gaps[k].has(i);
    });
    return text;
  }

  /** Return the marks of discontinuities, and the points of a path, which hold for the inputs of the command. */
  marked() {
    const { plot } = this.owner;
    const circles = plot.circles.filter(({ curve }) => this.lines.has(curve));
    const path = this.lines.has(0) ? plot.path : [];
    const last = (i) => (i === path.length - 1 ? 6 : 4);
    return [
      ...plot.lines.map((u) => svg("path", { class: "pole", d: `M${this.u(u)} ${TOP}V${this.box.bottom}` })),
      ...circles.map(({ curve, x, y, filled }) =>
        svg("circle", { class: `point series-${curve} ${filled ? "" : "open"}`, cx: this.u(x), cy: this.v(y), r: 3.6 }),
      ),
      ...path.map(([x, y], i) =>
        svg("circle", { class: "step", cx: this.u(this.owner.across(x)), cy: this.v(this.owner.up(y)), r: last(i) }),
      ),
    ];
  }

  point(u, { ys, slopes }) {
    const { top, bottom } = this.box;
    this.cursor.setAttribute("d", `M${this.u(u)} ${top}V${bottom}`);
    for (const k of this.shown) {
      const [y, slope] = [ys[k], slopes[k]];
      const point = this.points.get(k);
      point.classList.toggle("hidden", !Number.isFinite(y));
      if (Number.isFinite(y)) point.setAttribute("transform", `translate(${this.u(u)} ${this.v(y)})`);
      const tangent = this.owner.plot.curves[k].order === 0 ? this.tangent(u, y, slope) : "";
      this.tangents.get(k).setAttribute("d", tangent);
    }
  }

  /** Return the path of a line across the panel; it is empty if the slope is not known or not finite. */
  tangent(u, y, slope) {
    const { left, right, top, bottom } = this.box;
    const [from, to] = [left, right].map((at) => this.v(y + slope * (this.u.invert(at) - u)));
    if (!Number.isFinite(from) || !Number.isFinite(to)) return "";
    return Math.abs(to - from) > STEEP ? `M${this.u(u)} ${top}V${bottom}` : `M${left} ${from}L${right} ${to}`;
  }
}
