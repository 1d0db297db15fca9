"use strict";
// The page of many runs, of a sweep or of a folder of runs: what stands out, and all parts together.

function summary() {
  const inState = {};
  for (const run of data.runs) if (run.state) inState[run.state] = (inState[run.state] || 0) + 1;
  const states = Object.entries(inState).map(([state, count]) => `${count.toLocaleString("en")} ${state}`).join(", ");
  const texts = [`${data.runs.length.toLocaleString("en")} run${data.runs.length === 1 ? "" : "s"}${states ? ": " + states : ""}. `];
  const [best, second] = data.sweep ? ranked.settings : [];
  if (best && second && alikeScores(best, second)) {
    const equal = ranked.settings.filter((row) => alikeScores(best, row)).length;
    texts.push("Best ", make("b", { textContent: noteDoubt(`${scoreName} ${fixed(best.score)}`, best.runs) }), `, which ${equal.toLocaleString("en")} configurations reach. `);
  } else if (best && !second && made.settings.filter(counts).length > 1) {
    texts.push("No two configurations were validated on the same data, so none is the best.");
  } else if (best) {
    const spread = best.deviation === null ? "" : ` ± ${best.deviation.toFixed(4)} over ${best.scores.length} seeds`;
    texts.push("Best ", make("b", { textContent: noteDoubt(`${scoreName} ${fixed(best.score)}${spread}`, best.runs) }));
    if (axes.length) texts.push(" with ", make("b", { textContent: best.runs[0].setting }));
    texts.push(`${worth(best)}. `);
  }
  if (data.agreement) texts.push(" " + data.agreement);
  const doubted = data.runs.filter((run) => run.unverified);
  const reasons = [...new Set(doubted.map((run) => run.unverified))];
  if (doubted.length) texts.push(make("b", { className: "doubt", textContent: ` The figures of ${doubted.length.toLocaleString("en")} run${doubted.length === 1 ? " are" : "s are"} ${NOT_VERIFIED}: ${listed(reasons)}.` }));
  byId("better").textContent = data.minimize ? "Down" : "Up";
  byId("summary").replaceChildren(...texts);
  byId("sweeps").replaceChildren(...[...groupBy(data.runs.filter((run) => run.group), (run) => run.sweep)].map(([href, own]) => make("li", {}, href ? make("a", { href, textContent: own[0].group }) : own[0].group, ` ${own.length} run${own.length === 1 ? "" : "s"}`)));
  const same = Object.fromEntries(alike.map(({ name, values }) => [name, values[0]]));
  for (const [id, values] of [["base", { ...data.base, ...same }], ["defaults", data.defaults]]) {
    byId(id).replaceChildren(...Object.entries(values).map(([name, value]) => make("li", { textContent: `${name}=${show(value)}` })));
    byId(id + "-part").hidden = !Object.keys(values).length;
  }
}

// ---- what stands out --------------------------------------------------------------------

// How sure a row's score is, as far as its runs say that, and what guessing would reach.
function worth(row) {
  const [{ interval, level, chance }] = row.runs;
  const sure = row.runs.length === 1 && interval.length ? `${Number((100 * level).toPrecision(3))} % interval ${interval.map(fixed).join(" to ")}` : "";
  const words = [sure, Number.isFinite(chance) ? `guessing reaches ${fixed(chance)}` : ""].filter(Boolean).join("; ");
  return words && ` (${words})`;
}

