// A route: its champion, its challengers, and its promotions.

import { bar } from "./charts.js";
import { h } from "./dom.js";
import { count, figure, moment, NONE, percent, signed } from "./format.js";
import { pageOf } from "./overview.js";
import { section, table } from "./pieces.js";

export function routeSection(route, members) {
  const rows = [route.champion, ...route.challengers].map((name) => ({
    name,
    member: members[name],
    duel: route.duels[name],
  }));
  const metric = members[route.champion].metric_names[0];
  const limit = route.promote && -Math.log(route.promote.significance / Math.max(route.challengers.length, 1));
  return section(
    "Champion and challengers",
    table(
      [
        ["Model", (row) => h("a", { href: pageOf(row.name) }, row.name)],
        ["", (row) => (row.duel ? "challenger" : h("b", {}, "★ champion"))],
        [metric ? `${metric}, last 1,000` : "Metric", (row) => figure(row.member?.recent)],
        [metric ? `${metric}, all` : "Metric, all", (row) => figure(row.member?.metrics[metric])],
        ["Learned", (row) => count(row.member?.learned)],
        [
          "Duels won",
          (row) => (row.duel ? `${count(row.duel.wins)} of ${count(row.duel.wins + row.duel.defeats)}` : NONE),
        ],
        ["Evidence", (row) => (row.duel ? evidence(row.duel.log_evidence, limit) : NONE)],
        ["Requests", (row) => answered(route, row.name)],
      ],
      rows,
      { kind: "members", caption: "Models of the route" },
    ),
    h("p", { class: "note" }, rule(route, limit)),
    h("h3", {}, "Promotions"),
    route.promotions.length
      ? h("ol", { class: "notes", reversed: true }, [...route.promotions].reverse().map(promotion))
      : h("p", { class: "note" }, "No promotions yet."),
  );
}

function answered(route, name) {
  if (route.mode === "shadow") return name === route.champion ? "all" : "none (shadow)";
  const rest = 1 - Object.values(route.split).reduce((sum, part) => sum + part, 0);
  return percent(name === route.champion ? rest : (route.split[name] ?? 0), 1);
}

function evidence(value, limit) {
  if (!limit) return signed(value);
  return h("span", { class: "share" }, bar(Math.max(value, 0), limit), `${signed(value)} of ${limit.toFixed(2)}`);
}

function rule(route, limit) {
  const compared = `${count(route.labels)} labels have been compared with the current champion. `;
  const duels = `${compared}A duel is a label that one of the two models predicted better. `;
  if (!route.promote) return `${duels}Promotion is manual only.`;
  const { min_labels: least, significance } = route.promote;
  const condition = `its metric is better and its evidence reaches ${limit.toFixed(2)}`;
  const chance = `which happens by chance with a probability of at most ${significance}`;
  return `${duels}A challenger is promoted after at least ${count(least)} labels if ${condition}, ${chance}.`;
}

function promotion({ seq, time, champion, before, why }) {
  const words = [h("b", {}, champion), ` replaced ${before} at record ${count(seq)}, ${moment(time)}: `];
  if (why.by !== "rule") return h("li", {}, words, `manually${why.why ? `, “${why.why}”` : ""}.`);
  const duels = `${count(why.wins)} wins and ${count(why.defeats)} defeats in ${count(why.labels)} labels`;
  return h("li", {}, words, `by rule, ${duels}, evidence ${signed(why.log_evidence)} of ${signed(why.limit)}.`);
}
