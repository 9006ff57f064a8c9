/** A lesson: plays the forward and the backward pass of an expression, scene by scene. */

import { Curve } from "./curve.js";
import { Inputs } from "./inputs.js";
import { elementsOf, recomputed } from "./model.js";
import { Picture } from "./picture.js";
import { Listing, States, programScenes } from "./program.js";
import { scenesOf } from "./scenes.js";
import { Tensors, element, printed, tell } from "./view.js";

const MILLISECONDS = 1600, ADDRESS = 250, BORDERS = 2;
const byId = (id) => document.getElementById(id);

const given = JSON.parse(byId("lesson").textContent);
const compute = globalThis.lessonCode;
let lesson = given;
const timelineOf = given.program === undefined ? scenesOf : programScenes;
let timeline = timelineOf(lesson);
const count = timeline.scenes.length;
const picture = new Picture(given, timeline);
const tensors = given.program === undefined ? new Tensors(lesson) : new States(timeline);
const listing = given.program === undefined ? null : new Listing(given, byId("program"), byId("output"));
const words = { phase: byId("phase"), heading: byId("heading"), words: byId("words"), equations: byId("equations") };
const slider = byId("position");
/** Whether the page has an address that can name a step; a page in the output of a notebook does not. */
const addressable = location.protocol !== "about:";
let at = -1;
let timer = null;
let writing = null;

byId("graph").append(picture.root);
byId("graph").before(picture.controls());
document.body.classList.toggle("growing", listing !== null);
byId("tensors").append(tensors.root);
slider.max = count - 1;

const fit = () => {
  const graph = byId("graph");
  picture.fit({ width: graph.clientWidth, height: Number.parseFloat(getComputedStyle(graph).maxHeight) - BORDERS });
};
new ResizeObserver(fit).observe(byId("graph")); // its width changes with the window, and where a scroll bar appears
fit();

if (compute) {
  const elements = elementsOf(given);
  const curve = new Curve(given, compute);
  const inputs = new Inputs(elements, (values, chosen, moved) => {
    const numbers = recomputed(given, compute, values);
    curve.show(numbers, values, chosen);
    if (!moved) return;
    lesson = numbers;
    timeline = timelineOf(lesson);
    picture.keepRoom(lesson, timeline);
    show();
  });
  byId("inputs").replaceChildren(inputs.root);
  byId("curve").append(curve.root);
  byId("curve").hidden = given.start.values.join() !== "1"; // with another initial gradient, the gradients are not slopes of the curve
  curve.show(recomputed(given, compute, inputs.values), inputs.values, elements[0]);
} else if (given.fixed) {
  byId("inputs").append(element("p", {}, `The inputs cannot be moved: ${given.fixed}.`));
}

function show() {
  picture.show(timeline, at, lesson);
  tensors.show(timeline, at);
  listing?.show(timeline, at);
  for (const mark of ["freed", "cut"]) byId(`legend-${mark}`).hidden = !picture.root.querySelector(`.${mark}:not(.pending)`);
  tell(timeline.scenes[at], words);
}

function go(to, remember = true) {
  const next = Math.max(0, Math.min(to, count - 1));
  if (next === at) return;
  at = next;
  const scene = timeline.scenes[at];
  show();
  picture.reveal(timeline, at);
  tensors.reveal?.();
  slider.value = at;
  slider.setAttribute("aria-valuetext", `step ${at} of ${count - 1}: ${scene.title}`);
  byId("count").textContent = `${at} / ${count - 1}`;
  byId("back").disabled = at === 0;
  byId("next").disabled = at === count - 1;
  if (at === count - 1) pause();
  if (remember && addressable) writing ??= setTimeout(writeAddress, ADDRESS);
}

/** Write the step into the address.  Browsers refuse more than some changes a second. */
function writeAddress() {
  writing = null;
  history.replaceState(null, "", `#step=${at}`);
}

function pause() {
  clearInterval(timer);
  timer = null;
  byId("play").textContent = "Play";
}

function play() {
  if (timer) return pause();
  if (at === count - 1) go(0);
  timer = setInterval(() => go(at + 1), MILLISECONDS);
  byId("play").textContent = "Pause";
}

/** Go to the step in the address: `#step=12`, or `#step=last`.  A page that opens at `#autoplay` plays. */
function follow() {
  clearTimeout(writing);
  writing = null;
  const step = new URLSearchParams(location.hash.slice(1)).get("step");
  go(step === "last" ? count - 1 : Number.parseInt(step, 10) || 0, false);
}

const KEYS = { ArrowRight: 1, ArrowLeft: -1, PageDown: 1, PageUp: -1, Home: -Infinity, End: Infinity };
document.addEventListener("keydown", (event) => {
  if (event.target.closest?.("input, select, summary") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " " && !(event.target instanceof HTMLButtonElement)) play();
  else if (event.key in KEYS) go(KEYS[event.key] === Infinity ? count : KEYS[event.key] === -Infinity ? 0 : at + KEYS[event.key]);
  else return;
  event.preventDefault();
});
byId("play").addEventListener("click", play);
byId("next").addEventListener("click", () => { pause(); go(at + 1); });
byId("back").addEventListener("click", () => { pause(); go(at - 1); });
slider.addEventListener("input", () => { pause(); go(Number(slider.value)); });
window.addEventListener("hashchange", follow);
window.addEventListener("beforeprint", () => byId("print").replaceChildren(...printed(timeline, picture, lesson)));
window.addEventListener("afterprint", () => { byId("print").replaceChildren(); show(); });
const opened = location.hash;
follow();
if (opened === "#autoplay" && !matchMedia("(prefers-reduced-motion: reduce)").matches) play();
document.body.dataset.ready = "true";
