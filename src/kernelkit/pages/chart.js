"use strict";
// What every page draws with: elements, numbers as people write them, charts as wide as their place.
const SVG = "http://www.w3.org/2000/svg";
const COLOURS = 8;
const DASHES = ["", "7 4", "2 3", "10 3 2 3", "14 5", "4 2"];
const MARKS = ["circle", "square", "up", "diamond", "down", "cross"];

function make(name, attributes = {}, ...inner) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) key in element ? (element[key] = value) : element.setAttribute(key, value);
  element.append(...inner.filter((part) => part !== null && part !== undefined));
  return element;
}

function draw(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function titled(element, text) {
  element.append(draw("title", {}, text));
  return element;
}

// ---- numbers ----------------------------------------------------------------------------

function show(value) {
  if (value === undefined) return "";
  if (value === null) return "None"; // as Python and the names of runs have it
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number" && !Number.isInteger(value)) return Math.abs(value) < 1e-4 ? value.toExponential(3).replace(/\.?0*e/, "e") : String(Number(value.toPrecision(4)));
  return typeof value === "object" ? JSON.stringify(value).replaceAll(",", ", ") : String(value);
}
// As kernelkit.shown writes them: 8.2 s, 88 s, 2 min 46 s, 1 h 05 min.
function duration(value) {
  const whole = Math.round(value);
  if (value > 0 && value < 0.05) return Number(value.toPrecision(1)) + " s";
  if (value > 0 && value < 9.95) return value.toFixed(1) + " s";
  if (whole < 120) return whole + " s";
  const minutes = Math.round(value / 60);
  return whole < 3600 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}
const grouped = (value, digits = 0) => value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
// A measure by its name in metrics.json: seconds, something per second, a count or a score.
function measured(name, value, counts) {
  if (/(^|_)seconds$/.test(name)) return duration(value);
  if (name.includes("_per_second")) return grouped(value, value >= 99.5 ? 0 : value >= 9.95 ? 1 : 2);
  return counts ? grouped(Math.round(value)) : fixed(value);
}
const fixed = (value) => (Math.abs(value) < 10 ? value.toFixed(4) : Math.abs(value) < 100 ? value.toFixed(2) : value.toLocaleString("en", { maximumFractionDigits: 0 }));

// Round numbers from low to high, about so many, and how many digits tell them apart.
function ticks(low, high, about, whole = false) {
  if (!(high > low)) return { values: [low], digits: 3 };
  const rough = (high - low) / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
  if (whole) step = Math.max(1, Math.ceil(step));
  let digits = 0;
  while (digits < 12 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits += 1;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return { values: Array.from({ length: Math.max(0, count) }, (_, n) => (first + n) * step), digits };
}
const tickText = (value, digits) => (Object.is(Math.round(value * 1e12), -0) ? 0 : value).toFixed(digits);

// The least and the greatest of values, which may be too many for the arguments of Math.min.
function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}

function range(values, fromZero = false) {
  const [low, high] = extent(values);
  const pad = (fromZero ? high : high - low) * 0.12 || Math.abs(high) * 0.05 || 0.01;
  return [fromZero ? 0 : low - pad, high + pad];
}

// ---- charts as wide as their place ------------------------------------------------------

const painted = new Map(); // place -> [paint, width]
const widths = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const held = painted.get(target);
    if (held && Math.abs(held[1] - contentRect.width) > 1) repaint(target);
  }
});

function repaint(place) {
  const held = painted.get(place);
  held[1] = place.clientWidth;
  if (held[1]) held[0](Math.max(220, held[1]));
}

// On paper a chart has the paper's width, so that its texts keep their size.
const PAPER = 700;
addEventListener("beforeprint", () => { for (const [paint] of painted.values()) paint(PAPER); });
addEventListener("afterprint", () => { for (const place of painted.keys()) repaint(place); });

// `paint(width)` fills the place, now and whenever its width changes.
function chart(place, paint) {
  place.classList.add("chart");
  if (!painted.has(place)) widths.observe(place);
  painted.set(place, [paint, 0]);
  repaint(place);
  return place;
}

// A frame with lines at round values of y; `format(value, digits)` says them.
function frame(width, height, low, high, format, label, top = 24) {
  const marks = ticks(low, high, height / 55);
  const texts = marks.values.map((value) => format(value, marks.digits));
  const left = 12 + 7 * Math.max(2, ...texts.map((text) => text.length));
  const box = { left, right: width - 12, top, bottom: height - 36 };
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const y = (value) => box.bottom - ((value - low) / (high - low || 1)) * (box.bottom - box.top);
  marks.values.forEach((value, n) => {
    picture.append(draw("line", { x1: box.left, x2: box.right, y1: y(value), y2: y(value), class: "line" }));
    picture.append(draw("text", { x: box.left - 6, y: y(value) + 4, "text-anchor": "end" }, texts[n]));
  });
  return { picture, box, y };
}

