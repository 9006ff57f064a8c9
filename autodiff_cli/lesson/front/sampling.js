/**
 * Curves that are sampled where they bend, with gaps where they are not continuous.
 *
 * The slopes are exact.  Where the values at two samples do not match the slopes there, the interval is halved.  If they never match,
 * bisection encloses the place: if the rise across it does not vanish, the curve has a gap.
 */

const COUNT = 400, HALVINGS = 6, BISECTIONS = 40, MOST = 20_000, MOST_SEARCHED = 400;
/** The greatest distance between the curve and a line between two samples, as a part of the range of the curve. */
const SMOOTH = 1e-3;
/** A smaller number is drawn as 0. */
const SMALLEST = 1e-300;
const CENTRAL = [0.1, 0.9];

/**
 * Sample curves from `low` to `high`.
 *
 * `at` returns the values and the slopes of all curves at a point, `{ys, slopes}`; a slope that is not known is undefined.  The result
 * has the points `us`, the values `ys` of each curve, and for each curve the numbers of the points after which it has a gap.
 */
export function sampled(at, low, high) {
  const row = (u) => ({ u, ...at(u) });
  let rows = Array.from({ length: COUNT + 1 }, (_, i) => row(low + (high - low) * (i / COUNT)));
  const curves = rows[0].ys.map((_, k) => k);
  const sizes = curves.map((k) => sizeOf(rows.map(({ ys }) => ys[k])));
  // A single point without a value is a hole, such as that of sin(x)/x at 0.
  rows = rows.filter(({ ys }, i) => Number.isFinite(ys[0]) || ![rows[i - 1], rows[i + 1]].every((each) => Number.isFinite(each?.ys[0])));
  const matches = (a, b, k) => {
    const known = [a.ys[k], b.ys[k]].filter(Number.isFinite).length;
    if (known !== 2) return known === 0;
    const [from, to] = [a.slopes[k], b.slopes[k]];
    if (from === undefined) return true;
    return Math.abs(b.ys[k] - a.ys[k] - ((b.u - a.u) * (from + to)) / 2) <= SMOOTH * sizes[k];
  };
  const smooth = (a, b) => curves.every((k) => matches(a, b, k));
  for (let halving = 0; halving < HALVINGS && rows.length < MOST; halving++) {
    rows = rows.flatMap((each, i) => (i && !smooth(rows[i - 1], each) ? [row(middleOf(rows[i - 1], each)), each] : [each]));
  }
  const gaps = curves.map(() => new Set());
  const found = [];
  let searched = 0;
  rows.forEach((each, i) => {
    const before = rows[i - 1];
    const rough = before ? curves.filter((k) => !matches(before, each, k)) : [];
    if (rough.length && searched++ < MOST_SEARCHED) {
      const [a, b] = enclosed(row, before, each, rough[0]);
      if (a !== before) found.push(a);
      for (const k of rough) if (broken(a, b, before, each, k, sizes[k])) gaps[k].add(found.length - 1);
      if (b !== each) found.push(b);
    }
    found.push(each);
  });
  return { us: found.map(({ u }) => u), ys: curves.map((k) => found.map(({ ys }) => ys[k])), gaps };
}

/** Return the ends of the smallest interval that contains the place where a curve does not match its slopes. */
function enclosed(row, a, b, k) {
  for (let i = 0; i < BISECTIONS; i++) {
    const middle = row(middleOf(a, b));
    if (middle.u <= a.u || middle.u >= b.u) break;
    const [left, right] = [rise(a, middle, k), rise(middle, b, k)];
    if (left > right || (left === right && !Number.isFinite(middle.ys[k]))) b = middle;
    else a = middle;
  }
  return [a, b];
}

/** Return the middle of two points, whose sum may overflow. */
const middleOf = (a, b) => a.u + (b.u - a.u) / 2;

const rise = (a, b, k) => {
  const difference = Math.abs(b.ys[k] - a.ys[k]);
  if (!Number.isNaN(difference)) return difference;
  return Number.isFinite(a.ys[k]) || Number.isFinite(b.ys[k]) ? Infinity : 0;
};

/** Return whether a curve is interrupted between two points: the rise is most of that of the interval in which they lie. */
function broken(a, b, from, to, k, size) {
  const left = rise(a, b, k);
  return left > Math.min(SMOOTH * size, rise(from, to, k) / 2) || left === Infinity;
}

/** Return the range of most values, from which the size of errors is measured. */
function sizeOf(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (!sorted.length) return 1;
  const [low, high] = CENTRAL.map((part) => sorted[Math.round(part * (sorted.length - 1))]);
  return high - low || sorted[sorted.length - 1] - sorted[0] || Math.abs(low) || 1;
}

/** Return the range of values to show: all, or most of them if `unbounded`; null if none is finite. */
export function windowOf(values, unbounded) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (!sorted.length) return null;
  const [low, high] = [sorted[0], sorted[sorted.length - 1]];
  if (!unbounded) return [low, high];
  const inner = CENTRAL.map((part) => sorted[Math.round(part * (sorted.length - 1))]);
  const room = (inner[1] - inner[0]) / 2;
  return [Math.max(low, inner[0] - room), Math.min(high, inner[1] + room)];
}

/** Return whether a curve leaves the range of most values by far at a gap. */
export function isUnbounded({ ys, gaps }, k) {
  const size = sizeOf(ys[k]);
  const sorted = ys[k].filter(Number.isFinite).sort((a, b) => a - b);
  const middle = sorted[sorted.length >> 1];
  const far = (value) => !Number.isNaN(value) && Math.abs(value - middle) > 10 * size;
  return [...gaps[k]].some((i) => far(ys[k][i]) || far(ys[k][i + 1]));
}

/** Return the range of a panel from those of its curves; curves without bounds extend it by half of its length at most. */
export function panelWindow(windows, unbounded) {
  const known = windows.map((ends, i) => ({ ends, free: unbounded[i] })).filter(({ ends }) => ends);
  if (!known.length) return [-1, 1];
  const bounded = known.filter(({ free }) => !free);
  const first = bounded.length ? bounded : known.slice(0, 1);
  let low = Math.min(...first.map(({ ends }) => ends[0])), high = Math.max(...first.map(({ ends }) => ends[1]));
  const room = (high - low) / 2;
  if (room) {
    const [lowest, highest] = [Math.min(...known.map(({ ends }) => ends[0])), Math.max(...known.map(({ ends }) => ends[1]))];
    [low, high] = [Math.min(low, Math.max(lowest, low - room)), Math.max(high, Math.min(highest, high + room))];
  }
  return opened(low, high);
}

/** Return a range for axes or colours; the range of a constant is widened. */
export function opened(low, high) {
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low > Math.max(1e-9 * size, SMALLEST)) return [low, high];
  const room = size > SMALLEST ? size / 2 : 1;
  return [low - room, high + room];
}
