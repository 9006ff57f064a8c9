/** What a lesson looks like around its graph: the words of a scene, the table of tensors, and the pages to print. */

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

/** Set the text of an element if it is another one. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const PHASES = { start: "Start", statement: "Statement", forward: "Forward", pause: "Between", backward: "Backward", end: "Result", error: "Error" };

/** Return an article for each phase, to print: the graph at its end, and all its steps. */
export function printed(timeline, picture, lesson) {
  const pages = [];
  timeline.scenes.forEach((scene, at) => {
    const { phase } = scene, before = timeline.scenes[at - 1]?.phase;
    if (phase === "start" || phase === "pause") return;
    const another = phase === "backward" && before === "statement";
    const goesOn = phase === "statement" || (phase === pages[pages.length - 1]?.phase && !another);
    if (!goesOn || !pages.length) pages.push({ phase, steps: [] });
    pages[pages.length - 1].steps.push({ ...scene, at });
  });
  return pages.map(({ phase, steps }) => {
    picture.show(timeline, steps[steps.length - 1].at, lesson, false);
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

  /** Scroll the table, and not the page, to the tensor of the step. */
  reveal() {
    const room = this.root.parentElement, row = this.root.querySelector(".active");
    if (row) room.scrollTop = row.offsetTop - room.clientHeight / 2;
  }
}
