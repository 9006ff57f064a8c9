/** A plot whose inputs move: over one variable with tangents, or over two with contour lines and the gradient; or a fit. */

import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";

import { Curves } from "./curves.js";
import { Field } from "./field.js";
import { Fitted } from "./fitted.js";
import { Inputs } from "./inputs.js";
import { elementsOf } from "./model.js";
import { element, write } from "./view.js";

const STEP = 1.6, CLOSEST = 1e6, FARTHEST = 1e-3, SHIFT = 0.1;
/** The first point as a part of the range: not its middle, where a function is often symmetric. */
const START = 0.68;
const byId = (id) => document.getElementById(id);

const plot = JSON.parse(byId("plot").textContent);
const compute = globalThis.plotCode;
const view = new (plot.fit ? Fitted : plot.over.length === 2 ? Field : Curves)(plot, compute);
const whole = view.axes.map(({ ends }) => ends);
const figure = byId("figure");
/** The ranges of the axes, and those that the zoom began with. */
let ends = whole, base = whole;
const printed = element("p", { class: "printed" });
let waiting = null, anew = false, width = 0;

const points = view.axes.map((axis, i) => {
  const [from, to] = axis.ends;
  const scale = { to: axis.to, from: (u) => rounded(axis, u, (to - from) / 400) };
  return { label: axis.name, name: axis.name, place: [], index: 0, value: scale.from(from + START * (to - from)), range: axis.ends.map(axis.from), scale, axis: i };
});
const elements = [...points, ...elementsOf(plot)];
const given = new Map(elements.map(({ label, value }) => [label, value]));
const inputs = new Inputs(elements, (values, { axis }, moved) => {
  if (moved) axis === undefined ? draw() : move();
});

/** Return the number at a position of an axis, with the digits that a step of the position changes. */
function rounded(axis, u, step) {
  const number = axis.from(u);
  const digits = 1 - Math.floor(Math.log10(Math.abs(axis.from(u + step) - number)));
  return digits >= 0 && digits <= 100 ? Number(number.toFixed(digits)) : number;
}

/** Draw in the next frame: the point, or everything. */
function draw(everything = true) {
  anew ||= everything;
  waiting ??= requestAnimationFrame(() => {
    waiting = null;
    if (anew) drawNow();
    else view.point(inputs.values);
    anew = false;
    write(printed, [...inputs.values].map(([label, value]) => `${label} = ${value}`).join(", "));
  });
}

function drawNow() {
  const same = elements.every(({ label, axis }) => axis !== undefined || inputs.values.get(label) === given.get(label));
  byId("notes").classList.toggle("hidden", !same); // notes are on the given inputs
  width = figure.clientWidth;
  view.draw(inputs.values, ends, { width, height: Math.max(260, Math.min(0.62 * width, 0.66 * window.innerHeight)) }, same);
}

/** Draw the point.  If it is outside, move the range. */
function move() {
  const shifted = view.axes.map(({ name, to }, i) => {
    const at = to(inputs.values.get(name)), [low, high] = ends[i], half = (high - low) / 2;
    return !compute || Number.isNaN(at) || (at >= low && at <= high) ? ends[i] : [at - half, at + half];
  });
  if (shifted.some((range, i) => range !== ends[i])) begin(shifted);
  else draw(false);
}

/** Show ranges, from which the next zoom begins. */
function begin(ranges) {
  base = ranges;
  zooms.transform(select(figure), zoomIdentity);
}

const zooms = zoom()
  .scaleExtent([FARTHEST, CLOSEST])
  .filter((event) => {
    if (event.touches) return event.touches.length > 1; // one finger moves the point, and scrolls the page
    return !event.button && (!event.ctrlKey || event.type === "wheel");
  })
  .extent(() => [[view.box.left, view.box.top], [view.box.right, view.box.bottom]])
  .on("zoom", ({ transform }) => {
    const { left, right, top, bottom } = view.box;
    const across = (range) => transform.rescaleX(scaleLinear(range, [left, right])).domain();
    const up = (range) => transform.rescaleY(scaleLinear(range, [bottom, top])).domain();
    ends = base.map((range, i) => (i ? up : across)(range));
    draw();
  });

/** Move the point to where the pointer is. */
function follow(event) {
  if (event.buttons && event.pointerType === "mouse") return;
  const picture = event.target.closest("svg");
  const area = picture && view.areaOf(picture);
  if (!area) return;
  const corner = picture.getBoundingClientRect();
  const [x, y] = [event.clientX - corner.left, event.clientY - corner.top];
  const { left, right, top, bottom } = area.box;
  if (x < left || x > right || y < top || y > bottom) return;
  view.axes.forEach((axis, i) => {
    const [scale, at] = i ? [area.v, y] : [area.u, x];
    inputs.put(axis.name, rounded(axis, scale.invert(at), Math.abs(scale.invert(at + 1) - scale.invert(at))));
  });
  draw(false);
}

const zoomed = (factor) => () => zooms.scaleBy(select(figure), factor);
const moved = (direction) => () => zooms.translateBy(select(figure), (direction * SHIFT * figure.clientWidth) / scaleOf(), 0);
const scaleOf = () => figure.__zoom.k;
const buttons = { closer: zoomed(STEP), farther: zoomed(1 / STEP), all: () => begin(whole) };
const KEYS = { "+": buttons.closer, "=": buttons.closer, "-": buttons.farther, 0: buttons.all, ArrowLeft: moved(1), ArrowRight: moved(-1) };

figure.append(view.root);
figure.classList.toggle("flat", view.axes.length === 2);
byId("inputs").replaceChildren(inputs.root, printed);
byId("readings").append(view.readings);
byId("notes").append(...plot.notes.map((note) => element("li", {}, note)));
byId("fixed").textContent = plot.fixed ?? "";
for (const [id, act] of Object.entries(buttons)) byId(id).addEventListener("click", act);
document.addEventListener("keydown", (event) => {
  const act = KEYS[event.key];
  if (!act || event.target.closest?.("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
});
select(figure).call(zooms).on("dblclick.zoom", buttons.all);
figure.addEventListener("pointermove", follow);
figure.addEventListener("pointerdown", follow);
new ResizeObserver(() => figure.clientWidth !== width && draw()).observe(figure);
drawNow();
draw(false);
document.body.dataset.ready = "true";
