"use strict";
// A run's report: its learning curves, its matrices, and contents that show where one is.
const data = JSON.parse(document.getElementById("data").textContent);
const LABEL = 14; // pixels of a line of names
const CELLS = [4, 5, 6, 8, 11, 14, 18, 24, 32]; // sides of a cell to choose from, in pixels

for (const place of document.querySelectorAll("[data-picture]")) { // once more, where the notebook shows it
  const picture = document.querySelector(`#picture-${place.dataset.picture} img`);
  if (picture) place.src = picture.src;
}

const linked = []; // the learning curves have one crosshair
for (const place of document.querySelectorAll("[data-chart]")) {
  const number = Number(place.dataset.chart);
  lineChart(place, { height: 240, hint: number === 0, linked, ...data.curves[number] });
}

// ---- what the run took of its machine ---------------------------------------------------

const MOST_POINTS = 120;
const TAKEN = { // a chart for each column of resources.csv that has numbers
  memory: ["Memory", "GB", 1e9], cores: ["CPU", "cores", 1],
  device_mib: ["Memory of the first device", "GB", 1e9 / 2 ** 20],
};

function machine(room, { seconds = [], cpu_seconds: busy = [], ...columns }) {
  // The seconds of a process that has ended are gone from the sum.
  columns.cores = seconds.map((time, n) => (n ? Math.max(0, busy[n] - busy[n - 1]) / (time - seconds[n - 1]) : NaN));
  const each = Math.ceil(seconds.length / MOST_POINTS);
  const group = (values) => Array.from({ length: Math.ceil(seconds.length / each) }, (_, n) => values.slice(n * each, (n + 1) * each).filter(Number.isFinite));
  const ends = group(seconds).map((times) => times.at(-1));
  const linked = [];
  for (const [name, [title, unit, scale]] of Object.entries(TAKEN)) {
    const numbers = (columns[name] || []).filter(Number.isFinite);
    if (!numbers.length) continue;
    const say = (value) => (value / scale).toFixed(2);
    const values = group(columns[name]).map((part) => (part.length ? Math.max(...part) / scale : NaN));
    const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
    const place = make("div");
    room.append(make("figure", {}, place));
    lineChart(place, { height: 200, hint: false, zero: true, linked, step: "after", named: (n) => duration(ends[n]), digits: 2, label: `${title}: most ${say(extent(numbers)[1])} ${unit}, mean ${say(mean)}`, series: [{ label: `${title}, ${unit}`, values }] });
  }
}

const machineRoom = document.getElementById("machine-charts");
if (machineRoom) machine(machineRoom, data.resources);

// ---- a matrix that can be read at a hundred classes -------------------------------------

