/** Numbers as the tables of the command line write them. */

/** Return a number with a number of significant digits, as Python's format "g" does. */
export function human(value, precision) {
  if (typeof value !== "number") return String(value);
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  const [digits, exponent] = value.toExponential(precision - 1).split("e");
  const power = Number(exponent);
  if (power < -4 || power >= precision) return `${trimmed(digits)}e${power}`;
  return trimmed(value.toFixed(Math.max(precision - 1 - power, 0)));
}

/** Return the text of a number of a lesson: the one that Python wrote, or that of a value computed in the page. */
export const shown = (lesson, number) => (number ? number.text ?? human(number.value, lesson.precision) : "");

function trimmed(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Return a factor of a product, in parentheses if it is negative. */
export const factor = (text) => (text.startsWith("-") ? `(${text})` : text);

/** Return a sum as text: "1 + 0.6 - 2". */
export const sum = (texts) => texts.reduce((all, text) => (text.startsWith("-") ? `${all} - ${text.slice(1)}` : `${all} + ${text}`));
