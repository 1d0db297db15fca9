// The part "Learning curves": a line for each configuration that is ticked, and of many how they
// spread.
import {
  boxAround, chart, drawLine, forgetChart, legend, look, mark, repaintInPlace, ticksBelow,
} from "../../charts.js";
import { byId, data, draw, make, titled } from "../../elements.js";
import { duration, grouped, show } from "../../numbers.js";
import { HOW_TO_READ, pointIn, readByKeys, zoomable } from "../../reading.js";
import { decades, range, ticks, tickText } from "../../scales.js";
import { extent, quantile } from "../../statistics.js";
import { ranked } from "../known/rows.js";
import { inWords, runs } from "../known/run.js";
import { change, view } from "../known/view.js";
import {
  across, axesOfCurves, axisName, cut, gridOf, lineOf, ON_LOAD, seriesOf, valueAt,
} from "./lines.js";

const NAMED = 12; // configurations with a line and a name each; of more the spread is drawn
const HEIGHT = 340;
const MARKS = 8; // on a line, about
const SHARES = [0.1, 0.25, 0.5, 0.75, 0.9]; // of the curves: the edges of the bands, and the median

const curved = data.curve.replace(/^val_/, ""); // the column of the history that the curves are of
const onWhat = curved === data.curve ? "" : " on validation";
const curveName = `${data.labels[curved] ?? inWords(curved)}${onWhat}`;

// What is shown of the x-axis `axis`: [from, to] in its units, or null for all of it.
const zoomed = { axis: "", stretch: null };

export function curveControls() {
  const names = axesOfCurves();
  if (!(view.x in names)) view.x = "epoch";
  const options = Object.entries(names).map(([value, textContent]) =>
    make("option", { value, textContent, selected: value === view.x }),
  );
  const list = byId("curve-x");
  list.replaceChildren(...options);
  list.parentElement.hidden = options.length < 2;
  list.onchange = () => change({ x: list.value });
  for (const name of ["logx", "logy"]) {
    byId(name).checked = view[name];
    byId(name).onchange = () => change({ [name]: byId(name).checked });
  }
  byId("smooth").value = view.smooth;
  byId("smooth").oninput = () => change({ smooth: Number(byId("smooth").value) });
}

export function curves() {
  const place = byId("curves");
  byId("curves-section").hidden = !data.runs.some((run) => run.curve.length);
  byId("tick-none").disabled = !view.ticked.size;
  const own = ticked();
  const all = seriesOf(own);
  if (!all.length) {
    forgetChart(place);
    const none = `No curve that is ticked has a ${axisName()}.`;
    const textContent = own.length ? none : "No curve is ticked.";
    place.replaceChildren(make("p", { className: "quiet", textContent }));
    return;
  }
  const isMany = all.length > NAMED;
  const series = isMany ? all.slice(0, ON_LOAD) : all;
  const others = isMany ? own.map(lineOf).filter(Boolean) : [];
  chart(place, (width) => drawCurves(place, width, series, others));
}

// The runs that are ticked and have a curve, the best first.
function ticked() {
  const own = data.runs.filter((run) => view.ticked.has(run.id) && run.curve.length);
  const rank = new Map();
  ranked[view.rows].forEach((row, n) => {
    for (const run of row.runs) rank.set(run.id, n);
  });
  const rankOf = (run) => rank.get(run.id) ?? runs.size;
  return own.sort((a, b) => rankOf(a) - rankOf(b));
}

// ---- drawn --------------------------------------------------------------------------------

