// Label fates: every received label has one fate, and the fates add up.

import { bar, bars } from "./charts.js";
import { h } from "./dom.js";
import { count, moment, NONE, percent, plural, span } from "./format.js";
import { activity, COLUMN, facts, section, table } from "./pieces.js";

const FATES = {
  learned: "The model learned it.",
  scored: "Compared with the prediction of a model that learns without labels.",
  collected: "Waits for the window of its event to close.",
  parked: "Arrived before its event and waits for it.",
  duplicate: "Received before; not learned twice.",
  conflict: "A different label of an event that already has one.",
  unknown: "No event has this id. Send the label again with the features x to learn it.",
  late: "Arrived after the window of its event closed.",
  dead_letter: "Arrived late; kept but not learned.",
  quarantined: "Could not be learned; the reason is in the quarantine.",
  expired: "Its event did not arrive in time.",
};
const WAITING = ["collected", "parked"];

export function waitingOf(labels) {
  return WAITING.reduce((sum, fate) => sum + labels.fates[fate], 0);
}

export function sumOf(labels) {
  return Object.values(labels.fates).reduce((sum, number) => sum + number, 0);
}

export function fates(labels) {
  const present = Object.entries(labels.fates).filter(([fate, number]) => number > 0 || fate === "learned");
  const none = Object.entries(labels.fates)
    .filter(([fate, number]) => number === 0 && fate !== "learned")
    .map(([fate]) => worded(fate));
  const rows = present.map(([fate, number]) => ({
    fate,
    number,
    words: worded(fate),
    meaning: FATES[fate] ?? "",
  }));
  rows.sort((one, other) => other.number - one.number);
  const sum = sumOf(labels);
  rows.push({
    words: "Sum",
    number: sum,
    isSum: true,
    meaning:
      sum === labels.received
        ? `✓ all ${plural(labels.received, "received label")}`
        : `✖ ${count(labels.received)} were received`,
  });
  return section(
    "Where the labels are",
    table(
      [
        ["Fate", (row) => (row.isSum ? h("b", {}, row.words) : [h("span", { "data-fate": row.fate }, row.words)])],
        ["Labels", (row) => (row.isSum ? h("b", { id: "fate-sum" }, count(row.number)) : count(row.number))],
        [
          "Fraction",
          (row) =>
            row.isSum
              ? ""
              : h("span", { class: "share" }, bar(row.number, Math.max(sum, 1)), percent(row.number, sum)),
        ],
        ["Meaning", (row) => row.meaning],
      ],
      rows,
      { kind: "words fates", caption: "Fates of labels" },
    ),
    none.length > 0 && h("p", { class: "note" }, `No labels: ${none.join(", ")}.`),
    facts(
      ["Predictions", count(labels.predictions)],
      ["Remembered events", count(labels.remembered)],
      ["Windows closed without a label", count(labels.closed_without_label)],
      labels.default_labels > 0 && ["Default labels of closed windows", count(labels.default_labels)],
    ),
  );
}

function worded(fate) {
  return fate.replaceAll("_", " ");
}

export function delay(state) {
  const { labels, samples, delays } = state;
  const last = samples.findLast((sample) => sample[COLUMN.delay] !== null);
  return section(
    "Label delay",
    h(
      "p",
      { class: "lead" },
      labels.mean_delay === null
        ? "No label has been joined with a prediction yet."
        : [h("b", {}, span(labels.mean_delay)), " after its prediction, on average"],
    ),
    activity({
      id: "delay",
      label: "Mean label delay per second",
      samples,
      lines: [
        {
          name: "mean delay",
          column: "delay",
          kind: "dots",
          colour: 0,
          now: last ? span(last[COLUMN.delay]) : NONE,
        },
      ],
      shown: (value) => span(value),
      size: "low",
      empty: "No label in the last ten minutes.",
    }),
    delays && histogram(delays, "labels"),
  );
}

export function remembered(samples, labels, policy) {
  return section(
    "Remembered events",
    h("p", { class: "lead" }, h("b", {}, count(labels.remembered)), ` of at most ${count(policy.max_pending)}`),
    activity({
      id: "remembered",
      label: "Remembered events",
      samples,
      lines: [
        { name: "remembered", column: "remembered", kind: "rolling", colour: 2, now: count(labels.remembered) },
      ],
      size: "low",
    }),
    h(
      "p",
      { class: "note" },
      `An event waits ${span(policy.window)} for its label, and is remembered for twice that time.`,
    ),
  );
}

export function quarantine(entries) {
  const rows = [...entries].reverse();
  return section(
    "Quarantine",
    rows.length
      ? table(
          [
            ["Event", (row) => row.id ?? NONE],
            ["Label", (row) => (row.y === null ? NONE : String(row.y))],
            ["When", (row) => moment(row.time)],
            ["Record", (row) => count(row.seq)],
            ["Reason", (row) => row.reason],
          ],
          rows,
          { kind: "words quarantine", caption: "Labels that could not be learned" },
        )
      : h("p", { class: "note" }, "The model has not refused any labels."),
  );
}

// A histogram of durations, from the first to the last non-empty bucket.
export function histogram({ bounds, counts }, what) {
  const first = counts.findIndex((number) => number > 0);
  if (first < 0) return null;
  const last = counts.findLastIndex((number) => number > 0);
  const total = counts.reduce((sum, number) => sum + number, 0);
  const name = (index) =>
    index < bounds.length ? `up to ${span(bounds[index])}` : `over ${span(bounds[bounds.length - 1])}`;
  const rows = [];
  for (let index = first; index <= last; index += 1) {
    rows.push({ name: name(index), value: counts[index], text: percent(counts[index], total) });
  }
  return h(
    "div",
    { role: "group", "aria-label": `Histogram of ${plural(total, what.replace(/s$/, ""))}` },
    bars(rows),
  );
}
