// The page of one model or route. It starts with the most common questions: did it learn, how good is it, and where
// are my labels.

import { lineChart, ticks } from "./charts.js";
import { h } from "./dom.js";
import { ago, count, figure, moment, NONE, plural, short, span } from "./format.js";
import { delay, fates, histogram, quarantine, remembered, sumOf, waitingOf } from "./labels.js";
import { pageOf } from "./overview.js";
import { COLUMN, facts, section, table, traffic } from "./pieces.js";
import { routeSection } from "./route.js";

// Indices in a point of a curve: labels scored, record, time, the recent metric, then all metrics.
const SCORED = 0;
const TIME = 2;
const RECENT = 3;
const FIRST = 4;

export function modelPage(state, choice) {
  const names = state.route
    ? [state.route.champion, ...state.route.challengers].filter((name) => name in state.members)
    : [state.name];
  const member = state.members[names[0]];
  return [
    h("nav", { "aria-label": "Breadcrumb" }, h("a", { href: "#/" }, "← All models")),
    h(
      "div",
      { class: "title" },
      h("h1", {}, state.name),
      h("span", { class: "badge" }, state.is_route ? "route" : member.role.replaceAll("_", " ")),
    ),
    h("p", { class: "sub" }, about(state, member)),
    h("dl", { class: "answers" }, learnedAnswer(state, member), qualityAnswer(state, member), labelAnswer(state)),
    quality(state, names, choice),
    state.route && routeSection(state.route, state.members),
    h(
      "div",
      { class: "pair" },
      h("div", {}, fates(state.labels), latency(state.latency)),
      h("div", {}, section("Traffic", traffic(state.samples)), delay(state)),
    ),
    quarantine(state.quarantine),
    h(
      "div",
      { class: "pair" },
      remembered(state.samples, state.labels, state.policy),
      h("div", {}, versions(member, state.is_route && names[0]), policy(state.policy)),
    ),
  ];
}

function about(state, member) {
  const words = [state.is_route ? `champion ${state.route.champion}: ${member.learner}` : member.learner];
  if (!member.native) words.push("written in Python");
  const version = member.versions[member.versions.length - 1];
  if (version) words.push(`version ${version.version}`);
  const parts = [words.join(" · ")];
  state.routes.forEach((route) => parts.push(" · in route ", h("a", { href: pageOf(route) }, route)));
  return parts;
}

function answer(question, value, ...small) {
  return h(
    "div",
    { class: "tile", "data-key": question },
    h("dt", {}, question),
    h("dd", {}, value, h("span", { class: "small" }, small)),
  );
}

function learnedAnswer({ labels, name, routes, server, samples }, member) {
  const question = "Did it learn?";
  if (member.learned) {
    const last = samples.findLast((sample) => sample[COLUMN.labels] > 0);
    const when = last ? `, last label ${ago(last[COLUMN.time], server.now)}` : "";
    return answer(
      question,
      plural(member.learned, "example"),
      `up to record ${count(member.seq)} of ${count(server.seq)}${when}`,
    );
  }
  if (!labels.predictions) return answer(question, "Not yet", "no predictions were requested");
  const hint = routes.length
    ? `labels arrive through ${routes.join(", ")}`
    : `send labels with PUT /v1/models/${name}/labels/{id}`;
  return answer(question, "Not yet", `${plural(labels.predictions, "prediction")}, ${hint}`);
}

function qualityAnswer({ is_route: isRoute }, member) {
  const question = isRoute ? "How good is the champion?" : "How good is it?";
  const [metric] = member.metric_names;
  if (!metric) return answer(question, NONE, "no metric is computed");
  if (!member.scored) return answer(question, NONE, `${metric}: no prediction has a label yet`);
  const span_ = member.scored > 1000 ? "over the last 1,000 labels" : `over ${plural(member.scored, "label")}`;
  const drifts = member.drift_count
    ? `, ▼\u00a0${plural(member.drift_count, "drift").replace(" ", "\u00a0")}`
    : "";
  return answer(
    question,
    [h("span", { class: "unit" }, metric, " "), figure(member.recent)],
    `${span_}; ${figure(member.metrics[metric])} over all ${count(member.scored)}${drifts}`,
  );
}

function labelAnswer({ labels, routes }) {
  const question = "Where are my labels?";
  if (!labels.received && routes.length)
    return answer(question, "In a route", `they arrive through ${routes.join(", ")}`);
  const waiting = waitingOf(labels);
  const refused = sumOf(labels) - labels.fates.learned - labels.fates.scored - waiting;
  const learned = labels.fates.learned + labels.fates.scored;
  const words = `${count(learned)} learned, ${waiting ? count(waiting) : "none"} waiting, ${count(refused)} not learned`;
  return answer(question, `${count(labels.received)} received`, words);
}

