/* The filter: terms that a row must all satisfy.
   text · "some text" · -text, not text: which must not occur · best, verified, unverified
   NAME=value · NAME=one|other · NAME!=value · NAME>number · NAME<=number · low<NAME<high
   NAME is a column's heading or its name in the files, whatever its case. Numbers may have the
   units of the page, and a value with spaces stands in quotes: time<2 min, device="TPU v3-8". */
import { data } from "../../elements.js";
import { show } from "../../numbers.js";
import { finite, mean, sum } from "../../statistics.js";
import { notesOf, tagsOf } from "./notes.js";
import { axes, doubtful, inWords, isScored, SEED, scoreName } from "./run.js";
import { dated, holds, made } from "./rows.js";
import { change, view } from "./view.js";

const SIGNS = "!=|>=|<=|=|>|<";
const MIRRORED = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };
const UNITS = { s: 1, min: 60, h: 3600, "%": 0.01 };
const UNIT = String.raw`(?:h|min|s|%)(?!\w)`;
const NUMBER = String.raw`-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?`;
const TIME = `${NUMBER} ?${UNIT}(?: ?${NUMBER} ?${UNIT})*`; // 1 h 05 min
const DATE = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d`;
const VALUE = String.raw`"[^"]*"|\[[^\]]*\]|${DATE}|${TIME}|[^\s"]*`;
const EXAMPLES = "NAME=value, NAME=one|other, NAME>number or low<NAME<high";
const WORDS = {
  best: (row) => row.best,
  verified: (row) => !doubtful(row.runs),
  unverified: (row) => Boolean(doubtful(row.runs)),
};

// {name in lower case: {name, of: its value in a row, each: and in a run, if those may differ}}
const fields = fieldsOf();
const grammar = grammarOf([...fields.keys()]);

function fieldsOf() {
  const found = new Map();
  function add(texts, name, of, each) {
    for (const text of texts.filter(Boolean)) {
      const key = text.toLowerCase();
      if (!found.has(key)) found.set(key, { name, of, each });
    }
  }
  const given = data.runs.flatMap((run) => Object.keys(run.parameters));
  const names = new Set([...axes, ...data.columns, ...given]);
  // A row of a configuration is found by each of its seeds, and by the state of each.
  const seedIn = (own) => own.parameters[SEED];
  if (names.has(SEED)) add([SEED], SEED, seedIn, seedIn);
  for (const name of names) add([name, inWords(name)], name, (row) => row.parameters[name]);
  add(["score", data.score, scoreName], "score", (row) => row.score);
  add(["time", "seconds"], "seconds", (row) => row.seconds);
  const stateIn = (own) => own.state;
  add(["state"], "state", stateIn, stateIn);
  for (const name of ["notebook", "device", "data"]) add([name], name, (row) => row[name]);
  add(["validated on"], "data", (row) => row.data);
  if (!data.sweep) {
    add(["run"], "run", (row) => row.name);
    add(["when"], "when", dated);
  }
  add(["tags"], "tags", (row) => tagsOf(row).join(" "));
  add(["note"], "note", (row) => notesOf(row).join(" "));
  for (const name of new Set(data.runs.flatMap((run) => Object.keys(run.metrics)))) {
    const value = (row) => mean(finite(row.runs.map((run) => run.metrics[name])));
    add([name, data.labels[name]], name, value);
  }
  return found;
}

function grammarOf(names) {
  const escaped = names.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  const known = escaped.sort((a, b) => b.length - a.length).join("|");
  const not = String.raw`^(-|not\s+)?`;
  const low = String.raw`(?<![\w.=<>!-])(${NUMBER}(?: ?${UNIT})?)\s*(<=?|>=?)`;
  return {
    mirrored: new RegExp(String.raw`${low}\s*(${known})(?!\w)(?=(\s*[<>])?)`, "gi"),
    known: new RegExp(String.raw`${not}(${known})\s*(${SIGNS})\s*(${VALUE})`, "i"),
    unknown: new RegExp(String.raw`${not}([^\s"<>=!]+)\s*(${SIGNS})\s*(${VALUE})`, "i"),
    text: /^(-|not\s+)?("[^"]*"?|\S+)/i,
  };
}

// Typed text with 0.1<NAME<0.3 as NAME>0.1 NAME<0.3.
function turned(typed) {
  const turn = (_, value, sign, name, isChained) =>
    `${name}${MIRRORED[sign]}${value} ${isChained ? name : ""}`;
  return typed.replace(grammar.mirrored, turn).trim();
}

