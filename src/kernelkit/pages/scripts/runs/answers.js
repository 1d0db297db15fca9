// The head of the page: how many runs there are, and sentences that answer what one comes with.
import { byId, data, make } from "../elements.js";
import { capital, counted, fixed, grouped, listed, percent, show, signed } from "../numbers.js";
import { groupBy } from "../statistics.js";
import { alike } from "./known/columns.js";
import { classChanges } from "./compared/classes.js";
import { isAtEdge, isIdle, isSame, isSure, isUnsure, overall } from "./known/importance.js";
import { COULD_BE_NOISE, isAlike, judge, noiseOf } from "./known/noise.js";
import { byData, isCompared, made, ranked } from "./known/rows.js";
import {
  axes, better, brief, inWords, isContinuous, isScored, NOT_VERIFIED, noteDoubt, score, scoreName,
} from "./known/run.js";
import { view } from "./known/view.js";

const MOST_DATA_SETS = 3; // whose best runs are told
const MOST_NAMED = 3; // parameters or classes in a sentence
const MOST_LISTED = 5; // parameters of which only their names are told
const MOST_CHANGES = 4; // parameters in which the best and the second differ
const FEWEST_RUNS = 3; // of a search of which is told when its best came
const FLATTERED_FROM = 5; // rows, of which the best is flattered by the choice
const SEEN = 0.005; // change of a class's score that is told

const scored = (row) => noteDoubt(`${scoreName} ${fixed(row.score)}`, row.runs);

// ---- the line below the title -------------------------------------------------------------

export function summary() {
  const texts = [`${counted(data.runs.length, "run")}${statesInWords()}. `];
  if (data.sweep) texts.push(...bestOfSweep());
  if (data.agreement) texts.push(` ${data.agreement}`);
  const doubted = data.runs.filter((run) => run.unverified);
  if (doubted.length) {
    const whose = counted(doubted.length, "run");
    const reasons = listed([...new Set(doubted.map((run) => run.unverified))]);
    const textContent = ` The figures of ${whose} are ${NOT_VERIFIED}: ${reasons}.`;
    texts.push(make("b", { className: "doubt", textContent }));
  }
  byId("summary").replaceChildren(...texts);
  byId("better").textContent = data.minimize ? "Down" : "Up";
  byId("sweeps").replaceChildren(...sweepItems());
  const same = Object.fromEntries(alike.map(({ name, values }) => [name, values[0]]));
  listValues("base", { ...data.base, ...same });
  listValues("defaults", data.defaults);
}

function statesInWords() {
  const states = groupBy(data.runs.filter((run) => run.state), (run) => run.state);
  const texts = [...states].map(([state, own]) => `${grouped(own.length)} ${state}`);
  return texts.length ? `: ${texts.join(", ")}` : "";
}

function bestOfSweep() {
  const [best, second] = ranked.settings;
  if (!best) return [];
  const equal = ranked.settings.filter((row) => isAlike(best, row)).length;
  if (equal > 1) {
    const name = make("b", {}, scored(best));
    return ["Best ", name, `, which ${grouped(equal)} configurations reach. `];
  }
  if (!second && made.settings.filter(isCompared).length > 1) {
    return ["No two configurations were validated on the same data, so none is the best."];
  }
  const { deviation, scores, runs } = best;
  let score = `${scoreName} ${fixed(best.score)}`;
  if (deviation !== null) score += ` ± ${deviation.toFixed(4)} over ${scores.length} seeds`;
  const name = noteDoubt(score, runs);
  const setting = axes.length ? [" with ", make("b", {}, runs[0].setting)] : [];
  return ["Best ", make("b", {}, name), ...setting, `${worth(best)}. `];
}

function sweepItems() {
  const inSweeps = groupBy(data.runs.filter((run) => run.group), (run) => run.sweep);
  return [...inSweeps].map(([href, own]) => {
    const name = own[0].group;
    const link = href ? make("a", { href, textContent: name }) : name;
    return make("li", {}, link, ` ${counted(own.length, "run")}`);
  });
}

