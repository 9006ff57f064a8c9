/** The lesson of a program: its text, its output and the state of its names, beside the graph that grows. */

import { Track, contribution, newTimeline, edgeKey } from "./scenes.js";
import { element } from "./view.js";

/**
 * Return the timeline of a program.
 *
 * Python writes the scenes; those of contributions (with `step` and `part`) get their words here.  A scene may have: values and
 * gradients by the name of a tensor, symbol (the start of a backward pass), freed (names), kinds (by name, whether a leaf requires
 * grad), rows (the cells of the table, by name), output, span and line (places in the program), and turn (of a loop).
 */
export function programScenes(lesson) {
  const timeline = { ...newTimeline(), rows: new Track(), output: new Track(), kinds: new Track(), freed: new Track() };
  const lines = new Map(lesson.lines.map((line) => [line.name, line]));
  let symbol = "", output = "", names = [], seen = null, from = null;
  for (const given of lesson.scenes) {
    const at = timeline.scenes.length;
    const setAll = (track, texts) => Object.entries(texts ?? {}).forEach(([name, text]) => track.set(name, at, text));
    const moves = Object.keys(given.values ?? {}).length > 0 && !lines.has(given.node);  // in place: the gradients were those at the old values
    if (given.symbol || moves) {
      for (const track of [timeline.gradients, timeline.labels]) for (const name of track.texts.keys()) track.set(name, at, "");
      symbol = given.symbol ?? symbol;
    }
    let scene = given;
    if (given.part) {
      if (given.step.names[0] !== from) [from, seen] = [given.step.names[0], new Map()];
      scene = { ...given, ...contribution(timeline, lesson, symbol, given.step, given.part, seen) };
    } else {
      from = null;
      const line = lines.get(given.node);
      if (given.values && line) scene = { ...given, edges: line.inputs.map((each, i) => edgeKey(each, line.name, i)) };
    }
    setAll(timeline.values, given.values);
    setAll(timeline.gradients, given.gradients);
    setAll(timeline.kinds, given.kinds);
    for (const name of given.freed ?? []) timeline.freed.set(name, at, true);
    setAll(timeline.rows, given.rows);
    output += given.output ?? "";
    timeline.output.set("", at, output);
    timeline.scenes.push({ equations: [], edges: [], node: null, ...scene, symbol });
  }
  return timeline;
}

/** The text of the program with its running statement, and the output so far. */
export class Listing {
  constructor(lesson, program, output) {
    this.text = [...lesson.program.replace(/\n+$/, "")];
    this.program = program;
    this.output = output;
    program.hidden = false;
    const breaks = this.text.flatMap((character, i) => (character === "\n" ? [i + 1] : []));
    this.starts = [0, ...breaks];
    this.lines = this.starts.map(() => element("li", {}, element("code")));
    program.append(element("ol", {}, ...this.lines));
  }

  show(timeline, at) {
    const { span = [0, 0], line = span, turn = "" } = timeline.scenes[at];
    this.starts.forEach((start, i) => {
      const end = (this.starts[i + 1] ?? this.text.length + 1) - 1;
      const [from, to] = [Math.max(start, span[0]), Math.min(end, span[1])];
      const cut = (a, b) => this.text.slice(a, b).join("");
      const marked = from < to && to > start;
      const parts = marked ? [cut(start, from), element("mark", {}, cut(from, to)), cut(to, end)] : [cut(start, end)];
      const running = line[1] > start && line[0] < end;
      const turns = running && turn ? [element("span", { class: "turn" }, turn)] : [];
      this.lines[i].firstChild.replaceChildren(...parts);
      this.lines[i].replaceChildren(this.lines[i].firstChild, ...turns);
      this.lines[i].classList.toggle("running", running);
      if (running) this.lines[i].setAttribute("aria-current", "step");
      else this.lines[i].removeAttribute("aria-current");
    });
    const current = this.lines.find((each) => each.classList.contains("running"));
    if (current) this.reveal(current);
    const text = timeline.output.at("", at);
    this.output.hidden = !text;
    this.output.querySelector("pre").textContent = text;
  }

  /** Scroll to a line within the listing: the page itself stays where it is. */
  reveal(line) {
    const [above, below] = [line.getBoundingClientRect(), this.program.getBoundingClientRect()];
    if (above.top < below.top || above.bottom > below.bottom) this.program.scrollTop += above.top - below.top - below.height / 2;
  }
}

/** The most characters of a cell of one line. */
const LINE = 20;

/** The table of the names of a program.  `show` fills in the state of each name. */
export class States {
  constructor(timeline) {
    const heads = ["name", "value", ".grad", "requires_grad", "is_leaf", "retains_grad", "grad_fn"];
    this.rows = [...timeline.rows.texts.keys()].map((name) => {
      const cells = heads.map(() => element("td"));
      return { name, cells, row: element("tr", {}, ...cells) };
    });
    const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
    this.root = element("table", {}, element("thead", {}, head), element("tbody", {}, ...this.rows.map(({ row }) => row)));
  }

  show(timeline, at) {
    for (const { name, cells, row } of this.rows) {
      const now = timeline.rows.at(name, at), before = timeline.rows.at(name, at - 1);
      row.hidden = !now;
      cells.forEach((cell, i) => {
        const text = now?.[i] ?? "";
        if (cell.textContent !== text) cell.textContent = text;
        cell.classList.toggle("wide", text.length > LINE);
        cell.classList.toggle("changed", now && before?.[i] !== text);
      });
    }
  }
}
