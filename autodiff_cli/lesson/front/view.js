/** What a lesson looks like: the graph as SVG, the words of a scene, and the table of tensors. */

import { LINE, gradientText, placed, title, value } from "./layout.js";

const LARGEST = 1.3, SMALLEST = 0.75;
const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, text] of Object.entries(attributes)) element.setAttribute(key, text);
  element.append(...children);
  return element;
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, text] of Object.entries(attributes)) made.setAttribute(key, text);
  made.append(...children);
  return made;
}

/** Return the parts of a sentence, with the names between backticks as code. */
function spoken(text) {
  return text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
}

/** The picture of the graph.  `show` draws a scene. */
export class Picture {
  constructor(lesson, timeline) {
    this.lesson = lesson;
    const layout = placed(lesson, timeline);
    this.nodes = [];
    this.edges = new Map();
    this.size = layout;
    this.root = svg("svg", { viewBox: `0 0 ${layout.width} ${layout.height}`, role: "img" });
    this.root.append(
      svg("title", {}, `The graph of ${lesson.expression}`),
      svg("defs", {}, ...["idle", "active"].map((kind) => arrow(kind))),
    );
    for (const edge of layout.edges) this.addEdge(edge);
    for (const node of layout.nodes) this.addNode(node);
  }

  /** Scale the graph to a width in pixels, as far as its text stays readable. */
  fit(room) {
    const scale = Math.min(LARGEST, Math.max(SMALLEST, room / this.size.width));
    this.root.setAttribute("width", this.size.width * scale);
    this.root.setAttribute("height", this.size.height * scale);
  }

  addEdge(edge) {
    const path = svg("path", { d: curve(edge.points), class: "edge" });
    const label = svg("text", { x: edge.x, y: edge.y + 4, class: "label" });
    const ground = svg("rect", { x: edge.x - edge.width / 2, y: edge.y - 10, width: edge.width, height: 20, rx: 4, class: "label-ground" });
    this.edges.set(edge.key, { path, label, ground, line: edge.line });
    this.root.append(path, ground, label);
  }