// The terms of what is typed: {text, not, wanted}, and of comparisons {name, sign, of, each}, where
// `of` is undefined for a name that nothing has.
export function terms(typed = view.filter) {
  const found = [];
  let rest = turned(typed);
  while (rest) {
    const comparison = rest.match(grammar.known) ?? rest.match(grammar.unknown);
    const [text, not, ...parts] = comparison ?? rest.match(grammar.text);
    const wanted = parts.at(-1).replaceAll('"', "").toLowerCase();
    const term = { text, not: Boolean(not), wanted };
    if (comparison) {
      const [name, sign] = parts;
      Object.assign(term, { name, sign }, fields.get(name.toLowerCase()));
    }
    found.push(term);
    rest = rest.slice(text.length).trim();
  }
  return found;
}

// A number as it is shown: 0.9, 1,234, 88 s, 2 min 46 s, 1 h 05 min, 12 %; NaN for anything else.
function numberOf(text) {
  const plain = text.trim().replaceAll(/(\d),(?=\d{3}(?!\d))/g, "$1");
  if (!new RegExp(`^(?:${NUMBER}|${TIME})$`).test(plain)) return NaN;
  const parts = plain.matchAll(new RegExp(`(${NUMBER}) ?(${UNIT})?`, "g"));
  return sum([...parts].map(([, digits, unit]) => Number(digits) * (UNITS[unit] ?? 1)));
}

function equals(value, wanted) {
  const choices = [wanted, ...wanted.split("|").map((one) => one.trim())];
  const bare = (text) => text.replaceAll(/[\s"']/g, "");
  const shown = show(value).toLowerCase();
  if (Array.isArray(value)) return choices.some((one) => bare(one) === bare(shown));
  return choices.some((one) => one === shown || (one !== "" && value === Number(one)));
}

function exceeds(left, sign, right) {
  if (sign === ">") return left > right;
  if (sign === "<") return left < right;
  return sign === ">=" ? left >= right : left <= right;
}

// Whether a value is what a comparison asks for, apart from its `not`.
function meets(value, { name, sign, wanted }) {
  const isEqual = sign === "=" || sign === "!=";
  if (value === undefined || value === "") return sign === "!=";
  if (name === "when") {
    // Dates are written so that later ones come later in the alphabet, too.
    return isEqual ? value.startsWith(wanted) === (sign === "=") : exceeds(value, sign, wanted);
  }
  if (isEqual) return equals(value, wanted) === (sign === "=");
  return value !== null && exceeds(Number(value), sign, numberOf(wanted));
}

// A function that says whether a row satisfies a term.
function rule(term) {
  const { text, sign, wanted, of, each, not } = term;
  if (wanted === "" || /^[-!=<>]+$/.test(text)) return () => true; // still being typed
  if (!sign) {
    const isWord = Object.hasOwn(WORDS, wanted);
    const found = isWord ? WORDS[wanted] : (row) => holds(row, wanted);
    return (row) => found(row) !== not;
  }
  if (!of) return () => false;
  return (row) => {
    const isMet = (value) => meets(value, term) !== not;
    return isMet(of(row)) || (each !== undefined && row.runs.some((run) => isMet(each(run))));
  };
}

let last = { key: null, rows: [] }; // what passed when it was last asked for

// The rows that pass the filter.
export function matching() {
  const key = `${view.rows}\n${view.filter}`;
  if (last.key !== key) {
    const rules = terms().map(rule);
    last = { key, rows: made[view.rows].filter((row) => rules.every((passes) => passes(row))) };
  }
  return last.rows;
}

// After notes that the filter may look for.
export function forgetMatches() {
  last.key = null;
}

// The runs in those rows that have a score.
export const finished = () => matching().flatMap((row) => row.runs.filter(isScored));

// Puts terms into the filter instead of those about the same name.
export function restrict(name, ...put) {
  const others = terms().filter((term) => term.name !== name);
  change({ filter: [...others.map(({ text }) => text), ...put].join(" ") });
}

// A text as a value of the filter.
export const quoted = (value) =>
  /\s/.test(value) && !value.startsWith("[") ? `"${value}"` : value;

// Whether runs are chosen by their results.
export const isByResult = () => terms().some(({ name }) => name === "score" || name === "seconds");

// Why the filter finds nothing.
export function whyNothing() {
  const all = terms();
  for (const { text, name, sign, wanted, of } of all) {
    if (sign && !of) {
      const columns = [...data.columns.map(inWords), scoreName, "time"].filter(Boolean);
      return `No column is called “${name}”; there are ${columns.join(", ")}.`;
    }
    if (name !== "when" && /^[<>]/.test(sign) && Number.isNaN(numberOf(wanted))) {
      return `“${text}” compares with no number.`;
    }
  }
  const hint = all.length > 1 ? ` Columns are compared by ${EXAMPLES}.` : "";
  return `No run matches “${view.filter}”.${hint}`;
}
