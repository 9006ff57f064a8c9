/** Fields and sliders for the inputs of a lesson. */

import { element } from "./view.js";

const STEPS = 400;

export class Inputs {
  /** `changed` is called with the values and the name of the input that changed. */
  constructor(lesson, changed) {
    this.values = new Map(lesson.inputs.map(({ name, value }) => [name, value]));
    this.root = element("div", { class: "inputs" });
    for (const { name, value } of lesson.inputs) this.root.append(this.row(name, value, changed));
  }

  row(name, value, changed) {
    const field = element("input", { type: "number", step: "any", value, "aria-label": `value of ${name}` });
    const slider = element("input", { type: "range", "aria-label": `slider of ${name}` });
    setRange(slider, value);
    slider.value = value;
    slider.addEventListener("input", () => {
      field.value = String(Number(slider.value));
      this.set(name, Number(slider.value), changed);
    });
    field.addEventListener("input", () => {
      if (field.value === "" || !Number.isFinite(Number(field.value))) return;
      const given = Number(field.value);
      if (given < Number(slider.min) || given > Number(slider.max)) setRange(slider, given);
      slider.value = given;
      this.set(name, given, changed);
    });
    return element("label", {}, element("code", {}, name), field, slider);
  }

  set(name, value, changed) {
    this.values.set(name, value);
    changed(this.values, name);
  }
}

/** Set the range of a slider around a value. */
function setRange(slider, value) {
  const span = Math.max(2 * Math.abs(value), 1);
  slider.min = value - span;
  slider.max = value + span;
  slider.step = span / STEPS;
}
