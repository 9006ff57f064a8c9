/** The graph of a lesson as SVG. */

import { Outline } from "./groups.js";
import { HEAD, LINE, Layouts, gradientText, value } from "./layout.js";
import { partsOf } from "./scenes.js";
import { element, svg, write } from "./view.js";

const LARGEST = 1.3, READABLE = 0.9, SMALLEST = 0.75, NARROW = 600;
const NEAREST = { block: "nearest", inline: "nearest" };

/** The picture of the graph.  `show` draws a scene. */
export class Picture {
  constructor(lesson, timeline) {
    this.lesson = lesson;
    this.parts = partsOf(lesson, timeline).map(({ from, lines }) => ({ from, lesson: { ...lesson, lines } }));
    this.takePart(timeline, 0);
    this.room = { width: 0, height: 0 };
    this.content = svg("g", {});
    this.root = svg("svg", { role: "img" });
    this.root.append(
      svg("title", {}, `The graph of ${lesson.expression}`),
      svg("defs", {}, ...["idle", "active"].map((kind) => arrow(kind))),
      this.content,
    );
    const groupOf = (event) => event.target.closest("[data-group]")?.dataset.group;
    this.root.addEventListener("click", (event) => groupOf(event) && this.toggle(groupOf(event)));
    this.root.addEventListener("keydown", (event) => {
      if (!groupOf(event) || (event.key !== "Enter" && event.key !== " ")) return;
      event.preventDefault();
      event.stopPropagation();
      this.toggle(groupOf(event));
    });
    this.draw();
  }

  /** Take the outline and the layouts of the part of a scene. */
  takePart(timeline, at) {
    const part = this.parts.filter(({ from }) => from <= at).pop();
    part.outline ??= new Outline(part.lesson);
    part.layouts ??= new Layouts(part.lesson, timeline, part.outline);
    Object.assign(this, { part, outline: part.outline, layouts: part.layouts });
  }

  /** Keep room for the texts of another timeline. */
  keepRoom(lesson, timeline) {
    for (const { layouts } of this.parts) layouts?.keepRoom(lesson, timeline);
  }

  /** Draw the groups as they are open or closed. */
  draw() {
    const layout = this.layouts.of(null);
    if (layout === this.size) return;
    this.size = layout;
    this.root.setAttribute("role", this.outline.large ? "group" : "img");
    this.grouping?.forEach((button) => (button.hidden = !this.outline.large));
    this.nodes = [];
    this.edges = [];
    this.frames = [];
    const focused = document.activeElement?.dataset?.group;
    this.content.replaceChildren();
    this.root.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
    for (const frame of layout.frames) this.addFrame(frame);
    for (const edge of layout.edges) this.addEdge(edge);
    for (const node of layout.nodes) this.addNode(node);
    this.content.append(...this.edges.map(({ label }) => label)); // above the edges that cross them
    this.fit(this.room);
    if (focused) this.buttonOf(focused)?.focus({ preventScroll: true });
  }

  /** Scale the graph to a room in pixels, as far as its text stays readable; it scrolls if it is still larger. */
  fit(room) {
    this.room = room;
    const smallest = this.fits ? 0 : room.width < NARROW ? SMALLEST : READABLE; // more of the graph is visible on a phone
    const wide = room.width / this.size.width, high = Math.max(READABLE, room.height / this.size.height);
    const scale = Math.min(LARGEST, wide < SMALLEST ? Math.max(smallest, wide) : wide, this.fits ? LARGEST : high);
    if (this.fitting) this.fitting.hidden = !this.fits && this.size.width * scale <= room.width + 1;
    this.root.setAttribute("width", this.size.width * scale);
    this.root.setAttribute("height", this.size.height * scale);
    this.tallest = Math.max(this.tallest ?? 0, Math.min(this.size.height * scale, room.height));
    if (this.root.parentElement) this.root.parentElement.style.minHeight = `${this.tallest}px`; // the page below stays where it is
  }

  addEdge(edge) {
    const path = svg("path", { d: curve(edge.points), class: "edge" });
    const label = svg("text", { x: edge.labelX, y: edge.labelY + 4, class: "label" });
    this.edges.push({ ...edge, path, label });
    this.content.append(path);
  }

  addNode({ item, x, y, width, height }) {
    const { line } = item;
    const left = x - width / 2, top = y - height / 2;
    const box = svg("rect", { x: left, y: top, width, height, rx: line.leaf || item.copy ? height / 2 : 7, class: "box" });
    const texts = ["title", "value", "gradient"].map((kind) => svg("text", { x, class: kind }));
    texts[0].textContent = item.title;
    const kind = item.copy && !line.leaf ? "copy" : line.leaf ? (line.requires_grad ? "variable" : "constant") : line.name === this.lesson.output ? "output" : line.recorded === false ? "unrecorded" : "operation";
    const group = svg("g", { class: `node ${kind}`, "data-name": line.name }, svg("title", {}, line.expression ?? line.name), box, ...texts);
    if (item.members.length) {
      group.prepend(svg("rect", { x: left + 6, y: top + 6, width, height, rx: 7, class: "box" }));
      button(group, item, this.outline.linesOf(item).length, false);
    }
    this.nodes.push({ group, item, y, texts, lines: 0 });
    this.content.append(group);
  }

  /** Draw the frame of an open group. */
  addFrame({ item, x, y, width, height }) {
    const left = x - width / 2, top = y - height / 2;
    const heading = svg("text", { x: left + 10, y: top + 15, class: "heading" });
    heading.textContent = item.heading;
    const head = svg("g", { class: "head" }, svg("rect", { x: left, y: top, width, height: HEAD, rx: 9 }), heading);
    button(head, item, this.outline.linesOf(item).length, true);
    const frame = svg("g", { class: "frame" }, svg("rect", { x: left, y: top, width, height, rx: 9, class: "border" }), head);
    this.frames.push({ item, frame });
    this.content.append(frame);
  }

