// Charts that are as wide as their place: their frame, and the look of what is drawn in them.
import { draw, make } from "./elements.js";
import { ticks } from "./scales.js";

const COLOURS = 8;
const DASHES = ["", "7 4", "2 3", "10 3 2 3", "14 5", "4 2"];
const MARKS = ["circle", "square", "up", "diamond", "down", "cross"];
const LEAST_WIDTH = 220; // pixels
export const PAPER = 700; // pixels: a chart's width on paper, so that its texts keep their size

const painted = new Map(); // place -> {paint, width}
const widths = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const held = painted.get(target);
    if (held && Math.abs(held.width - contentRect.width) > 1) repaint(target);
  }
});

addEventListener("beforeprint", () => {
  for (const { paint } of painted.values()) paint(PAPER);
});
addEventListener("afterprint", () => {
  for (const place of painted.keys()) repaint(place);
});

// `paint(width)` fills the place, now and whenever its width changes.
export function chart(place, paint) {
  place.classList.add("chart");
  if (!painted.has(place)) widths.observe(place);
  painted.set(place, { paint, width: 0 });
  repaint(place);
}

// The place holds a chart no longer.
export function forgetChart(place) {
  painted.delete(place);
}

function repaint(place) {
  const held = painted.get(place);
  held.width = place.clientWidth;
  if (held.width) held.paint(Math.max(LEAST_WIDTH, held.width));
}

// Paints a chart again; whoever was at it with the keyboard still is.
export function repaintInPlace(place) {
  const isFocused = place.contains(document.activeElement);
  repaint(place);
  if (isFocused) place.querySelector("svg").focus({ preventScroll: true });
}

// A frame with lines at round values of y, which `format(value, digits)` says: {picture, box, y}.
export function frame(width, height, low, high, format, label, top = 24) {
  const { values, digits } = ticks(low, high, height / 55);
  const texts = values.map((value) => format(value, digits));
  const box = boxAround(texts, width, height, top);
  const picture = draw("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": label,
  });
  const y = (value) => box.bottom - ((value - low) / (high - low || 1)) * (box.bottom - box.top);
  values.forEach((value, n) => drawLine(picture, box, y(value), texts[n]));
  return { picture, box, y };
}

// Where the curves of a chart lie, beside these texts of its y-axis.
export function boxAround(texts, width, height, top = 24) {
  const left = 12 + 7 * Math.max(2, ...texts.map((text) => text.length));
  return { left, right: width - 12, top, bottom: height - 36 };
}

// A line of the frame at a height, and its text beside it.
export function drawLine(picture, box, y, text) {
  picture.append(
    draw("line", { x1: box.left, x2: box.right, y1: y, y2: y, class: "line" }),
    draw("text", { x: box.left - 6, y: y + 4, "text-anchor": "end" }, text),
  );
}

// Ticks below a chart: those of [x, text] that have room for their texts.
export function ticksBelow({ picture, box }, places) {
  let free = -Infinity;
  for (const [x, text] of places) {
    const half = text.length * 3.6;
    const middle = Math.min(Math.max(x, box.left - 20 + half), box.right + 12 - half);
    if (middle - half < free) continue;
    const y = box.bottom + 16;
    picture.append(draw("text", { x: middle, y, "text-anchor": "middle" }, text));
    free = middle + half + 8;
  }
}

// The look of the nth series: no two of the first 24 share colour, dash and mark.
export function look(n) {
  const turn = n + Math.floor(n / COLOURS);
  return {
    colour: `var(--s${n % COLOURS})`,
    dash: DASHES[turn % DASHES.length],
    mark: MARKS[turn % MARKS.length],
  };
}

// The outline of a mark, as the `d` of a path.
export function outline(kind, x, y, s) {
  if (kind === "circle") {
    return `M${x - s} ${y}a${s} ${s} 0 1 0 ${2 * s} 0a${s} ${s} 0 1 0 ${-2 * s} 0z`;
  }
  if (kind === "square") return `M${x - s} ${y - s}h${2 * s}v${2 * s}h${-2 * s}z`;
  if (kind === "up") return `M${x} ${y - s}L${x + s} ${y + s}H${x - s}z`;
  if (kind === "down") return `M${x} ${y + s}L${x + s} ${y - s}H${x - s}z`;
  if (kind === "cross") {
    return `M${x - s} ${y - s}L${x + s} ${y + s}M${x - s} ${y + s}L${x + s} ${y - s}`;
  }
  const wide = s * 1.3;
  return `M${x} ${y - wide}L${x + wide} ${y}L${x} ${y + wide}L${x - wide} ${y}z`;
}

export const mark = (kind, x, y, colour, size = 4) =>
  draw("path", {
    d: outline(kind, x, y, size),
    style: `fill:${colour};stroke:${colour};stroke-width:1.5`,
  });

// The looks of the series with these labels; `isDrawn(n)` leaves out those that no mark has.
export function legend(labels, { lines = true, isDrawn = () => true } = {}) {
  const items = labels.map((label, n) => (isDrawn(n) ? legendItem(label, look(n), lines) : null));
  return make("ul", { className: "legend" }, ...items);
}

function legendItem(label, { colour, dash, mark: kind }, line) {
  const sign = draw("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" });
  if (line) {
    const style = `stroke:${colour};stroke-width:2`;
    sign.append(draw("line", { x1: 0, x2: 34, y1: 6, y2: 6, style, "stroke-dasharray": dash }));
  }
  sign.append(mark(kind, 17, 6, colour));
  return make("li", {}, sign, label);
}
