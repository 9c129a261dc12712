// Charts as in the HTML reports: lines scale with the page, labels do not.

import { chosenX, forget, nearest } from "./cursor.js";
import { h } from "./dom.js";
import { NONE, short } from "./format.js";

const SIDE = 2000;
// The first points of a curve are based on few labels. They may stretch the scale by at most this factor.
const MOST_STRETCH = 4;
const MOST_MARKS = 100;

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

// `lines`: [{ name, kind: "rolling" | "whole" | "area" | "dots", colour, dash, xs, ys, now }];
// `x`: { low, high, ticks, shown, read }; `marks`: x values of drifts.
export function lineChart({ id, label, lines, x, marks = [], markName = "drift", empty, ...look }) {
  const { shown = short, read = shown, fromZero = false, size = "tall" } = look;
  const values = lines.flatMap((line) => line.ys.filter((y) => y !== null));
  if (!values.length || !(x.high > x.low)) {
    forget(id);
    return h("p", { class: "note empty" }, empty ?? "No data to plot yet.");
  }
  const scale = yScale(lines, values, fromZero);
  const across = (value) => (SIDE * (value - x.low)) / (x.high - x.low);
  const down = downwards(scale);
  const chosen = chosenX(id, longest(lines), x);
  const shapes = [
    ticks(scale.low, scale.high, size === "tall" ? 6 : 4).map((tick) => gridLine(tick, down, shown)),
    x.ticks.map((tick) => [null, h("span", { class: "x", style: { left: place(across(tick)) } }, x.shown(tick))]),
    merged(marks.filter((value) => value >= x.low).map(across)).map(driftMark),
    lines.filter((line) => line.kind !== "rolling").map((line) => [drawn(line, across, down), null]),
    lines.filter((line) => line.kind === "rolling").map((line) => [drawn(line, across, down), null]),
    chosen === null ? [] : [[h("path", { class: "cursor", d: `M${across(chosen).toFixed(1)} 0V${SIDE}` }), null]],
  ].flat();
  const box = { viewBox: `0 0 ${SIDE} ${SIDE}`, preserveAspectRatio: "none", "aria-hidden": "true" };
  const name = {
    "data-chart": id,
    tabindex: "0",
    role: "group",
    "aria-label": `${label}. Arrow keys read values.`,
  };
  const reading = chosen === null ? "" : readout(lines, chosen, x, read);
  const plot = h(
    "div",
    { class: `plot ${size}`, ...name },
    h("svg", box, ...shapes.map(([shape]) => shape)),
    shapes.map(([, words]) => words),
    h("p", { class: "reading", role: "status" }, reading),
  );
  return h("div", { class: "chart" }, plot, legend(lines, marks.length && markName), cut(scale, shown));
}

// The parts of a chart are pairs of a shape, which scales with the page, and text, which does not.
function gridLine(tick, down, shown) {
  const line = h("path", { class: "grid", d: `M0 ${down(tick).toFixed(0)}H${SIDE}` });
  return [line, h("span", { class: "y", style: { top: place(down(tick)) } }, shown(tick))];
}

function driftMark(at) {
  const line = h("path", { class: "drift", d: `M${at} 0V${SIDE}` });
  return [line, h("span", { class: "flag", style: { left: place(at) } }, "▼")];
}

function drawn(line, across, down) {
  const path = h("path", { class: lookOf(line), "data-line": line.name, d: trace(line, across, down) });
  return line.kind === "area" ? [area(line, across, down), path] : path;
}

function lookOf(line) {
  return `${line.kind === "area" ? "rolling" : line.kind} c${line.colour} d${line.dash ?? 0}`;
}

// Points far beyond the axis are clipped, because large coordinates are drawn badly.
function downwards({ low, high }) {
  const room = 9 * (high - low);
  return (value) => (SIDE * (high - Math.min(Math.max(value, low - room), high + room))) / (high - low);
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
  if (fromZero && low >= 0) return { low: 0, high: high > 0 ? high + margin : 1, least: 0, most };
  return { low: low - margin, high: high + margin, least, most };
}

function cut({ low, high, least, most }, shown) {
  const beyond = [least < low && shown(least), most > high && shown(most)].filter(Boolean);
  return beyond.length
    ? h("p", { class: "note" }, `The first points are cut off: they reach ${beyond.join(" and ")}.`)
    : null;
}

function place(value) {
  return `${((100 * value) / SIDE).toFixed(2)}%`;
}

// A line with gaps where a value is unknown. An isolated point becomes a dot.
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
  return h(
    "svg",
    { class: "key", viewBox: "0 0 28 8", "aria-hidden": "true" },
    h("path", { class: lookOf(line), d: "M2 4H26" }),
  );
}

function longest(lines) {
  return lines.reduce((found, line) => (line.xs.length > found.length ? line.xs : found), []);
}

function readout(lines, chosen, x, read) {
  const each = lines.map((line) => {
    const value = line.ys[line.xs.indexOf(nearest(line.xs, chosen))] ?? null;
    return `${line.name} ${value === null ? NONE : read(value)}`;
  });
  return `${x.read(chosen)}: ${each.join(", ")}`;
}

export function spark(values, label) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return h("p", { class: "spark note" }, "No curve yet");
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const margin = (high - low) * 0.1 || 1;
  const line = { xs: values.map((_, index) => index), ys: values };
  const d = trace(
    line,
    (x) => (SIDE * x) / (values.length - 1),
    (y) => (SIDE * (high + margin - y)) / (high - low + 2 * margin),
  );
  const box = {
    class: "spark",
    viewBox: `0 0 ${SIDE} ${SIDE}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": label,
  };
  return h("svg", box, h("path", { class: "rolling c0", d }));
}

// Rows with a bar each: [{ name, value, text, colour }].
export function bars(rows, most = Math.max(...rows.map((row) => row.value), 0)) {
  const each = (row) =>
    h(
      "tr",
      { "data-key": row.name },
      h("th", { scope: "row" }, row.name),
      h("td", {}, bar(row.value, most)),
      h("td", {}, row.text),
    );
  return h("table", { class: "bars" }, h("tbody", {}, rows.map(each)));
}

export function bar(value, most) {
  const width = most > 0 ? Math.max((100 * value) / most, value > 0 ? 0.8 : 0) : 0;
  return h("span", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${width.toFixed(2)}%` } }));
}