function quality(state, names, choice) {
  const metrics = state.members[names[0]].metric_names;
  const chosen = Math.min(choice.metric, Math.max(metrics.length - 1, 0));
  const tabs =
    metrics.length > 1 &&
    h(
      "fieldset",
      { class: "tabs" },
      h("legend", { class: "hidden" }, "Metric"),
      metrics.map((metric, index) => [
        h("input", {
          type: "radio",
          name: "metric",
          id: `metric-${index}`,
          value: String(index),
          checked: index === chosen,
        }),
        h("label", { for: `metric-${index}` }, metric),
      ]),
    );
  const figures =
    names.length === 1 &&
    metrics.length > 1 &&
    facts(...metrics.map((metric) => [`${metric}, all labels`, figure(state.members[names[0]].metrics[metric])]));
  return section(
    "Quality of served predictions",
    tabs,
    curves(state, names, metrics[chosen], chosen),
    figures,
    driftNote(state, names),
  );
}

function curves(state, names, metric, chosen) {
  if (metric === undefined) return h("p", { class: "note" }, "No metric is computed.");
  const lines = [];
  const marks = [];
  names.forEach((name, index) => {
    const { curve, drifts, recent, metrics } = state.members[name];
    const xs = curve.points.map((point) => point[SCORED]);
    const who = names.length > 1 ? `${name}, ` : "";
    const look = { colour: index % 8, dash: names.length > 1 ? index % 5 : 0, xs };
    if (chosen === 0) {
      lines.push({
        ...look,
        name: `${who}last 1,000`,
        kind: "rolling",
        ys: curve.points.map((point) => point[RECENT]),
        now: figure(recent),
      });
    }
    if (chosen > 0 || names.length === 1) {
      const kind = chosen > 0 ? "rolling" : "whole";
      lines.push({
        ...look,
        name: `${who}all labels`,
        kind,
        ys: curve.points.map((point) => point[FIRST + chosen]),
        now: figure(metrics[metric]),
      });
    }
    // Marks of several models could not be distinguished.
    if (index === 0) marks.push(...drifts.map((drift) => drift.scored));
  });
  const last = Math.max(...names.map((name) => state.members[name].scored), 0);
  const byCount = new Map(state.members[names[0]].curve.points.map((point) => [point[SCORED], point[TIME]]));
  const x = {
    low: 0,
    high: last,
    ticks: ticks(0, last, 5),
    shown: (value) => short(value),
    read: (value) => `${count(value)} labels${byCount.has(value) ? `, ${moment(byCount.get(value))}` : ""}`,
  };
  const label = `${metric} by the number of scored labels; ${plural(marks.length, "drift")}`;
  const markName = names.length > 1 ? `drift of ${names[0]}` : "drift";
  return lineChart({
    id: "quality",
    label,
    lines,
    x,
    marks,
    markName,
    read: figure,
    empty: "The curve starts with the first labelled prediction.",
  });
}

function driftNote(state, names) {
  const found = names.flatMap((name) => state.members[name].drifts.map((drift) => ({ ...drift, name })));
  if (!found.length) return h("p", { class: "note" }, "No error drift detected (ADWIN).");
  const last = found.reduce((best, drift) => (drift.seq > best.seq ? drift : best));
  const who = names.length > 1 ? ` of ${last.name}` : "";
  return h(
    "p",
    { class: "note" },
    `▼ The last drift of the error${who} was after ${count(last.scored)} labels, ${moment(last.time)} (ADWIN).`,
  );
}

function latency(found) {
  if (!found)
    return section(
      "Latency of predictions",
      h("p", { class: "note" }, "No predictions since the server started."),
    );
  return section(
    "Latency of predictions",
    facts(
      ["Median", span(found.p50)],
      ["90 %", span(found.p90)],
      ["99 %", span(found.p99)],
      ["Mean", span(found.mean)],
    ),
    histogram(found, "predictions"),
    h("p", { class: "note" }, "Time to compute a prediction, excluding the network, since the server started."),
  );
}

function versions(member, champion) {
  const rows = [...member.versions].reverse();
  return section(
    champion ? `Versions of ${champion}` : "Versions",
    rows.length
      ? table(
          [
            ["Version", (row) => row.version],
            ["Record", (row) => count(row.seq)],
          ],
          rows,
          { caption: "Named versions" },
        )
      : h("p", { class: "note" }, "No versions have been named yet."),
  );
}

function policy(settings) {
  const shown = (name, value) => {
    if (value === null) return "none";
    return name.endsWith("window") ? span(value) : typeof value === "number" ? count(value) : String(value);
  };
  return section(
    "Label policy",
    facts(...Object.entries(settings).map(([name, value]) => [name.replaceAll("_", " "), shown(name, value)])),
  );
}
