/**
 * Groups of operations, which open and close, so that a large graph fits on a screen.
 *
 * The operations of a statement are a group, and so are the operations of a call.  Of more items than fit, runs of
 * consecutive items are groups.  The lines of a group are consecutive, so the graph of groups does not have a cycle.
 */

import { title } from "./layout.js";
import { brief } from "./numbers.js";

/** The number of lines above which operations are grouped. */
const MANY = 40;
/** The most items of a group. */
const FIT = 12;

/**
 * The items of a lesson, and which of its groups are open.
 *
 * An item is {id, line, title, heading, first (its first line), members, parent}: a line without members, or a group, whose line is its last one.
 * The groups around the current step are open, unless the reader closes them; others are open if the reader opens them.
 */
export class Outline {
  constructor(lesson) {
    this.items = new Map();
    this.groups = [];
    this.lines = lesson.lines;
    this.large = lesson.lines.length > MANY;
    this.places = new Map(lesson.lines.map(({ name }, i) => [name, i]));
    for (const line of lesson.lines) this.items.set(line.name, { id: line.name, line, title: title(line), first: this.places.get(line.name), members: [], parent: null });
    this.opened = new Set();
    this.closed = new Set();
    this.around = [];
    this.members = [...this.items.values()];
    if (!this.large) return;
    this.crossing = crossing(lesson.lines, this.places);
    const operations = this.members.filter(({ line }) => !line.leaf);
    const owner = (item) => item.line.name.replace(/\.\d+$/, "");
    const functions = this.gathered(operations, (item, next) => !next || owner(item) !== owner(next));
    const callOf = (item) => item?.line.call?.[0];
    const calls = this.gathered(functions, (item, next) => callOf(item) === undefined || callOf(item) !== callOf(next), ({ line }) => line.call[1]);
    const statements = this.gathered(calls, ({ line }) => !line.name.startsWith("%"));
    this.members = this.fitted(statements);
  }

  /** Return items with groups in their place, each of which ends with an item for which `ends(item, next)` holds and has its text. */
  gathered(items, ends, textOf = ({ line }) => line.expression ?? line.operation) {
    const result = [];
    let run = [];
    items.forEach((item, i) => {
      run.push(item);
      if (!ends(item, items[i + 1])) return;
      result.push(run.length > 1 ? this.group(run, textOf(item)) : item);
      run = [];
    });
    return [...result, ...run];
  }

  /** Return at most `FIT` items: the given ones, or runs of them. */
  fitted(items) {
    const levels = Math.ceil(Math.log(items.length) / Math.log(FIT));
    const size = Math.ceil(items.length ** (1 / levels));
    let all = items;
    while (all.length > FIT) all = this.runs(all, size);
    return all;
  }

  /** Return runs of about `size` items.  A run ends where few values are used after it. */
  runs(items, size) {
    const result = [];
    for (let start = 0; start < items.length; ) {
      let end = Math.min(start + size, items.length);
      const cost = (stop) => this.crossing[this.places.get(items[stop - 1].line.name)] * size + Math.abs(stop - start - size);
      if (end < items.length) {
        for (let stop = start + Math.ceil(0.6 * size); stop <= Math.min(start + Math.min(1.4 * size, FIT), items.length); stop++) {
          if (cost(stop) < cost(end)) end = stop;
        }
      }
      const run = items.slice(start, end);
      result.push(run.length > 1 ? this.group(run) : run[0]);
      start = end;
    }
    return result;
  }

  /** Return a group of items: of a statement with its expression, or of a run. */
  group(items, expression) {
    const { line } = items[items.length - 1];
    const members = this.fitted(items);
    const name = expression ? brief(expression) : `${items[0].line.name} … ${line.name}`;
    const made = { id: `group ${this.groups.length}`, line, first: members[0].first, members, parent: null, title: name };
    made.heading = expression && !line.name.startsWith("%") ? `${line.name} = ${name}` : name;
    for (const member of members) member.parent = made;
    this.groups.push(made);
    return made;
  }

  isOpen(group) {
    return this.opened.has(group) || (this.around.includes(group) && !this.closed.has(group));
  }

  /** Open or close a group. */
  toggle(group) {
    const open = this.isOpen(group);
    (open ? this.closed : this.opened).add(group);
    (open ? this.opened : this.closed).delete(group);
  }

  /** Open or close all groups. */
  toggleAll(open) {
    this.opened = new Set(open ? this.groups : []);
    this.closed = new Set(open ? [] : this.groups);
  }

  /** Open the groups around the operation of a scene. */
  follow(scene) {
    const around = this.ancestors(scene.through ?? scene.node);
    if (around[0] === this.around[0]) return;
    this.around = around;
    this.closed.clear();
  }

  ancestors(name) {
    const found = [];
    for (let group = this.items.get(name)?.parent; group; group = group.parent) found.push(group);
    return found;
  }

  /** Return the item that shows a line: the line itself, or the outermost of the closed groups around it. */
  shown(name) {
    return this.ancestors(name).reduce((shown, group) => (this.isOpen(group) ? shown : group), this.items.get(name));
  }

  /** Return the member of a group (of the graph for `null`) that contains a line; undefined for a line outside of it. */
  memberOf(name, group) {
    let item = this.items.get(name);
    if (!item || (this.large && item.line.leaf)) return undefined;
    while (item && item.parent !== group) item = item.parent;
    return item ?? undefined;
  }

  linesOf(item) {
    return item.members.length ? this.lines.slice(item.first, this.places.get(item.line.name) + 1).filter((line) => !line.leaf) : [item.line];
  }

  firstOf(item) {
    return item.copy ? item.line : this.lines[item.first];
  }

  /** Return the identity of what is open inside a group, or in the graph for `null`. */
  state(group) {
    const inside = (each) => !group || this.ancestors(each.line.name).includes(group);
    return this.groups.filter((each) => each !== group && inside(each) && this.isOpen(each)).map(({ id }) => id).join();
  }
}

/** Return, for each line, the number of operations up to it whose values are used after it. */
function crossing(lines, places) {
  const last = lines.map((_, i) => i);
  lines.forEach((line, i) => line.inputs.forEach((name) => (last[places.get(name)] = i)));
  const counts = new Array(lines.length).fill(0);
  lines.forEach((line, i) => {
    if (!line.leaf && last[i] > i) {
      counts[i] += 1;
      counts[last[i]] -= 1;
    }
  });
  for (let i = 1; i < counts.length; i++) counts[i] += counts[i - 1];
  return counts;
}