  /** Draw a scene: with the groups around its step open, or with all groups closed. */
  show(timeline, at, lesson, following = true) {
    const scene = timeline.scenes[at];
    this.shown = [timeline, at, lesson];
    this.takePart(timeline, at);
    this.outline.follow(following ? scene : {});
    this.draw();
    const begun = (item) => timeline.values.at(this.outline.firstOf(item).name, at) !== undefined;
    for (const { item, frame } of this.frames) frame.classList.toggle("pending", !begun(item));
    const active = this.outline.shown(scene.node), through = this.outline.shown(scene.through);
    for (const node of this.nodes) {
      const { group, item, y, texts } = node;
      const { name } = item.line;
      const known = timeline.values.at(name, at), gradient = timeline.gradients.at(name, at);
      write(texts[1], known !== undefined ? value(lesson, item, known) : item.line.leaf || item.copy ? "" : name);
      write(texts[2], !gradient ? "" : gradientText(scene.symbol, name, gradient));
      const lines = texts.filter((text) => text.textContent);
      if (lines.length !== node.lines) lines.forEach((text, i) => text.setAttribute("y", y + (i - (lines.length - 1) / 2) * LINE + 4.5));
      node.lines = lines.length;
      const states = [["pending", !begun(item)], ["active", item === active || (item.copy === true && name === scene.node)], ["through", item === through],
        ["freed", timeline.freed?.at(name, at) ?? false]];
      const requires = timeline.kinds?.at(name, at);
      if (requires !== undefined) states.push(["variable", requires], ["constant", !requires]);
      for (const [state, holds] of states) group.classList.toggle(state, holds);
    }
    for (const edge of this.edges) {
      const key = edge.keys.find((each) => scene.edges.includes(each)), active = key !== undefined;
      // An edge of several uses has a label while one of them is shown.
      const label = edge.labelled && (active || edge.keys.length === 1) ? timeline.labels.at(key ?? edge.keys[0], at) : undefined;
      write(edge.label, label ?? "");
      const kind = edge.lines.every(({ recorded }) => recorded === false) ? "edge cut" : "edge";
      const pending = timeline.values.at(edge.lines[0].name, at) === undefined ? " pending" : "";
      const state = active ? `${kind} active ${scene.phase}` : kind + pending;
      if (edge.path.getAttribute("class") !== state) edge.path.setAttribute("class", state);
      edge.label.classList.toggle("active", active);
    }
  }

  buttonOf(id) {
    return this.content.querySelector(`[data-group="${id}"]`);
  }

  /** Open or close a group. */
  toggle(id) {
    this.outline.toggle(this.outline.groups.find((group) => group.id === id));
    this.show(...this.shown);
    bring(this.buttonOf(id));
  }

  /** Return the buttons that fit the graph to its room, and that open and close all groups. */
  controls() {
    this.fitting = element("button", { type: "button", "aria-pressed": "false" }, "Fit to width");
    this.fitting.addEventListener("click", () => {
      this.fits = !this.fits;
      this.fitting.setAttribute("aria-pressed", this.fits);
      this.fit(this.room);
      this.reveal(...this.shown);
    });
    this.grouping = [["Open all groups", true], ["Close all groups", false]].map(([text, open]) => {
      const button = element("button", { type: "button" }, text);
      button.hidden = !this.outline.large;
      button.addEventListener("click", () => {
        this.outline.toggleAll(open);
        this.show(...this.shown);
      });
      return button;
    });
    return element("div", { class: "groups" }, ...this.grouping, this.fitting);
  }

  /**
   * Scroll to the labels and nodes of a scene: of several copies of an input, to the one beside its operation.
   *
   * A scene without a node, such as one that prints, shows the node of the scene before it.
   */
  reveal({ scenes }, at) {
    const scene = scenes.slice(this.part.from, at + 1).filter(({ node, freed }) => node || freed).pop() ?? {};
    const name = scene.node ?? scene.freed?.[0], item = this.outline.shown(name);
    const through = this.nodes.find((node) => node.item === this.outline.shown(scene.through));
    const distance = (node) => Math.abs(node.y - (through?.y ?? 0));
    const active = this.nodes.filter((node) => node.item === item || (node.item.copy === true && node.item.line.name === name));
    active.sort((a, b) => distance(a) - distance(b));
    const labels = this.edges.map(({ label }) => label).filter((label) => label.classList.contains("active") && label.textContent);
    for (const element of [...labels, through?.group, active[0]?.group]) element && bring(element);
  }
}

/** Scroll to an element; in a frame only within the graph, so that the page around it stays where it is. */
function bring(element) {
  if (window === parent) return element.scrollIntoView(NEAREST);
  const room = document.getElementById("graph"), [inner, outer] = [element, room].map((each) => each.getBoundingClientRect());
  const nearest = (low, high) => Math.max(high, 0) || Math.min(low, 0);
  room.scrollBy(nearest(inner.left - outer.left, inner.right - outer.right), nearest(inner.top - outer.top, inner.bottom - outer.bottom));
}

/** Make the node or the frame of a group a button that opens or closes it. */
function button(element, group, count, open) {
  const attributes = { "data-group": group.id, role: "button", tabindex: 0, "aria-expanded": open, "aria-label": `${group.heading}, ${count} operations` };
  for (const [key, text] of Object.entries(attributes)) element.setAttribute(key, text);
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
