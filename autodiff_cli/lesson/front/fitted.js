/** A fit: the data, the curve with its bands, and the residuals below them. */

import { scaleLinear } from "d3-scale";

import { RIGHT, axes, labelled, labelledAcross, roomFor } from "./axes.js";
import { human, numberOf } from "./numbers.js";
import { element, svg, write } from "./view.js";

const TOP = 26, BOTTOM = 40, MARGIN = 0.04, MARGIN_OF_RESIDUALS = 0.12;
/** The parts of the height that the data and the residuals take, and the least height of the residuals in pixels. */
const PART_OF_DATA = 0.78, PART = 0.32, LEAST = 120;
/** The most rows with the same position that are named. */
const NAMED = 3;
/** The most points that are drawn large. */
const FEW = 200;

const numbers = (values) => values && values.map(numberOf);
const around = (values, half) => half && [-1, 1].map((sign) => values.map((value, i) => value + sign * half[i]));
const key = (...parts) => svg("svg", { class: "key", viewBox: "0 0 34 8", "aria-hidden": "true" }, ...parts);

export class Fitted {
  constructor({ fit, over: [{ name, low, high }], precision }) {
    [this.name, this.precision] = [name, precision];
    const [x, y, error, residuals, mean, recent] = [fit.x, fit.y, fit.error, fit.residuals, fit.mean, fit.new].map(numbers);
    const [us, curve] = fit.curve.map(numbers);
    const bands = { mean: around(curve, mean), new: around(curve, recent) };
    const shared = { x, us, across: name };
    const above = { ...shared, values: y, bars: around(y, error), curve, bands, up: fit.up, margin: MARGIN, part: PART_OF_DATA, least: 0 };
    const below = { ...shared, values: residuals, curve: null, bands: {}, up: fit.unit, margin: MARGIN_OF_RESIDUALS, part: PART, least: LEAST };
    [this.x, this.us] = [x, us];
    this.panels = [new Panel(above), new Panel(below)];
    const same = (number) => number;
    this.axes = [{ name, to: same, from: same, ends: [low, high] }];
    const percent = `${Number((100 * fit.level).toPrecision(12))} %`;
    const lines = [
      { label: "fit", picture: svg("path", { class: "curve series-0", d: "M1 4H33" }), texts: (i) => this.text(curve[i]) },
      { label: `${percent} band for the curve`, picture: svg("path", { class: "mean", d: "M1 0H33V8H1Z" }), ends: bands.mean },
      { label: `${percent} band for a new measurement`, picture: svg("path", { class: "new", d: "M1 4H33" }), ends: bands.new },
    ];
    const between = ([from, to]) => (i) => `${this.text(from[i])} to ${this.text(to[i])}`;
    this.rows = (bands.mean ? lines : []) // without a band, the line only shows where prediction and data are equal
      .filter(({ texts, ends }) => texts || ends)
      .map(({ label, picture, texts, ends }) => ({ cell: element("td"), label, picture, texts: texts ?? between(ends) }));
    this.measured = [["", y], [`, ${fit.unit}`, residuals]];
    this.up = fit.up;
    this.words = element("p");
    this.nearest = element("p");
    const body = this.rows.map(({ label, picture, cell }) => element("tr", {}, element("th", { scope: "row" }, key(picture), label), cell));
    const table = body.length ? [element("table", {}, element("tbody", {}, ...body))] : [];
    this.readings = element("div", { class: "fit" }, ...table, this.words, this.nearest);
    this.root = element("div", {}, ...this.panels.map(({ root }) => root));
  }

  get box() {
    return this.panels[0].box;
  }

  areaOf(picture) {
    return this.panels.find(({ root }) => root === picture);
  }

  text(number) {
    return human(number, this.precision);
  }

  draw(values, [ends], size) {
    for (const panel of this.panels) panel.measure(ends, size);
    const left = Math.max(...this.panels.map(({ room }) => room));
    for (const panel of this.panels) panel.draw(left, size.width);
    this.point(values);
  }

  /** Show the computed point of the curve and the rows of the data that are nearest to a position. */
  point(values) {
    const at = values.get(this.name);
    const i = closest(this.us, at), near = this.x[closest(this.x, at)];
    for (const { cell, texts } of this.rows) write(cell, texts(i));
    write(this.words, this.rows.length ? `The curve at ${this.name} = ${this.text(this.us[i])}.` : "");
    const rows = this.x.flatMap((x, row) => (x === near ? [row] : []));
    const told = rows.slice(0, NAMED).map((row) => this.told(row));
    const more = rows.length > NAMED ? `; and ${rows.length - NAMED} more` : "";
    write(this.nearest, `Nearest data: ${this.name} = ${this.text(near)}: ${told.join("; ")}${more}.`);
    for (const panel of this.panels) panel.point(this.rows.length ? i : null, at, rows);
  }

  told(row) {
    const [[, y], [unit, residuals]] = this.measured;
    return `${this.up} = ${this.text(y[row])}${unit} = ${this.text(residuals[row])}`;
  }
}

