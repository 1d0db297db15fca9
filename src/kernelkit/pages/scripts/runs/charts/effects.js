// The part "Effect of each parameter": the score by each, as columns or along a line.
import { chart, ticksBelow } from "../../charts.js";
import { byId, data, draw, make, titled } from "../../elements.js";
import { shortened, show } from "../../numbers.js";
import { decades, ticks } from "../../scales.js";
import { ascending, groupBy, mean, quantile } from "../../statistics.js";
import { finished } from "../known/filter.js";
import { isIdle, overall, shareOf } from "../known/importance.js";
import { axes, brief, isContinuous, isLogarithmic, score, valuesOf } from "../known/run.js";
import { cloud, drawTrend, scoreFrame, TREND } from "./cloud.js";

const HEIGHT = 220;
const LABEL = 46; // pixels of the text of a value
const LETTER = 7.2; // pixels
const STACKED = 10; // runs of a value, beyond which they lie scattered and not in a row of five

const withoutEffect = new Set(overall.filter(isIdle).map(({ name }) => name));

export function effects() {
  const own = finished();
  const [place, folded] = [byId("axes"), byId("axes-without")];
  place.replaceChildren();
  folded.replaceChildren();
  for (const names of own.length ? together() : []) {
    const [name] = names;
    const values = new Set(own.map((run) => JSON.stringify(run.parameters[name])));
    if (values.size < 2) continue; // no difference to see
    const isWithout = names.every((one) => withoutEffect.has(one));
    const where = make("div");
    const part = make("div", { className: "axis" }, make("h3", {}, names.join(", ")), where);
    (isWithout ? folded : place).append(part);
    const drawn = isContinuous(name) ? scatter : columns;
    chart(where, (width) => drawn(where, width, name, own));
  }
  const isEmpty = !folded.childElementCount;
  folded.parentElement.hidden = isEmpty;
  byId("axes-section").hidden = isEmpty && !place.childElementCount;
}

// The parameters, the most telling first; those that change together, as a model and its weights
// do, are one.
function together() {
  const order = [...axes].sort((a, b) => shareOf(b) - shareOf(a));
  const groups = groupBy(order, (name) => (isContinuous(name) ? name : divisionBy(name)));
  return [...groups.values()].map((names) => axes.filter((name) => names.includes(name)));
}

// Which runs have the same value of a parameter: the same text for two that divide them alike.
function divisionBy(name) {
  const first = new Map();
  const places = data.runs.map((run, n) => {
    const key = JSON.stringify(run.parameters[name]);
    if (!first.has(key)) first.set(key, n);
    return first.get(key);
  });
  return places.join();
}

// A column of dots for each value, with its mean.
function columns(place, width, name, own) {
  const values = valuesOf(name);
  const byValue = groupBy(own, (run) => JSON.stringify(run.parameters[name]));
  const groups = values.map((value) => byValue.get(JSON.stringify(value)) ?? []);
  const means = groups.map((group) => mean(group.map(score)));
  const { picture, box, y } = scoreFrame(width, HEIGHT, own, name);
  const step = (box.right - box.left) / groups.length;
  const middle = (n) => box.left + step * (n + 0.5);
  drawValues(picture, box, values.map(brief), step);
  // A mean stands below its value, where no dot and no line comes.
  means.forEach((value, n) => {
    const text = value?.toFixed(3) ?? "";
    if (!text || step <= text.length * 8 + 4) return;
    const below = { x: middle(n), y: box.bottom + 31, "text-anchor": "middle", class: "value" };
    picture.append(draw("text", below, text));
  });
  const points = groups.flatMap((group, n) =>
    group.map((run, k) => ({
      run,
      x: middle(n) + aside(k, group.length, step),
      y: y(score(run)),
    })),
  );
  cloud(place, picture, points);
  groups.forEach((group, n) => drawSpread(picture, group, middle(n), step, y));
  const joined = means.map((value, n) => (value === null ? null : [middle(n), y(value)]));
  drawMeans(picture, joined.filter(Boolean), values.every(Number.isFinite));
}

function drawValues(picture, box, labels, step) {
  const every = Math.ceil(labels.length / Math.max(1, (box.right - box.left) / LABEL));
  const room = Math.max(3, Math.floor((step * every) / LETTER));
  labels.forEach((label, n) => {
    if (n % every) return;
    const x = box.left + step * (n + 0.5);
    const below = { x, y: box.bottom + 16, "text-anchor": "middle" };
    picture.append(titled(draw("text", below, shortened(label, room)), label));
  });
}

// How far beside the middle of its column the kth of so many dots lies.
function aside(k, count, step) {
  if (count > STACKED) return step * 0.7 * (((k * 0.618) % 1) - 0.5);
  return 4 * Math.min(4, step / 14) * (((k % 5) - 2) / 4);
}

// Where half of many runs lie.
function drawSpread(picture, group, middle, step, y) {
  if (group.length < TREND) return;
  const values = ascending(group.map(score));
  const [top, bottom] = [y(quantile(values, 0.75)), y(quantile(values, 0.25))];
  const area = { x: middle - step * 0.36, width: step * 0.72, y: top };
  const height = Math.max(1, bottom - top);
  picture.append(draw("rect", { ...area, height, class: "spread-band" }));
}

// Between categories there is nothing that a line could stand for.
function drawMeans(picture, places, isLine) {
  if (isLine) picture.append(draw("polyline", { points: places.join(" "), class: "mean" }));
  for (const [cx, cy] of places) {
    picture.append(draw("circle", { cx, cy, r: 4, class: "mean-dot" }));
  }
}

// Numbers along a line, with their trend.
function scatter(place, width, name, own) {
  const framed = scoreFrame(width, HEIGHT, own, name);
  const { picture, box, y } = framed;
  const values = valuesOf(name);
  const [least, most] = [values[0], values.at(-1)];
  const isLog = isLogarithmic(name);
  const to = isLog ? Math.log10 : Number;
  const [low, high] = [to(least), to(most)];
  const x = (at) => box.left + 6 + ((at - low) / (high - low)) * (box.right - box.left - 20);
  const about = (box.right - box.left) / 60;
  const marks = isLog ? decades(least, most, about) : ticks(least, most, about).values;
  ticksBelow(framed, marks.map((value) => [x(to(value)), show(value)]));
  const points = own.map((run) => ({ run, at: to(run.parameters[name]), value: score(run) }));
  cloud(place, picture, points.map(({ run, at, value }) => ({ run, x: x(at), y: y(value) })));
  drawTrend(picture, points, x, y);
}