function listValues(id, values) {
  const items = Object.entries(values).map(([name, value]) => `${name}=${show(value)}`);
  byId(id).replaceChildren(...items.map((textContent) => make("li", { textContent })));
  byId(`${id}-part`).hidden = !items.length;
}

// How sure a row's score is, as far as its runs say that, and what guessing would reach.
function worth(row) {
  const [{ interval, level, chance }] = row.runs;
  const words = [];
  if (row.runs.length === 1 && interval.length) {
    const sure = Number((100 * level).toPrecision(3));
    words.push(`${sure} % interval ${interval.map(fixed).join(" to ")}`);
  }
  if (Number.isFinite(chance)) words.push(`guessing reaches ${fixed(chance)}`);
  return words.length ? ` (${words.join("; ")})` : "";
}

// ---- the answers --------------------------------------------------------------------------

// Of all runs, whatever the filter leaves of them.
export function answers() {
  const texts = {
    Best: bestRuns(),
    "What mattered": mattered(),
    "To try next": toTryNext(),
    "More runs": sinceTheBest(),
    "The best vs the second": bestAndSecond(),
    "By class": classesApart(),
  };
  const told = Object.entries(texts).filter(([, text]) => text);
  const parts = told.map(([question, text]) => [
    make("dt", {}, question),
    make("dd", {}, capital(text)),
  ]);
  byId("answers").replaceChildren(...parts.flat());
}

// The best run of each data set that several are of: of a sweep, the line above says it.
function bestRuns() {
  const groups = data.sweep ? [] : byData(made.runs).filter((own) => own.length > 1);
  return groups.slice(0, MOST_DATA_SETS).map(bestOfGroup).join(" ");
}

function bestOfGroup(own) {
  const [first, second] = own;
  const unnamed = `data that the runs${first.notebook && ` of ${first.notebook}`} do not name`;
  const where = `On ${first.data || unnamed}`;
  const equal = own.filter((row) => isAlike(first, row)).length;
  if (equal > 1) {
    return `${where}: ${grouped(equal)} runs have ${scored(first)}${worth(first)}.`;
  }
  const next = `the next, ${second.name}, has ${noteDoubt(fixed(second.score), second.runs)}`;
  const after = [next, noiseOf(first, second)].filter(Boolean).join(": ");
  return `${where}: ${first.name}, ${scored(first)}${worth(first)}; ${after}.${flattered(own)}`;
}

function mattered() {
  if (!overall.length) return "";
  const sure = overall.filter(isSure).slice(0, MOST_NAMED);
  const texts = sure.map((row, n) => explains(row, n === 0));
  const first = texts.length
    ? `${listed(texts)}. `
    : "No parameter is seen to explain more of the score than chance could. ";
  const idle = naming("No visible effect by itself", overall.filter(isIdle));
  const unsure = naming("Too few runs to tell", overall.filter(isUnsure));
  return [first.trim(), idle, unsure].filter(Boolean).join(" ");
}

function explains({ name, share, interval: [low, high], with: others }, isFirst) {
  const twin = others.find(([, strength]) => isSame(strength));
  const changes = twin ? `; ${inWords(twin[0])} changes with it` : "";
  const sure = `(${Math.round(100 * low)}–${percent(high)}${changes})`;
  if (isFirst) return `${inWords(name)} explains ${percent(share)} of the score's variance ${sure}`;
  return `${inWords(name)} ${percent(share)} ${sure}`;
}

function naming(words, rows) {
  const names = rows.slice(0, MOST_LISTED).map(({ name }) => inWords(name));
  return names.length ? `${words}: ${listed(names)}.` : "";
}

