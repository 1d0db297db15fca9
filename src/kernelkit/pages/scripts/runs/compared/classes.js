// On which classes each of two rows is better.
import { byId, data, make } from "../../elements.js";
import { signed } from "../../numbers.js";
import { finite, mean } from "../../statistics.js";

const FIRST_CLASSES = 8; // that gained, and that lost, before the rest is folded
const SEEN = 5e-4; // difference that three digits show

// {name, a, b, change} of each class that both rows have a score of.
export function classChanges(a, b) {
  const [first, second] = [scoresOf(a), scoresOf(b)];
  if (!first || !second) return [];
  const all = data.classes.map((name, n) => ({ name, a: first[n], b: second[n] }));
  const known = all.filter((own) => Number.isFinite(own.a) && Number.isFinite(own.b));
  return known.map((own) => ({ ...own, change: own.a - own.b }));
}

// Means over a row's seeds; null where no run has them.
function scoresOf(row) {
  const own = row.runs.map((run) => run.classes).filter((scores) => scores?.length);
  if (!own.length) return null;
  return data.classes.map((_, n) => mean(finite(own.map((scores) => scores[n]))));
}

export function classesBeside([a, b]) {
  const changes = classChanges(a, b).sort((x, y) => y.change - x.change);
  byId("classes-part").hidden = !changes.length;
  if (!changes.length) return;
  const gained = changes.filter(({ change }) => change > SEEN);
  const lost = changes.filter(({ change }) => change < -SEEN).reverse();
  const words = `A is better on ${gained.length} and B on ${lost.length}.`;
  byId("classes-words").textContent = `Of ${changes.length} classes ${words}`;
  const most = Math.max(...changes.map(({ change }) => Math.abs(change)), 1e-9);
  const parts = [];
  if (gained.length) parts.push(part("A is better", gained, most));
  if (lost.length) parts.push(part("B is better", lost, most));
  byId("classes").replaceChildren(...parts);
}

function part(text, rows, most) {
  const first = bars(text, rows.slice(0, FIRST_CLASSES), most);
  first.ariaLabel = text;
  const others = rows.slice(FIRST_CLASSES);
  if (!others.length) return make("div", {}, first);
  const summary = make("summary", {}, `the other ${others.length}`);
  return make("div", {}, first, make("details", {}, summary, bars(text, others, most)));
}

function bars(text, rows, most) {
  const heads = make(
    "tr",
    {},
    make("th", { scope: "col", className: "" }, text),
    make("th", { scope: "col", className: "" }, ""),
    make("th", { scope: "col", className: "number more" }, "A"),
    make("th", { scope: "col", className: "number more" }, "B"),
    make("th", { scope: "col", className: "number" }, "A − B"),
  );
  const lines = rows.map((row) => line(row, most));
  const own = { className: "bars" };
  return make("table", own, make("thead", {}, heads), make("tbody", {}, ...lines));
}

function line({ name, a, b, change }, most) {
  const bar = make("i");
  bar.style.width = `${(100 * Math.abs(change)) / most}%`;
  return make(
    "tr",
    { className: change < 0 ? "below" : "" },
    make("td", {}, name),
    make("td", { className: "track" }, bar),
    make("td", { className: "number more" }, a.toFixed(3)),
    make("td", { className: "number more" }, b.toFixed(3)),
    make("td", { className: "number" }, signed(change, 3)),
  );
}
