// Selects the page by the URL, follows its feed, and asks for a token if the server requires one.

import { readValues } from "./cursor.js";
import { h, render } from "./dom.js";
import { figure, span } from "./format.js";
import { Feed } from "./feed.js";
import { modelPage } from "./model.js";
import { overview } from "./overview.js";
import { applied } from "./state.js";

const TOKEN = "millstream-token";
const [content, status, banners, footer] = ["content", "status", "banners", "footer"].map((id) =>
  document.getElementById(id),
);

const page = {
  feed: null,
  name: null,
  state: null,
  choice: { metric: 0 },
  connection: "connecting",
  pause: 0,
  stalled: 0,
  refusal: null,
  isDrawn: true,
};

function nameOf(hash) {
  const match = /^#\/models\/(.+)$/.exec(hash);
  try {
    return match && decodeURIComponent(match[1]);
  } catch {
    return match[1];
  }
}

function open() {
  page.feed?.close();
  Object.assign(page, {
    name: nameOf(location.hash),
    state: null,
    choice: { metric: 0 },
    refusal: null,
    stalled: 0,
    connection: "connecting",
  });
  const url = page.name === null ? "/v1/live" : `/v1/models/${encodeURIComponent(page.name)}/metrics/stream`;
  page.feed = new Feed(url, sessionStorage.getItem(TOKEN), { event, status: connection, refused });
  draw();
}

function event(kind, data) {
  if (kind === "gone") {
    page.feed.close();
    refused(404, "It was deleted.");
    return;
  }
  if (kind === "stalled") page.stalled = data.seconds;
  else {
    page.stalled = 0;
    page.state = applied(page.state, kind, data);
  }
  draw();
}

function connection(word, pause) {
  Object.assign(page, { connection: word, pause });
  draw();
}

function refused(code, detail) {
  page.refusal = { code, detail };
  page.connection = "refused";
  draw();
}

// Several changes within one frame are drawn once.
function draw() {
  if (!page.isDrawn) return;
  page.isDrawn = false;
  requestAnimationFrame(() => {
    page.isDrawn = true;
    drawNow();
  });
}

function drawNow() {
  render(status, pill());
  render(banners, warnings());
  render(content, view());
  if (page.refusal && document.activeElement === document.body) document.getElementById("token")?.focus();
  const server = page.state?.server;
  render(
    footer,
    server && [
      h("span", {}, `millstream ${server.version}, up ${span(Math.round(server.uptime))}`),
      h(
        "span",
        {},
        "This page is read-only. The same data as JSON: ",
        h(
          "a",
          { href: page.name === null ? "/v1/models" : `/v1/models/${encodeURIComponent(page.name)}/metrics` },
          "metrics",
        ),
      ),
    ],
  );
  document.title = title();
}

function title() {
  if (page.name === null) return "millstream";
  const member = page.state?.members[page.state.route?.champion ?? page.name];
  return member?.scored ? `${figure(member.recent)} ${page.name} – millstream` : `${page.name} – millstream`;
}

function pill() {
  const [mark, words] = {
    connecting: ["○", "Connecting"],
    live: ["●", "Live"],
    lost: ["◌", `Connection lost, retrying in ${page.pause} s`],
    refused: ["■", "Not connected"],
  }[page.connection];
  return h("span", { class: `pill ${page.connection}` }, h("span", { "aria-hidden": "true" }, mark), ` ${words}`);
}

function warnings() {
  const server = page.state?.server;
  const found = [];
  if (server?.disk_error)
    found.push(`✖ Records cannot be written to disk: labels are refused, predictions continue. ${server.disk_error}`);
  if (page.stalled) found.push(`✖ A learner has not returned for ${span(page.stalled)}. Numbers are not updated.`);
  if (server && !server.ready) found.push("▲ The server is stopping.");
  if (server?.lost_events)
    found.push(
      `▲ ${server.lost_events} predictions were returned but not stored: their labels must include the features x.`,
    );
  return found.map((words) => h("p", { class: "banner" }, words));
}

function view() {
  if (page.refusal) return refusal(page.refusal);
  if (page.state === null) return h("p", { class: "note" }, "Waiting for the server …");
  return page.name === null ? overview(page.state) : modelPage(page.state, page.choice);
}

function refusal({ code, detail }) {
  if (code === 404) {
    return h(
      "section",
      {},
      h("h1", {}, page.name),
      h("p", {}, `There is no such model or route. ${detail}`),
      h("a", { href: "#/" }, "← All models"),
    );
  }
  return h(
    "section",
    { class: "sign-in" },
    h("h1", {}, "This server needs a token"),
    h(
      "p",
      { class: "sub" },
      "Enter a token with the scope “metrics” or “admin”. It is kept in this tab until the tab is closed.",
    ),
    h(
      "form",
      { id: "token-form" },
      h("label", { for: "token" }, "Token"),
      h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true }),
      h("button", {}, "Connect"),
    ),
    sessionStorage.getItem(TOKEN) && h("p", { class: "warning", role: "alert" }, detail),
  );
}

document.addEventListener("submit", (submitted) => {
  if (submitted.target.id !== "token-form") return;
  submitted.preventDefault();
  sessionStorage.setItem(TOKEN, document.getElementById("token").value.trim());
  open();
});
document.addEventListener("change", (changed) => {
  if (changed.target.name !== "metric") return;
  page.choice.metric = Number(changed.target.value);
  draw();
});
addEventListener("hashchange", () => {
  if (location.hash === "#content") return;
  open();
  scrollTo(0, 0);
  content.focus({ preventScroll: true });
});
readValues(document, draw);
open();
