// The rows of the page: each is a configuration with its seeds, or a single run.
import { data } from "../../elements.js";
import { show } from "../../numbers.js";
import { deviation, finite, groupBy, mean } from "../../statistics.js";
import { notesOf, tagsOf } from "./notes.js";
import { better, isScored, score, seconds, unseeded } from "./run.js";

const LONGEST_ERROR = 300; // letters of an error that the filter searches, its last

/* A row: its `runs`, what they have in common, and the means of their scores and times.
   `key` is the id of its first run, `content` what its runs were validated on, `best` whether none
   of the same data has a better score, `text` what a word of the filter is looked for in. */
function rowOf(own) {
  const [first] = own;
  const { setting, notebook, parameters, device } = first;
  const { data: name, content } = own.find(isScored) ?? first; // a failed run does not say its data
  const scores = finite(own.map(score));
  const row = {
    runs: own,
    key: first.id,
    name: own.length > 1 ? setting : first.name,
    notebook,
    parameters,
    device,
    data: name,
    content,
    scores,
    score: mean(scores),
    deviation: deviation(scores),
    seconds: mean(finite(own.map(seconds))),
    when: Math.max(...own.map((run) => run.when || 0)),
    state: stateOf(own),
    best: false,
  };
  return { ...row, text: textOf(row) };
}

function stateOf(own) {
  const states = new Set(own.map((run) => run.state));
  if (states.size === 1) return own[0].state;
  return `${own.filter((run) => run.state === "done").length}/${own.length} done`;
}

function textOf(row) {
  const values = Object.entries(row.parameters).map(([name, value]) => `${name}=${show(value)}`);
  const texts = [row.name, ...values, row.state];
  for (const run of row.runs) {
    texts.push(run.state, run.note, run.error.trim().slice(-LONGEST_ERROR));
  }
  texts.push(row.notebook, row.device, row.data);
  if (!data.sweep) texts.push(dated(row));
  return texts.join(" ").toLowerCase();
}

// 2026-11-27 14:05, of when a row's last run ended; "" if that is unknown.
export function dated(row) {
  return row.when ? new Date(row.when * 1000).toLocaleString("sv").slice(0, 16) : "";
}

export function holds(row, text) {
  const notes = [...tagsOf(row), ...notesOf(row)].join(" ").toLowerCase();
  return row.text.includes(text) || notes.includes(text);
}

// Whether a row's score is compared with others: a run that did not reach its end has it beside the
// reason only.
export function isCompared(row) {
  return row.score !== null && row.runs.every((run) => run.reached_end);
}

function settings() {
  const place = (run) => (data.sweep ? [] : [run.setting, run.content]);
  const key = (run) => JSON.stringify([...place(run), unseeded(run.parameters)]);
  return [...groupBy(data.runs, key).values()].map(rowOf);
}

// The compared rows of each data set, the best first, and of them the set with most rows first.
export function byData(rows) {
  const groups = [...groupBy(rows.filter(isCompared), (row) => row.content).values()];
  for (const own of groups) own.sort((a, b) => better(a.score, b.score));
  return groups.sort((a, b) => b.length - a.length);
}

export const made = { settings: settings(), runs: data.runs.map((run) => rowOf([run])) };

// Scores are only compared where they are of the same data: each data set has its best, and of rows
// that are all alike none is. What else the page says is of the data that most were validated on.
export const ranked = {};
for (const [kind, rows] of Object.entries(made)) {
  const groups = byData(rows);
  for (const own of groups) {
    for (const row of own) row.best = row.score === own[0].score && row.score !== own.at(-1).score;
  }
  ranked[kind] = groups[0] ?? [];
}
