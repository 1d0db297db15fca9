// The table: only so many of its rows are laid out as one has scrolled to.
import { button, byId, data, make } from "../../elements.js";
import { fixed, grouped, show } from "../../numbers.js";
import { extent, finite } from "../../statistics.js";
import { cellText, columnsOfTable, isEmpty, scoreText, seedsOfAll } from "../known/columns.js";
import { matching, whyNothing } from "../known/filter.js";
import { dated, made } from "../known/rows.js";
import { doubtful, NOT_VERIFIED, SEED, score } from "../known/run.js";
import { change, view } from "../known/view.js";

export const LAID = 40; // rows laid out at first, three screens: a sort waits for their layout
const LONGEST_REASON = 90; // letters

const [lowest, highest] = extent(finite(data.runs.map(score)));
const letters = new Intl.Collator(undefined, { numeric: true });

// Of the table as it was painted last:
let columns = [];
let rows = []; // in their order
let laid = 0; // how many of them are laid out

// The rows that pass the filter, in the order of the table.
export function shown() {
  const all = columnsOfTable();
  const { of } = all.find(({ key }) => key === view.sort) ?? all[0];
  return [...matching()].sort((a, b) => compare(of(a), of(b)));
}

function compare(a, b) {
  // Empty ones stay at the end whichever way a column is sorted.
  if (isEmpty(a) || isEmpty(b)) return isEmpty(a) - isEmpty(b);
  const areNumbers = typeof a === "number" && typeof b === "number";
  const order = areNumbers ? a - b : letters.compare(a, b);
  return view.down ? -order : order;
}

export function table() {
  const isSorting = document.activeElement?.closest?.("th")?.dataset.key;
  columns = columnsOfTable();
  rows = shown();
  laid = 0;
  const heads = [make("th", { scope: "col" }, "curve"), ...columns.map(heading)];
  if (hasLinks()) heads.push(make("th", { scope: "col", className: "links" }, "report"));
  byId("heads").replaceChildren(...heads);
  byId("rows").replaceChildren();
  layMore(LAID);
  if (!rows.length) byId("rows").append(nothing());
  byId("count").textContent = `${grouped(rows.length)} of ${grouped(made[view.rows].length)}`;
  for (const own of document.querySelectorAll("[data-view]")) {
    own.setAttribute("aria-pressed", own.dataset.view === view.rows);
  }
  // Both of these lay the page out, so they come last: the old rows are not laid out once more.
  if (isSorting) focusHeading(isSorting);
  document.querySelector(".scroll").scrollTop = 0;
}

function focusHeading(key) {
  const own = document.querySelector(`th[data-key="${CSS.escape(key)}"] button`);
  own?.focus({ preventScroll: true });
}

// ---- rows ---------------------------------------------------------------------------------

// Lays out so many more of the rows that are shown.
export function layMore(most) {
  byId("rows").querySelector(".more")?.remove();
  const lines = rows.slice(laid, laid + most).map((row) => (row.line ??= line(row)));
  laid += lines.length;
  if (laid < rows.length) lines.push(rest(rows.length - laid));
  byId("rows").append(...lines);
}

// As many again as are there: a long table takes a few steps, each one layout.
export function layAsManyAgain() {
  if (laid < rows.length) layMore(laid);
}

const wholeWidth = () => columns.length + 2;

function rest(count) {
  const all = button("Show all", layAll);
  const words = make("td", { colSpan: wholeWidth() }, `${grouped(count)} more rows. `, all);
  return make("tr", { className: "more nothing" }, words);
}

function layAll() {
  if (laid >= rows.length) return;
  layMore(LAID);
  setTimeout(layAll);
}

function nothing() {
  const words = make("td", { colSpan: wholeWidth() }, "There are no runs yet. ");
  if (view.filter) {
    const clear = button("Clear the filter", () => {
      change({ filter: "" });
      byId("filter").focus();
    });
    words.replaceChildren(`${whyNothing()} `, clear);
  }
  return make("tr", { className: "nothing" }, words);
}

// A row's line is made once: sorting a thousand of them only moves them about.
function line(row) {
  const tick = make("input", { type: "checkbox", ariaLabel: `curve of ${row.name}` });
  tick.checked = isTicked(row);
  tick.disabled = !row.runs.some((run) => run.curve.length);
  tick.onchange = () => {
    const ticked = new Set(view.ticked);
    for (const run of row.runs) {
      if (tick.checked) ticked.add(run.id);
      else ticked.delete(run.id);
    }
    change({ ticked });
  };
  const cells = columns.map((column) => labelled(cell(row, column), column.title));
  if (hasLinks()) cells.push(labelled(reports(row), "report"));
  const own = make("tr", {}, labelled(make("td", {}, tick), "curve"), ...cells);
  own.className = row.best ? "best" : "";
  return own;
}

// After notes, which stand in cells.
export function forgetLines() {
  for (const row of [...made.settings, ...made.runs]) delete row.line;
}

const isTicked = (row) => row.runs.every((run) => view.ticked.has(run.id));

// The lines show which curves are ticked.
export function showTicks() {
  for (const row of [...made.settings, ...made.runs]) {
    if (row.line) row.line.querySelector("input").checked = isTicked(row);
  }
}

export function tickRows(own) {
  change({ ticked: new Set(own.flatMap((row) => row.runs.map((run) => run.id))) });
}

// ---- headings -----------------------------------------------------------------------------

