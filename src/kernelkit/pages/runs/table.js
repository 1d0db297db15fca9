"use strict";
// The table: its columns, and only so many of its rows laid out as one has scrolled to.
const LAID = 40; // rows that are laid out at first, three screens: a sort waits for their layout above all
const MOST_CHOICES = 40; // values of a parameter that a list can be chosen from
const EMPTY = ["", null, undefined];

// What every run has alike is said once and needs no column. A run without a value has another one than the others.
const columnsOfText = [...(data.sweep ? [] : data.columns).map((name) => ["p:" + name, name, (run) => run.parameters[name]]), ["notebook", "notebook", (run) => run.notebook], ["device", "device", (run) => run.device], ["data", "validated on", (run) => run.data]];
let [alike, low, high, seedCounts] = [];
function tally() {
  alike = data.runs.length < 2 ? [] : columnsOfText.map(([key, name, of]) => ({ key, name, values: [...new Set(data.runs.map(of).map(show))] })).filter(({ values }) => values.length === 1 && values[0] !== "");
  const scores = finite(data.runs.map(score));
  [low, high] = [Math.min(...scores), Math.max(...scores)];
  seedCounts = new Set(made.settings.filter((row) => row.score !== null).map((row) => row.scores.length));
}
tally();

let laidOut = {}; // the columns, by the kind of rows: they do not follow from the filter
function columns() {
  laidOut[view.rows] ??= allColumns().filter((column) => column.key === "score" || !alike.some(({ key }) => key === column.key) && made.runs.some((row) => ![...EMPTY, 0].includes(column.of(row))));
  return laidOut[view.rows];
}

function allColumns() {
  const names = data.sweep ? data.columns.filter((name) => name !== SEED || view.rows === "runs") : data.columns;
  const all = data.sweep ? [] : [{ key: "name", title: "run", of: (row) => row.name }, { key: "when", title: "when", of: (row) => row.when }, { key: "notebook", title: "notebook", of: (row) => row.notebook }];
  all.push(...names.map((name) => ({ key: "p:" + name, title: inWords(name), of: (row) => row.parameters[name] })));
  if (data.score) all.push({ key: "score", title: scoreName, number: true, of: (row) => row.score });
  all.push({ key: "public", title: "public score", number: true, name: "public", of: (row) => mean(finite(row.runs.map((run) => run.public))) });
  all.push({ key: "seconds", title: "time", number: true, name: "seconds", of: (row) => row.seconds });
  for (const name of measures) {
    const counts = data.runs.every((run) => run.metrics[name] === undefined || Number.isInteger(run.metrics[name]));
    all.push({ key: "m:" + name, title: data.labels[name] ?? name, number: true, counts, name, of: (row) => mean(finite(row.runs.map((run) => run.metrics[name]))) });
  }
  all.push({ key: "device", title: "device", of: (row) => row.device }, { key: "data", title: "validated on", of: (row) => row.data });
  if (!data.runs.every((run) => run.state === "done")) all.push({ key: "state", title: "state", of: (row) => row.state });
  return [...all, { key: "tags", title: "tags", of: (row) => noted(row, "tags").join(" ") }];
}

const letters = new Intl.Collator(undefined, { numeric: true });

function compare(a, b) {
  const [none, nor] = [a, b].map((value) => EMPTY.includes(value));
  if (none || nor) return none - nor; // empty ones stay at the end whichever way a column is sorted
  const order = typeof a === "number" && typeof b === "number" ? a - b : letters.compare(a, b);
  return view.down ? -order : order;
}

function shown() {
  const column = columns().find(({ key }) => key === view.sort) || columns()[0];
  return [...matching()].sort((a, b) => compare(column.of(a), column.of(b)));
}

let lay = () => {}; // lays out so many more of the rows that are shown
let more = () => {}; // as many again as are there: a long table takes a few steps, each one layout

function table() {
  const rows = shown();
  const heads = columns().map(heading);
  const width = heads.length + 2;
  const held = document.activeElement?.closest?.("th")?.dataset.key;
  byId("heads").replaceChildren(make("th", { scope: "col", textContent: "curve" }), ...heads, ...(linked() ? [] : [make("th", { scope: "col", className: "links", textContent: "report" })]));
  byId("rows").replaceChildren();
  let there = 0;
  lay = (most) => {
    byId("rows").querySelector(".more")?.remove();
    const lines = rows.slice(there, there + most).map((row) => (row.line ??= line(row)));
    there += lines.length;
    if (there < rows.length) lines.push(rest(rows.length - there, width));
    byId("rows").append(...lines);
  };
  more = () => { if (there < rows.length) lay(there); };
  lay(LAID);
  if (!rows.length) byId("rows").append(nothing(width));
  byId("count").textContent = `${rows.length.toLocaleString("en")} of ${made[view.rows].length.toLocaleString("en")}`;
  for (const button of document.querySelectorAll("[data-view]")) button.setAttribute("aria-pressed", button.dataset.view === view.rows);
  // Both of these lay the page out, so they come last: the old rows are not laid out once more.
  if (held) document.querySelector(`th[data-key="${CSS.escape(held)}"] button`)?.focus({ preventScroll: true });
  document.querySelector(".scroll").scrollTop = 0;
}

