"use strict";
// The runs of the page, the rows that they make, the filter over them, and the statistics that all parts need.
const data = JSON.parse(document.getElementById("data").textContent);
const SEED = "seed";
const MOST_GROUPS = 8; // of an axis, beyond which its numbers are laid along a line
const inWords = (name) => name.replaceAll("_", " ");
const COLUMNS = 4; // measures in a row, the score among them
const axes = data.axes.filter((name) => name !== SEED);
const measures = Object.keys(data.labels).slice(0, COLUMNS).filter((name) => name && name !== data.score && name !== "seconds");
const curved = data.curve.replace(/^val_/, ""); // the column of the history that the curves are of
const curveName = (data.labels[curved] ?? inWords(curved)) + (curved === data.curve ? "" : " on validation");
const runs = new Map();
const byId = (id) => document.getElementById(id);
const scoreName = data.labels[data.score] ?? data.score;

// A page that nobody writes any more: the command was stopped, and with it the runs that went on.
const SILENT = 60; // seconds without a newer page, after which the command counts as stopped
const silent = data.live.again > 0 && Date.now() / 1000 - data.live.written > SILENT + 2 * data.live.again;
if (silent) for (const run of data.runs) if (run.state === "running") run.state = "interrupted";

// What is looked at is kept in the address, so that a view can be linked to.
const view = {
  rows: data.sweep ? "settings" : "runs", sort: data.sweep ? "score" : "when", down: data.sweep ? !data.minimize : true, filter: "", ticked: null,
  colour: "", x: "epoch", logx: false, logy: false, smooth: 0, compare: [], pair: "",
};

function read() {
  const hash = new URLSearchParams(location.hash.slice(1));
  if (hash.has("rows")) view.rows = hash.get("rows") === "runs" ? "runs" : "settings";
  if (hash.has("sort")) [view.sort, view.down] = [hash.get("sort"), hash.get("down") !== "0"];
  view.filter = hash.get("filter") || "";
  if (hash.has("ticked")) view.ticked = new Set(hash.get("ticked").split(",").filter((id) => runs.has(id)));
  if (axes.includes(hash.get("colour"))) view.colour = hash.get("colour");
  view.x = hash.get("x") || "epoch";
  for (const name of ["logx", "logy"]) view[name] = hash.get(name) === "1";
  view.smooth = Math.min(0.95, Math.max(0, Number(hash.get("smooth")) || 0));
  view.compare = (hash.get("compare") || "").split(",").filter((id) => runs.has(id));
  view.pair = hash.get("pair") || "";
}

function keep() {
  const hash = new URLSearchParams({ rows: view.rows, sort: view.sort, down: view.down ? "1" : "0" });
  if (view.ticked && view.ticked !== ticked.first) hash.set("ticked", [...view.ticked].join(","));
  for (const name of ["filter", "colour", "pair", "smooth"]) if (view[name]) hash.set(name, view[name]);
  for (const name of ["logx", "logy"]) if (view[name]) hash.set(name, "1");
  if (view.x !== "epoch") hash.set("x", view.x);
  if (view.compare.length) hash.set("compare", view.compare.join(","));
  history.replaceState(null, "", "#" + hash);
}

// ---- statistics -------------------------------------------------------------------------

const finite = (values) => values.filter(Number.isFinite);
const sum = (values) => values.reduce((a, b) => a + b, 0);
const mean = (values) => (values.length ? sum(values) / values.length : null);
function deviation(values) {
  if (values.length < 2) return null;
  const middle = mean(values);
  return Math.sqrt(sum(values.map((value) => (value - middle) ** 2)) / (values.length - 1));
}
// Of sorted values, with a straight line between two neighbours.
function quantile(sorted, share) {
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}
const ascending = (values) => [...values].sort((a, b) => a - b);
function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) {
    const own = key(item);
    groups.has(own) ? groups.get(own).push(item) : groups.set(own, [item]);
  }
  return groups;
}

// ---- rows -------------------------------------------------------------------------------

// A run that its time limit stopped measured itself, as one of a folder of runs.
const ended = (run) => ["done", "stopped", ""].includes(run.state);
const score = (run) => (ended(run) && Number.isFinite(run.metrics[data.score]) ? run.metrics[data.score] : null);
const seconds = (run) => (ended(run) ? run.metrics.seconds ?? run.seconds : null);
// A figure of runs, with a note where it is not proved to be theirs.
const NOT_VERIFIED = "not verified";
const doubtful = (own) => own.find((run) => run.unverified)?.unverified;
const noteDoubt = (text, own) => (doubtful(own) ? `${text} (${NOT_VERIFIED})` : text);
// Whether a row's score is compared with others: a run that did not reach its end has it beside the reason only.
const counts = (row) => row.score !== null && row.runs.every((run) => run.reached_end);
const better = (a, b) => (data.minimize ? a - b : b - a);

