/* The page of many runs, of a sweep or of a folder of runs. Begin here: which part follows what, and
   the controls above the parts.

   known      what the page knows of its runs, without an element: runs, rows, the view, the filter
   answers    the sentences at the head of the page
   table      the table, its lists of values to filter by, and the files that the page gives
   mattered   the share of each parameter in the score's variance
   compared   rows side by side
   curves     learning curves
   charts     parallel coordinates, the effect of each parameter, the score against time
   live       how the page follows runs that go on

   A part paints itself from `known`, and changes the view by `change` of known/view.js. The page
   follows each change and paints again what it is shown in. */
import { byId, data, make } from "../elements.js";
import { counted, show } from "../numbers.js";
import { answers, summary } from "./answers.js";
import { cost } from "./charts/cost.js";
import { curveControls, curves } from "./curves/curves.js";
import { effects } from "./charts/effects.js";
import { bestCurves } from "./curves/lines.js";
import { parallel } from "./charts/parallel.js";
import { addChoices, showChoices } from "./table/choices.js";
import { compareControls, sideBySide } from "./compared/compare.js";
import { addExports } from "./table/export.js";
import { finished, forgetMatches, matching } from "./known/filter.js";
import { overall } from "./known/importance.js";
import { countUnsaved, notesFile } from "./known/notes.js";
import { made } from "./known/rows.js";
import { axes, isContinuous } from "./known/run.js";
import { change, follow, readAddress, view, writeAddress } from "./known/view.js";
import { followLive, returnToPlace } from "./live.js";
import { importance } from "./mattered.js";
import { save } from "../saving.js";
import { forgetLines, layAsManyAgain, layMore, showTicks, table, tickRows } from "./table/table.js";

// What follows when other rows are shown: the table and the lines at once; what is further down is
// painted piece by piece, so that typing is not held up.
const AT_ONCE = [showFilter, showChoices, table, parallel];
const LATER = [importance, sideBySide, effects, cost, curves, contents];
// What follows another change of the view, by its name.
const FOLLOWING = {
  sort: [table],
  down: [table],
  ticked: [showTicks, curves],
  colour: [cost],
  x: [curves],
  logx: [curves],
  logy: [curves],
  smooth: [curves],
  compare: [sideBySide],
  notes: [forgetMatches, forgetLines, showNotes, table],
};

let waiting = []; // what is still to be painted

function paint(names) {
  if (names.includes("rows") || names.includes("filter")) paintWhole();
  const parts = new Set(names.flatMap((name) => FOLLOWING[name] ?? []));
  for (const part of parts) part();
}

function paintWhole() {
  for (const part of AT_ONCE) part();
  if (!waiting.length) setTimeout(paintNext);
  waiting = [...LATER];
}

function paintNext() {
  waiting.shift()?.();
  if (waiting.length) setTimeout(paintNext);
}

// What still waits, at once.
export function paintAll() {
  while (waiting.length) waiting.shift()();
}

// ---- controls -----------------------------------------------------------------------------

function showFilter() {
  if (byId("filter").value !== view.filter) byId("filter").value = view.filter;
}

function showNotes() {
  const count = countUnsaved();
  const words = [];
  if (data.damage) {
    words.push(
      `notes.yaml beside this page ${data.damage}. Its notes are missing here, and would be ` +
        "missing from a file that you save in its place. ",
    );
  }
  if (count) {
    words.push(
      `Notes on ${counted(count, "run")} are not in a file yet. Save notes.yaml beside this ` +
        "page, and the page has them the next time it is written. ",
    );
  }
  byId("notes-bar").hidden = !words.length;
  byId("save-notes").hidden = !count;
  byId("notes-words").textContent = words.join("");
}

// The parts that the page has now: from here the charts are one step away, past every link of the
// table.
function contents() {
  const sections = [...document.querySelectorAll("main > section:not([hidden])")];
  const items = sections.map((section) => {
    const textContent = section.querySelector("h2")?.textContent ?? "Table";
    const link = make("a", { href: `#${section.id}`, textContent });
    goOnClick(link, section);
    return make("li", {}, link);
  });
  byId("contents").replaceChildren(...items);
}

// The address keeps the view, so that a link within the page cannot use it.
function goOnClick(link, target) {
  link.onclick = (event) => {
    event.preventDefault();
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView();
  };
}

// Of the parameters with few values, the one that explains most tells most when it is the colour.
function tellingColour() {
  const isVaried = (name) => new Set(finished().map((run) => show(run.parameters[name]))).size > 1;
  const names = [...overall.map(({ name }) => name), ...axes.filter(isVaried)];
  return names.find((name) => !isContinuous(name)) ?? "";
}

function colourControl() {
  const colour = byId("colour");
  const names = axes.filter((name) => !isContinuous(name));
  colour.append(...names.map((name) => make("option", { value: name, textContent: name })));
  colour.value = view.colour ||= tellingColour();
  colour.onchange = () => change({ colour: colour.value });
  byId("colour-part").hidden = !names.length;
}

function tableControls() {
  const filter = byId("filter");
  filter.oninput = () => change({ filter: filter.value });
  for (const own of document.querySelectorAll("[data-view]")) {
    own.onclick = () => change({ rows: own.dataset.view });
  }
  const isSingle = made.settings.length === data.runs.length;
  document.querySelector(".switch").hidden = isSingle;
  byId("seeds-words").hidden = isSingle;
  if (isSingle) view.rows = "runs";
  const scroll = document.querySelector(".scroll");
  scroll.onscroll = () => {
    if (scroll.scrollTop + 2 * scroll.clientHeight > scroll.scrollHeight) layAsManyAgain();
  };
  byId("tick-all").onclick = () => tickRows(matching());
  byId("tick-none").onclick = () => tickRows([]);
  byId("save-notes").onclick = () => save("notes.yaml", notesFile(), "text/yaml");
}

// On paper the table is whole, and of its headings the texts are enough.
function followPrinting() {
  addEventListener("beforeprint", () => {
    layMore(Infinity);
    paintAll();
    for (const own of byId("heads").querySelectorAll("button")) own.replaceWith(own.textContent);
  });
  addEventListener("afterprint", table);
}

function begin() {
  readAddress(bestCurves());
  tableControls();
  addChoices();
  curveControls();
  compareControls();
  colourControl();
  summary();
  showNotes();
  answers();
  writeAddress();
  for (const part of [...AT_ONCE, ...LATER]) part();
  follow(paint);
  addExports();
  followPrinting();
  addEventListener("hashchange", () => {
    readAddress();
    showTicks();
    paintWhole();
  });
  goOnClick(document.querySelector(".skip"), byId("main"));
  returnToPlace();
  followLive();
}

begin();