function heading(column) {
  const button = make("button", { type: "button", textContent: column.title + (column.key === "score" && view.rows === "settings" && seedCounts.size === 1 && !seedCounts.has(1) ? `, ${[...seedCounts][0]} seeds` : "") });
  const head = make("th", { className: column.number ? "number" : "", scope: "col" }, button);
  head.dataset.key = column.key;
  if (column.key === view.sort) head.setAttribute("aria-sort", view.down ? "descending" : "ascending");
  button.onclick = () => sortBy(column);
  return head;
}

function rest(count, width) {
  const all = make("button", { type: "button", textContent: "Show all" });
  all.onclick = () => {
    const step = () => { if (byId("rows").querySelector(".more")) { lay(LAID); setTimeout(step); } };
    step();
  };
  return make("tr", { className: "more nothing" }, make("td", { colSpan: width }, `${count.toLocaleString("en")} more rows. `, all));
}

// Whether no column of links is needed: a run's name is the link to its report, or there is no report.
const linked = () => !data.runs.some((run) => run.report) || (!data.sweep && view.rows === "runs");

// The first click shows what one looks for first: good scores, high numbers, early letters.
function sortBy(column) {
  if (view.sort === column.key) view.down = !view.down;
  else [view.sort, view.down] = [column.key, column.key === "score" ? !data.minimize : column.key === "when" || Boolean(column.number)];
  keep();
  table();
}

function nothing(width) {
  const clear = make("button", { type: "button", textContent: "Clear the filter" });
  clear.onclick = () => { view.filter = ""; byId("filter").value = ""; refresh(); byId("filter").focus(); };
  return make("tr", { className: "nothing" }, make("td", { colSpan: width }, view.filter ? `${whyNothing()} ` : "There are no runs yet. ", view.filter ? clear : null));
}

// A row's line is made once: sorting a thousand of them only moves them about.
function line(row) {
  const tick = make("input", { type: "checkbox", checked: row.runs.every((run) => view.ticked.has(run.id)), ariaLabel: "curve of " + row.name });
  tick.disabled = !row.runs.some((run) => run.curve.length);
  tick.onchange = () => {
    view.ticked = new Set(view.ticked);
    for (const run of row.runs) tick.checked ? view.ticked.add(run.id) : view.ticked.delete(run.id);
    for (const rows of Object.values(made)) for (const other of rows) if (other !== row) delete other.line;
    keep();
    curves();
  };
  return make("tr", { className: row.best ? "best" : "" }, labelled(make("td", {}, tick), "curve"), ...columns().map((column) => labelled(cell(row, column), column.title)), linked() ? null : labelled(reports(row), "report"));
}

function forgetLines() {
  for (const rows of Object.values(made)) for (const row of rows) delete row.line;
}

function tickRows(rows) {
  view.ticked = new Set(rows.flatMap((row) => row.runs.map((run) => run.id)));
  forgetLines();
  keep();
  table();
  curves();
}

function labelled(element, label) {
  if (element.childNodes.length) element.dataset.label = label;
  return element;
}

// ---- cells ------------------------------------------------------------------------------

function cell(row, column) {
  const value = column.of(row);
  if (column.key === "score") return scoreCell(row);
  if (column.key === "state") return stateCell(row);
  if (column.key === "name") return nameCell(row);
  if (EMPTY.includes(value) && !(value === null && column.key.startsWith("p:"))) return make("td");
  if (column.key === "public" && row.runs.some((run) => run.contradicts)) return make("td", { className: "number", title: "the public score contradicts the validation score: most other runs are in the opposite order" }, cellText(value, column), make("small", { textContent: "contradicts the validation" }));
  if (column.key === "when") return make("td", { className: "when" }, dated(row));
  const doubt = column.number && doubtful(row.runs);
  if (doubt) return make("td", { className: "number", title: `${NOT_VERIFIED}: ${doubt}` }, cellText(value, column), doubtMark());
  return make("td", { className: column.number || typeof value === "number" ? "number" : "brief", title: column.number ? "" : show(value) }, cellText(value, column));
}