// Beyond the end of what was tried, or between what was; the best of each together where nobody met
// them; more seeds where two cannot be told apart.
function toTryNext() {
  if (!data.sweep) return ""; // which runs by hand are of one configuration, nobody said
  const sure = overall.filter(isSure).slice(0, MOST_NAMED);
  const isMet = areMet(sure);
  const isUntried = !isMet || sure.some((row) => isAtEdge(row) || isContinuous(row.name));
  const texts = isUntried ? sure.map(valueToTry) : [];
  if (sure.length > 1 && !isMet) {
    const names = listed(sure.map(({ name }) => inWords(name)));
    texts.push(`the best ${names} together: no run combines them`);
  }
  const [first, second] = ranked.settings;
  if (first && second && noiseOf(first, second) === COULD_BE_NOISE) {
    texts.push("more seeds of the best two configurations: the gap between them could be noise");
  }
  return texts.length ? `${texts.join("; ")}.` : "";
}

// Whether a configuration has the best level of each of these parameters.
function areMet(rows) {
  if (!rows.length) return true;
  return rows[0].levels.of.some((_, n) => rows.every(({ levels, best }) => levels.of[n] === best));
}

function valueToTry(row) {
  const { names, values } = row.levels;
  const name = inWords(row.name);
  if (!isAtEdge(row)) {
    const level = names[row.best];
    if (isContinuous(row.name)) return `${name} between ${level.replace(" to ", " and ")}`;
    return `${name} ${level}`;
  }
  const isHighest = row.best > 0;
  const end = show(Number(values.flat().at(isHighest ? -1 : 0).toPrecision(2)));
  const side = isHighest ? "above" : "below";
  return `${name} ${side} ${end}, because the best value is at the end of those tried`;
}

// Whether more runs would help a search: how many came after the best. The order of a grid says
// nothing.
function sinceTheBest() {
  const own = data.runs.filter((run) => isScored(run) && run.when);
  if (!data.searched || own.length < FEWEST_RUNS) return "";
  own.sort((a, b) => a.when - b.when);
  let best = 0;
  own.forEach((run, n) => {
    if (better(score(run), score(own[best])) < 0) best = n;
  });
  const later = own.length - 1 - best;
  const which = `the best was run ${grouped(best + 1)} of ${grouped(own.length)}`;
  if (!later) return `${which}, the last: more runs may find a better one.`;
  return `${which}; the ${grouped(later)} after it were no better.`;
}

function bestAndSecond() {
  const [first, second] = ranked[view.rows];
  if (!second || !data.sweep || isAlike(first, second)) return "";
  const words = noiseOf(first, second);
  const gap = words && `: ${words}`;
  const scores = [first, second].map((row) => noteDoubt(fixed(row.score), row.runs)).join(" vs ");
  return `${changesOf(first, second)}; ${scoreName}: ${scores}${gap}.${flattered(ranked[view.rows])}`;
}

function changesOf(first, second) {
  const valueIn = (row, name) => show(brief(row.parameters[name]));
  const isChanged = (name) => show(first.parameters[name]) !== show(second.parameters[name]);
  const changes = axes.filter(isChanged).map((name) => {
    return `${inWords(name)} ${valueIn(first, name)} instead of ${valueIn(second, name)}`;
  });
  if (!changes.length) return "only its seed";
  const more = changes.length - MOST_CHANGES;
  return listed(changes.slice(0, MOST_CHANGES)) + (more > 0 ? ` and ${more} more` : "");
}

// Of rows that can be compared, the best first.
function flattered(rows) {
  const [first, second] = rows;
  if (rows.length < FLATTERED_FROM || judge(first, second).noise === false) return "";
  const side = data.minimize ? "low" : "high";
  return ` The best score of ${rows.length} is probably slightly too ${side}.`;
}

function classesApart() {
  const [first, second] = ranked[view.rows];
  if (!second || !data.sweep) return "";
  const changes = classChanges(first, second).sort((a, b) => b.change - a.change);
  const up = changes.filter(({ change }) => change > SEEN).slice(0, MOST_NAMED);
  const down = changes.filter(({ change }) => change < -SEEN).slice(-MOST_NAMED).reverse();
  if (!up.length && !down.length) return "";
  const text = (rows) => listed(rows.map(({ name, change }) => `${name} ${signed(change, 2)}`));
  const gains = up.length ? `it gains most on ${text(up)}` : "it gains on no class";
  return `${gains}${down.length ? ` and loses on ${text(down)}` : ""}.`;
}
