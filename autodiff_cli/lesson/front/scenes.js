/**
 * The scenes of a lesson: what each step says and highlights, and from which scene on each number is visible.
 *
 * A scene has: phase, title, words, equations, node (its name), through (the operation of a contribution) and edges (their keys).
 * A timeline has the scenes and, by name, the texts that hold from a scene on: values, gradients, labels of edges, grads of leaves.
 */

import { brief, factor, shown, sum } from "./numbers.js";

const START = "start", FORWARD = "forward", PAUSE = "pause", BACKWARD = "backward", END = "end";

const FREED = "The gradients of the other tensors and the saved values are freed: a second backward() is an error unless the first one was called with retain_graph=True. It would add to .grad; set .grad to zero in between.";

/** The most characters of a product on an edge; of a longer one, only the result is shown there. */
const LONGEST = 40;

/** Return the key of an edge from an input to an operation. */
export const edgeKey = (from, to, place) => `${from} ${to} ${place ?? 0}`;

/** Texts by name, each of which holds from a scene on until the next. */
export class Track {
  constructor() {
    this.texts = new Map();
  }

  set(name, from, text) {
    const known = this.texts.get(name);
    if (known) known.push([from, text]);
    else this.texts.set(name, [[from, text]]);
  }

  /** Return the text of a name in a scene; undefined before the first. */
  at(name, scene) {
    const known = this.texts.get(name) ?? [];
    let i = known.length - 1;
    while (i >= 0 && known[i][0] > scene) i -= 1;
    return known[i]?.[1];
  }

  last(name) {
    return this.at(name, Infinity);
  }

  /** Return the longest text of a name. */
  longest(name) {
    return (this.texts.get(name) ?? []).reduce((longest, [, text]) => (text.length > longest.length ? text : longest), "");
  }
}

/**
 * Return the parts of a lesson that have pictures of their own: [{from, lines}], of which `from` is the first scene.
 *
 * A pass of a loop leaves tensors behind: `until` is the last scene of such a line.  A picture has the lines of its scenes.
 */
export function partsOf(lesson, timeline) {
  const starts = new Set([0, ...lesson.lines.filter(({ until }) => until !== undefined).map(({ until }) => until + 1)]);
  const from = [...starts].sort((a, b) => a - b);
  const begun = ({ name }) => timeline.values.texts.get(name)?.[0][0] ?? 0;
  return from.map((first, i) => ({ from: first, lines: lesson.lines.filter((line) => (line.until ?? Infinity) >= first && begun(line) < (from[i + 1] ?? Infinity)) }));
}

export const newTimeline = () => ({ scenes: [], values: new Track(), gradients: new Track(), labels: new Track(), grads: new Track() });

export function scenesOf(lesson) {
  const show = (number) => shown(lesson, number);
  const timeline = newTimeline();
  const { scenes } = timeline;
  const add = (scene) => scenes.push({ equations: [], edges: [], node: null, symbol: lesson.symbol, ...scene });
  const leaves = lesson.lines.filter((line) => line.leaf && line.requires_grad).map((line) => line.name);
  const none = leaves.map((name) => `${name}.grad = None`);

  add({ phase: START, title: "Before the program runs", words: "The program is a graph of operations. Nothing is computed yet." });
  for (const line of lesson.lines) {
    timeline.values.set(line.name, scenes.length, show(line.value));
    const equations = [line.leaf ? `${line.name} = ${show(line.value)}` : `${line.name} = ${line.operation} = ${show(line.value)}`];
    add({ phase: FORWARD, title: line.leaf ? `The input ${line.name}` : `Compute ${line.name}`, words: forwardWords(line), equations,
      node: line.name, edges: line.inputs.map((each, i) => edgeKey(each, line.name, i)) });
  }
  if (!lesson.start) {
    add({ phase: END, title: "No gradient", words: "The result does not depend on a variable, so a backward pass has nothing to do.", equations: none });
    return timeline;
  }
  add({ phase: PAUSE, title: "Before backward", node: lesson.output, equations: none,
    words: "The forward pass is complete. No backward pass has run yet: gradients do not exist before backward() computes them." });
  timeline.gradients.set(lesson.output, scenes.length, show(lesson.start));
  add({ phase: BACKWARD, title: "Start the backward pass", node: lesson.output, equations: [`${d(lesson.symbol, lesson.output)} = ${show(lesson.start)}`],
    words: `backward() starts at the result, \`${lesson.output}\`${lesson.symbol === lesson.output ? "" : `, which is called ${lesson.symbol} in the derivatives`}.` });
  for (const step of lesson.steps) {
    const seen = new Map();
    for (const part of step.contributions) add(contribution(timeline, lesson, lesson.symbol, step, part, seen));
  }
  for (const end of lesson.ends) {
    const text = end.parts.length ? show(end.value) : "None";
    timeline.grads.set(end.name, scenes.length, text);
    const equation = end.parts.length > 1 ? `${end.name}.grad = ${sum(end.parts.map(show))} = ${text}` : `${end.name}.grad = ${text}`;
    const words = end.parts.length
      ? `\`${end.name}\` is a leaf, so the sum of its contributions is stored in \`${end.name}.grad\`.`
      : `No gradient arrives: the result does not depend on \`${end.name}\`.`;
    add({ phase: END, title: `The gradient of ${end.name}`, words, equations: [equation], node: end.name });
  }
  add({ phase: END, title: "Done", node: null, equations: lesson.ends.map(({ name }) => `${name}.grad = ${timeline.grads.last(name)}`),
    words: [FREED, ...lesson.notes.map((text) => `Note: ${text}.`)].join(" ") });
  return timeline;
}