function matrix(place, { names, counts }) {
  const n = names.length;
  const sums = counts.map((row) => row.reduce((a, b) => a + b, 0));
  const longest = Math.max(...names.map((name) => name.length));
  // Wide enough for a bold name; on a narrow page a third of it, and names are cut short.
  const side = Math.min(215, 12 + 7.8 * longest, Math.max(110, place.clientWidth / 3));
  const letters = Math.floor((side - 12) / 7.8 + 0.01);
  const reading = make("p", { className: "reading", ariaLive: "polite" }, "Point at a cell, or focus the matrix and use the arrow keys.");
  const out = make("button", { type: "button", textContent: "−", ariaLabel: "smaller" });
  const inn = make("button", { type: "button", textContent: "+", ariaLabel: "larger" });
  const fit = make("button", { type: "button", textContent: "Fit" });
  const key = (name, text) => [make("span", { className: "key " + name }), " " + text];
  const bar = make("div", { className: "bar zoom" }, out, inn, fit, make("span", { className: "quiet" }, ...key("", "blue = correct, "), ...key("wrong", "orange = wrong; stronger = larger share of the class")));
  const held = make("div", { className: "matrix", tabIndex: 0, role: "application", ariaLabel: `Matrix of ${n} by ${n}: rows are true, columns predicted. Arrow keys move from cell to cell, plus and minus zoom.` });
  place.append(bar, held, reading);
  let at = null;
  let level = null;
  let parts = {};

  // The largest cell with which the whole matrix is seen: in the window, or on paper.
  const fitting = (width = held.clientWidth, height = Math.min(736, window.innerHeight * 0.85)) => { // as .matrix in style.css
    const room = Math.min(width - side - 20, height - side - 20);
    return Math.max(0, CELLS.findLastIndex((size) => size * n <= room));
  };

  const pad = () => Math.max(0, Math.ceil(9 - CELLS[level] / 2)); // or the first name is cut off

  function paint() {
    const size = CELLS[level];
    const all = size * n + 2 * pad();
    const every = Math.ceil(LABEL / size);
    const grid = draw("svg", { width: all, height: all, viewBox: `${-pad()} ${-pad()} ${all} ${all}`, "aria-hidden": "true" });
    const left = draw("svg", { class: "left", width: side, height: all, "aria-hidden": "true" });
    const top = draw("svg", { class: "top", width: all, height: side, "aria-hidden": "true" });
    grid.append(draw("rect", { width: size * n, height: size * n, class: "ground" }));
    counts.forEach((row, i) => row.forEach((count, j) => {
      if (!count) return;
      const share = Math.sqrt(count / sums[i]);
      grid.append(draw("rect", { x: j * size, y: i * size, width: size, height: size, class: i === j ? "right" : "wrong", "fill-opacity": (0.18 + (i === j ? 0.6 : 0.82) * share).toFixed(2) }));
      if (size >= 18) grid.append(draw("text", { x: (j + 0.5) * size, y: (i + 0.5) * size + 4, "text-anchor": "middle", class: "count" }, count));
    }));
    for (let k = 0; k <= n; k += size >= 8 ? 1 : every) {
      grid.append(draw("line", { x1: k * size, x2: k * size, y1: 0, y2: n * size, class: "rule" }), draw("line", { y1: k * size, y2: k * size, x1: 0, x2: n * size, class: "rule" }));
    }
    parts = { grid, cursor: draw("rect", { width: size, height: size, class: "cursor", visibility: "hidden" }), rows: [], columns: [] };
    grid.append(parts.cursor);
    names.forEach((name, k) => {
      if (k % every) return;
      const short = name.length > letters ? name.slice(0, letters - 1) + "…" : name;
      const middle = pad() + (k + 0.5) * size;
      parts.rows[k] = draw("text", { x: side - 5, y: middle + 4, "text-anchor": "end" }, short);
      parts.columns[k] = draw("text", { transform: `translate(${middle + 4} ${side - 5}) rotate(-90)` }, short);
      left.append(parts.rows[k]);
      top.append(parts.columns[k]);
    });
    const corner = make("div", { className: "corner" }, "true ↓", make("br"), "predicted →");
    corner.style.cssText = `width:${side}px;height:${side}px`;
    held.replaceChildren(make("div", { className: "grid" }, corner, top, left, grid));
    out.disabled = level === 0;
    inn.disabled = level === CELLS.length - 1;
    mark();
  }

  function mark() {
    if (!at) return;
    const [i, j] = at;
    const size = CELLS[level];
    for (const [key, value] of Object.entries({ x: j * size, y: i * size, visibility: "visible" })) parts.cursor.setAttribute(key, value);
    [parts.rows, parts.columns].forEach((texts, side) => texts.forEach((text, k) => text.classList.toggle("at", k === at[side])));
    const share = sums[i] ? ` of ${sums[i]} (${((100 * counts[i][j]) / sums[i]).toFixed(0)} %)` : "";
    reading.replaceChildren(make("span", {}, "true ", make("b", {}, names[i])), make("span", {}, "predicted ", make("b", {}, names[j])), make("span", {}, make("b", {}, counts[i][j]), share));
  }

  function see() {
    const size = CELLS[level];
    const [i, j] = at;
    const room = [held.clientWidth - side, held.clientHeight - side];
    if (j * size < held.scrollLeft) held.scrollLeft = j * size;
    if ((j + 1) * size > held.scrollLeft + room[0]) held.scrollLeft = (j + 1) * size - room[0];
    if (i * size < held.scrollTop) held.scrollTop = i * size;
    if ((i + 1) * size > held.scrollTop + room[1]) held.scrollTop = (i + 1) * size - room[1];
  }

  function zoom(to) {
    const before = CELLS[level];
    const middle = [held.scrollLeft, held.scrollTop].map((value) => value / before);
    level = Math.min(CELLS.length - 1, Math.max(0, to));
    paint();
    [held.scrollLeft, held.scrollTop] = middle.map((value) => value * CELLS[level]);
    if (at) see();
  }

  held.addEventListener("pointermove", (event) => {
    const own = parts.grid.getBoundingClientRect();
    const [j, i] = [event.clientX - own.left, event.clientY - own.top].map((value) => Math.floor((value - pad()) / CELLS[level]));
    if (i >= 0 && j >= 0 && i < n && j < n && !(at && at[0] === i && at[1] === j)) { at = [i, j]; mark(); }
  });
  held.addEventListener("keydown", (event) => {
    const [i, j] = at || [0, 0];
    const moves = { ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1], Home: [i, 0], End: [i, n - 1] };
    if (event.key in moves) {
      event.preventDefault();
      at = at ? moves[event.key].map((value) => Math.min(n - 1, Math.max(0, value))) : [0, 0];
      mark();
      see();
    } else if (event.key === "+" || event.key === "=") zoom(level + 1);
    else if (event.key === "-") zoom(level - 1);
  });
  out.onclick = () => zoom(level - 1);
  inn.onclick = () => zoom(level + 1);
  fit.onclick = () => zoom(fitting());
  let before = 0;
  addEventListener("beforeprint", () => { before = level; level = fitting(PAPER, 1.35 * PAPER); paint(); });
  addEventListener("afterprint", () => { level = before; paint(); });
  level = fitting();
  paint();
}

document.querySelectorAll("[data-matrix]").forEach((place, n) => matrix(place, data.matrices[n]));

// ---- where one is -----------------------------------------------------------------------

const links = [...document.querySelectorAll(".contents a")];
const targets = links.map((link) => document.querySelector(link.getAttribute("href")));

function here() {
  const ends = window.innerHeight + window.scrollY >= document.body.scrollHeight - 4;
  const passed = targets.findLastIndex((target) => target.getBoundingClientRect().top < window.innerHeight / 3);
  const now = ends ? targets.length - 1 : Math.max(0, passed);
  links.forEach((link, n) => (n === now ? link.setAttribute("aria-current", "location") : link.removeAttribute("aria-current")));
}

addEventListener("scroll", here, { passive: true });
addEventListener("resize", here);
for (const link of links) {
  link.addEventListener("click", () => {
    const folded = document.querySelector(link.getAttribute("href") + " > details");
    if (folded) folded.open = true;
  });
}
// A table of the notebook that is wider than the page can be scrolled from the keyboard.
function scrollable() {
  for (const table of document.querySelectorAll(".notebook table")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    else table.removeAttribute("tabindex");
  }
}

addEventListener("resize", scrollable);
document.querySelector("#notebook > details").addEventListener("toggle", scrollable);
scrollable();
// What is folded is printed too, but for the notebook.
addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("section:not(#notebook) details")) one.open = true; });
here();