function mark(kind, x, y, colour, size = 4) {
  const s = size;
  const shapes = {
    square: `M${x - s} ${y - s}h${2 * s}v${2 * s}h${-2 * s}z`, up: `M${x} ${y - s}L${x + s} ${y + s}H${x - s}z`,
    down: `M${x} ${y + s}L${x + s} ${y - s}H${x - s}z`, diamond: `M${x} ${y - s * 1.3}L${x + s * 1.3} ${y}L${x} ${y + s * 1.3}L${x - s * 1.3} ${y}z`,
    cross: `M${x - s} ${y - s}L${x + s} ${y + s}M${x - s} ${y + s}L${x + s} ${y - s}`,
    circle: `M${x - s} ${y}a${s} ${s} 0 1 0 ${2 * s} 0a${s} ${s} 0 1 0 ${-2 * s} 0z`,
  };
  return draw("path", { d: shapes[kind], style: `fill:${colour};stroke:${colour};stroke-width:1.5` });
}

// The look of the nth series: no two of the first 24 share colour, dash and mark.
const look = (n) => ({ colour: `var(--s${n % COLOURS})`, dash: DASHES[(n + Math.floor(n / COLOURS)) % DASHES.length], mark: MARKS[(n + Math.floor(n / COLOURS)) % MARKS.length] });

function legend(labels, lines = true, drawn = labels) {
  return make("ul", { className: "legend" }, ...labels.map((label, n) => {
    if (!drawn[n]) return null;
    const { colour, dash, mark: kind } = look(n);
    const sign = draw("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" });
    if (lines) sign.append(draw("line", { x1: 0, x2: 34, y1: 6, y2: 6, style: `stroke:${colour};stroke-width:2`, "stroke-dasharray": dash }));
    sign.append(mark(kind, 17, 6, colour));
    return make("li", {}, sign, label);
  }).filter(Boolean));
}

/* Zoom along x: by dragging, and by + and − around the place that is read; all of it by 0 or a double click.
   `set(from, to)` takes shares of the range that is shown now, `all()` shows all; `read()` is the share that is read, or null. */
function zoomable(picture, { box, width, read, set, all }) {
  const [left, right] = [box.left + 8, box.right - 8];
  const area = draw("rect", { y: box.top, height: box.bottom - box.top, class: "brush", visibility: "hidden" });
  picture.append(area);
  const share = (event) => {
    const own = picture.getBoundingClientRect();
    return Math.min(1, Math.max(0, (((event.clientX - own.left) * width) / own.width - left) / (right - left)));
  };
  let begin = null;
  const end = () => { begin = null; area.setAttribute("visibility", "hidden"); };
  const ends = (event) => [begin, share(event)].sort((a, b) => a - b);
  const wide = ([from, to]) => (to - from) * (right - left) > 8; // pixels: a click is no drag
  picture.addEventListener("pointerdown", (event) => { if (event.button === 0) begin = share(event); });
  picture.addEventListener("pointermove", (event) => {
    if (begin === null || !wide(ends(event))) return;
    const [from, to] = ends(event);
    picture.setPointerCapture(event.pointerId); // the drag may leave the chart
    area.setAttribute("x", left + from * (right - left));
    area.setAttribute("width", (to - from) * (right - left));
    area.setAttribute("visibility", "visible");
  });
  picture.addEventListener("pointerup", (event) => {
    if (begin === null) return;
    const chosen = ends(event);
    end();
    if (wide(chosen)) set(...chosen);
  });
  picture.addEventListener("pointercancel", end);
  picture.addEventListener("dblclick", all);
  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's own zoom
    const middle = read() ?? 0.5;
    if (event.key === "0") all();
    else if (event.key === "+" || event.key === "=") {
      const from = Math.min(0.5, Math.max(0, middle - 0.25));
      set(from, from + 0.5);
    } else if (event.key === "-") set(-0.5, 1.5);
    else return;
    event.preventDefault();
  });
}

// Paints a chart again; whoever was at it with the keyboard still is.
function repaintInPlace(place) {
  const held = place.contains(document.activeElement);
  repaint(place);
  if (held) place.querySelector("svg").focus({ preventScroll: true });
}

const HOW_TO_READ = "Point at a chart, or focus it and use the arrow keys, to read values. Drag across it, or press + and −, to zoom; double-click, or press 0, to see all of it.";

/* Lines over whole steps from 1, with a crosshair that follows the pointer and the arrow keys.
   series: [{label, values}]. phases: [{at, label}].
   named: what the nth step is called. zero: the axis begins there, and the title says what is drawn. linked: the readings of the charts that follow one another. */
