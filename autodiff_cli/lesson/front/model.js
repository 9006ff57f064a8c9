/**
 * The numbers of a lesson, computed again for other inputs.
 *
 * `lesson.code` is a function of the inputs, written by `autodiff export`: it returns the values of all lines, then the local
 * derivatives of all contributions.  The chain rule is applied here.
 */

/** Return the lesson with the numbers at other inputs. */
export function recomputed(lesson, compute, inputs) {
  const results = compute(...lesson.inputs.map(({ name }) => inputs.get(name)))[Symbol.iterator]();
  const next = () => ({ value: Number(results.next().value) });
  const lines = lesson.lines.map((line) => ({ ...line, value: next() }));
  const gradients = new Map([[lesson.output, { value: 1, taken: true }]]);
  const parts = new Map();
  const steps = lesson.steps.map((step) => {
    const upstream = gradients.get(step.names[0]);
    const contributions = step.contributions.map((part) => {
      const local = next();
      // A branch that was not selected contributes 0, even if its derivatives are infinite or nan.
      const taken = upstream.taken && !(step.selects && local.value === 0);
      const value = taken ? upstream.value * local.value : 0;
      const before = gradients.get(part.to);
      const total = { value: before ? before.value + value : value, taken: taken || (before?.taken ?? false) };
      gradients.set(part.to, total);
      parts.set(part.to, [...(parts.get(part.to) ?? []), { value }]);
      return { ...part, rule: null, local, value: { value }, total: { value: total.value }, masked: !taken };
    });
    return { ...step, gradients: [{ value: upstream.value }], contributions };
  });
  const ends = lesson.ends.map((end) => {
    const own = end.name === lesson.output ? [{ value: 1 }] : parts.get(end.name) ?? [];
    return { ...end, parts: own, value: { value: gradients.get(end.name)?.value ?? 0 } };
  });
  return { ...lesson, lines, steps, ends };
}

const WIDE = { text: "-0.123456" };

/** Return the lesson with numbers as long as any, for a layout that holds for all inputs. */
export function widest(lesson) {
  if (!lesson.code) return lesson;
  const wide = (number) => (number && number.text.length < WIDE.text.length ? WIDE : number);
  return {
    ...lesson,
    lines: lesson.lines.map((line) => ({ ...line, value: wide(line.value) })),
    steps: lesson.steps.map((step) => ({
      ...step,
      gradients: step.gradients.map(wide),
      contributions: step.contributions.map((part) => ({ ...part, local: wide(part.local), value: wide(part.value), total: wide(part.total) })),
    })),
  };
}
