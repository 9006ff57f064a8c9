/** Positions of the nodes and edges of a lesson, by dagre. */

import { Graph, layout } from "@dagrejs/dagre";
import { brief, shown } from "./numbers.js";
import { d, edgeKey } from "./scenes.js";

export const LINE = 18, HEAD = 24;
const GAP = 8, MARGIN = 28;
/** The distances of ranks: the next one is taken if an edge crosses a label. */
const RANKS = [34, 50, 70];
const FONT = 13, SMALL = 11.5, CHARACTER = 0.62, PAD = 12;

const widthOf = (characters, size) => characters * size * CHARACTER;

/**
 * The layouts of a lesson.
 *
 * A closed group is a node.  An open group is a frame with a layout of its own, so opening it costs little.  In a large graph, an item
 * has copies of its inputs from outside of its frame: long edges take time and hide the rest.  Room is kept for every number that a
 * scene will show, so that nothing moves while the lesson plays.
 */
export class Layouts {
  constructor(lesson, timeline, outline) {
    Object.assign(this, { outline, known: new Map(), rooms: new Map() });
    this.keepRoom(lesson, timeline);
  }

  /** Keep room for the texts of a timeline too: the most characters, by the name of a tensor or the key of an edge. */
  keepRoom(lesson, timeline) {
    const keep = (name, ...texts) => {
      const characters = Math.max(...texts.map(({ length }) => length));
      if (characters <= (this.rooms.get(name) ?? -1)) return;
      this.rooms.set(name, characters);
      this.known.clear();
    };
    const symbol = longestSymbol(timeline);
    for (const line of lesson.lines) keep(line.name, value(lesson, { line }), gradientText(symbol, line.name, timeline.gradients.longest(line.name)));
    for (const key of timeline.labels.texts.keys()) keep(key, timeline.labels.longest(key));
  }

  /**
   * Return the layout of a group, or of the whole graph for `null`:
   * {nodes: [{item, x, y, width, height}], frames: [{item, x, y, width, height}], edges: [{keys, lines, points, x, y, label width}], width, height}.
   */
  of(group) {
    const key = `${group?.id}: ${this.outline.state(group)}`;
    if (!this.known.has(key)) this.known.set(key, this.placed(group));
    return this.known.get(key);
  }

  placed(group) {
    const { outline } = this;
    const graph = new Graph({ multigraph: true });
    graph.setGraph({ rankdir: "TB", nodesep: 28, edgesep: 14, marginx: 14, marginy: 14, ...(outline.large && { align: "DL", ranker: "longest-path", rankalign: "top" }) });
    const members = group ? group.members : outline.members;
    const constraints = [];
    for (const item of members) graph.setNode(item.id, outline.isOpen(item) ? this.frame(item) : this.node(item));
    for (const item of members) {
      for (const line of outline.linesOf(item)) {
        line.inputs.forEach((input, i) => {
          if (!outline.items.has(input)) return; // left behind by an earlier pass of a loop
          const member = outline.memberOf(input, group);
          if (member !== item) this.connect(graph, line, item, input, i, member, constraints);
        });
      }
    }
    const ranks = outline.large ? RANKS.slice(0, 1) : RANKS;
    for (const ranksep of ranks) {
      graph.graph().ranksep = ranksep;
      layout(graph, { constraints });
      if (!outline.large && towardsEdges(graph)) layout(graph, { constraints });
      const made = composed(graph);
      if (group || !placeLabels(made) || ranksep === ranks[ranks.length - 1]) return made;
    }
  }

  /** Add the edge of one use of an input, and a copy of the input if it is not a member of the group. */
  connect(graph, line, item, input, i, member, constraints) {
    const key = edgeKey(input, line.name, i), single = !item.members.length && !member?.members.length;
    const from = member ? member.id : `${input} ${single ? key : item.id}`;
    if (!member && this.outline.isOpen(item)) return; // the copy is inside the frame
    if (!member && !graph.hasNode(from)) {
      graph.setNode(from, this.node({ ...this.outline.items.get(input), id: from, title: input, copy: true }));
      for (const left of graph.predecessors(item.id) ?? []) if (!graph.node(left).item.copy) constraints.push({ left, right: from });
    }
    const edge = { v: from, w: item.id, name: single ? key : "all" };
    // Inside an open group, the label is at the edge from the copy.
    const characters = this.outline.isOpen(item) ? 0 : this.rooms.get(key) ?? 0;
    const known = graph.edge(edge) ?? { keys: [], lines: [], width: 0, height: LINE, labelpos: "r", labeloffset: 4, labelled: !this.outline.isOpen(item) };
    known.keys.push(key);
    known.lines.push(line);
    known.width = Math.max(known.width, widthOf(characters, SMALL) + MARGIN);
    graph.setEdge(edge, known);
  }

  node(item) {
    const width = Math.max(widthOf(item.title.length, FONT), widthOf(this.rooms.get(item.line.name), SMALL), 40) + 2 * PAD;
    return { item, width, height: 3 * LINE + PAD };
  }

  frame(item) {
    const inside = this.of(item);
    return { item, inside, width: Math.max(inside.width, widthOf(item.heading.length, FONT) + 4 * PAD), height: inside.height + HEAD };
  }
}

