/** The axes of plots: positions, labels and grids.  A logarithmic axis has the decimal logarithm of a number. */

import { scaleLinear, scaleLog } from "d3-scale";

import { svg } from "./view.js";

const LETTER = 7.2;
/** The room on the right of a box for the last label. */
export const RIGHT = 28;
/** The exponent from which powers of ten are too close to the limits of numbers to be counted in steps. */
const FARTHEST = 300;

/** Return the places of the labels of an axis, and their texts: [{at, text}]. */
export function labelled(log, [from, to], count) {
  if (log && from > -FARTHEST && to < FARTHEST) {
    const scale = scaleLog([10 ** from, 10 ** to], [0, 1]);
    const format = scale.tickFormat(count, "~g");
    return scale.ticks(count).map((value) => ({ at: Math.log10(value), text: short(format(value)) }));
  }
  const scale = scaleLinear([from, to], [0, 1]);
  if (log) return scale.ticks(count).filter(Number.isInteger).map((power) => ({ at: power, text: `1e${power}` }));
  const size = Math.max(Math.abs(from), Math.abs(to));
  const format = scale.tickFormat(count, size >= 1e6 || size < 1e-4 ? "~e" : "f");
  return scale.ticks(count).map((value) => ({ at: value, text: short(format(value)) }));
}

const short = (text) => (text === "0e+0" ? "0" : text.replace("e+", "e"));

/** Return the labels of a horizontal axis, which do not touch each other. */
export function labelledAcross(log, ends, width) {
  let count = Math.max(3, Math.round(width / 90));
  let labels = labelled(log, ends, count);
  const isCrowded = () => Math.max(...labels.map(({ text }) => text.length)) * LETTER > (0.9 * width) / labels.length;
  while (count > 1 && isCrowded()) labels = labelled(log, ends, --count);
  return labels;
}

/** Return the room that the labels of a vertical axis take. */
export const roomFor = (labels) => 18 + LETTER * Math.max(2, ...labels.map(({ text }) => text.length));

/** Return the parts of both axes of a box, as SVG: a grid and its labels.  `u` and `v` are the scales of the box. */
export function axes({ left, right, top, bottom }, u, v, across, up) {
  const fits = ({ at, text }) => u(at) + (LETTER * text.length) / 2 <= right + RIGHT;
  const line = (d, name = "grid") => svg("path", { class: name, d });
  return [
    ...across.map(({ at }) => line(`M${u(at)} ${top}V${bottom}`)),
    ...up.map(({ at }) => line(`M${left} ${v(at)}H${right}`)),
    line(`M${left} ${top}V${bottom}H${right}`, "axis"),
    ...across.filter(fits).map(({ at, text }) => svg("text", { class: "tick", x: u(at), y: bottom + 18 }, text)),
    ...up.map(({ at, text }) => svg("text", { class: "tick left", x: left - 8, y: v(at) + 4 }, text)),
  ];
}
