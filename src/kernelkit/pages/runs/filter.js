"use strict";
/* The filter: clauses that a row must all satisfy.
   any text · "some text" · -text (must not occur)
   NAME=value · NAME=one|other · NAME=begin* · NAME!=value · NAME>number · NAME<=number, with spaces around the sign or without
   NAME=low..high · low<NAME<high · best · verified
   NAME is a column's heading or its name in the files, whatever its case: macro F1>0.9, images/s>500, time<2 min.
   Other spellings of the same are taken too: NAME:value, NAME==value, NAME is value, NAME in (one, other), ≠ ≤ ≥ <> =>, one,other, !text, not text, and between clauses. */
const SIGNS = "!=|<>|>=|=>|<=|=<|==|=|>|<|≠|≥|≤";
const MIRRORED = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };
// Words that the page has for rows, beside the texts of their cells.
const WORDS = { best: (row) => Boolean(row.best), verified: (row) => !doubtful(row.runs), unverified: (row) => Boolean(doubtful(row.runs)) };
const SPELLINGS = { "<>": "!=", "≠": "!=", "=>": ">=", "≥": ">=", "=<": "<=", "≤": "<=", "==": "=", ":": "=" };
const UNITS = { s: 1, sec: 1, m: 60, min: 60, h: 3600, "%": 0.01 };
const UNIT = "(?:h|min|m|sec|s|%)(?![\\w])";

// {name in lower case: [canonical name, value of a row, value of each of its runs if they differ]}: headings, measures, parameters.
let fields = null;
function fieldsOf() {
  if (fields) return fields;
  fields = new Map();
  const add = (name, ...field) => { if (name && !fields.has(name.toLowerCase())) fields.set(name.toLowerCase(), field); };
  const names = new Set([...axes, ...data.columns, ...data.runs.flatMap((run) => Object.keys(run.parameters))]);
  // A row of a configuration is found by each of its seeds, and by the state of each.
  if (names.has(SEED)) add(SEED, SEED, (row) => row.parameters[SEED], (run) => run.parameters[SEED]);
  for (const name of names) for (const text of [name, inWords(name)]) add(text, name, (row) => row.parameters[name]);
  for (const text of ["score", data.score, scoreName]) add(text, "score", (row) => row.score);
  for (const text of ["time", "seconds"]) add(text, "seconds", (row) => row.seconds);
  add("state", "state", (row) => row.state, (run) => run.state);
  for (const name of ["notebook", "device", "data"]) add(name, name, (row) => row[name]);
  add("validated on", "data", (row) => row.data);
  if (!data.sweep) for (const [name, of] of [["run", (row) => row.name], ["when", dated]]) add(name, name, of);
  for (const part of ["tags", "note"]) add(part, part, (row) => noted(row, part).join(" "));
  for (const name of new Set(data.runs.flatMap((run) => Object.keys(run.metrics)))) {
    for (const text of [name, data.labels[name]]) add(text, name, (row) => mean(finite(row.runs.map((run) => run.metrics[name]))));
  }
  return fields;
}

const escaped = (text) => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
let grammar = null;
function grammarOf() {
  if (grammar) return grammar;
  const names = [...fieldsOf().keys()].sort((a, b) => b.length - a.length).map(escaped).join("|");
  const number = String.raw`-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?: ?${UNIT})?`;
  const range = String.raw`(${number})\s*\.\.\s*(${number})`;
  const value = String.raw`"[^"]*"|'[^']*'|\([^()]*\)|\[[^\]]*\]|\d{4}-\d\d-\d\d \d\d:\d\d|${number}\.\.${number}|[\d.]+ ?${UNIT}(?: ?\d+ ?${UNIT})*|[^\s"]*(?:"[^"]*")?`;
  const not = String.raw`^"?(-\s*|!\s*|not\s+)?`;
  grammar = {
    mirrored: new RegExp(String.raw`(?<![\w.=<>≤≥!-])(${number})\s*(<=?|>=?|≤|≥)\s*(${names})(?![\w])(?=(\s*[<>≤≥])?)`, "gi"),
    inWords: new RegExp(String.raw`(?<!\w)(${names})\s+(?:is|in)\s+`, "gi"),
    range: new RegExp(String.raw`(?<!\w)(${names})\s*[=:]?\s*${range}`, "gi"),
    known: new RegExp(String.raw`${not}(${names})\s*(${SIGNS}|:(?!\s*[<>]))\s*(${value})"?`, "i"),
    unknown: new RegExp(String.raw`${not}([^\s"<>=!≠≤≥]+)\s*(${SIGNS})\s*(${value})"?`, "i"),
    text: /^(-\s*|!\s*|not\s+)?("[^"]*"?|\S+)/i,
    between: /^(?:and|&&?)(?:\s+|$)/i,
  };
  return grammar;
}

