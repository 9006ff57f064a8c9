/** Positions of the nodes and edges of a lesson, by dagre. */

import { Graph, layout } from "@dagrejs/dagre";
import { shown } from "./numbers.js";
import { d, edgeKey } from "./scenes.js";

export const LINE = 18;
const FONT = 13, SMALL = 11.5, CHARACTER = 0.62, PAD = 12;

const longest = (texts, size) => Math.max(...texts.map((text) => text.length * size * CHARACTER));

/** The number of lines above which each use of an input has a copy of the input: long edges take time and hide the rest. */
const MANY = 40;

/**
 * Return {nodes: [{line, x, y, width, height}], edges: [{key, points, x, y, label width}], width, height}.
 *
 * Space is kept for every number that a scene will show, so that nothing moves while the lesson plays.
 */
export function placed(lesson, timeline) {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 28, ranksep: 34, edgesep: 14, marginx: 14, marginy: 14 });
  graph.setDefaultEdgeLabel(() => ({}));
  const lines = new Map(lesson.lines.map((line) => [line.name, line]));
  const copies = lesson.lines.length > MANY, symbol = longestSymbol(timeline);
  const addNode = (id, line) => {
    const gradient = gradientText(symbol, line.name, timeline.gradients.longest(line.name));
    const width = Math.max(longest([title(line)], FONT), longest([value(lesson, line), gradient], SMALL), 40) + 2 * PAD;
    graph.setNode(id, { line, width, height: 3 * LINE + PAD });
  };
  for (const line of lesson.lines) {
    if (!(copies && line.leaf)) addNode(line.name, line);
    line.inputs.forEach((input, i) => {
      const key = edgeKey(input, line.name, i);
      const from = copies && lines.get(input).leaf ? key : input;
      if (from === key) addNode(key, lines.get(input));
      const label = timeline.labels.longest(key);
      graph.setEdge(from, line.name, { key, line, width: longest([label], SMALL) + 8, height: LINE, labelpos: "r", labeloffset: 4 }, key);
    });
  }
  layout(graph);
  const { width, height } = graph.graph();
  return { nodes: graph.nodes().map((name) => graph.node(name)), edges: graph.edges().map((edge) => graph.edge(edge)), width, height };
}

export const title = (line) => (line.leaf ? line.name : line.operation);
export const value = (lesson, line, text = shown(lesson, line.value)) => `${line.leaf ? "" : `${line.name} `}= ${text}`;
export const gradientText = (symbol, name, text) => `${d(symbol, name)} = ${text}`;

const longestSymbol = ({ scenes }) => scenes.reduce((longest, { symbol }) => (symbol && symbol.length > longest.length ? symbol : longest), "");