/**
 * Return the scene of a contribution, whose numbers hold from the next scene on.
 *
 * `seen` counts the contributions of the step to each input.
 */
export function contribution(timeline, lesson, symbol, step, part, seen) {
  const at = timeline.scenes.length, show = (number) => shown(lesson, number), from = step.names[0];
  const place = seen.get(part.to) ?? 0;
  seen.set(part.to, place + 1);
  const key = edgeKey(part.to, from, inputPlace(lesson, from, part.to, place));
  const before = timeline.gradients.last(part.to) || undefined;
  const { equations, label } = product(symbol, step, part, show, before !== undefined);
  if (before !== undefined) equations.push(`${d(symbol, part.to)} = ${sum([before, show(part.value)])} = ${show(part.total)}`);
  timeline.labels.set(key, at, label.length > LONGEST ? brief(show(part.value)) : label);
  timeline.gradients.set(part.to, at, show(part.total));
  return { phase: BACKWARD, title: `${from} = ${step.operation}`, words: backwardWords(step, part, before !== undefined), equations,
    node: part.to, through: from, edges: [key] };
}

/** Return the symbol of a derivative. */
export const d = (of, by) => `d${factorOf(of)}/d${factorOf(by)}`;
const factorOf = (name) => (name.endsWith(".grad") ? `(${name})` : name);

function forwardWords(line) {
  if (line.leaf) {
    return line.requires_grad
      ? `\`${line.name}\` is a leaf that requires grad: operations on it are recorded, and backward fills \`${line.name}.grad\`.`
      : `\`${line.name}\` is a constant: it does not require grad, so no gradient travels to it.`;
  }
  return line.grad_fn
    ? `The operation runs, and the graph records ${line.grad_fn} for the backward pass.`
    : "The operation runs, and nothing is recorded, because no input requires grad.";
}

function backwardWords(step, part, adds) {
  const said = part.local
    ? [`${step.grad_fn} multiplies the incoming gradient by the local derivative.`]
    : [`${step.grad_fn} applies its rule to the incoming gradient${part.rule ? `: ${part.rule}` : ""}.`];
  if (part.local && part.rule) said.push(`At this point by convention: ${part.rule}.`);
  if (part.broadcast) said.push(`${part.broadcast}.`);
  if (part.masked) said.push("Elements that are not selected contribute 0.");
  if (adds) said.push(`Another path to \`${part.to}\` arrived before, so this contribution is added.`);
  return said.join(" ");
}

/** Return the equations of a contribution, and the label of its edge. */
function product(symbol, step, part, show, adds) {
  const from = step.names[0], upstream = show(step.gradients[0]), value = show(part.value);
  const total = d(symbol, part.to), sign = adds ? "+=" : "=";
  const arriving = d(symbol, from), formula = part.formula?.replaceAll("%gradient", arriving);
  if (!part.local) {
    const sides = [total, ...(formula ? [formula] : []), value];
    return { equations: [`${sides[0]} ${sign} ${sides.slice(1).join(" = ")}`], label: value };
  }
  const number = show(part.local), local = d(from, part.to);
  const derivative = formula && formula !== number ? `${local} = ${formula} = ${number}` : `${local} = ${number}`;
  const numbers = `${factor(upstream)} · ${factor(number)}`;
  // At the start of the pass, the local derivative has the symbol of the total one.
  const factors = symbol === from ? `${arriving} · ${/[ +-]/.test(formula ?? number) ? `(${formula ?? number})` : formula ?? number}` : `${arriving} · ${local}`;
  const chain = part.broadcast ? `sum of ${numbers}` : `${factors} = ${numbers}`;
  const label = `${factor(upstream)} · ${factor(number)} = ${value}`;
  return { equations: [derivative, `${total} ${sign} ${chain} = ${value}`], label };
}

const known = new WeakMap();

/** Return the inputs of each operation, by its name. */
function inputsOf(lesson) {
  if (!known.has(lesson.lines)) known.set(lesson.lines, new Map(lesson.lines.map((line) => [line.name, line.inputs])));
  return known.get(lesson.lines);
}

/** Return the place of the n-th use of an input among the inputs of an operation. */
function inputPlace(lesson, name, input, n) {
  const inputs = inputsOf(lesson).get(name) ?? [];
  const places = inputs.flatMap((each, i) => (each === input ? [i] : []));
  return places[Math.min(n, places.length - 1)] ?? 0;
}
