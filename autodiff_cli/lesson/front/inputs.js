/** Fields and sliders for the inputs of a lesson. */

import { element } from "./view.js";

const STEPS = 400;

export class Inputs {
  /**
   * `elements` are those of `elementsOf`.  `changed` is called with the values by label, the chosen element, and whether it moved.
   *
   * A number has a field and a slider.  An array has a field for each element, and a slider for the element that was chosen last.
   */
  constructor(elements, changed) {
    this.values = new Map(elements.map(({ label, value }) => [label, value]));
    this.changed = changed;
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
      setRange(slider, this.values.get(each.label));
      slider.value = this.values.get(each.label);
    };
    const fields = elements.map((each) => {
      const field = element("input", { type: "number", step: "any", value: each.value, "aria-label": `value of ${each.label}` });
      field.addEventListener("focus", () => {
        choose(each, field);
        this.changed(this.values, each, false);
      });
      field.addEventListener("input", () => {
        if (field.value === "" || !Number.isFinite(Number(field.value))) return;
        const given = Number(field.value);
        if (given < Number(slider.min) || given > Number(slider.max)) setRange(slider, given);
        slider.value = given;
        this.set(each, given);
      });
      return field;
    });
    slider.addEventListener("input", () => {
      currentField.value = String(Number(slider.value));
      this.set(current, Number(slider.value));
    });
    choose(elements[0], fields[0]);
    if (!elements[0].place.length) return element("label", {}, element("code", {}, name), ...fields, slider);
    const columns = elements.filter(({ place }) => place.slice(0, -1).every((each) => each === 0)).length;
    const grid = element("div", { class: "elements", style: `--columns: ${columns}` }, ...fields);
    return element("fieldset", {}, element("legend", {}, element("code", {}, name)), grid, element("label", {}, chosen, slider));
  }

  set(each, value) {
    this.values.set(each.label, value);
    this.changed(this.values, each, true);
  }
}

/** Set the range of a slider around a value. */
function setRange(slider, value) {
  const span = Math.max(2 * Math.abs(value), 1);
  slider.min = value - span;
  slider.max = value + span;
  slider.step = span / STEPS;
}
