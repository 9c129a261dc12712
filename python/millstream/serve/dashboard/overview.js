// The first page: the server, and a card for each model and route.

import { spark } from "./charts.js";
import { h } from "./dom.js";
import { bytes, count, figure, plural, rate, span } from "./format.js";
import { COLUMN, facts, section, tile, tiles, traffic } from "./pieces.js";

export function overview(state) {
  const { server, samples, streams } = state;
  const last = samples[samples.length - 1];
  const learned = streams.filter((row) => !row.is_route).reduce((sum, row) => sum + row.learned, 0);
  const waiting = streams.reduce((sum, row) => sum + row.waiting_labels, 0);
  const received = streams.reduce((sum, row) => sum + row.received, 0);
  return [
    h("h1", { class: "hidden" }, "Overview"),
    tiles(
      tile("Learned", count(learned), "examples, by all models"),
      tile("Labels received", count(received), waiting ? `${count(waiting)} waiting` : "none waiting"),
      tile("Predictions", `${rate(last?.[COLUMN.predictions] ?? 0)}/s`, "now"),
      tile("Labels", `${rate(last?.[COLUMN.labels] ?? 0)}/s`, "now"),
      tile("Log", count(server.seq), `records, ${bytes(server.log_bytes)}`),
    ),
    h("h2", { class: "outside" }, "Models and routes"),
    streams.length
      ? h("ul", { class: "cards" }, [...streams].sort((one, other) => other.is_route - one.is_route).map(card))
      : nothingYet(),
    state.stream_count > streams.length &&
      h("p", { class: "note" }, `The first ${count(streams.length)} of ${count(state.stream_count)} are shown.`),
    h(
      "div",
      { class: "pair" },
      section("Traffic", traffic(samples)),
      h("div", {}, requests(server.http), log(server)),
    ),
  ];
}

export function pageOf(name) {
  return `#/models/${encodeURIComponent(name)}`;
}

function card(row) {
  const kind = row.is_route ? "route" : row.role.replaceAll("_", " ");
  return h(
    "li",
    { "data-key": row.name },
    h(
      "a",
      { class: "card", href: pageOf(row.name), "data-model": row.name },
      h("span", { class: "head" }, h("strong", {}, row.name), h("span", { class: "badge" }, kind)),
      h(
        "span",
        { class: "sub" },
        row.is_route ? `champion ${row.champion}, ${plural(row.challengers.length, "challenger")}` : row.learner,
        row.version && ` · version ${row.version}`,
      ),
      h(
        "span",
        { class: "quality" },
        h(
          "span",
          {},
          h("span", { class: "small" }, row.metric ? `${row.metric}, last 1,000` : "Learned"),
          h("b", {}, row.metric ? figure(row.recent) : count(row.learned)),
        ),
        spark(row.spark, `Curve of ${row.metric}`),
      ),
      h("span", { class: "line" }, learnedLine(row)),
      h("span", { class: "line" }, labelLine(row)),
      h("span", { class: "line" }, `${rate(row.prediction_rate)} predictions/s, ${rate(row.label_rate)} labels/s`),
      h(
        "span",
        { class: "flags" },
        row.drifts > 0 && h("span", { class: "flag-drift" }, `▼ ${plural(row.drifts, "drift")}`),
        row.quarantined > 0 && h("span", { class: "flag-bad" }, `✖ ${count(row.quarantined)} quarantined`),
        row.promotions > 0 && h("span", {}, `★ ${plural(row.promotions, "promotion")}`),
      ),
    ),
  );
}

function learnedLine(row) {
  if (!row.learned) return row.predictions ? "Nothing learned yet" : "No requests yet";
  return `${plural(row.learned, "example")} learned, ${count(row.scored)} scored`;
}

function labelLine(row) {
  if (!row.received && row.routes.length) return `Labels arrive through ${row.routes.join(", ")}`;
  const waiting = row.waiting_labels ? `${count(row.waiting_labels)} waiting` : "none waiting";
  return `${plural(row.received, "label")} received, ${waiting}`;
}

function nothingYet() {
  return h(
    "section",
    {},
    h("p", {}, "This server has no models yet."),
    h(
      "pre",
      {},
      `curl -X POST ${location.origin}/v1/models -d '{"name": "clicks", "spec": "StandardScaler | LogisticRegression"}'`,
    ),
  );
}

function requests(http) {
  if (!http) return null;
  const { latency } = http;
  return section(
    "Requests",
    facts(
      ["Requests", count(http.requests)],
      latency && ["Median", span(latency.p50)],
      latency && ["90 %", span(latency.p90)],
      latency && ["99 %", span(latency.p99)],
      ["Connections", count(http.connections)],
      ["Waiting", count(http.waiting)],
      ["Refused or too slow", count(http.refused)],
    ),
    h("p", { class: "note" }, "Time from the complete request to its reply, since the server started."),
  );
}

function log(server) {
  const { recovery } = server;
  const snapshot = recovery.snapshot_seq ? `snapshot at record ${count(recovery.snapshot_seq)}, then ` : "";
  const replayed = `${plural(recovery.replayed, "record")} replayed in ${span(recovery.seconds)}`;
  const start = snapshot || recovery.replayed ? `${snapshot}${replayed}` : "an empty log";
  return section(
    "Log and recovery",
    facts(
      ["Records", server.seq ? `${count(server.first_seq)} to ${count(server.seq)}` : "none yet"],
      ["Size", bytes(server.log_bytes)],
      ["Waiting for the disk", plural(server.queue, "record")],
      ["Commits", count(server.groups)],
      ["Predictions not stored", count(server.lost_events)],
      ["Started", `${span(Math.round(server.uptime))} ago, from ${start}`],
    ),
    recovery.notes.length > 0 && h("h3", {}, "Notes from the start"),
    recovery.notes.length > 0 &&
      h(
        "ul",
        { class: "notes" },
        recovery.notes.map((note) => h("li", {}, note)),
      ),
  );
}
