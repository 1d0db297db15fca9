"use strict";
// Parallel coordinates: a line for each row of the table. A range that is drawn on an axis becomes words of the filter.
const BANDS = 24; // colours from the worst score to the best
const TOP = 34; // pixels above the axes, for their names
const WIDE = 84; // pixels that an axis needs

// Dark to bright; told apart by lightness, too.
function shade(share) {
  const from = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [222, 205, 30]];
  const at = Math.min(3.999, Math.max(0, share) * 4);
  const [a, b] = [from[Math.floor(at)], from[Math.floor(at) + 1]];
  return `rgb(${a.map((value, n) => Math.round(value + (at % 1) * (b[n] - value))).join(" ")})`;
}

// An axis: where a value of it lies, from 0 at the bottom to 1, and its ticks.
function scaleOf(name) {
  const numbers = name === "" || continuous(name) || (valuesOf(name).length > 5 && valuesOf(name).every(Number.isFinite));
  if (!numbers) {
    const values = valuesOf(name).map((value) => JSON.stringify(value));
    const at = (value) => (values.length > 1 ? (values.indexOf(JSON.stringify(value)) + 0.5) / values.length : 0.5);
    return { name, at, ticks: valuesOf(name).map((value) => [at(value), show(brief(value))]), values: valuesOf(name) };
  }
  const log = name !== "" && logarithmic(name);
  const all = name === "" ? ascending(made[view.rows].map((row) => row.score).filter(Number.isFinite)) : valuesOf(name);
  const [least, most] = [all[0], all.at(-1)];
  const to = log ? Math.log10 : Number;
  const [low, high] = [to(least), to(most)];
  const at = (value) => (high > low ? (to(value) - low) / (high - low) : 0.5);
  const back = (share) => Number((log ? 10 ** (low + share * (high - low)) : low + share * (high - low)).toPrecision(4));
  return { name, at, back, least, most, ticks: ticksOf(least, most, log, 5).map((value) => [at(value), show(Number(value.toPrecision(4)))]) };
}

// The part of an axis that the filter leaves: [from, to] as shares, or null.
function brushed(scale) {
  const own = clauses().filter(({ name, sign, not }) => name === (scale.name || "score") && [">=", "<=", "="].includes(sign) && !not);
  if (!own.length) return null;
  if (scale.values) {
    const wanted = own.flatMap(({ wanted }) => wanted.split("|"));
    const chosen = scale.values.map((value, n) => (wanted.includes(show(value).toLowerCase()) ? n : -1)).filter((n) => n >= 0);
    const count = scale.values.length;
    return chosen.length ? Object.assign([chosen[0] / count, (chosen.at(-1) + 1) / count], { pieces: chosen.map((n) => [n / count, (n + 1) / count]) }) : null;
  }
  const limit = (sign, otherwise) => Number(own.find((clause) => clause.sign === sign)?.wanted ?? otherwise);
  return [scale.at(limit(">=", scale.least)), scale.at(limit("<=", scale.most))];
}

function brush(scale, range) {
  const name = scale.name || "score";
  if (!range || range[1] - range[0] > 0.999) return restrict(name);
  const [from, to] = range;
  if (scale.values) {
    const inside = scale.values.filter((_, n) => (n + 0.5) / scale.values.length >= from && (n + 0.5) / scale.values.length <= to);
    return restrict(name, ...(inside.length && inside.length < scale.values.length ? [quoted(`${name}=${inside.map(show).join("|")}`)] : []));
  }
  restrict(name, ...(from > 0.001 ? [`${name}>=${scale.back(from)}`] : []), ...(to < 0.999 ? [`${name}<=${scale.back(to)}`] : []));
}

function parallel() {
  const place = byId("parallel");
  const rows = made[view.rows].filter((row) => row.score !== null);
  const names = axes.filter((name) => valuesOf(name).length > 1);
  byId("parallel-section").hidden = names.length < 2 || rows.length < 3;
  if (byId("parallel-section").hidden) return;
  names.sort((a, b) => (firstShares.get(a) ?? 0) - (firstShares.get(b) ?? 0));
  const scales = [...names, ""].map(scaleOf);
  chart(place, (width) => {
    // On a narrow page the axes that matter most.
    const most = Math.max(2, Math.floor(width / WIDE));
    drawParallel(place, width, rows, scales.slice(-most), Math.max(0, scales.length - most));
  });
}