// Whether chance could make the difference of two rows, the only judge of this page: `noise` is true, false, or null
// where that is not known, `by` says what tells it, `errors` how many standard errors of the seeds it is,
// `most` how many of them chance reaches with so many seeds. Rows of several seeds are judged by these (Welch's test,
// 1947), of one run each by their intervals, as in verdict.py.
const T = [12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23]; // by degrees of freedom: what chance exceeds once in twenty
function judge(a, b) {
  const apart = Math.abs(a.score - b.score);
  if ([a, b].every((row) => row.scores.length > 1)) {
    const squares = [a, b].map((row) => row.deviation ** 2 / row.scores.length);
    const error = Math.sqrt(sum(squares));
    if (!error) return { noise: !apart, by: "seeds", errors: null };
    const freedom = sum(squares) ** 2 / sum([a, b].map((row, n) => squares[n] ** 2 / (row.scores.length - 1)));
    const most = T[Math.max(1, Math.floor(freedom)) - 1] ?? 2.1;
    return { noise: apart / error < most, by: "seeds", errors: apart / error, most };
  }
  const halves = [...a.runs, ...b.runs].map(({ interval: [low, high] }) => (high - low) / 2);
  const width = Math.hypot(...halves); // of no interval it is NaN
  if (a.runs.length + b.runs.length > 2 || !width) return { noise: null, by: "", errors: null };
  return { noise: apart <= width, by: "intervals", errors: null };
}

const GAPS = new Map([[true, "the gap could be noise"], [false, "the gap is more than noise"], [null, ""]]);
// A difference that no digit shows is none, as in verdict.py.
const alikeScores = (a, b) => fixed(a.score) === fixed(b.score);
const noiseOf = (a, b) => (alikeScores(a, b) ? "" : GAPS.get(judge(a, b).noise));

// The best run of each data set that several are of: of a sweep, the line above says it.
function bestRuns() {
  const groups = data.sweep ? [] : [...groupBy(made.runs.filter(counts), (row) => row.content).values()];
  return groups.filter((own) => own.length > 1).sort((a, b) => b.length - a.length).slice(0, 3).map((own) => {
    const [first, second] = [...own].sort((a, b) => better(a.score, b.score));
    const where = first.data ? `on ${first.data}` : `on data that the runs${first.notebook && ` of ${first.notebook}`} do not name`;
    const equal = own.filter((row) => alikeScores(first, row)).length;
    if (equal > 1) return `${capital(where)}: ${equal.toLocaleString("en")} runs have ${noteDoubt(`${scoreName} ${fixed(first.score)}`, first.runs)}${worth(first)}.`;
    const after = [`; the next, ${second.name}, has ${noteDoubt(fixed(second.score), second.runs)}`, noiseOf(first, second)].filter(Boolean).join(": ");
    return `${capital(where)}: ${first.name}, ${noteDoubt(`${scoreName} ${fixed(first.score)}`, first.runs)}${worth(first)}${after}.`;
  }).join(" ");
}

function mattered() {
  const rows = importances();
  if (!rows.length) return "";
  const sure = rows.filter((row) => row.interval?.[0] > 0.005);
  const [both] = acting();
  const [without, unknown] = [rows.filter(idle), rows.filter(unsure)];
  const text = ({ name, share, interval: [low, high], with: others }, n) => {
    const twin = others.find(([, strength]) => strength >= SAME);
    return `${inWords(name)} ${n ? "" : "explains "}${percent(share)}${n ? "" : " of the score's variance"} (${Math.round(100 * low)}–${percent(high)}${twin ? `; ${inWords(twin[0])} changes with it` : ""})`;
  };
  const first = sure.length ? listed(sure.slice(0, 3).map(text)) + ". " : "No parameter is seen to explain more of the score than chance could. ";
  const pair = both ? `${inWords(both.a)} and ${inWords(both.b)} act together (${percent(both.share)} more). ` : "";
  return first + capital(pair) + (without.length ? `No visible effect: ${listed(without.slice(0, 5).map(({ name }) => inWords(name)))}. ` : "") + (unknown.length ? `Too few runs to tell: ${listed(unknown.slice(0, 5).map(({ name }) => inWords(name)))}.` : "");
}
const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