function rowOf(own) {
  const scores = finite(own.map(score));
  const states = [...new Set(own.map((run) => run.state))];
  const measured = own.find((run) => score(run) !== null) ?? own[0]; // a failed run does not say its data
  return {
    runs: own, key: own[0].id, name: own.length > 1 ? own[0].setting : own[0].name, notebook: own[0].notebook, parameters: own[0].parameters, data: measured.data, content: measured.content, scores,
    score: mean(scores), deviation: deviation(scores), seconds: mean(finite(own.map(seconds))), when: Math.max(...own.map((run) => run.when || 0)),
    device: own[0].device, state: states.length === 1 ? states[0] : own.filter((run) => run.state === "done").length + "/" + own.length + " done",
  };
}

const unseeded = ({ [SEED]: _, ...setting }) => JSON.stringify(setting);

function settings() {
  const groups = groupBy(data.runs, (run) => JSON.stringify([data.sweep ? "" : [run.setting, run.content], unseeded(run.parameters)]));
  return [...groups.values()].map(rowOf);
}

const made = {}; // the rows, by their kind
const dated = (row) => (row.when ? new Date(row.when * 1000).toLocaleString("sv").slice(0, 16) : ""); // 2026-11-27 14:05
const noted = (row, part) => [...new Set(row.runs.flatMap((run) => (data.notes?.[run.id] ?? {})[part] ?? []))];
function indexed(row) {
  const values = Object.entries(row.parameters).map(([name, value]) => name + "=" + show(value));
  const states = row.runs.flatMap((run) => [run.state, run.note, run.error.trim().slice(-300)]);
  row.text = [row.name, ...values, row.state, ...states, row.notebook, row.device, row.data, data.sweep ? "" : dated(row), ...noted(row, "tags"), ...noted(row, "note")].join(" ").toLowerCase();
}

// What follows from the runs.
const ranked = {};
function gather() {
  runs.clear();
  for (const run of data.runs) {
    run.classes = run.classes.map((text) => (text ? Number(text) : NaN)); // as the run's CSV has them
    runs.set(run.id, run);
  }
  Object.assign(made, { settings: settings(), runs: data.runs.map((run) => rowOf([run])) });
  // Scores are only compared where they are of the same data: each data set has its best, and of runs
  // that are all alike none is. What else the page says is of the data which most were validated on.
  for (const [name, rows] of Object.entries(made)) {
    rows.forEach(indexed);
    const groups = groupBy(rows.filter(counts), (row) => row.content);
    const [group = []] = [...groups.values()].sort((a, b) => b.length - a.length);
    for (const own of groups.values()) {
      own.sort((a, b) => better(a.score, b.score));
      for (const row of own) row.best = row.score === own[0].score && row.score !== own.at(-1).score;
    }
    ranked[name] = group;
  }
}

gather();

const quoted = (value) => (/\s/.test(value) && !value.startsWith("[") ? `"${value}"` : value);

// ---- the values of a parameter ------------------------------------------------------------

// Numbers in their order, then the others in that of the runs.
const distinct = new Map();
function valuesOf(name) {
  if (!distinct.has(name)) {
    const values = [...new Map(data.runs.map((run) => [JSON.stringify(run.parameters[name]), run.parameters[name]])).values()];
    distinct.set(name, [...ascending(finite(values)), ...values.filter((value) => !Number.isFinite(value))]);
  }
  return distinct.get(name);
}

// Numbers that hardly come twice, as a search proposes them, have a place on a line.
function continuous(name) {
  const values = valuesOf(name);
  return values.length > MOST_GROUPS && values.every((value) => typeof value === "number");
}

// Crowded at the low end: a learning rate, not a share.
function logarithmic(name) {
  const values = valuesOf(name);
  const [least, middle, most] = [values[0], values[values.length >> 1], values.at(-1)];
  return least > 0 && most / least > 10 && middle < (least + most) / 4;
}

// Of a file's path its name says enough; the whole is in what hovering shows.
const brief = (value) => (typeof value === "string" && value.length > 24 ? show(value).split("/").pop() : show(value));
const shortened = (text, most) => (text.length > most ? text.slice(0, Math.max(1, most - 1)) + "…" : text);
const listed = (texts) => (texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`);

// What tells rows or runs from the others among them.
function apart(all) {
  const names = axes.filter((name) => new Set(all.map((own) => show(own.parameters[name]))).size > 1);
  return (own) => names.map((name) => `${name}=${show(brief(own.parameters[name]))}`).join(" ");
}

const seedOf = (own) => (own.parameters[SEED] === undefined ? "" : `${SEED}=${show(own.parameters[SEED])}`);

function describe(run) {
  const scored = score(run) === null ? run.state : noteDoubt(`${scoreName} ${fixed(score(run))}`, [run]);
  return [run.name, scored, seconds(run) === null ? "" : duration(seconds(run))].filter(Boolean).join("\n");
}
