// An axis of the parallel coordinates: a range that is drawn on it becomes words of the filter.
import { draw, titled } from "../../elements.js";
import { shortened, show } from "../../numbers.js";
import { pointIn } from "../../reading.js";
import { decades, ticks } from "../../scales.js";
import { extent } from "../../statistics.js";
import { quoted, restrict, terms } from "../known/filter.js";
import { brief, inWords, isContinuous, isLogarithmic, scoreName, valuesOf } from "../known/run.js";

export const WIDE = 84; // pixels that an axis needs
const MOST_NUMBERS = 5; // of a parameter, beyond which they lie along a line
const TICKS = 5;
const LINE = 15; // pixels of a line of text
const STEP = 0.05; // share of an axis that an arrow key moves
const LEAST_DRAG = 0.02; // share of an axis: a click is no drag
const [CATCHER, BRUSH] = [28, 14]; // pixels: widths

/* The scale of a parameter, or with "" of the score of these rows: {name, label, at: where a value
   lies, from 0 at the bottom to 1, ticks: [[share, text]]}; of categories their `values`, of
   numbers `least`, `most` and `back`, the value at a share. */
export function scaleOf(name, rows) {
  if (name === "") {
    const scores = rows.map((row) => row.score);
    return { ...alongLine(scores, false), name, label: scoreName };
  }
  const values = valuesOf(name);
  const isLine = values.length > MOST_NUMBERS && values.every(Number.isFinite);
  const scale = isLine || isContinuous(name)
    ? alongLine(values, isLogarithmic(name))
    : categories(values);
  return { ...scale, name, label: inWords(name) };
}

function categories(values) {
  const texts = values.map((value) => JSON.stringify(value));
  const at = (value) => (texts.indexOf(JSON.stringify(value)) + 0.5) / texts.length;
  return { values, at, ticks: values.map((value) => [at(value), brief(value)]) };
}

function alongLine(values, isLog) {
  const [least, most] = extent(values);
  const to = isLog ? Math.log10 : Number;
  const [low, high] = [to(least), to(most)];
  const at = (value) => (high > low ? (to(value) - low) / (high - low) : 0.5);
  function back(share) {
    const value = low + share * (high - low);
    return Number((isLog ? 10 ** value : value).toPrecision(4));
  }
  const marks = isLog ? decades(least, most, TICKS) : ticks(least, most, TICKS).values;
  const texts = marks.map((value) => [at(value), show(Number(value.toPrecision(4)))]);
  return { least, most, at, back, ticks: texts };
}

const fieldOf = (scale) => scale.name || "score"; // in the filter

// ---- the range that the filter leaves -----------------------------------------------------

// The part of an axis that the filter leaves: {from, to} as shares, and of categories the `pieces`;
// null if the filter says nothing of it.
function rangeIn(scale) {
  const isOfIt = ({ name, sign, not }) =>
    name === fieldOf(scale) && [">=", "<=", "="].includes(sign) && !not;
  const own = terms().filter(isOfIt);
  if (!own.length) return null;
  if (scale.values) return piecesIn(scale.values, own.flatMap(({ wanted }) => wanted.split("|")));
  const limit = (sign) => own.find((term) => term.sign === sign)?.wanted;
  const [low, high] = [limit(">=") ?? scale.least, limit("<=") ?? scale.most];
  return { from: scale.at(Number(low)), to: scale.at(Number(high)), pieces: [] };
}

function piecesIn(values, wanted) {
  const share = 1 / values.length;
  const isWanted = (value) => wanted.includes(show(value).toLowerCase());
  const places = values.map((value, n) => (isWanted(value) ? n : -1)).filter((n) => n >= 0);
  if (!places.length) return null;
  const pieces = places.map((n) => [n * share, (n + 1) * share]);
  return { from: pieces[0][0], to: pieces.at(-1)[1], pieces };
}

// Filters the page to a part of an axis.
function brush(scale, from, to) {
  const name = fieldOf(scale);
  if (to - from > 0.999) {
    restrict(name);
    return;
  }
  if (scale.values) {
    const inside = scale.values.filter((value) => scale.at(value) >= from && scale.at(value) <= to);
    const isPart = inside.length > 0 && inside.length < scale.values.length;
    restrict(name, ...(isPart ? [`${name}=${quoted(inside.map(show).join("|"))}`] : []));
    return;
  }
  const limits = [];
  if (from > 0.001) limits.push(`${name}>=${scale.back(from)}`);
  if (to < 0.999) limits.push(`${name}<=${scale.back(to)}`);
  restrict(name, ...limits);
}