// Beside a figure that is not verified; the score's cell says it in words.
const doubtMark = () => make("span", { className: "doubt" }, " ?", make("span", { className: "hidden" }, ` ${NOT_VERIFIED}`));
const cellText = (value, column) => (column.number ? measured(column.name, value, column.counts) : typeof value === "number" ? show(value) : brief(value));

// A name on disk need not be UTF-8; then the address is shown as it is.
function readable(address) {
  try { return decodeURIComponent(address); } catch { return address; }
}

function nameCell(row) {
  const [run] = row.runs;
  const name = run.report && row.runs.length === 1 ? make("a", { href: run.report, textContent: row.name }) : row.name;
  const place = readable(run.id);
  const under = row.runs.length === 1 && ![".", row.name].includes(place) ? make("small", {}, run.sweep ? make("a", { href: run.sweep, textContent: run.group }) : place) : null;
  const drawn = row.runs.length === 1 && run.thumbnail ? make("img", { className: "thumbnail", src: run.thumbnail, alt: "" }) : null;
  return make("td", { className: "name" }, drawn, make("span", {}, name, under, run.note ? make("small", { textContent: run.note }) : null));
}

function reports(row) {
  return make("td", { className: "links" }, make("span", {}, ...row.runs.filter((run) => run.report).flatMap((run, n) => [
    n ? ", " : row.runs.length > 1 ? "seed " : "",
    make("a", { href: run.report, textContent: row.runs.length > 1 ? show(run.parameters[SEED] ?? n) : "report", ariaLabel: "report of " + run.name }),
  ])));
}

const scored = (row) => fixed(row.score) + (row.deviation === null ? "" : ` ± ${row.deviation.toFixed(4)}${seedCounts.size > 1 ? ` (${row.scores.length} seeds)` : ""}`);

function scoreCell(row) {
  if (row.score === null) return make("td", { className: "number" });
  const place = (value) => (high > low ? (100 * (value - low)) / (high - low) : 50);
  const spread = make("span", { className: "spread", ariaHidden: "true" }, make("i"), make("b"));
  const ends = [Math.min(...row.scores), Math.max(...row.scores)].map(place);
  spread.firstChild.style.cssText = `left:${ends[0]}%;width:${ends[1] - ends[0]}%`;
  spread.lastChild.style.left = place(row.score) + "%";
  const badge = row.best ? make("span", { className: "badge", title: "the best of the comparable runs", textContent: "best" }) : null;
  const doubt = doubtful(row.runs) ? make("small", { className: "doubt", title: doubtful(row.runs), textContent: NOT_VERIFIED }) : null;
  return make("td", { className: "number", title: row.scores.map(fixed).join(", ") }, make("span", {}, badge, spread, scored(row)), doubt);
}

function stateCell(row) {
  const errors = row.runs.map((run) => run.error).filter(Boolean);
  const state = make("span", { className: row.state, textContent: row.state });
  if (!errors.length) return make("td", {}, state);
  const { reason } = row.runs.find((run) => run.error);
  return make("td", {}, make("details", { className: "reason" }, make("summary", {}, state, " ", reason.slice(0, 90)), make("pre", { textContent: errors.join("\n\n") })));
}

// ---- lists of values to filter by -------------------------------------------------------

function choice(name, values) {
  const select = make("select", { ariaLabel: name }, make("option", { value: "", textContent: inWords(name) + ": any" }), ...values.map((value) => make("option", { value, textContent: inWords(name) + ": " + brief(value) })));
  select.dataset.name = name;
  select.onchange = () => restrict(name, ...(select.value ? [name + "=" + quoted(select.value)] : []));
  return select;
}

function addChoices() {
  if (byId("choices").contains(document.activeElement)) return;
  byId("choices").replaceChildren();
  for (const name of (axes.length ? axes : data.columns).slice(0, 6)) {
    const values = [...new Set(valuesOf(name).map(show))].filter(Boolean);
    if (values.length > 1 && values.length <= MOST_CHOICES && !(axes.length && continuous(name))) byId("choices").append(choice(name, values));
  }
}

// The lists say what the filter says, however it came there.
function choices() {
  for (const select of byId("choices").children) {
    const { wanted } = clauses().find(({ name, sign }) => name === select.dataset.name && sign === "=") ?? {};
    select.value = [...select.options].find((option) => option.value && option.value.toLowerCase() === wanted)?.value ?? "";
  }
}