/** Return the position of the number that is nearest to another one. */
function closest(numbers, at) {
  return numbers.reduce((best, each, i) => (Math.abs(each - at) < Math.abs(numbers[best] - at) ? i : best), 0);
}

/** Points over one variable, with axes of their own. */
class Panel {
  constructor(shown) {
    Object.assign(this, shown);
    this.axes = svg("g", {});
    const path = (name) => svg("path", { class: name });
    this.paths = { mean: path("mean"), new: path("new"), bars: path("bars"), curve: path(shown.curve ? "curve series-0" : "axis"), data: path("data") };
    this.paths.data.classList.toggle("many", shown.x.length > FEW);
    this.cursor = path("cursor");
    this.near = path("nearest");
    this.dot = svg("circle", { r: 5, class: "point series-0 hidden" });
    this.inside = svg("rect", {});
    const id = `inside-${shown.curve ? "data" : "residuals"}`;
    const { mean, new: band, bars, curve, data } = this.paths;
    const drawn = [this.cursor, mean, band, curve, bars, data, this.near, this.dot];
    const clip = svg("clipPath", { id }, this.inside);
    this.root = svg("svg", { role: "img", "aria-label": `${shown.up} over ${shown.across}` }, clip, this.axes, svg("g", { "clip-path": `url(#${id})` }, ...drawn));
  }

  /** Find the window, which contains the visible data, curve and band of the curve, and the room for its labels. */
  measure([low, high], { width, height }) {
    [this.low, this.high] = [low, high];
    this.height = Math.max(this.part * height, this.least);
    const seen = (at, values) => values.filter((value, i) => at[i] >= low && at[i] <= high && Number.isFinite(value));
    const ofData = [this.values, ...(this.bars ?? [])].map((values) => seen(this.x, values));
    const ofCurve = this.curve ? [this.curve, ...(this.bands.mean ?? [])].map((values) => seen(this.us, values)) : [[-1, 1]];
    const [from, to] = [...ofData, ...ofCurve].flat().reduce(([least, most], each) => [Math.min(least, each), Math.max(most, each)], [Infinity, -Infinity]);
    const [bottom, top] = from <= to ? [from, to] : [0, 1];
    const room = (top - bottom || Math.abs(top) || 1) * this.margin;
    this.window = [bottom - room, top + room];
    this.labels = [labelledAcross(false, [low, high], width - RIGHT), labelled(false, this.window, Math.max(3, Math.round(this.height / 55)))];
    this.room = roomFor(this.labels[1]);
  }

  draw(left, width) {
    const { low, high, height, x, values, us, curve, bands, bars } = this;
    const box = (this.box = { left, right: width - RIGHT, top: TOP, bottom: height - BOTTOM });
    const set = (node, attributes) => Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
    set(this.root, { width, height, viewBox: `0 0 ${width} ${height}` });
    set(this.inside, { x: left, y: TOP, width: box.right - left, height: box.bottom - TOP });
    this.u = scaleLinear([low, high], [left, box.right]);
    this.v = scaleLinear(this.window, [box.bottom, TOP]);
    const names = [svg("text", { class: "name", x: (left + box.right) / 2, y: height - 5 }, this.across), svg("text", { class: "name left", x: 8, y: 16 }, this.up)];
    this.axes.replaceChildren(...axes(box, this.u, this.v, ...this.labels), ...names);
    const line = (ys) => (ys ? `M${us.map((at, i) => this.place(at, ys[i])).join("L")}` : "");
    const { mean, new: recent } = bands;
    set(this.paths.curve, { d: curve ? line(curve) : `M${left} ${this.v(0)}H${box.right}` });
    set(this.paths.new, { d: recent ? recent.map(line).join("") : "" });
    set(this.paths.mean, { d: mean ? `${line(mean[0])}L${us.map((at, i) => this.place(at, mean[1][i])).reverse().join("L")}Z` : "" });
    set(this.paths.bars, { d: bars ? x.map((at, i) => `M${this.place(at, bars[0][i])}V${this.v(bars[1][i]).toFixed(2)}`).join("") : "" });
    set(this.paths.data, { d: dots(x.map((at, i) => this.place(at, values[i]))) });
  }

  place(at, y) {
    return `${this.u(at).toFixed(2)} ${this.v(y).toFixed(2)}`;
  }

  /** Show a position, the sample `i` of the curve, and some rows of the data. */
  point(i, at, rows) {
    this.cursor.setAttribute("d", `M${this.u(at)} ${this.box.top}V${this.box.bottom}`);
    this.near.setAttribute("d", dots(rows.map((row) => this.place(this.x[row], this.values[row]))));
    const isShown = this.curve !== null && i !== null;
    this.dot.classList.toggle("hidden", !isShown);
    if (isShown) this.dot.setAttribute("transform", `translate(${this.place(this.us[i], this.curve[i])})`);
  }
}

/** Return a path of lines without length, which round ends make points: one element, however many points there are. */
const dots = (places) => places.map((place) => `M${place}h0`).join("");
