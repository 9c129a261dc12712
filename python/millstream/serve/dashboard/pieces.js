// Components shared by several views.

import { lineChart } from "./charts.js";
import { h } from "./dom.js";
import { rate, span } from "./format.js";

export function section(title, ...children) {
  return h("section", { "data-key": title }, h("h2", {}, title), children);
}

export function tile(name, value, small) {
  return h(
    "div",
    { class: "tile", "data-key": name },
    h("dt", {}, name),
    h("dd", {}, value, small && h("span", { class: "small" }, small)),
  );
}

export function tiles(...items) {
  return h("dl", { class: "tiles" }, items);
}

// Columns: [title, row → content]. The first is the row's header.
export function table(columns, rows, { kind = "", caption } = {}) {
  const head = h(
    "thead",
    {},
    h(
      "tr",
      {},
      columns.map(([title]) => h("th", { scope: "col" }, title)),
    ),
  );
  const cell = (row, [, content], index) =>
    index ? h("td", {}, content(row)) : h("th", { scope: "row" }, content(row));
  const body = h(
    "tbody",
    {},
    rows.map((row) =>
      h(
        "tr",
        {},
        columns.map((column, index) => cell(row, column, index)),
      ),
    ),
  );
  const hidden = caption && h("caption", { class: "hidden" }, caption);
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: `wide ${kind}` }, hidden, head, body),
  );
}

export function facts(...pairs) {
  return h(
    "dl",
    { class: "facts" },
    pairs.filter(Boolean).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

// Column indices of a sample: tick, time, predictions, labels, delay, remembered, p99.
export const COLUMN = { time: 1, predictions: 2, labels: 3, delay: 4, remembered: 5, p99: 6 };

function recentTimes(samples) {
  const now = samples.length ? samples[samples.length - 1][COLUMN.time] : 0;
  const first = samples.length ? samples[0][COLUMN.time] : 0;
  const length = Math.max(60, Math.ceil((now - first) / 60000) * 60);
  const step = length > 300 ? 120 : length > 120 ? 60 : length > 60 ? 30 : 15;
  const marks = [];
  for (let back = 0; back <= length; back += step) marks.push(now - 1000 * back);
  const shown = (time) => (time === now ? "now" : `−${span((now - time) / 1000)}`);
  return {
    low: now - 1000 * length,
    high: now,
    ticks: marks,
    shown,
    read: (time) => new Date(time).toLocaleTimeString("en-GB"),
  };
}

// A chart of one or two columns of the samples.
export function activity({ id, label, samples, lines, ...more }) {
  const xs = samples.map((sample) => sample[COLUMN.time]);
  const drawn = lines.map((line) => ({ ...line, xs, ys: samples.map((sample) => sample[COLUMN[line.column]]) }));
  return lineChart({ id, label, lines: drawn, x: recentTimes(samples), fromZero: true, size: "middle", ...more });
}

export function traffic(samples) {
  const last = samples[samples.length - 1];
  const now = (column) => `${rate(last?.[COLUMN[column]] ?? 0)}/s`;
  return activity({
    id: "traffic",
    label: `Predictions and labels per second; now ${now("predictions")} and ${now("labels")}`,
    samples,
    lines: [
      { name: "predictions", column: "predictions", kind: "area", colour: 0, now: now("predictions") },
      { name: "labels", column: "labels", kind: "rolling", colour: 1, dash: 1, now: now("labels") },
    ],
    read: (value) => `${rate(value)}/s`,
    empty: "The first second is being measured.",
  });
}
