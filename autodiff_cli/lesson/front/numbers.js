/** Numbers as the tables of the command line write them. */

/** Return a number with a number of significant digits, as the tables of the command line do. */
export function human(value, precision) {
  if (typeof value !== "number") return String(value);
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  const [digits, exponent] = value.toExponential(precision - 1).split("e");
  const power = Number(exponent);
  if (power < -4 || power >= precision) return `${trimmed(digits)}e${power < 0 ? "" : "+"}${power}`;
  return trimmed(value.toFixed(Math.max(precision - 1 - power, 0)));
}

/** The most elements of an array that is shown completely. */
const LARGE = 12;

/**
 * Return the text of a number of a lesson: the one that Python wrote, or that of values computed in the page.
 *
 * A number is {text}, or {values}; an array has a shape, and its values are in row-major order.
 */
export function shown(lesson, number) {
  if (!number) return "";
  if (number.text !== undefined) return number.text;
  const { shape = [], values, condition } = number;
  const texts = values.map((value) => human(condition ? Boolean(value) : value, lesson.precision));
  return nested(texts, shape);
}

/** Return the text of an array: nested lists, or the first elements and the last one. */
function nested(texts, shape) {
  if (texts.length > LARGE) return `[${texts.slice(0, 3).join(", ")}, ..., ${texts[texts.length - 1]}] (${shape.join(" x ")})`;
  if (!texts.length) return `[] (${shape.join(" x ")})`;
  let rows = texts;
  for (const size of [...shape].reverse()) {
    rows = Array.from({ length: rows.length / size }, (_, i) => `[${rows.slice(i * size, (i + 1) * size).join(", ")}]`);
  }
  return rows.join();
}

/** The most characters of a text in the graph; the words of a step and the table have the whole text. */
const LONGEST = 40;
export const brief = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

const SPECIAL = { nan: NaN, inf: Infinity, "-inf": -Infinity };

/** Return a number of the data, where a number that is not finite is a text. */
export const numberOf = (value) => (typeof value === "string" ? SPECIAL[value] : value);

/** Return a number with the values of its elements. */
export const withValues = ({ shape, condition }, values) => ({ shape, condition, values });

export const sizeOf = ({ shape = [] }) => shape.reduce((product, size) => product * size, 1);

function trimmed(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Return a factor of a product, in parentheses if it is negative. */
export const factor = (text) => (text.startsWith("-") ? `(${text})` : text);

/** Return a sum as text: "1 + 0.6 - 2". */
export const sum = (texts) => texts.reduce((all, text) => (text.startsWith("-") ? `${all} - ${text.slice(1)}` : `${all} + ${text}`));