const unquoted = (text) => text.replace(/^'(.*)'$|^\((.*)\)$/, "$1$2").replaceAll('"', "").toLowerCase();

// Typed text with each clause in the form that NAME begins: 0.1<NAME<0.3, NAME 0.1..0.3 and NAME in (a, b) are others.
function normal(typed) {
  const { mirrored, inWords: is, range } = grammarOf();
  const turned = typed.replace(mirrored, (_, value, sign, name, chained) => `${name}${MIRRORED[SPELLINGS[sign] ?? sign]}${value} ${chained ? name : ""}`);
  return turned.replace(is, "$1=").replace(range, "$1=$2..$3").trim();
}

// [{text, not, name, sign, wanted, unknown}] of what is typed; without a name it is text to find.
function clauses(typed = view.filter) {
  const found = [];
  let rest = normal(typed);
  while (rest) {
    const { known, unknown, text, between } = grammarOf();
    const joined = found.length && rest.match(between);
    if (joined) {
      rest = rest.slice(joined[0].length);
      continue;
    }
    const own = rest.match(known) ?? rest.match(unknown);
    const taken = own ?? rest.match(text);
    const clause = { text: taken[0], not: Boolean(taken[1]) };
    if (own) {
      const field = fieldsOf().get(own[2].toLowerCase());
      Object.assign(clause, { name: field ? field[0] : own[2], of: field?.[1], each: field?.[2], sign: SPELLINGS[own[3]] ?? own[3], wanted: unquoted(own[4]) });
    } else {
      clause.wanted = unquoted(taken[2]);
    }
    found.push(clause);
    rest = rest.slice(taken[0].length).trim();
  }
  return found;
}

// A number as it is shown: 0.9, 1,234, 88 s, 2 min 46 s, 1 h 05 min, 12 %, or 1:30; NaN for anything else.
function numberOf(text) {
  const clock = text.match(/^(\d+):(\d\d)(?::(\d\d))?$/);
  if (clock) return clock.slice(1).filter(Boolean).reduce((total, part) => 60 * total + Number(part), 0);
  const plain = text.trim().replaceAll(/(\d),(?=\d{3}(?!\d))/g, "$1");
  const part = String.raw`(-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?) ?(${UNIT})?`;
  if (!new RegExp(`^(?:${part}\\s*)+$`).test(plain)) return NaN;
  return sum([...plain.matchAll(new RegExp(part, "g"))].map(([, digits, unit]) => Number(digits) * (UNITS[unit] ?? 1)));
}

function equals(value, wanted) {
  const shown = show(value).toLowerCase();
  const same = (text) => shown === text || between(value, text) || (text !== "" && typeof value === "number" && value === Number(text)) || (text.includes("*") && new RegExp(`^${text.split("*").map(escaped).join(".*")}$`).test(shown));
  if (Array.isArray(value)) return wanted.replaceAll(/[\s"']/g, "").split("|").includes(shown.replaceAll(/[\s"]/g, ""));
  return same(wanted) || wanted.split(/[|,]/).some((one) => same(one.trim()));
}

// Whether a number is in a range: 0.1..0.3, 1 min..2 min.
function between(value, text) {
  const [low, high, more] = text.split("..").map(numberOf);
  return typeof value === "number" && more === undefined && low <= value && value <= high;
}

