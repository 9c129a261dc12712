// Charts as in the HTML reports: lines scale with the page, labels do not. A pointer or the arrow keys read values.

import { h } from "./dom.js";
import { NONE, short } from "./format.js";

const SIDE = 2000;
// The first points of a curve rest on few labels. They may stretch the scale by this factor at most.
const MOST_STRETCH = 4;
const MOST_MARKS = 100;

// The chosen x of each chart, and the x values that can be chosen.
const cursors = new Map();
const choices = new Map();

export function ticks(low, high, most) {
  const rough = (high - low) / most;
  if (!(Number.isFinite(rough) && rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => power * factor >= rough) ?? 10);
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place <= high / step + 1e-9 && found.length < 50; place += 1) {
    // Not -0.
    found.push(step * place + 0);
  }
  return found;
}

// `lines`: [{ name, kind: "rolling" | "whole" | "area" | "dots", colour, xs, ys }]; `x`: { low, high, ticks, shown, read }.
export function lineChart({ id, label, lines, x, marks = [], markName = "drift", shown = short, read = shown, fromZero = false, size = "tall", empty }) {
  const values = lines.flatMap((line) => line.ys.filter((y) => y !== null));
  if (!values.length || !(x.high > x.low)) {
    choices.delete(id);
    return h("p", { class: "note empty" }, empty ?? "No data to plot yet.");
  }
  const scale = yScale(lines, values, fromZero);
  const across = (value) => (SIDE * (value - x.low)) / (x.high - x.low);
  const down = (value) => {
    const room = 9 * (scale.high - scale.low);
    const clipped = Math.min(Math.max(value, scale.low - room), scale.high + room);
    return (SIDE * (scale.high - clipped)) / (scale.high - scale.low);
  };
  const shapes = [];
  const words = [];
  for (const tick of ticks(scale.low, scale.high, size === "tall" ? 6 : 4)) {
    shapes.push(h("path", { class: "grid", d: `M0 ${down(tick).toFixed(0)}H${SIDE}` }));
    words.push(h("span", { class: "y", style: { top: place(down(tick)) } }, shown(tick)));
  }
  for (const tick of x.ticks) words.push(h("span", { class: "x", style: { left: place(across(tick)) } }, x.shown(tick)));
  for (const mark of merged(marks.filter((value) => value >= x.low).map(across))) {
    shapes.push(h("path", { class: "drift", d: `M${mark} 0V${SIDE}` }));
    words.push(h("span", { class: "flag", style: { left: place(mark) } }, "▼"));
  }
  for (const line of [...lines].sort((one, other) => (one.kind === "rolling") - (other.kind === "rolling"))) {
    if (line.kind === "area") shapes.push(area(line, across, down));
    const kind = line.kind === "area" ? "rolling" : line.kind;
    shapes.push(h("path", { class: `${kind} c${line.colour} d${line.dash ?? 0}`, "data-line": line.name, d: trace(line, across, down) }));
  }
  choices.set(id, { xs: longest(lines), low: x.low, high: x.high });
  const chosen = nearest(choices.get(id).xs, cursors.get(id));
  if (chosen !== null) shapes.push(h("path", { class: "cursor", d: `M${across(chosen).toFixed(1)} 0V${SIDE}` }));
  const box = h("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, preserveAspectRatio: "none", "aria-hidden": "true" }, shapes);
  const reading = h("p", { class: "reading", role: "status" }, chosen === null ? "" : readout(lines, chosen, x, read));
  return h("div", { class: "chart" },
    h("div", { class: `plot ${size}`, "data-chart": id, tabindex: "0", role: "group", "aria-label": `${label}. Arrow keys read values.` }, box, words, reading),
    legend(lines, marks.length && markName),
    cut(scale, shown));
}

function yScale(lines, values, fromZero) {
  const least = Math.min(...values);
  const most = Math.max(...values);
  let [low, high] = [least, most];
  const held = lines.flatMap((line) => line.ys.slice(Math.floor(line.ys.length / 10)).filter((y) => y !== null));
  if (held.length && !fromZero) {
    const [bottom, top] = [Math.min(...held), Math.max(...held)];
    if (top > bottom && high - low > MOST_STRETCH * (top - bottom)) [low, high] = [bottom, top];
  }
  const margin = (high - low) * 0.08 || Math.abs(high) * 0.05 || 0.5;
  if (fromZero && low >= 0) return { low: 0, high: high + margin, least: 0, most };
  return { low: low - margin, high: high + margin, least, most };
}

function cut({ low, high, least, most }, shown) {
  const beyond = [least < low && shown(least), most > high && shown(most)].filter(Boolean);
  return beyond.length ? h("p", { class: "note" }, `The first points are cut off: they reach ${beyond.join(" and ")}.`) : null;
}

function place(value) {
  return `${((100 * value) / SIDE).toFixed(2)}%`;
}

// A line with gaps where a value is unknown. A point alone becomes a dot.
function trace(line, across, down) {
  const parts = [];
  let isOpen = false;
  line.ys.forEach((y, index) => {
    if (y === null) {
      isOpen = false;
      return;
    }
    const point = `${across(line.xs[index]).toFixed(1)} ${down(y).toFixed(1)}`;
    const isAlone = !isOpen && (line.ys[index + 1] ?? null) === null;
    parts.push(isOpen ? `L${point}` : isAlone ? `M${point}h.1` : `M${point}`);
    isOpen = true;
  });
  return parts.join("");
}

function area(line, across, down) {
  const points = line.ys.map((y, index) => `${across(line.xs[index]).toFixed(1)},${down(y ?? 0).toFixed(1)}`);
  const ends = [across(line.xs[0]), across(line.xs[line.xs.length - 1])].map((end) => `${end.toFixed(1)},${SIDE}`);
  return h("polygon", { class: `area f${line.colour}`, points: [ends[0], ...points, ends[1]].join(" ") });
}

function merged(places) {
  return [...new Set(places.map((value) => Math.round(value / 12) * 12))].slice(-MOST_MARKS);
}

function legend(lines, markName) {
  const keys = lines.map((line) => {
    const last = line.now === undefined ? "" : ` ${line.now}`;
    return h("span", {}, keyOf(line), line.name, h("b", {}, last));
  });
  if (markName) keys.push(h("span", {}, h("span", { class: "key-mark", "aria-hidden": "true" }, "▼"), markName));
  return h("div", { class: "legend" }, keys);
}

function keyOf(line) {
  const kind = line.kind === "area" ? "rolling" : line.kind;
  const path = h("path", { class: `${kind} c${line.colour} d${line.dash ?? 0}`, d: "M2 4H26" });
  return h("svg", { class: "key", viewBox: "0 0 28 8", "aria-hidden": "true" }, path);
}

function longest(lines) {
  return lines.reduce((found, line) => (line.xs.length > found.length ? line.xs : found), []);
}

function nearest(xs, wanted) {
  if (wanted === undefined || !xs.length) return null;
  return xs.reduce((best, value) => (Math.abs(value - wanted) < Math.abs(best - wanted) ? value : best));
}

function readout(lines, chosen, x, read) {
  const each = lines.map((line) => {
    const value = line.ys[line.xs.indexOf(nearest(line.xs, chosen))] ?? null;
    return `${line.name} ${value === null ? NONE : read(value)}`;
  });
  return `${x.read(chosen)}: ${each.join(", ")}`;
}

// Read values with the pointer or with the arrow keys. `redraw` draws the page again.
export function readValues(root, redraw) {
  const chartOf = (event) => event.target.closest?.("[data-chart]");
  const choose = (id, value) => {
    if (value === undefined) cursors.delete(id);
    else cursors.set(id, value);
    redraw();
  };
  root.addEventListener("pointermove", (event) => {
    const chart = chartOf(event);
    const known = chart && choices.get(chart.dataset.chart);
    if (!known) return;
    const box = chart.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    choose(chart.dataset.chart, known.low + share * (known.high - known.low));
  });
  for (const kind of ["pointerout", "focusout"]) {
    root.addEventListener(kind, (event) => {
      const chart = chartOf(event);
      if (chart && !chart.contains(event.relatedTarget)) choose(chart.dataset.chart, undefined);
    });
  }
  root.addEventListener("keydown", (event) => {
    const chart = chartOf(event);
    const known = chart && choices.get(chart.dataset.chart);
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (!known || step === undefined) return;
    event.preventDefault();
    const last = known.xs.length - 1;
    const present = nearest(known.xs, cursors.get(chart.dataset.chart));
    const from = present === null ? (step < 0 ? last + 1 : -1) : known.xs.indexOf(present);
    choose(chart.dataset.chart, known.xs[Math.min(Math.max(from + step, 0), last)]);
  });
}

export function spark(values, label) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return h("p", { class: "spark note" }, "No curve yet");
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const margin = (high - low) * 0.1 || 1;
  const line = { xs: values.map((_, index) => index), ys: values };
  const d = trace(line, (x) => (SIDE * x) / (values.length - 1), (y) => (SIDE * (high + margin - y)) / (high - low + 2 * margin));
  const box = { class: "spark", viewBox: `0 0 ${SIDE} ${SIDE}`, preserveAspectRatio: "none", role: "img", "aria-label": label };
  return h("svg", box, h("path", { class: "rolling c0", d }));
}

// Rows with a bar each: [{ name, value, text, colour }].
export function bars(rows, most = Math.max(...rows.map((row) => row.value), 0)) {
  const each = (row) => h("tr", { "data-key": row.name },
    h("th", { scope: "row" }, row.name),
    h("td", {}, bar(row.value, most)),
    h("td", {}, row.text));
  return h("table", { class: "bars" }, h("tbody", {}, rows.map(each)));
}

export function bar(value, most) {
  const width = most > 0 ? Math.max((100 * value) / most, value > 0 ? 0.8 : 0) : 0;
  return h("span", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${width.toFixed(2)}%` } }));
}