// Beyond the end of what was tried, or between what was; the best of each together where nobody met them.
function next() {
  const sure = importances().filter((row) => row.interval?.[0] > 0.005 && row.best >= 0).slice(0, 3);
  const met = weighed.own.some((_, n) => sure.every(({ levels, best }) => levels.of[n] === best));
  const untried = !met || sure.some((row) => atEdge(row) || continuous(row.name));
  const texts = (untried ? sure : []).map((row) => {
    const { names, values } = row.levels;
    const level = names[row.best];
    if (!atEdge(row)) return `${inWords(row.name)} ${continuous(row.name) ? `between ${level.replace(" to ", " and ")}` : level}`;
    return `${inWords(row.name)} ${row.best ? "above" : "below"} ${show(Number(values.flat().at(row.best ? -1 : 0).toPrecision(2)))}, because the best value is at the end of those tried`;
  });
  if (sure.length > 1 && !met) texts.push(`the best ${listed(sure.map(({ name }) => inWords(name)))} together: no run combines them`);
  const [first, second] = ranked.settings;
  if (first && second && noiseOf(first, second) === GAPS.get(true)) texts.push("more seeds of the best two configurations: the gap between them could be noise");
  return texts.length ? texts.join("; ") + "." : "";
}

const FLATTERED_FROM = 5; // rows, as in verdict.py
function bestAndSecond() {
  const [first, second] = ranked[view.rows];
  if (!first || !second || !data.sweep) return "";
  const names = axes.filter((name) => show(first.parameters[name]) !== show(second.parameters[name]));
  const changes = names.map((name) => `${inWords(name)} ${show(brief(first.parameters[name]))} instead of ${show(brief(second.parameters[name]))}`);
  if (alikeScores(first, second)) return "";
  const words = noiseOf(first, second);
  const gap = words && `: ${words}`;
  const count = ranked[view.rows].length;
  const flattered = judge(first, second).noise !== false && count >= FLATTERED_FROM ? ` As the best of ${count}, it is probably slightly too ${data.minimize ? "low" : "high"}.` : "";
  return `${changes.length ? listed(changes.slice(0, 4)) : "only its seed"}${changes.length > 4 ? ` and ${changes.length - 4} more` : ""}; ${scoreName}: ${noteDoubt(fixed(first.score), first.runs)} vs ${noteDoubt(fixed(second.score), second.runs)}${gap}.${flattered}`;
}

function classesApart() {
  const [first, second] = ranked[view.rows];
  const changes = first && second && data.sweep ? classChanges(first, second).sort((a, b) => b.change - a.change) : [];
  const text = (rows) => listed(rows.map(({ name, change }) => `${name} ${signed(change, 2)}`));
  const [up, down] = [changes.filter(({ change }) => change > 0.005).slice(0, 3), changes.filter(({ change }) => change < -0.005).slice(-3).reverse()];
  if (!up.length && !down.length) return "";
  return `${up.length ? `it gains most on ${text(up)}` : "it gains on no class"}${down.length ? ` and loses on ${text(down)}` : ""}.`;
}

// Whether more runs would help a search: how many came after the best. The order of a grid says nothing.
function since() {
  if (!data.searched) return "";
  const own = finished().filter((run) => run.when).sort((a, b) => a.when - b.when);
  const best = own.reduce((first, run, n) => (first < 0 || better(score(run), score(own[first])) < 0 ? n : first), -1);
  const later = own.length - 1 - best;
  if (best < 0 || own.length < 3) return "";
  return `the best was run ${(best + 1).toLocaleString("en")} of ${own.length.toLocaleString("en")}` + (later ? `; the ${later.toLocaleString("en")} after it were no better.` : ", the last: more runs may find a better one.");
}

// Of all runs, whatever the filter leaves of them.
function answers() {
  const filter = view.filter;
  view.filter = "";
  for (const row of importances()) firstShares.set(row.name, row.share);
  for (const row of importances().filter(idle)) withoutEffect.add(row.name);
  const texts = [["Best", bestRuns()], ["What mattered", mattered()], ["To try next", next()], ["More runs", since()], ["The best vs the second", bestAndSecond()], ["By class", classesApart()]].filter(([, text]) => text);
  view.filter = filter;
  byId("answers").replaceChildren(...texts.flatMap(([question, text]) => [make("dt", {}, question), make("dd", {}, capital(text))]));
}