function heading(column) {
  const hasSeeds = column.key === "score" && view.rows === "settings" && seedsOfAll > 1;
  const text = hasSeeds ? `${column.title}, ${seedsOfAll} seeds` : column.title;
  const head = make("th", { scope: "col" }, button(text, () => sortBy(column)));
  head.className = column.number ? "number" : "";
  head.dataset.key = column.key;
  if (column.key === view.sort) {
    head.setAttribute("aria-sort", view.down ? "descending" : "ascending");
  }
  return head;
}

// The first click shows what one looks for first: good scores, high numbers, early letters.
function sortBy({ key, number }) {
  if (view.sort === key) change({ down: !view.down });
  else if (key === "score") change({ sort: key, down: !data.minimize });
  else change({ sort: key, down: key === "when" || Boolean(number) });
}

// ---- cells --------------------------------------------------------------------------------

// What a narrow page has in place of headings.
export function labelled(element, label) {
  if (element.childNodes.length) element.dataset.label = label;
  return element;
}

function cell(row, column) {
  if (column.key === "score") return scoreCell(row);
  if (column.key === "state") return stateCell(row);
  if (column.key === "name") return nameCell(row);
  const value = column.of(row);
  const isNone = value === null && column.key.startsWith("p:"); // None is a value of a parameter
  if (isEmpty(value) && !isNone) return make("td");
  if (column.key === "when") return make("td", { className: "when" }, dated(row));
  const text = cellText(value, column);
  if (!column.number) {
    const className = typeof value === "number" ? "number" : "brief";
    return make("td", { className, title: show(value) }, text);
  }
  if (column.key === "public" && row.runs.some((run) => run.contradicts)) {
    return make(
      "td",
      { className: "number", title: CONTRADICTS },
      text,
      make("small", {}, "contradicts the validation"),
    );
  }
  const doubt = doubtful(row.runs);
  if (!doubt) return make("td", { className: "number", title: "" }, text);
  const title = `${NOT_VERIFIED}: ${doubt}`;
  return make("td", { className: "number", title }, text, doubtMark());
}

const CONTRADICTS =
  "the public score contradicts the validation score: most other runs are in the opposite order";

// Beside a figure that is not verified; the score's cell says it in words.
function doubtMark() {
  const hidden = make("span", { className: "hidden" }, ` ${NOT_VERIFIED}`);
  return make("span", { className: "doubt" }, " ?", hidden);
}

function scoreCell(row) {
  if (row.score === null) return make("td", { className: "number" });
  const title = "the best of the comparable runs";
  const badge = make("span", { className: "badge", title }, "best");
  const words = make("span", {}, row.best ? badge : null, spread(row), scoreText(row));
  const reason = doubtful(row.runs);
  const doubt = make("small", { className: "doubt", title: reason ?? "" }, NOT_VERIFIED);
  const scores = row.scores.map(fixed).join(", ");
  return make("td", { className: "number", title: scores }, words, reason ? doubt : null);
}

// Where a row's scores lie among all.
function spread(row) {
  const isRange = highest > lowest;
  const place = (value) => (isRange ? (100 * (value - lowest)) / (highest - lowest) : 50);
  const [from, to] = extent(row.scores).map(place);
  const own = make("span", { className: "spread", ariaHidden: "true" }, make("i"), make("b"));
  own.firstChild.style.cssText = `left:${from}%;width:${to - from}%`;
  own.lastChild.style.left = `${place(row.score)}%`;
  return own;
}

function stateCell(row) {
  const state = make("span", { className: row.state }, row.state);
  const failed = row.runs.filter((run) => run.error);
  if (!failed.length) return make("td", {}, state);
  const reason = failed[0].reason.slice(0, LONGEST_REASON);
  const errors = failed.map((run) => run.error).join("\n\n");
  const summary = make("summary", {}, state, " ", reason);
  const details = make("details", { className: "reason" }, summary, make("pre", {}, errors));
  return make("td", {}, details);
}

function nameCell(row) {
  const [run] = row.runs;
  const note = run.note ? make("small", {}, run.note) : null;
  if (row.runs.length > 1) {
    return make("td", { className: "name" }, null, make("span", {}, row.name, note));
  }
  const name = run.report ? make("a", { href: run.report }, row.name) : row.name;
  const drawing = { className: "thumbnail", src: run.thumbnail, alt: "" };
  const drawn = run.thumbnail ? make("img", drawing) : null;
  return make("td", { className: "name" }, drawn, make("span", {}, name, placeOf(row), note));
}

// Below a run's name: its sweep, or its folder if that is not its name.
function placeOf(row) {
  const [run] = row.runs;
  const place = readable(run.id);
  if (place === "." || place === row.name) return null;
  return make("small", {}, run.sweep ? make("a", { href: run.sweep }, run.group) : place);
}

// A name on disk need not be UTF-8; then the address is shown as it is.
function readable(address) {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}

// Whether a column of links is needed: not if a run's name is the link to its report.
function hasLinks() {
  const areNames = !data.sweep && view.rows === "runs";
  return !areNames && data.runs.some((run) => run.report);
}

function reports(row) {
  const reported = row.runs.filter((run) => run.report);
  const parts = reported.flatMap((run, n) => {
    const ariaLabel = `report of ${run.name}`;
    if (row.runs.length === 1) return [make("a", { href: run.report, ariaLabel }, "report")];
    const seed = show(run.parameters[SEED] ?? n);
    return [n ? ", " : "seed ", make("a", { href: run.report, ariaLabel }, seed)];
  });
  return make("td", { className: "links" }, make("span", {}, ...parts));
}