/** Return the parts of a graph with those of its frames, all in the coordinates of the graph. */
function composed(graph) {
  const { width, height } = graph.graph();
  const result = { nodes: [], frames: [], edges: graph.edges().map((edge) => attached(graph, edge)), width, height };
  for (const id of graph.nodes()) {
    const node = graph.node(id);
    if (!node.inside) {
      result.nodes.push(node);
      continue;
    }
    const dx = node.x - node.inside.width / 2, dy = node.y - node.height / 2 + HEAD;
    const moved = (part) => ({ ...part, x: part.x + dx, y: part.y + dy });
    result.frames.push(node, ...node.inside.frames.map(moved));
    result.nodes.push(...node.inside.nodes.map(moved));
    result.edges.push(...node.inside.edges.map((edge) => ({ ...moved(edge), points: edge.points.map(moved) })));
  }
  return result;
}

/** Move the label of each edge that comes from the right to the left of the edge; return whether there is one. */
function towardsEdges(graph) {
  const found = graph.edges().filter((id) => graph.edge(id).width > MARGIN && graph.node(id.v).x > graph.edge(id).x + graph.edge(id).width / 2);
  for (const id of found) graph.edge(id).labelpos = "l";
  return found.length > 0;
}

/**
 * Place the label of each edge beside the edge, where no other edge, node or label is if there is such a place.
 *
 * Returns the number of labels for which there is none.
 */
function placeLabels({ nodes, edges }) {
  const taken = nodes.map(({ x, y, width, height }) => ({ left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 }));
  const paths = edges.map(({ points }) => sampled(points)), half = LINE / 2;
  let crossing = 0;
  edges.forEach((edge, i) => {
    const own = paths[i], width = edge.width - MARGIN;
    const boxOf = ([left, y]) => ({ left, right: left + width, top: y - half, bottom: y + half });
    const cost = (place) => {
      const box = boxOf(place), overlaps = (other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom;
      const crossed = paths.some((path) => path.some(({ x, y }) => x > box.left - 3 && x < box.right + 3 && y > box.top && y < box.bottom));
      return 10 * taken.filter(overlaps).length + (crossed ? 1 : 0) + (box.left < 0 ? 10 : 0);
    };
    const heights = own.map(({ y }) => y).filter((y) => y > own[0].y + half && y < own[own.length - 1].y - half);
    heights.sort((a, b) => Math.abs(a - edge.y) - Math.abs(b - edge.y));
    const beside = [edge.y, ...heights].flatMap((y) => {
      const near = own.filter((point) => Math.abs(point.y - y) <= half).map((point) => point.x);
      return near.length ? [[Math.max(...near) + GAP, y], [Math.min(...near) - GAP - width, y]] : [];
    });
    const reserved = [edge.x - edge.width / 2 + MARGIN / 2, edge.y]; // the place that the layout keeps free of nodes and labels
    const places = [...beside, reserved], costs = places.map(cost), least = Math.min(...costs), place = places[costs.indexOf(least)];
    [edge.labelX, edge.labelY] = place;
    if (!edge.labelled || edge.width <= MARGIN) return;
    taken.push(boxOf(place));
    if (least) crossing += 1;
  });
  return crossing;
}

/** Return points of the curve that the picture draws through the points of an edge. */
function sampled([first, ...rest]) {
  const points = [], steps = Array.from({ length: 21 }, (_, i) => i / 20);
  let from = first;
  for (let i = 0; i + 1 < rest.length; i++) {
    const middle = { x: (rest[i].x + rest[i + 1].x) / 2, y: (rest[i].y + rest[i + 1].y) / 2 };
    const mix = (t, a, b, c) => (1 - t) ** 2 * a + 2 * t * (1 - t) * b + t * t * c;
    points.push(...steps.map((t) => ({ x: mix(t, from.x, rest[i].x, middle.x), y: mix(t, from.y, rest[i].y, middle.y) })));
    from = middle;
  }
  const last = rest[rest.length - 1];
  return [...points, ...steps.map((t) => ({ x: from.x + t * (last.x - from.x), y: from.y + t * (last.y - from.y) }))];
}

/** Return an edge that leaves its input at the bottom and reaches its operation at the top, so that it does not cross others. */
function attached(graph, { v, w, name }) {
  const edge = graph.edge({ v, w, name }), from = graph.node(v), to = graph.node(w);
  const frames = graph.nodes().map((id) => graph.node(id)).filter((node) => node.inside && node !== from && node !== to);
  const inner = [...beside(from, frames).slice(2), ...edge.points.slice(1, -1).flatMap((point) => beside(point, frames))];
  const port = (node, side, towards) => {
    const room = Math.max(node.width / 2 - node.height / 2, 0);
    return { x: node.x + Math.max(-room, Math.min(room, towards.x - node.x)), y: node.y + (side * node.height) / 2 };
  };
  return { ...edge, points: [port(from, 1, inner[0]), ...inner, port(to, -1, inner[inner.length - 1])] };
}

/** Return the points of an edge at the height of a point: beside a frame, it goes straight down, where a curve would cross the frame. */
function beside(point, frames) {
  const frame = frames.find(({ y, height }) => Math.abs(point.y - y) <= height / 2);
  if (!frame) return [point];
  const [top, bottom] = [-1, 1].map((side) => ({ x: point.x, y: frame.y + (side * frame.height) / 2 }));
  return [top, top, bottom, bottom];
}

export const title = (line) => (line.leaf ? line.name : brief(line.operation));
export const value = (lesson, { line, copy }, text = shown(lesson, line.value)) => `${line.leaf || copy ? "" : `${line.name} `}= ${brief(text)}`;
export const gradientText = (symbol, name, text) => `${d(symbol, name)} = ${brief(text)}`;

const longestSymbol = ({ scenes }) => scenes.reduce((longest, { symbol }) => (symbol && symbol.length > longest.length ? symbol : longest), "");