// Draws `all` as lines, and how `others` spread.
function drawCurves(place, width, all, others) {
  const stretch = stretchOf(all);
  const series = all.map((line) => cut(line, stretch));
  const spread = spreadOf(others, stretch);
  const xAxis = xAxisOf(series, spread, stretch);
  const yAxis = yAxisOf(series, spread);
  const yTicks = yAxis.ticks(HEIGHT / 55);
  const box = boxAround(yTicks.map(([, text]) => text), width, HEIGHT);
  const x = (value) => box.left + 8 + xAxis.of(value) * (box.right - box.left - 16);
  const y = (value) => box.bottom - yAxis.of(value) * (box.bottom - box.top);
  const picture = draw("svg", {
    viewBox: `0 0 ${width} ${HEIGHT}`,
    role: "img",
    "aria-label": `${curveName}: ${series.map(({ label }) => label).join(", ")}`,
    tabindex: 0,
  });
  picture.append(draw("text", { x: box.left, y: 12, class: "value" }, curveName));
  for (const [value, text] of yTicks) {
    if (y(value) >= box.top - 2) drawLine(picture, box, y(value), text);
  }
  const isTime = view.x === "seconds";
  const xTicks = xAxis.ticks(width / (isTime ? 110 : 60));
  const texts = xTicks.map(([value, text]) => [x(value), isTime ? duration(value) : text]);
  ticksBelow({ picture, box }, texts);
  const below = { x: box.right, y: box.bottom + 31, "text-anchor": "end" };
  picture.append(draw("text", below, axisName()));
  drawSpread(picture, spread, x, y);
  series.forEach((line, n) => drawBand(picture, line.band ?? [], look(n), x, y));
  series.forEach((line, n) => drawSeries(picture, line, look(n), x, y));
  const reading = make("p", { className: "reading quiet", ariaLive: "polite" });
  const read = series.filter(({ xs }) => xs.length);
  const here = crosshair(picture, { series: read, spread, box, x, reading });
  zoomable(picture, {
    box,
    read: () => (here() === null ? null : xAxis.of(here())),
    set: (from, to) => zoom(place, all, [xAxis.back(from), xAxis.back(to)]),
    all: () => zoom(place, all, null),
  });
  const words = others.length ? [spreadWords(others.length, series.length)] : [];
  place.replaceChildren(picture, legend(series.map(({ label }) => label)), reading, ...words);
}

// The stretch that is shown, unless the axis is another or no ticked curve is in it.
function stretchOf(all) {
  const isThere = all.some((line) => cut(line, zoomed.stretch).xs.length > 1);
  if (zoomed.axis !== view.x || !isThere) zoomed.stretch = null;
  zoomed.axis = view.x;
  return zoomed.stretch;
}

function zoom(place, all, stretch) {
  const [first, last] = extent(all.flatMap(({ xs }) => [xs[0], xs.at(-1)]));
  const [from, to] = stretch ?? [first, last];
  const isPart = from > first || to < last;
  zoomed.stretch = isPart ? [Math.max(first, from), Math.min(last, to)] : null;
  repaintInPlace(place);
}

// Between which values so many of the curves lie: [{x, values: those of SHARES}].
function spreadOf(lines, stretch) {
  if (!lines.length) return [];
  const places = across(lines, Math.min(3, lines.length));
  const isShown = ({ x }) => !stretch || (x >= stretch[0] && x <= stretch[1]);
  const valuesOf = (all) => SHARES.map((share) => quantile(all, share));
  return places.filter(isShown).map(({ x, all }) => ({ x, values: valuesOf(all) }));
}

function xAxisOf(series, spread, stretch) {
  const places = [...series.flatMap(({ xs }) => xs), ...spread.map(({ x }) => x)];
  const [low, high] = ends([...places, ...(stretch ?? [])], view.logx);
  return axisOf(low, high, view.logx, view.x !== "seconds");
}

function yAxisOf(series, spread) {
  const bands = series.flatMap(({ band = [] }) => band.flatMap(([, low, high]) => [low, high]));
  const lines = series.flatMap(({ ys }) => ys);
  const values = [...lines, ...spread.flatMap((own) => own.values), ...bands];
  const isLog = view.logy && values.some((value) => value > 0); // else there is no logarithm
  const [low, high] = isLog ? ends(values, true) : range(values);
  return axisOf(low, high, isLog, false);
}

// The least and the greatest of some values, on a logarithmic axis of those above zero.
function ends(values, isLog) {
  const positive = values.filter((value) => value > 0);
  return extent(isLog && positive.length ? positive : values);
}

// A scale: where a value lies, from 0 to 1, the value at a share, and [[value, text]] of its ticks.
function axisOf(low, end, isLog, isWhole) {
  const high = end > low ? end : low + (Math.abs(low) || 1);
  const to = isLog && low > 0 ? (value) => Math.log(Math.max(value, low)) : Number;
  const from = to === Number ? Number : Math.exp;
  function marks(about) {
    if (to !== Number && high / low > 3) {
      return decades(low, high, about).map((value) => [value, show(Number(value.toPrecision(2)))]);
    }
    const { values, digits } = ticks(low, high, about, isWhole);
    return values.map((value) => [value, tickText(value, digits)]);
  }
  return {
    of: (value) => (to(value) - to(low)) / (to(high) - to(low)),
    back: (share) => from(to(low) + share * (to(high) - to(low))),
    ticks: marks,
  };
}

