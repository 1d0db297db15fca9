"use strict";
// A page that is served asks its own address for what is new, and takes it without losing what is looked at.
const EVERY = 1000; // milliseconds between two questions
const MISSED = 3; // questions without an answer, after which the connection counts as ended
const RUNNING = 6; // runs whose last lines are shown
const served = document.querySelector('meta[http-equiv="Content-Security-Policy"]').content.includes("connect-src");
const dataOf = (page) => JSON.parse(page.getElementById("data").textContent);
const lasting = (all) => JSON.stringify(all, (key, value) => (key === "log" || key === "live" ? undefined : value));
let [etag, unanswered, asked, latest] = ["", 0, new Date(), served ? lasting(dataOf(document)) : ""];

async function ask() {
  let text = "";
  try {
    const answer = await fetch(location.pathname, { cache: "no-store", headers: etag ? { "If-None-Match": etag } : {}, signal: AbortSignal.timeout(30 * EVERY) });
    if (!answer.ok && answer.status !== 304) throw answer.status;
    if (answer.ok) [text, etag] = [await answer.text(), answer.headers.get("ETag")];
    [unanswered, asked] = [0, new Date()];
  } catch {
    unanswered += 1;
  }
  try {
    if (text) take(dataOf(new DOMParser().parseFromString(text, "text/html")));
  } finally {
    sayLive();
    if (!data.live.over) setTimeout(ask, unanswered > MISSED ? 10 * EVERY : EVERY);
  }
}

function sayLive() {
  const { text = "Follows the page on disk, which its sweep writes after each run", until, over } = data.live;
  const ended = unanswered >= MISSED;
  const left = until - Date.now() / 1000;
  const since = `as of ${asked.toLocaleTimeString("sv")}`;
  const words = ended && !over ? "The connection ended: the command was stopped." : text;
  byId("live").hidden = !served;
  if (byId("live-words").textContent !== words) byId("live-words").textContent = words;
  byId("live-when").textContent = over || ended ? `Everything below is ${since}; the page on disk has the links to reports.` : [left > 0 ? `about ${duration(Math.ceil(left))} left` : "", since].filter(Boolean).join(", ");
  const running = over || ended ? [] : data.runs.filter((run) => run.state === "running" && run.log).slice(0, RUNNING);
  const there = [...byId("live-runs").children];
  const places = running.map((run) => there.find((place) => place.dataset.run === run.id) ?? make("figure", {}, make("figcaption"), make("pre")));
  if (places.some((place, n) => place !== there[n]) || there.length > places.length) byId("live-runs").replaceChildren(...places);
  running.forEach((run, n) => {
    places[n].dataset.run = run.id;
    [run.name, run.log].forEach((line, k) => { if (places[n].children[k].textContent !== line) places[n].children[k].textContent = line; });
  });
}

const shape = ({ columns, axes, labels, score, curve }) => JSON.stringify([columns, axes, labels, score, curve]);
const scales = () => JSON.stringify([low, high, [...seedCounts], columns().map(({ key }) => key), linked(), [...view.ticked]]);

function take(fresh) {
  if (shape(fresh) !== shape(data)) return location.reload(); // the first run to end brings measures; the view is in the address
  const before = latest;
  latest = lasting(fresh);
  if (before === latest) {
    data.live = fresh.live;
    data.runs.forEach((run, n) => { run.log = fresh.runs[n].log; });
    return;
  }
  const [earlier, scale, follows] = [{ ...made }, scales(), view.ticked === ticked.first];
  const [scroll, held] = [document.querySelector(".scroll"), document.activeElement];
  const [top, laid] = [scroll.scrollTop, byId("rows").rows.length];
  Object.assign(data, fresh);
  gather();
  distinct.clear();
  [last.key, weighed, laidOut] = [null, { key: null }, {}];
  tally();
  if (follows) view.ticked = ticked.first = ticked();
  // What did not change keeps its line, with what is open in it.
  for (const [kind, rows] of Object.entries(scale === scales() ? earlier : {})) {
    const lines = new Map(rows.map((row) => [row.key, row]));
    for (const row of made[kind]) {
      const old = lines.get(row.key);
      if (old?.line && old.best === row.best && JSON.stringify(old.runs) === JSON.stringify(row.runs)) row.line = old.line;
    }
  }
  const used = byId("compare-section").contains(held) || byId("each-run").querySelector("details[open]");
  arrange();
  refresh();
  lay(Math.max(0, laid - LAID));
  scroll.scrollTop = top;
  if (used) waiting = waiting.filter((paint) => paint !== sideBySide);
  waiting.push(answers, () => {
    if (held.isConnected) return held.focus({ preventScroll: true });
    const label = held.getAttribute("aria-label");
    if (label) document.querySelector(`main [aria-label="${CSS.escape(label)}"]`)?.focus({ preventScroll: true });
  });
}
