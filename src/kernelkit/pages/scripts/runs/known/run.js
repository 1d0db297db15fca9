// What is known of a run, and of the parameters that the runs have.
import { data } from "../../elements.js";
import { duration, fixed, show } from "../../numbers.js";
import { ascending, finite } from "../../statistics.js";

export const SEED = "seed";
export const NOT_VERIFIED = "not verified"; // of figures that are not proved to be a run's
export const SILENT = 60; // seconds without a newer page, after which the command counts as stopped
const MOST_GROUPS = 8; // values of a parameter, beyond which its numbers are laid along a line
const LONGEST_VALUE = 24; // letters of a text, beyond which it is taken for a file's path

// The parameters that vary in a sweep.
export const axes = data.axes.filter((name) => name !== SEED);
export const inWords = (name) => name.replaceAll("_", " ");
export const scoreName = data.labels[data.score] ?? data.score;

// A page that nobody writes any more: the command was stopped, and with it the runs that went on.
const { again, written } = data.live;
export const isSilent = again > 0 && Date.now() / 1000 - written > SILENT + 2 * again;

for (const run of data.runs) {
  if (isSilent && run.state === "running") run.state = "interrupted";
  run.classes = run.classes.map((text) => (text ? Number(text) : NaN)); // as the run's CSV has them
}

export const runs = new Map(data.runs.map((run) => [run.id, run]));

// A run that its time limit stopped measured itself, as one of a folder of runs.
const hasEnded = (run) => ["done", "stopped", ""].includes(run.state);

// Its score, null without one.
export function score(run) {
  const value = run.metrics[data.score];
  return hasEnded(run) && Number.isFinite(value) ? value : null;
}

export function seconds(run) {
  return hasEnded(run) ? (run.metrics.seconds ?? run.seconds) : null;
}

export const isScored = (run) => score(run) !== null;

// For a sort: negative if the first of two scores is the better one.
export const better = (a, b) => (data.minimize ? a - b : b - a);

// Why the figures of some of these runs are not proved to be theirs; undefined if all are.
export const doubtful = (own) => own.find((run) => run.unverified)?.unverified;
export const noteDoubt = (text, own) => (doubtful(own) ? `${text} (${NOT_VERIFIED})` : text);

// A run's name, score and time, each on a line.
export function describe(run) {
  const scored = isScored(run) ? noteDoubt(`${scoreName} ${fixed(score(run))}`, [run]) : run.state;
  const time = seconds(run) === null ? "" : duration(seconds(run));
  return [run.name, scored, time].filter(Boolean).join("\n");
}

// ---- parameters ---------------------------------------------------------------------------

export const seedOf = (own) =>
  own.parameters[SEED] === undefined ? "" : `${SEED}=${show(own.parameters[SEED])}`;

// What runs that differ in their seeds alone have in common.
export function unseeded({ [SEED]: _, ...setting }) {
  return JSON.stringify(setting);
}

const distinct = new Map();

// The values of a parameter: numbers in their order, then the others in that of the runs.
export function valuesOf(name) {
  if (!distinct.has(name)) {
    const byText = new Map();
    for (const { parameters } of data.runs) {
      byText.set(JSON.stringify(parameters[name]), parameters[name]);
    }
    const values = [...byText.values()];
    const others = values.filter((value) => !Number.isFinite(value));
    distinct.set(name, [...ascending(finite(values)), ...others]);
  }
  return distinct.get(name);
}

// Numbers that hardly come twice, as a search proposes them, have a place on a line.
export function isContinuous(name) {
  const values = valuesOf(name);
  return values.length > MOST_GROUPS && values.every((value) => typeof value === "number");
}

// Crowded at the low end: a learning rate, not a share.
export function isLogarithmic(name) {
  const values = valuesOf(name);
  const [least, middle, most] = [values[0], values[values.length >> 1], values.at(-1)];
  return least > 0 && most / least > 10 && middle < (least + most) / 4;
}

// A value as text; of a file's path its name says enough, the whole is in what hovering shows.
export function brief(value) {
  const isPath = typeof value === "string" && value.length > LONGEST_VALUE;
  return isPath ? value.split("/").pop() : show(value);
}

// A function that says of a row or a run what tells it from the others among `all`.
export function tellApart(all) {
  const isVaried = (name) => new Set(all.map((own) => show(own.parameters[name]))).size > 1;
  const names = axes.filter(isVaried);
  return (own) => names.map((name) => `${name}=${brief(own.parameters[name])}`).join(" ");
}
