/** Fields and sliders for the inputs of a lesson. */

import { element } from "./view.js";

const STEPS = 400;
const LINEAR = { to: (value) => value, from: (position) => position };

export class Inputs {
  /**
   * `elements` are those of `elementsOf`.  An element may have a `range` of its slider, and a `scale` with the functions `to` and `from`
   * its positions.  `changed` is called with the values by label, the chosen element, and whether it moved.
   *
   * A number has a field and a slider.  An array has a field for each element, and a slider for the element that was chosen last.
   */
  constructor(elements, changed) {
    this.values = new Map(elements.map(({ label, value }) => [label, value]));
    this.changed = changed;
    this.setters = new Map();
    this.root = element("div", { class: "inputs" });
    for (const name of new Set(elements.map((each) => each.name))) {
      this.root.append(this.input(name, elements.filter((each) => each.name === name)));
    }
  }

  input(name, elements) {
    const slider = element("input", { type: "range" });
    const chosen = element("code", { class: "chosen" });
    let current, currentField;
    const choose = (each, field) => {
      [current, currentField] = [each, field];
      chosen.textContent = each.label;
      slider.setAttribute("aria-label", `slider of ${each.label}`);
      place(slider, each, this.values.get(each.label));
    };
    const fields = elements.map((each) => {
      const field = element("input", { type: "number", step: "any", value: each.value, "aria-label": `value of ${each.label}` });
      field.addEventListener("focus", () => {
        choose(each, field);
        this.changed(this.values, each, false);
      });
      field.addEventListener("input", () => {
        if (field.value === "" || !Number.isFinite(Number(field.value))) return;
        place(slider, each, Number(field.value), false);
        this.set(each, Number(field.value));
      });
      this.setters.set(each.label, (value) => {
        field.value = String(value);
        if (current === each) place(slider, each, value, false);
      });
      return field;
    });
    slider.addEventListener("input", () => {
      const value = (current.scale ?? LINEAR).from(Number(slider.value));
      currentField.value = String(value);
      this.set(current, value);
    });
    choose(elements[0], fields[0]);
    if (!elements[0].place.length) return element("label", {}, element("code", {}, name), ...fields, slider);
    const columns = elements.filter(({ place }) => place.slice(0, -1).every((each) => each === 0)).length;
    const grid = element("div", { class: "elements", style: `--columns: ${columns}` }, ...fields);
    return element("fieldset", {}, element("legend", {}, element("code", {}, name)), grid, element("label", {}, chosen, slider));
  }

  /** Show another value of an element, which is not reported as a change. */
  put(label, value) {
    this.values.set(label, value);
    this.setters.get(label)(value);
  }

  set(each, value) {
    this.values.set(each.label, value);
    this.changed(this.values, each, true);
  }
}

/** Move a slider to a value.  Its range is that of its element, or one around the value; unless `anew`, it is kept if it has the value. */
function place(slider, { range, scale = LINEAR }, value, anew = true) {
  const at = scale.to(value);
  if (anew || !(at >= Number(slider.min) && at <= Number(slider.max))) {
    const span = Math.max(2 * Math.abs(at), 1);
    const own = range?.map(scale.to);
    const [low, high] = own && at >= own[0] && at <= own[1] ? own : [at - span, at + span];
    slider.min = low;
    slider.max = high;
    slider.step = (high - low) / (2 * STEPS);
  }
  slider.value = at;
}
