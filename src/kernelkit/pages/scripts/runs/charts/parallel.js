// The part "Parameters and score": parallel coordinates, a line for each row of the table.
import { chart } from "../../charts.js";
import { byId, draw, make } from "../../elements.js";
import { pointIn } from "../../reading.js";
import { scoreText } from "../known/columns.js";
import { matching } from "../known/filter.js";
import { shareOf } from "../known/importance.js";
import { made } from "../known/rows.js";
import { axes, better, scoreName, valuesOf } from "../known/run.js";
import { view } from "../known/view.js";
import { drawAxis, scaleOf, WIDE } from "./parallel_axis.js";

const BANDS = 24; // colours from the worst score to the best
const COLOURS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [222, 205, 30]];
const HEIGHT = 330;
const TOP = 34; // pixels above the axes, for their names
const NEAR = 10; // pixels from the pointer to the line that it reads
const CROWDED = 60; // lines, beyond which they are thin

export function parallel() {
  const rows = made[view.rows].filter((row) => row.score !== null);
  const names = axes.filter((name) => valuesOf(name).length > 1);
  const isHidden = names.length < 2 || rows.length < 3;
  byId("parallel-section").hidden = isHidden;
  if (isHidden) return;
  names.sort((a, b) => shareOf(a) - shareOf(b));
  const scales = [...names, ""].map((name) => scaleOf(name, rows));
  chart(byId("parallel"), (width) => {
    // On a narrow page the axes that matter most.
    const most = Math.max(2, Math.floor(width / WIDE));
    drawParallel(width, rows, scales.slice(-most));
    byId("parallel-words").textContent = wordsOn(Math.max(0, scales.length - most));
  });
}

function wordsOn(out) {
  const row = view.rows === "runs" ? "run" : "configuration";
  const words = [
    `Each line is one ${row}; brighter is better.`,
    "Parameters that explain more of the score are drawn closer to it.",
    "Drag along an axis, or focus it and use the arrow keys (Shift for its upper end), to filter " +
      "the whole page; click it to clear.",
  ];
  if (out) words.push(`Left out at this width, because they matter least: ${out}.`);
  return words.join(" ");
}

function drawParallel(width, rows, scales) {
  const [top, bottom] = [TOP, HEIGHT - 14];
  const viewBox = `0 0 ${width} ${HEIGHT}`;
  const label = "Parallel coordinates";
  const picture = draw("svg", { viewBox, role: "group", "aria-label": label });
  const gap = (width - 130) / Math.max(1, scales.length - 1);
  const x = (n) => 44 + n * gap;
  const y = (share) => bottom - share * (bottom - top);
  const valueIn = (row, { name }) => (name ? row.parameters[name] : row.score);
  const spots = new Map(); // row -> its place on each axis
  for (const row of rows) {
    spots.set(row, scales.map((scale, n) => [x(n), y(scale.at(valueIn(row, scale)))]));
  }
  const kept = drawLines(picture, rows, spots);
  scales.forEach((scale, n) => {
    const room = n ? gap : WIDE;
    drawAxis(picture, scale, { x: x(n), y, top, bottom, room, isLast: n === scales.length - 1 });
  });
  const reading = make("p", { className: "reading quiet", ariaLive: "polite" });
  readLines(picture, kept, spots, reading);
  byId("parallel").replaceChildren(picture, reading);
}

const pathOf = (spots) => (row) =>
  `M${spots.get(row).map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;

// The lines, the best last; returns the rows that the filter leaves.
function drawLines(picture, rows, spots) {
  const inside = new Set(matching());
  const order = [...rows].sort((a, b) => better(b.score, a.score));
  const path = (own) => own.map(pathOf(spots)).join("");
  const out = order.filter((row) => !inside.has(row));
  picture.append(draw("path", { d: path(out), class: "line-out" }));
  const kept = order.filter((row) => inside.has(row));
  const thickness = kept.length > CROWDED ? 1 : 2;
  const begin = (band) => Math.floor((band * kept.length) / BANDS);
  for (let band = 0; band < BANDS; band += 1) {
    const own = kept.slice(begin(band), begin(band + 1));
    if (!own.length) continue;
    const colour = shade(kept.length > 1 ? (band + 0.5) / BANDS : 1);
    const style = `stroke:${colour};stroke-width:${thickness}`;
    picture.append(draw("path", { d: path(own), class: "line-in", style }));
  }
  return kept;
}

// Dark to bright; told apart by lightness, too.
function shade(share) {
  const at = Math.min(3.999, share * 4);
  const [from, to] = [COLOURS[Math.floor(at)], COLOURS[Math.floor(at) + 1]];
  const mixed = from.map((value, n) => Math.round(value + (at % 1) * (to[n] - value)));
  return `rgb(${mixed.join(" ")})`;
}

// Marks the line that the pointer is at, and says which row it is.
function readLines(picture, rows, spots, reading) {
  const bright = draw("path", { class: "line-at" });
  picture.insertBefore(bright, picture.querySelector(".axis-of"));
  picture.addEventListener("pointermove", (event) => {
    if (event.buttons) return;
    const row = nearest(pointIn(picture, event), rows, spots);
    bright.setAttribute("d", row ? pathOf(spots)(row) : "");
    if (!row) {
      reading.replaceChildren();
      return;
    }
    const score = make("b", {}, `${scoreName} ${scoreText(row)}`);
    reading.replaceChildren(score, make("span", {}, row.name));
  });
}

// The row whose line is nearest to a point, null if none is near.
function nearest([px, py], rows, spots) {
  let [found, least] = [null, NEAR];
  for (const row of rows) {
    const own = spots.get(row);
    const passed = own.findLastIndex(([x]) => x <= px);
    const n = Math.min(own.length - 2, Math.max(0, passed));
    const [[left, from], [right, to]] = [own[n], own[n + 1]];
    const apart = Math.abs(from + ((px - left) / (right - left)) * (to - from) - py);
    if (apart < least) [found, least] = [row, apart];
  }
  return found;
}