function passes(clause) {
  const { sign, wanted, of, each, not } = clause;
  if (wanted === "" || /^[-!=<>≠≤≥:]+$/.test(clause.text)) return () => true; // still being typed
  if (!sign) {
    const found = WORDS[wanted] ?? ((row) => row.text.includes(wanted));
    return (row) => found(row) !== not;
  }
  if (!of) return () => false;
  const holds = (value) => {
    if (value === undefined || value === "" || (value === null && /[<>]/.test(sign))) return sign === "!=" || not;
    const date = of === dated; // written so that later ones come later in the alphabet, too
    if (sign === "=" || sign === "!=") return equals(value, date ? `${wanted}*` : wanted) === ((sign === "=") !== not);
    const [left, right] = date ? [value, wanted] : [Number(value), numberOf(wanted)];
    return { ">": left > right, "<": left < right, ">=": left >= right, "<=": left <= right }[sign] !== not;
  };
  return (row) => (each && row.runs.some((run) => holds(each(run)))) || holds(of(row));
}

const last = {}; // the rows that pass, until filter or kind of rows change
function matching() {
  const key = view.rows + "\n" + view.filter;
  if (last.key !== key) {
    const rules = clauses().map(passes);
    Object.assign(last, { key, rows: made[view.rows].filter((row) => rules.every((rule) => rule(row))) });
  }
  return last.rows;
}
const finished = () => matching().flatMap((row) => row.runs.filter((run) => score(run) !== null));

// Puts clauses into the filter instead of those about the same name.
function restrict(name, ...put) {
  const others = clauses().filter((clause) => clause.name !== name).map(({ text }) => text);
  view.filter = [...others, ...put].join(" ");
  byId("filter").value = view.filter;
  refresh();
}

const byResult = () => clauses().some(({ name }) => name === "score" || name === "seconds");

// Letters to insert, take away or exchange until one text is the other (Levenshtein, 1966).
function apartBy(a, b) {
  let line = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) next[j] = Math.min(next[j - 1] + 1, line[j] + 1, line[j - 1] + (a[i - 1] !== b[j - 1]));
    line = next;
  }
  return line[b.length];
}

// The likeliest of some names: spelt alike, beginning or ending with the text, or with it as its initials (lr).
function nearest(text, among) {
  const wanted = text.toLowerCase();
  const names = [...among].map(String);
  const [best] = names.map((own) => [apartBy(wanted, own.toLowerCase()), own]).sort((a, b) => a[0] - b[0]);
  if (best && best[0] <= Math.max(1, wanted.length / 3)) return best[1];
  const initials = (own) => own.split(/[\s_]+/).map((word) => word[0]).join("");
  const likely = names.find((own) => own.toLowerCase().startsWith(wanted) || own.toLowerCase().endsWith(wanted) || initials(own.toLowerCase()) === wanted);
  return likely ?? (best && best[0] <= 2 ? best[1] : "");
}

// Why the filter finds nothing, as far as a name or a value is to blame.
function whyNothing() {
  const all = clauses();
  if (all.some(({ sign, wanted }) => !sign && (wanted === "or" || wanted === "||"))) return "Every part must match. For one value or another, write NAME=one|other.";
  for (const [n, clause] of all.entries()) {
    if (!clause.sign && fieldsOf().has(clause.wanted)) return `No run matches “${view.filter}”. A column is compared by a sign: ${clause.wanted}=…, ${clause.wanted}>… or ${clause.wanted}=low..high.`;
    if (clause.sign && !clause.of) {
      const before = n && !all[n - 1].sign ? `${all[n - 1].wanted} ${clause.name}` : "";
      const near = nearest(before || clause.name, fieldsOf().keys()) || nearest(clause.name, fieldsOf().keys());
      return `No column is called “${clause.name}”${near ? `: did you mean “${near}”?` : "."}`;
    }
    if (clause.sign === "=" && !made[view.rows].some(passes(clause))) {
      const values = [...new Set(made[view.rows].map((row) => show(clause.of(row))))].filter(Boolean);
      const near = nearest(clause.wanted, values);
      return `No run has ${clause.name} “${clause.wanted}”${near ? `: did you mean “${near}”?` : "."}`;
    }
    if (!clause.sign && !clause.not && !made[view.rows].some(passes(clause))) {
      const near = nearest(clause.wanted, new Set(made[view.rows].flatMap((row) => [row.name, ...Object.values(row.parameters).filter((value) => typeof value === "string")])));
      if (near) return `No run matches “${clause.wanted}”: did you mean “${near}”?`;
    }
    if (/^[<>]/.test(clause.sign ?? "") && clause.of !== dated && Number.isNaN(numberOf(clause.wanted))) return `“${clause.text}” compares with no number.`;
  }
  return `No run matches “${view.filter}”.`;
}