// ---- drawn --------------------------------------------------------------------------------

// Draws an axis at `x`, from `top` to `bottom`; `room` is what its texts have, in pixels.
export function drawAxis(picture, scale, { x, y, top, bottom, room, isLast }) {
  const range = rangeIn(scale);
  const [from, to] = range ? [range.from, range.to] : [0, 1];
  const group = draw("g", slider(scale, range));
  group.dataset.axis = fieldOf(scale);
  group.append(draw("line", { x1: x, x2: x, y1: top, y2: bottom, class: "axis-line" }));
  drawTicks(group, scale.ticks, x, y, isLast ? 11 : Math.max(4, Math.floor(room / 9)));
  const name = shortened(scale.label, Math.max(5, Math.floor(room / 7.6)));
  const above = { x, y: 14, "text-anchor": "middle", class: range ? "value brushed" : "value" };
  group.append(titled(draw("text", above, name), scale.label));
  const area = (low, high) => ({
    x: x - BRUSH / 2,
    width: BRUSH,
    y: y(high),
    height: Math.max(0, y(low) - y(high)),
    class: "brush",
  });
  // Of categories that do not stand side by side each has a piece of its own.
  const pieces = range?.pieces ?? [];
  for (const [low, high] of pieces) group.append(draw("rect", area(low, high)));
  const visibility = range && !pieces.length ? "visible" : "hidden";
  const box = draw("rect", { ...area(from, to), visibility });
  const height = bottom - top + 12;
  const place = { x: x - CATCHER / 2, width: CATCHER, y: top - 6, height };
  const catcher = draw("rect", { ...place, class: "catcher" });
  group.append(box, catcher);
  picture.append(group);
  followPointer(picture, catcher, box, scale, { y, top, bottom });
  followKeys(group, scale, from, to);
}

function slider(scale, range) {
  const from = Math.round(100 * (range?.from ?? 0));
  const to = Math.round(100 * (range?.to ?? 1));
  return {
    tabindex: 0,
    role: "slider",
    "aria-label": scale.label,
    "aria-orientation": "vertical",
    "aria-valuemin": 0,
    "aria-valuemax": 100,
    "aria-valuenow": from,
    "aria-valuetext": range ? `from ${from} to ${to} percent of its range` : "all",
    class: "axis-of",
  };
}

function drawTicks(group, all, x, y, letters) {
  let free = Infinity;
  for (const [share, text] of all) {
    const height = y(share);
    if (height > free) continue;
    const line = { x1: x - 3, x2: x, y1: height, y2: height, class: "axis-line" };
    const beside = { x: x + 6, y: height + 4, class: "on-lines" };
    const label = draw("text", beside, shortened(text, letters));
    group.append(draw("line", line), titled(label, text));
    free = height - LINE;
  }
}

function followPointer(picture, catcher, box, scale, { y, top, bottom }) {
  let start = null; // the share at which a drag began
  function share(event) {
    const at = (bottom - pointIn(picture, event)[1]) / (bottom - top);
    return Math.min(1, Math.max(0, at));
  }
  const dragged = (event) => [start ?? 0, share(event)].sort((a, b) => a - b);
  catcher.addEventListener("pointerdown", (event) => {
    start = share(event);
    catcher.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  catcher.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const [low, high] = dragged(event);
    box.setAttribute("y", y(high));
    box.setAttribute("height", y(low) - y(high));
    box.setAttribute("visibility", "visible");
  });
  catcher.addEventListener("pointerup", (event) => {
    const [low, high] = dragged(event);
    start = null;
    if (high - low < LEAST_DRAG) brush(scale, 0, 1);
    else brush(scale, low, high);
  });
}

// The arrows move the lower end of the range, with Shift the upper one; Escape clears it.
function followKeys(group, scale, from, to) {
  const size = scale.values ? 1 / scale.values.length : STEP;
  group.addEventListener("keydown", (event) => {
    const step = { ArrowUp: size, ArrowDown: -size }[event.key] ?? 0;
    if (!step && event.key !== "Escape") return;
    event.preventDefault();
    if (!step) brush(scale, 0, 1);
    else if (event.shiftKey) brush(scale, from, Math.min(1, Math.max(from + size, to + step)));
    else brush(scale, Math.max(0, Math.min(to - size, from + step)), to);
    const again = `#parallel [data-axis="${CSS.escape(fieldOf(scale))}"]`; // it is painted anew
    document.querySelector(again)?.focus();
  });
}
