/** Positions of the nodes and edges of a lesson, by dagre. */

import { Graph, layout } from "@dagrejs/dagre";
import { shown } from "./numbers.js";
import { edgeKey } from "./scenes.js";

export const LINE = 18;
const FONT = 13, SMALL = 11.5, CHARACTER = 0.62, PAD = 12;

const longest = (texts, size) => Math.max(...texts.map((text) => text.length * size * CHARACTER));

/**
 * Return {nodes: [{line, x, y, width, height}], edges: [{key, points, x, y, label width}], width, height}.
 *
 * Space is kept for every number that a scene will show, so that nothing moves while the lesson plays.
 */
export function placed(lesson, scenes) {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 28, ranksep: 34, edgesep: 14, marginx: 14, marginy: 14 });
  graph.setDefaultEdgeLabel(() => ({}));
  const last = scenes[scenes.length - 1];
  for (const line of lesson.lines) {
    const texts = [title(line), value(lesson, line)];
    const gradient = gradientText(lesson, line.name, last.gradients.get(line.name) ?? "");
    graph.setNode(line.name, {
      line,
      width: Math.max(longest([texts[0]], FONT), longest([texts[1], gradient], SMALL), 40) + 2 * PAD,
      height: 3 * LINE + PAD,
    });
  }
  for (const line of lesson.lines) {
    line.inputs.forEach((input, i) => {
      const key = edgeKey(input, line.name, i);
      const label = last.labels.get(key) ?? "";
      graph.setEdge(input, line.name, { key, width: longest([label], SMALL) + 8, height: LINE, labelpos: "r", labeloffset: 4 }, key);
    });
  }
  layout(graph);
  const { width, height } = graph.graph();
  return { nodes: graph.nodes().map((name) => graph.node(name)), edges: graph.edges().map((edge) => graph.edge(edge)), width, height };
}

export const title = (line) => (line.leaf ? line.name : line.operation);
export const value = (lesson, line) => `${line.leaf ? "" : `${line.name} `}= ${shown(lesson, line.value)}`;
export const gradientText = (lesson, name, text) => `d${lesson.symbol}/d${name} = ${text}`;
