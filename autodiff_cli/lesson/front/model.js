/**
 * The numbers of a lesson, computed again for other inputs.
 *
 * The function `compute` of the elements of the inputs is written by `autodiff export`.  It returns the elements of the values of all
 * lines and then, for each contribution, those of its local derivative, if it has one, and of its value.
 */

import { numberOf, sizeOf, withValues } from "./numbers.js";

/** Return the elements of the inputs: [{label, name, place (in the array, or null), index, value}]. */
export function elementsOf(lesson) {
  const elements = [];
  for (const { name, value } of lesson.inputs) {
    const walk = (part, place) => {
      if (Array.isArray(part)) return part.forEach((each, i) => walk(each, [...place, i]));
      const index = elements.filter((element) => element.name === name).length;
      elements.push({ label: place.length ? `${name}[${place.join(", ")}]` : name, name, place, index, value: numberOf(part) });
    };
    walk(value, []);
  }
  return elements;
}

/** Return the lesson with the numbers at other inputs: the values of their elements, by label. */
export function recomputed(lesson, compute, inputs) {
  const results = compute(...inputs.values())[Symbol.iterator]();
  const next = (number) => withValues(number, Array.from({ length: sizeOf(number) }, () => Number(results.next().value)));
  const lines = lesson.lines.map((line) => ({ ...line, value: next(line.value) }));
  const start = withValues(lesson.start, lesson.start.values.map(numberOf));
  const gradients = new Map([[lesson.output, start]]);
  const parts = new Map();
  const steps = lesson.steps.map((step) => {
    const upstream = gradients.get(step.names[0]);
    const contributions = step.contributions.map((part) => {
      const local = part.local && next(part.local), value = next(part.value), before = gradients.get(part.to);
      const total = before ? withValues(value, value.values.map((each, i) => each + before.values[i])) : value;
      gradients.set(part.to, total);
      parts.set(part.to, [...(parts.get(part.to) ?? []), value]);
      return { ...part, rule: local ? null : part.rule, local, value, total, masked: isMasked(upstream, local, value) };
    });
    return { ...step, gradients: [upstream], contributions };
  });
  const ends = lesson.ends.map((end) => {
    const own = end.name === lesson.output ? [start] : parts.get(end.name) ?? [];
    return { ...end, parts: own, value: gradients.get(end.name) ?? withValues(end.value, new Array(sizeOf(end.value)).fill(0)) };
  });
  return { ...lesson, lines, steps, ends, notes: [] };  // notes are on the given inputs
}

/** Return whether an element is 0 because its branch is not selected, and not as a product. */
function isMasked(upstream, local, { values }) {
  if (!local || local.values.length !== values.length) return false;
  return values.some((value, i) => value === 0 && upstream.values[i] * local.values[i] !== 0);
}