// The parts that the page has now: from here the charts are one step away, past every link of the table.
function contents() {
  const sections = [...document.querySelectorAll("main > section:not([hidden])")];
  const named = sections.map((section) => [section.id, section.querySelector("h2")?.textContent ?? "Table"]);
  byId("contents").replaceChildren(...named.map(([id, name]) => {
    const link = make("a", { href: "#" + id, textContent: name });
    link.onclick = (event) => { event.preventDefault(); goTo(byId(id)); }; // the address keeps the view
    return make("li", {}, link);
  }));
}

function goTo(section) {
  section.tabIndex = -1;
  section.focus({ preventScroll: true });
  section.scrollIntoView();
}

// ---- all together -----------------------------------------------------------------------

// The table and the lines follow at once; what is further down is painted piece by piece, so that typing is not held up.
const LATER = [importance, sideBySide, axisPictures, cost, curves, contents];
let waiting = [];
let begun = false;

// A piece of a painting: at once when the page opens, later when somebody acts.
function soon(paint) {
  begun ? waiting.unshift(paint) : paint();
}

function paintNext() {
  waiting.shift()?.();
  if (waiting.length) setTimeout(paintNext);
}

function refresh() {
  keep();
  choices();
  table();
  parallel();
  if (!waiting.length) setTimeout(paintNext);
  waiting = [...LATER];
}

// The parameter that explains most, of those with few values, tells most when it is the colour.
const telling = () => importances().find(({ name }) => !continuous(name))?.name ?? axes.find((name) => !continuous(name) && new Set(finished().map((run) => show(run.parameters[name]))).size > 1) ?? "";

// What depends on the runs besides the parts that `refresh` paints.
function arrange() {
  const single = made.settings.length === data.runs.length;
  document.querySelector(".switch").hidden = byId("seeds-words").hidden = single;
  if (single) view.rows = "runs";
  byId("colour").value = view.colour ||= telling();
  beginNotes();
  summary();
  addChoices();
  curveControls();
}

function begin() {
  read();
  view.ticked ??= ticked.first = ticked();
  const filter = byId("filter");
  filter.value = view.filter;
  filter.oninput = () => { view.filter = filter.value; refresh(); };
  for (const button of document.querySelectorAll("[data-view]")) button.onclick = () => { view.rows = button.dataset.view; refresh(); };
  const colour = byId("colour");
  colour.append(...axes.filter((name) => !continuous(name)).map((name) => make("option", { value: name, textContent: name })));
  colour.onchange = () => { view.colour = colour.value; keep(); cost(); };
  byId("colour-part").hidden = !colour.options.length;
  byId("pair").onchange = () => { view.pair = byId("pair").value; keep(); importance(); };
  byId("compare-ticked").onclick = () => choose(made[view.rows].filter((row) => row.runs.some((run) => view.ticked.has(run.id))).sort((a, b) => (a.score === null) - (b.score === null) || better(a.score, b.score)));
  arrange();
  const scroll = document.querySelector(".scroll");
  scroll.onscroll = () => { if (scroll.scrollTop + 2 * scroll.clientHeight > scroll.scrollHeight) more(); };
  addEventListener("beforeprint", () => {
    lay(Infinity);
    while (waiting.length) waiting.shift()();
    for (const button of byId("heads").querySelectorAll("button")) button.replaceWith(button.textContent); // of a second page, buttons are left out
  });
  addEventListener("afterprint", table);
  addEventListener("hashchange", () => { read(); filter.value = view.filter; forgetLines(); refresh(); });
  byId("tick-all").onclick = () => tickRows(matching());
  byId("tick-none").onclick = () => tickRows([]);
  keep();
  choices();
  answers();
  for (const paint of [table, parallel, ...LATER]) paint();
  begun = true;
  addExports();
  document.querySelector(".skip").onclick = (event) => { event.preventDefault(); goTo(byId("main")); };
  returnToPlace();
  followLive();
}

begin();
