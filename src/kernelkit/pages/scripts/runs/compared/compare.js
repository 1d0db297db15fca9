// Two or more rows side by side: only what differs.
import { byId, data, make } from "../../elements.js";
import { capital, fixed, listed, show, signed } from "../../numbers.js";
import { allColumns, cellText, isEmpty, scoreText } from "../known/columns.js";
import { matching } from "../known/filter.js";
import { gapWords, isAlike, judge } from "../known/noise.js";
import { isCompared, made, ranked } from "../known/rows.js";
import {
  better, inWords, noteDoubt, SEED, scoreName, seedOf, tellApart, unseeded,
} from "../known/run.js";
import { change, view } from "../known/view.js";
import { classesBeside } from "./classes.js";
import { eachRun } from "./each_run.js";
import { photosBeside } from "./photos.js";

const MOST_BESIDE = 6;
const MOST_OFFERED = 200; // rows to choose from, the best that pass the filter

const letterOf = (n) => String.fromCharCode(65 + n);
const isUnscored = (row) => row.score === null;
// The best first, and those without a score last.
const byScore = (a, b) => isUnscored(a) - isUnscored(b) || better(a.score, b.score);

// The rows that are compared: those chosen, or with less than two of them the best.
export function beside() {
  const rows = new Map();
  for (const row of made[view.rows]) {
    for (const run of row.runs) rows.set(run.id, row);
  }
  const chosen = [...new Set(view.compare.map((id) => rows.get(id)).filter(Boolean))];
  if (chosen.length > 1) return chosen;
  const content = ranked[view.rows][0]?.content;
  const best = matching().filter((row) => isCompared(row) && row.content === content);
  return [...new Set([...chosen, ...best.sort(byScore)])].slice(0, 2);
}

export function choose(rows) {
  const keys = [...new Set(rows)].map((row) => row.key);
  change({ compare: keys.slice(0, MOST_BESIDE) });
}

export function compareControls() {
  const isTicked = (row) => row.runs.some((run) => view.ticked.has(run.id));
  byId("compare-ticked").onclick = () => choose(made[view.rows].filter(isTicked).sort(byScore));
}

export function sideBySide() {
  const rows = beside();
  byId("compare-section").hidden = rows.length < 2;
  if (rows.length < 2) return;
  const best = [...matching()].sort(byScore).slice(0, MOST_OFFERED);
  offer([...new Set([...best, ...rows])], rows);
  differences(rows);
  classesBeside(rows);
  photosBeside(rows);
  byId("each-run").replaceChildren(...rows.map((row, n) => eachRun(row, letterOf(n))));
}

// Lists to choose each of the rows from.
function offer(options, rows) {
  const tell = tellApart(options);
  function words(row) {
    const score = isUnscored(row) ? row.state : noteDoubt(fixed(row.score), row.runs);
    const seed = view.rows === "runs" ? seedOf(row) : "";
    const own = data.sweep ? [tell(row), seed].filter(Boolean).join(" ") : "";
    return `${score}  ${own || row.name}`;
  }
  const lists = rows.map((row, n) => {
    const items = options.map((option, k) =>
      make("option", { value: k, selected: option === row, textContent: words(option) }),
    );
    const select = make("select", { ariaLabel: `run ${n + 1} of the comparison` }, ...items);
    select.onchange = () => {
      choose(rows.map((other) => (other === row ? options[select.value] : other)));
    };
    return select;
  });
  byId("compare-choices").replaceChildren(...lists);
  const [more, fewer] = [byId("compare-more"), byId("compare-fewer")];
  more.disabled = rows.length >= Math.min(MOST_BESIDE, options.length);
  more.onclick = () => choose([...rows, options.find((row) => !rows.includes(row))]);
  fewer.disabled = rows.length < 3;
  fewer.onclick = () => choose(rows.slice(0, -1));
}

// ---- what differs -------------------------------------------------------------------------

function differences(rows) {
  const areRuns = rows.every((row) => row.runs.length === 1);
  const given = new Set(rows.flatMap((row) => Object.keys(row.parameters)));
  const names = [...given].filter((name) => name !== SEED || areRuns);
  const parameters = names.map((name) => {
    return [inWords(name), rows.map((row) => show(row.parameters[name]))];
  });
  const differing = parameters.filter(isDiffering);
  const head = rows.map((_, n) => make("th", { scope: "col" }, letterOf(n)));
  const lines = [...differing, [scoreName, scoresOf(rows)], ...measuresOf(rows)];
  byId("differences").replaceChildren(
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "differs"), ...head)),
    make("tbody", {}, ...lines.map(([name, texts]) => line(name, texts))),
  );
  const words = differing.length
    ? inCommon(parameters.length - differing.length)
    : "Their parameters are the same. ";
  byId("compare-words").textContent = `${words}${noiseWords(rows)}`;
}

const isDiffering = ([, texts]) => new Set(texts).size > 1;

function line(name, texts) {
  const cells = texts.map((text) => make("td", {}, text));
  return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
}

// The scores, each with how far it is from the first.
function scoresOf(rows) {
  return rows.map((row, n) => {
    if (isUnscored(row)) return row.state;
    const apart = n && !isUnscored(rows[0]) ? ` (${signed(row.score - rows[0].score)})` : "";
    return `${scoreText(row)}${apart}`;
  });
}

function measuresOf(rows) {
  const measures = allColumns().filter(({ key, number }) => number && key !== "score");
  const lines = measures.map((measure) => {
    const values = rows.map((row) => measure.of(row));
    return [measure.title, values.map((value) => (isEmpty(value) ? "" : cellText(value, measure)))];
  });
  return lines.filter(isDiffering);
}

function inCommon(count) {
  if (!count) return "";
  if (count === 1) return "One parameter is the same in all. ";
  return `${count} parameters are the same in all. `;
}

// Whether the first two differ by more than chance, in the words that `judge` allows.
export function noiseWords([a, b]) {
  if (isUnscored(a) || isUnscored(b)) return "";
  if (isAlike(a, b)) return "Their scores are the same.";
  if (!isCompared(a) || !isCompared(b)) return "";
  if (a.content !== b.content) {
    return "They are not known to be of the same data, so their scores cannot be compared.";
  }
  if (unseeded(a.parameters) === unseeded(b.parameters) && seedOf(a) !== seedOf(b)) {
    return "Only the seed differs: the difference is seed-to-seed noise.";
  }
  const { noise, by, errors, most } = judge(a, b);
  if (by === "seeds") {
    if (errors === null) {
      return "No seed changes their scores: the difference is not noise of the seeds.";
    }
    const apart = `A and B differ by ${Math.abs(a.score - b.score).toFixed(4)}`;
    const size = `${errors.toFixed(1)} standard errors of their seeds`;
    return `${apart}, ${size}; with so many seeds, chance reaches ${most}: ${gapWords(noise)}.`;
  }
  const judged = by ? `${capital(gapWords(noise))}, by their intervals. ` : "";
  return `${judged}${ofOneSeed([a, b])}`;
}

function ofOneSeed(rows) {
  const single = rows.map((row, n) => (row.scores.length < 2 ? letterOf(n) : "")).filter(Boolean);
  const have = single.length === 1 ? "has one seed" : "have one seed each";
  const unknown = "how much of this difference is seed-to-seed noise is not known.";
  return `${listed(single)} ${have}: ${unknown}`;
}
