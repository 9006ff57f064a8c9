/** The axes of plots: positions, labels and grids.  A logarithmic axis has the decimal logarithm of a number. */

import { scaleLinear, scaleLog } from "d3-scale";

import { svg } from "./view.js";

const LETTER = 7.2;

/** Return the places of the labels of an axis, and their texts: [{at, text}]. */
export function labelled(log, [from, to], count) {
  if (log) {
    const scale = scaleLog([10 ** from, 10 ** to], [0, 1]);
    const format = scale.tickFormat(count, "~g");
    return scale.ticks(count).map((value) => ({ at: Math.log10(value), text: short(format(value)) }));
  }
  const scale = scaleLinear([from, to], [0, 1]);
  const size = Math.max(Math.abs(from), Math.abs(to));
  const format = scale.tickFormat(count, size >= 1e6 || size < 1e-4 ? "~e" : undefined);
  return scale.ticks(count).map((value) => ({ at: value, text: short(format(value)) }));
}

const short = (text) => text.replace("e+", "e");

/** Return the room that the labels of a vertical axis take. */
export const roomFor = (labels) => 18 + LETTER * Math.max(2, ...labels.map(({ text }) => text.length));

/** Return the parts of both axes of a box, as SVG: a grid and its labels.  `u` and `v` are the scales of the box. */
export function axes({ left, right, top, bottom }, u, v, across, up) {
  const line = (d, name = "grid") => svg("path", { class: name, d });
  return [
    ...across.map(({ at }) => line(`M${u(at)} ${top}V${bottom}`)),
    ...up.map(({ at }) => line(`M${left} ${v(at)}H${right}`)),
    line(`M${left} ${top}V${bottom}H${right}`, "axis"),
    ...across.map(({ at, text }) => svg("text", { class: "tick", x: u(at), y: bottom + 18 }, text)),
    ...up.map(({ at, text }) => svg("text", { class: "tick left", x: left - 8, y: v(at) + 4 }, text)),
  ];
}