function lineChart(place, { series, label, step = "epoch", named = (n) => n + 1, phases = [], height, digits = 4, hint = true, linked = [], zero = false }) {
  const labels = series.map((one) => one.label);
  const longest = Math.max(...series.map((one) => one.values.length));
  const whole = [0, Math.max(1, longest - 1)];
  let [from, to] = whole; // the steps that are shown
  const reading = make("p", { className: "reading quiet", ariaLive: "polite" });
  let at = null;
  const zoom = (low, high) => {
    [from, to] = [Math.max(0, Math.round(low)), Math.min(whole[1], Math.round(high))];
    if (to <= from) [from, to] = from < whole[1] ? [from, from + 1] : [from - 1, from];
    repaintInPlace(place);
  };
  chart(place, (width) => {
    const within = (n) => n >= from && n <= to;
    const near = series.flatMap((one) => one.values.filter((_, n) => within(n))).filter(Number.isFinite);
    const known = near.length ? near : series.flatMap((one) => one.values).filter(Number.isFinite);
    const { picture, box, y } = frame(width, height, ...range(known, zero), tickText, `${label}: ${labels.join(", ")}`, phases.length ? 40 : 24);
    const x = (n) => (longest > 1 ? box.left + 8 + ((box.right - box.left - 16) * (n - from)) / (to - from) : (box.left + box.right) / 2);
    picture.append(draw("text", { x: box.left, y: 12, class: "value" }, label));
    const shown = ticks(from + 1, Math.max(2, to + 1), Math.min(to - from + 1, width / Math.max(60, 12 * String(named(longest - 1)).length)), true).values.filter((n) => n <= longest && within(n - 1));
    for (const n of shown) picture.append(draw("text", { x: x(n - 1), y: box.bottom + 16, "text-anchor": zero ? "end" : "middle" }, named(n - 1)));
    picture.append(draw("text", { x: box.right, y: box.bottom + 31, "text-anchor": "end" }, step));
    for (const { at: begin, label: name } of phases) {
      if (!within(begin - 0.5)) continue;
      // The name has a row of its own above the curves, and leans to the side that has more room.
      const place = (x(begin - 1) + x(begin)) / 2;
      const late = place > (box.left + box.right) / 2;
      picture.append(draw("line", { x1: place, x2: place, y1: 20, y2: box.bottom, class: "phase" }));
      picture.append(draw("text", { x: place + (late ? -5 : 5), y: 32, "text-anchor": late ? "end" : "start" }, name));
    }
    for (const [number, one] of series.entries()) {
      const { colour, dash, mark: kind } = look(number);
      const places = one.values.map((value, n) => (Number.isFinite(value) && within(n) ? [x(n), y(value)] : null));
      const points = places.filter(Boolean);
      picture.append(titled(draw("polyline", { points: points.join(" "), class: "curve", style: `stroke:${colour}`, "stroke-dasharray": dash }), one.label));
      places.forEach((point, n) => point && (shown.includes(n + 1) || points.length === 1) && picture.append(mark(kind, ...point, colour, 3)));
    }
    const cross = draw("line", { y1: box.top, y2: box.bottom, class: "cross", visibility: "hidden" });
    picture.append(cross);
    picture.setAttribute("tabindex", "0");
    const read = (n, follow = true) => {
      if (follow) for (const other of linked) if (other.place !== place) other.read(n, false);
      const elsewhere = !follow && !within(n ?? 0); // the other chart shows more than this one
      at = n === null || elsewhere ? null : Math.min(longest - 1, to, Math.max(0, from, n));
      cross.setAttribute("visibility", at === null ? "hidden" : "visible");
      if (at === null) return reading.replaceChildren(hint ? HOW_TO_READ : "");
      for (const end of ["x1", "x2"]) cross.setAttribute(end, x(at));
      const here = series.filter((one) => Number.isFinite(one.values[at])).sort((a, b) => b.values[at] - a.values[at]);
      reading.replaceChildren(make("b", {}, `${step} ${named(at)}`), ...here.map((one) => make("span", {}, `${one.label} `, make("b", {}, one.values[at].toFixed(digits)))));
    };
    picture.addEventListener("pointermove", (event) => {
      const own = picture.getBoundingClientRect();
      const where = ((event.clientX - own.left) * width) / own.width;
      read(longest > 1 ? Math.round(from + ((where - x(from)) / (x(to) - x(from))) * (to - from)) : 0);
    });
    picture.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: (at ?? longest) - 1, ArrowRight: (at ?? -1) + 1, Home: from, End: to, Escape: null };
      if (event.key in moves) { event.preventDefault(); read(moves[event.key]); }
    });
    if (longest > 2) {
      const value = (share) => from + share * (to - from);
      zoomable(picture, { box, width, read: () => (at === null ? null : (at - from) / (to - from)), set: (low, high) => zoom(value(low), value(high)), all: () => zoom(...whole) });
    }
    place.replaceChildren(picture, ...(zero ? [] : [legend(labels)]), reading);
    linked.splice(0, linked.length, ...linked.filter((other) => other.place !== place), { place, read });
    read(at, false);
  });
}