function drawParallel(place, width, rows, scales, out) {
  const height = 330;
  const [top, bottom] = [TOP, height - 14];
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Parallel coordinates" });
  const x = (n) => 44 + (n * (width - 130)) / Math.max(1, scales.length - 1);
  const y = (share) => bottom - share * (bottom - top);
  const inside = new Set(matching());
  const order = [...rows].sort((a, b) => better(b.score, a.score));
  const spots = new Map(order.map((row) => [row, scales.map((scale, n) => [x(n), y(scale.at(scale.name ? row.parameters[scale.name] : row.score))])]));
  const path = (own) => own.map((row) => "M" + spots.get(row).map(([a, b]) => `${a.toFixed(1)} ${b.toFixed(1)}`).join("L")).join("");
  picture.append(draw("path", { d: path(order.filter((row) => !inside.has(row))), class: "line-out" }));
  const kept = order.filter((row) => inside.has(row));
  for (let band = 0; band < BANDS; band++) {
    const own = kept.slice(Math.floor((band * kept.length) / BANDS), Math.floor(((band + 1) * kept.length) / BANDS));
    if (own.length) picture.append(draw("path", { d: path(own), class: "line-in", style: `stroke:${shade(kept.length > 1 ? (band + 0.5) / BANDS : 1)};stroke-width:${kept.length > 60 ? 1 : 2}` }));
  }
  const bright = draw("path", { class: "line-at" });
  picture.append(bright);
  const reading = make("p", { className: "reading quiet", ariaLive: "polite" });
  scales.forEach((scale, n) => drawAxis(picture, scale, { x: x(n), y, top, bottom, room: n ? x(n) - x(n - 1) : WIDE, ends: n === scales.length - 1 }));
  picture.addEventListener("pointermove", (event) => {
    if (event.buttons) return;
    const own = picture.getBoundingClientRect();
    const [px, py] = [((event.clientX - own.left) * width) / own.width, ((event.clientY - own.top) * width) / own.width];
    const n = Math.min(scales.length - 2, Math.max(0, scales.findLastIndex((_, k) => x(k) <= px)));
    const at = (px - x(n)) / (x(n + 1) - x(n));
    let [nearest, least] = [null, 10];
    for (const row of kept) {
      const [[, a], [, b]] = [spots.get(row)[n], spots.get(row)[n + 1]];
      const apart = Math.abs(a + at * (b - a) - py);
      if (apart < least) [nearest, least] = [row, apart];
    }
    bright.setAttribute("d", nearest ? path([nearest]) : "");
    reading.replaceChildren(...(nearest ? [make("b", {}, `${scoreName} ${scored(nearest)}`), make("span", {}, nearest.name)] : []));
  });
  place.replaceChildren(picture, reading);
  const few = out ? ` Left out at this width, because they matter least: ${out}.` : "";
  byId("parallel-words").textContent = `Each line is one ${view.rows === "runs" ? "run" : "configuration"}; brighter is better. Parameters that explain more of the score are drawn closer to it. Drag along an axis, or focus it and use the arrow keys (Shift for its upper end), to filter the whole page; click it to clear.${few}`;
}

function drawAxis(picture, scale, { x, y, top, bottom, room, ends }) {
  const range = brushed(scale);
  const [from, to] = range ?? [0, 1];
  const label = scale.name ? inWords(scale.name) : scoreName;
  const said = range ? `from ${Math.round(100 * from)} to ${Math.round(100 * to)} percent of its range` : "all";
  const group = draw("g", { tabindex: 0, role: "slider", "aria-label": label, "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(100 * from), "aria-valuetext": said, class: "axis-of" });
  group.dataset.axis = scale.name || "score";
  group.append(draw("line", { x1: x, x2: x, y1: top, y2: bottom, class: "axis-line" }));
  let free = Infinity;
  for (const [share, text] of scale.ticks) {
    if (y(share) > free) continue;
    group.append(draw("line", { x1: x - 3, x2: x, y1: y(share), y2: y(share), class: "axis-line" }));
    group.append(titled(draw("text", { x: x + 6, y: y(share) + 4, class: "on-lines" }, shortened(text, ends ? 11 : Math.max(4, Math.floor(room / 9)))), text));
    free = y(share) - 15;
  }
  group.append(titled(draw("text", { x, y: 14, "text-anchor": "middle", class: range ? "value brushed" : "value" }, shortened(label, Math.max(5, Math.floor(room / 7.6)))), label));
  const box = draw("rect", { x: x - 7, width: 14, y: y(to), height: Math.max(0, y(from) - y(to)), class: "brush", visibility: range ? "visible" : "hidden" });
  // Of categories that do not stand side by side each has a piece of its own.
  const pieces = (range?.pieces ?? []).map(([low, high]) => draw("rect", { x: x - 7, width: 14, y: y(high), height: y(low) - y(high), class: "brush" }));
  if (pieces.length) box.setAttribute("visibility", "hidden");
  const catcher = draw("rect", { x: x - 14, width: 28, y: top - 6, height: bottom - top + 12, class: "catcher" });
  group.append(...pieces, box, catcher);
  picture.append(group);
  const share = (event) => {
    const own = picture.getBoundingClientRect();
    const at = ((event.clientY - own.top) * picture.viewBox.baseVal.height) / own.height;
    return Math.min(1, Math.max(0, (bottom - at) / (bottom - top)));
  };
  let start = null;
  catcher.addEventListener("pointerdown", (event) => { start = share(event); catcher.setPointerCapture(event.pointerId); event.preventDefault(); });
  catcher.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const [low, high] = [start, share(event)].sort((a, b) => a - b);
    for (const [key, value] of Object.entries({ y: y(high), height: y(low) - y(high), visibility: "visible" })) box.setAttribute(key, value);
  });
  catcher.addEventListener("pointerup", (event) => {
    const [low, high] = [start ?? 0, share(event)].sort((a, b) => a - b);
    start = null;
    brush(scale, high - low < 0.02 ? null : [low, high]);
  });
  group.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key] ?? 0;
    if (!step && event.key !== "Escape") return;
    event.preventDefault();
    const by = step * (scale.values ? 1 / scale.values.length : 0.05);
    const moved = event.shiftKey ? [from, Math.min(1, Math.max(from + Math.abs(by), to + by))] : [Math.max(0, Math.min(to - Math.abs(by), from + by)), to];
    brush(scale, step ? moved : null);
    document.querySelector(`#parallel [data-axis="${CSS.escape(scale.name || "score")}"]`)?.focus();
  });
}