// The outline of an area between two edges of points.
function area(upper, lower, x, y) {
  const points = [...upper, ...lower.toReversed()];
  return `M${points.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("L")}z`;
}

function drawSpread(picture, spread, x, y) {
  const edge = (n) => spread.map((own) => [own.x, own.values[n]]);
  for (const [low, high] of spread.length > 1 ? [[0, 4], [1, 3]] : []) {
    const d = area(edge(high), edge(low), x, y);
    picture.append(draw("path", { d, class: "spread-band density" }));
  }
  if (!spread.length) return;
  const points = edge(2).map(([a, b]) => `${x(a)},${y(b)}`).join(" ");
  picture.append(draw("polyline", { points, class: "trend density" }));
}

function drawBand(picture, band, { colour }, x, y) {
  if (!band.length) return;
  const upper = band.map(([a, , high]) => [a, high]);
  const lower = band.map(([a, low]) => [a, low]);
  const style = `fill:${colour}`;
  picture.append(draw("path", { d: area(upper, lower, x, y), class: "seeds-band", style }));
}

function drawSeries(picture, { xs, ys, own, title }, { colour, dash, mark: kind }, x, y) {
  const places = xs.map((value, n) => [x(value), y(ys[n])]);
  const points = places.map((place) => place.map((value) => value.toFixed(1))).join(" ");
  const style = `stroke:${colour}`;
  const line = { points, class: "curve", style, "stroke-dasharray": dash };
  picture.append(titled(draw("polyline", line), title));
  const isOwn = new Set(own); // a line goes on to the edge, where no epoch ends
  const marked = places.filter((_, n) => isOwn.has(xs[n]));
  const every = Math.max(1, Math.ceil(marked.length / MARKS));
  marked.forEach((place, n) => {
    const isDrawn = n % every === 0 || n === marked.length - 1;
    if (isDrawn) picture.append(mark(kind, ...place, colour, 3));
  });
}

function spreadWords(count, named) {
  const rows = view.rows === "runs" ? "runs" : "configurations";
  const words = [
    `${grouped(count)} curves are ticked: half of them lie in the inner band, eight in ten in the`,
    `outer one, and the dashed line is their median. Lines are the best ${named} ${rows}.`,
  ];
  return make("p", { className: "quiet" }, words.join(" "));
}

// Reads the values where the pointer is, or where the arrow keys have gone; returns what tells that
// place, or null.
function crosshair(picture, { series, spread, box, x, reading }) {
  const isTime = view.x === "seconds";
  const places = isTime ? series : series.map((line) => ({ ...line, grid: line.own }));
  const grid = gridOf(spread.length ? [...places, { xs: spread.map((own) => own.x) }] : places);
  const cross = draw("line", { y1: box.top, y2: box.bottom, class: "cross", visibility: "hidden" });
  picture.append(cross);
  let at = null;

  function read(n) {
    at = n;
    cross.setAttribute("visibility", n === null ? "hidden" : "visible");
    if (n === null) {
      reading.replaceChildren(HOW_TO_READ);
      return;
    }
    const here = grid[n];
    cross.setAttribute("x1", x(here));
    cross.setAttribute("x2", x(here));
    const words = series.map(({ label, ...line }) => ({ label, value: valueAt(line, here) }));
    const known = words.filter(({ value }) => value !== null).sort((a, b) => b.value - a.value);
    const middle = spread.find((own) => own.x === here);
    if (middle) known.unshift({ label: "median", value: middle.values[2] });
    const name = isTime ? duration(here) : `${axisName()} ${show(here)}`;
    const texts = known.map(({ label, value }) => {
      return make("span", {}, `${label} `, make("b", {}, value.toFixed(4)));
    });
    reading.replaceChildren(make("b", {}, name), ...texts);
  }

  picture.addEventListener("pointermove", (event) => {
    const [px] = pointIn(picture, event);
    const apart = (n) => Math.abs(x(grid[n]) - px);
    let nearest = 0;
    grid.forEach((_, n) => {
      if (apart(n) < apart(nearest)) nearest = n;
    });
    if (nearest !== at) read(nearest);
  });
  readByKeys(picture, { last: grid.length - 1, at: () => at, read });
  read(null);
  return () => (at === null ? null : grid[at]);
}
