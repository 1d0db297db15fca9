// The columns of the table: what each says of a row, and which of them the table has.
import { data } from "../../elements.js";
import { fixed, measured, show } from "../../numbers.js";
import { finite, mean } from "../../statistics.js";
import { tagsOf } from "./notes.js";
import { made } from "./rows.js";
import { brief, inWords, SEED, scoreName } from "./run.js";
import { view } from "./view.js";

const MOST_MEASURES = 4; // the score among them
const EMPTY = ["", null, undefined];

export const isEmpty = (value) => EMPTY.includes(value);

const seedCounts = new Set(
  made.settings.filter((row) => row.score !== null).map((row) => row.scores.length),
);
// Of how many seeds the scores of all configurations are; null if these differ.
export const seedsOfAll = seedCounts.size === 1 ? [...seedCounts][0] : null;

// What every run has alike is said once and needs no column: [{key, name, values}]. A run without a
// value has another one than the others.
export const alike = alikeInAll();

function alikeInAll() {
  if (data.runs.length < 2) return [];
  const texts = [
    ["notebook", "notebook", (run) => run.notebook],
    ["device", "device", (run) => run.device],
    ["data", "validated on", (run) => run.data],
  ];
  if (!data.sweep) {
    for (const name of data.columns.toReversed()) {
      texts.unshift([`p:${name}`, name, (run) => run.parameters[name]]);
    }
  }
  const all = texts.map(([key, name, of]) => {
    return { key, name, values: [...new Set(data.runs.map(of).map(show))] };
  });
  return all.filter(({ values }) => values.length === 1 && values[0] !== "");
}

/* Every column: {key, title, of: its value in a row, number: whether it is a measure}, and of a
   measure {name: in metrics.json, isCount: whether it counts something}. */
export function allColumns() {
  const all = [];
  if (!data.sweep) {
    all.push({ key: "name", title: "run", of: (row) => row.name });
    all.push({ key: "when", title: "when", of: (row) => row.when });
    all.push({ key: "notebook", title: "notebook", of: (row) => row.notebook });
  }
  for (const name of data.columns) {
    if (data.sweep && name === SEED && view.rows === "settings") continue;
    all.push({ key: `p:${name}`, title: inWords(name), of: (row) => row.parameters[name] });
  }
  if (data.score) {
    all.push({ key: "score", title: scoreName, number: true, of: (row) => row.score });
  }
  all.push(
    measure("public", "public score", (run) => run.public, { key: "public" }),
    { key: "seconds", title: "time", number: true, name: "seconds", of: (row) => row.seconds },
    ...Object.keys(data.labels).slice(0, MOST_MEASURES).filter(isOther).map(measureOfRuns),
    { key: "device", title: "device", of: (row) => row.device },
    { key: "data", title: "validated on", of: (row) => row.data },
  );
  if (!data.runs.every((run) => run.state === "done")) {
    all.push({ key: "state", title: "state", of: (row) => row.state });
  }
  return [...all, { key: "tags", title: "tags", of: (row) => tagsOf(row).join(" ") }];
}

const isOther = (name) => name && name !== data.score && name !== "seconds";

function measure(name, title, of, more) {
  const value = (row) => mean(finite(row.runs.map(of)));
  return { title, number: true, name, of: value, ...more };
}

function measureOfRuns(name) {
  const of = (run) => run.metrics[name];
  const isCount = data.runs.every((run) => of(run) === undefined || Number.isInteger(of(run)));
  return measure(name, data.labels[name] ?? name, of, { key: `m:${name}`, isCount });
}

// Those that the table has: the score, and what differs and is there.
export function columnsOfTable() {
  const isAlike = ({ key }) => alike.some((other) => other.key === key);
  const isThere = ({ of }) => made.runs.some((row) => !isEmpty(of(row)) && of(row) !== 0);
  return allColumns().filter((own) => own.key === "score" || (!isAlike(own) && isThere(own)));
}

// A value of a column as text.
export function cellText(value, { number, name, isCount }) {
  if (number) return measured(name, value, isCount);
  return typeof value === "number" ? show(value) : brief(value);
}

// A row's score, with how it spreads over seeds.
export function scoreText(row) {
  if (row.deviation === null) return fixed(row.score);
  const seeds = seedsOfAll === null ? ` (${row.scores.length} seeds)` : "";
  return `${fixed(row.score)} ± ${row.deviation.toFixed(4)}${seeds}`;
}
