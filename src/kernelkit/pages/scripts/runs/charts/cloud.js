// Clouds of runs: a chart of the score with a dot for each run, and its trend.
import { frame, mark, outline } from "../../charts.js";
import { draw, make, titled } from "../../elements.js";
import { pointIn, readByKeys } from "../../reading.js";
import { range, tickText } from "../../scales.js";
import { ascending, groupBy, quantile } from "../../statistics.js";
import { describe, score, scoreName } from "../known/run.js";

const SINGLE = 150; // runs, beyond which dots are drawn together: a thousand elements are too many
const LAYERS = 5; // in which many dots are drawn, so that where they are dense it is darker
const NEAR = 24; // pixels from the pointer to the run that it reads
export const TREND = 12; // runs that a trend is drawn from
const MOST_BINS = 12; // of a trend

// The frame of a chart of the score: {picture, box, y}.
export function scoreFrame(width, height, runs, by) {
  const name = `${scoreName} by ${by}`;
  const framed = frame(width, height, ...range(runs.map(score)), tickText, name);
  framed.picture.append(draw("text", { x: framed.box.left, y: 12, class: "value" }, scoreName));
  return framed;
}

// Fills the place with dots, `points`: [{x, y, run}], and with words on the run that is read.
// `lookOf(run)` gives the mark and colour of a dot, null a plain one.
export function cloud(place, picture, points, lookOf = () => null) {
  if (points.length <= SINGLE) drawDots(picture, points, lookOf);
  else drawManyDots(picture, points, lookOf);
  const reading = make("p", { className: "reading quiet", ariaLive: "polite" });
  readRuns(picture, points, reading);
  place.replaceChildren(picture, reading);
}

function drawDots(picture, points, lookOf) {
  for (const { x, y, run } of points) {
    const own = lookOf(run);
    const dot = own
      ? mark(own.mark, x, y, own.colour, 4.5)
      : draw("circle", { cx: x, cy: y, r: 3.6, class: "dot" });
    picture.append(titled(dot, describe(run)));
  }
}

function drawManyDots(picture, points, lookOf) {
  for (const own of groupBy(points, ({ run }) => lookOf(run)?.mark).values()) {
    const kind = lookOf(own[0].run);
    for (let layer = 0; layer < LAYERS; layer += 1) {
      const members = own.filter((_, n) => n % LAYERS === layer);
      if (members.length) picture.append(layerOf(members, kind));
    }
  }
}

function layerOf(points, kind) {
  if (!kind) {
    const dots = points.map(({ x, y }) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`);
    return draw("path", { d: dots.join(""), class: "dots" });
  }
  const marks = points.map(({ x, y }) => outline(kind.mark, x, y, 3));
  const style = `fill:${kind.colour};stroke:${kind.colour}`;
  return draw("path", { d: marks.join(""), class: "marks", style });
}

// A ring around the run that the pointer or the arrow keys are at.
function readRuns(picture, points, reading) {
  const ring = draw("circle", { r: 6, class: "ring", visibility: "hidden" });
  picture.append(ring);
  const order = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  let at = null;

  function read(n) {
    at = n;
    ring.setAttribute("visibility", n === null ? "hidden" : "visible");
    if (n === null) {
      reading.replaceChildren();
      return;
    }
    const { x, y, run } = order[n];
    ring.setAttribute("cx", x);
    ring.setAttribute("cy", y);
    const [name, ...facts] = describe(run).split("\n");
    reading.replaceChildren(...facts.map((fact) => make("b", {}, fact)), make("span", {}, name));
  }

  picture.addEventListener("pointermove", (event) => {
    const [px, py] = pointIn(picture, event);
    let [nearest, least] = [null, NEAR ** 2];
    order.forEach(({ x, y }, n) => {
      const apart = (x - px) ** 2 + (y - py) ** 2;
      if (apart < least) [nearest, least] = [n, apart];
    });
    if (nearest !== at) read(nearest);
  });
  picture.addEventListener("pointerleave", () => read(null));
  readByKeys(picture, { last: order.length - 1, at: () => at, read });
}

// The medians of neighbouring runs, and between which values half of them lie; `points`:
// [{at, value}], which `x(at)` and `y(value)` place.
export function drawTrend(picture, points, x, y) {
  if (points.length < TREND) return;
  const bins = binsOf(points);
  const upper = bins.map((bin) => [x(bin.at), y(bin.high)]);
  const lower = bins.map((bin) => [x(bin.at), y(bin.low)]);
  const edge = [...upper, ...lower.toReversed()].map((point) => point.join(" "));
  const middles = bins.map((bin) => `${x(bin.at)},${y(bin.middle)}`);
  picture.append(
    draw("path", { d: `M${edge.join("L")}z`, class: "spread-band" }),
    draw("polyline", { points: middles.join(" "), class: "trend" }),
  );
}

function binsOf(points) {
  const own = [...points].sort((a, b) => a.at - b.at);
  const count = Math.min(MOST_BINS, Math.max(3, Math.round(Math.sqrt(own.length) / 2)));
  const begin = (n) => Math.floor((n * own.length) / count);
  return Array.from({ length: count }, (_, n) => {
    const bin = own.slice(begin(n), begin(n + 1));
    const values = ascending(bin.map(({ value }) => value));
    return {
      at: quantile(ascending(bin.map(({ at }) => at)), 0.5),
      low: quantile(values, 0.25),
      middle: quantile(values, 0.5),
      high: quantile(values, 0.75),
    };
  });
}