  addNode({ line, x, y, width, height }) {
    const box = svg("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: line.leaf ? height / 2 : 7, class: "box" });
    const texts = ["title", "value", "gradient"].map((kind) => svg("text", { x, class: kind }));
    texts[0].textContent = title(line);
    const kind = line.leaf ? (line.requires_grad ? "variable" : "constant") : line.name === this.lesson.output ? "output" : "operation";
    const group = svg("g", { class: `node ${kind}`, "data-name": line.name }, svg("title", {}, line.expression ?? line.name), box, ...texts);
    this.nodes.push({ group, line, y, texts, lines: 0 });
    this.root.append(group);
  }

  show(timeline, at, lesson) {
    const scene = timeline.scenes[at];
    for (const node of this.nodes) {
      const { group, line, y, texts } = node;
      const { name } = line;
      const known = timeline.values.at(name, at), gradient = timeline.gradients.at(name, at);
      write(texts[1], known === undefined ? "" : value(lesson, line, known));
      write(texts[2], !gradient ? "" : gradientText(scene.symbol, name, gradient));
      const lines = texts.filter((text) => text.textContent);
      if (lines.length !== node.lines) lines.forEach((text, i) => text.setAttribute("y", y + (i - (lines.length - 1) / 2) * LINE + 4.5));
      node.lines = lines.length;
      const states = [["pending", known === undefined], ["active", name === scene.node], ["through", name === scene.through],
        ["freed", timeline.freed?.at(name, at) ?? false]];
      const requires = timeline.kinds?.at(name, at);
      if (requires !== undefined) states.push(["variable", requires], ["constant", !requires]);
      for (const [state, holds] of states) group.classList.toggle(state, holds);
    }
    for (const [key, edge] of this.edges) {
      const label = timeline.labels.at(key, at), active = scene.edges.includes(key);
      write(edge.label, label ?? "");
      edge.ground.classList.toggle("hidden", !label);
      const kind = edge.line.recorded === false ? "edge cut" : "edge";
      const pending = timeline.values.at(edge.line.name, at) === undefined ? " pending" : "";
      const state = active ? `${kind} active ${scene.phase}` : kind + pending;
      if (edge.path.getAttribute("class") !== state) edge.path.setAttribute("class", state);
      edge.label.classList.toggle("active", active);
    }
  }

  /** Scroll to the node of a scene: of several copies of an input, to the one beside its operation. */
  reveal(scene) {
    const copies = this.nodes.filter(({ line }) => line.name === scene.node);
    const through = this.nodes.find(({ line }) => line.name === scene.through);
    const distance = (node) => Math.abs(node.y - (through?.y ?? 0));
    copies.sort((a, b) => distance(a) - distance(b))[0]?.group.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

/** Set the text of an element if it is another one. */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function arrow(kind) {
  return svg(
    "marker",
    { id: `arrow-${kind}`, viewBox: "0 0 8 8", refX: 7.5, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" },
    svg("path", { d: "M0 0.5L8 4L0 7.5Z", class: `head ${kind}` }),
  );
}

/** Return a smooth path through points: quadratic curves between the middles of the sections. */
function curve(points) {
  const [first, ...rest] = points;
  let path = `M${first.x} ${first.y}`;
  for (let i = 0; i + 1 < rest.length; i++) {
    const middle = { x: (rest[i].x + rest[i + 1].x) / 2, y: (rest[i].y + rest[i + 1].y) / 2 };
    path += `Q${rest[i].x} ${rest[i].y} ${middle.x} ${middle.y}`;
  }
  const last = rest[rest.length - 1];
  return `${path}L${last.x} ${last.y}`;
}

const PHASES = { start: "Start", forward: "Forward", pause: "Between", backward: "Backward", end: "Result", error: "Error" };

/** Return an article for each phase, to print: the graph at its end, and all its steps. */
export function printed(timeline, picture, lesson) {
  const pages = [];
  timeline.scenes.forEach((scene, at) => {
    if (scene.phase === "start" || scene.phase === "pause") return;
    if (pages[pages.length - 1]?.phase !== scene.phase) pages.push({ phase: scene.phase, steps: [] });
    pages[pages.length - 1].steps.push({ ...scene, at });
  });
  return pages.map(({ phase, steps }) => {
    picture.show(timeline, steps[steps.length - 1].at, lesson);
    const list = steps.map(({ title, equations }) => element("li", {}, title, ...equations.map((text) => element("code", {}, text))));
    return element("article", {}, element("h2", {}, PHASES[phase]), picture.root.cloneNode(true), element("ol", {}, ...list));
  });
}

/** Write the words and equations of a scene. */
export function tell(scene, { phase, heading, words, equations }) {
  phase.textContent = PHASES[scene.phase];
  phase.dataset.phase = scene.phase;
  heading.textContent = scene.title;
  words.replaceChildren(...spoken(scene.words));
  equations.replaceChildren(...scene.equations.map((text) => element("li", {}, element("code", {}, text))));
}

/** The table of tensors, as `autodiff eval` prints it.  `show` fills in what a scene knows. */
export class Tensors {
  constructor(lesson) {
    const heads = ["tensor", "operation", "value", "is_leaf", "requires_grad", "grad_fn", ".grad"];
    this.rows = lesson.lines.map((line) => {
      const cells = heads.map(() => element("td"));
      [line.name, line.leaf ? "" : line.operation, "", line.leaf ? "True" : "False", line.requires_grad ? "True" : "False", line.grad_fn ?? "None"].forEach(
        (text, i) => (cells[i].textContent = text),
      );
      return { line, cells, row: element("tr", {}, ...cells) };
    });
    const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
    this.root = element("table", {}, element("thead", {}, head), element("tbody", {}, ...this.rows.map(({ row }) => row)));
  }

  show(timeline, at) {
    const active = timeline.scenes[at].node;
    for (const { cells, row, line } of this.rows) {
      const known = timeline.values.at(line.name, at);
      write(cells[2], known ?? "");
      write(cells[5], known === undefined ? "" : line.grad_fn ?? "None");
      write(cells[6], known === undefined ? "" : timeline.grads.at(line.name, at) ?? "None");
      row.classList.toggle("active", line.name === active);
      row.classList.toggle("pending", known === undefined);
    }
  }
}
