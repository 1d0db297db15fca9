"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const SEED = "seed";
const PALETTE = ["#1463ff", "#e4572e", "#17a398", "#8f3fd1", "#d99a00", "#d6336c", "#5c940d", "#0b7285", "#7f5539", "#495057"];
const MOST_GROUPS = 8; // of an axis, beyond which its numbers are laid along a line
const SVG = "http://www.w3.org/2000/svg";
const axes = data.varying.filter((name) => name !== SEED);
const runs = new Map(data.runs.map((run) => [run.id, run]));

// What is looked at is kept in the address, so that a view can be linked to.
const view = { rows: "settings", sort: "score", down: !data.minimize, filter: "", ticked: new Set(), colour: axes[0] || "" };

function read() {
  const hash = new URLSearchParams(location.hash.slice(1));
  if (hash.has("rows")) view.rows = hash.get("rows") === "runs" ? "runs" : "settings";
  if (hash.has("sort")) [view.sort, view.down] = [hash.get("sort"), hash.get("down") !== "0"];
  view.filter = hash.get("filter") || "";
  view.ticked = new Set((hash.get("ticked") || "").split(",").filter((id) => runs.has(id)));
  if (axes.includes(hash.get("colour"))) view.colour = hash.get("colour");
}

function keep() {
  const hash = new URLSearchParams({ rows: view.rows, sort: view.sort, down: view.down ? "1" : "0" });
  if (view.filter) hash.set("filter", view.filter);
  if (view.ticked.size) hash.set("ticked", [...view.ticked].join(","));
  if (view.colour) hash.set("colour", view.colour);
  history.replaceState(null, "", "#" + hash);
}

// ---- rows -------------------------------------------------------------------------------

const score = (run) => (run.state === "done" && run.metrics[data.score] !== undefined ? run.metrics[data.score] : null);
const seconds = (run) => (run.state === "done" ? run.metrics.seconds ?? run.wall_seconds : null);
const better = (a, b) => (data.minimize ? a - b : b - a);
const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);

function rowsOf() {
  if (view.rows === "runs") {
    return data.runs.map((run) => ({
      parameters: run.parameters, runs: [run], score: score(run), deviation: null, seconds: seconds(run), state: run.state,
    }));
  }
  return data.settings.map((setting) => {
    const own = setting.runs.map((id) => runs.get(id));
    const states = [...new Set(own.map((run) => run.state))];
    return {
      parameters: setting.parameters, runs: own, score: setting.mean, deviation: setting.deviation, seconds: setting.seconds,
      state: states.length === 1 ? states[0] : own.filter((run) => run.state === "done").length + "/" + own.length + " done",
    };
  });
}

function columns() {
  const names = view.rows === "runs" ? data.varying : axes;
  const found = names.map((name) => ({ key: "p:" + name, title: name, of: (row) => row.parameters[name] }));
  found.push({ key: "score", title: data.score, number: true, of: (row) => row.score });
  found.push({ key: "seconds", title: "time", number: true, of: (row) => row.seconds });
  for (const name of ["accuracy", "loss"]) {
    if (name !== data.score && data.runs.some((run) => name in run.metrics)) {
      found.push({ key: "m:" + name, title: name, number: true, of: (row) => mean(row.runs.map((run) => run.metrics[name]).filter(Number.isFinite)) });
    }
  }
  found.push({ key: "state", title: "state", of: (row) => row.state });
  return found;
}

// A filter is words: name=value, name>number, name<number, or any text in the row.
function passes(row) {
  return view.filter.toLowerCase().split(/\s+/).filter(Boolean).every((word) => {
    const rule = word.match(/^([\w.]+)(>=|<=|=|>|<)(.+)$/);
    if (!rule) return (textOf(row) + " " + row.state).toLowerCase().includes(word);
    const [, name, sign, wanted] = rule;
    const entry = Object.entries(row.parameters).find(([key]) => key.toLowerCase() === name);
    const own = { score: row.score, [data.score]: row.score, time: row.seconds, seconds: row.seconds, state: row.state };
    const value = entry ? entry[1] : own[name];
    if (value === undefined || value === null) return false;
    if (sign === "=") return String(value).toLowerCase() === wanted || Number(value) === Number(wanted);
    const [left, right] = [Number(value), Number(wanted)];
    return { ">": left > right, "<": left < right, ">=": left >= right, "<=": left <= right }[sign];
  });
}

const textOf = (row) => Object.entries(row.parameters).map(([name, value]) => name + "=" + show(value)).join(" ");

function compare(a, b) {
  if (a === null || a === undefined) return b === null || b === undefined ? 0 : 1;
  if (b === null || b === undefined) return -1;
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
  return view.down ? -order : order;
}

function shown() {
  const column = columns().find((one) => one.key === view.sort) || columns().find((one) => one.key === "score");
  return rowsOf().filter(passes).sort((a, b) => compare(column.of(a), column.of(b)));
}

// ---- saying values ----------------------------------------------------------------------

function show(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(4)));
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
// Of a file's path its name says enough; the whole is in what hovering shows.
const brief = (value) => (typeof value === "string" && value.length > 24 ? show(value).split("/").pop() : show(value));
const fixed = (value) => (Math.abs(value) < 100 ? value.toFixed(4) : value.toPrecision(6));
const duration = (value) => (value < 90 ? value.toFixed(value > 0 && value < 10 ? 1 : 0) + " s" : (value / 60).toFixed(1) + " min");

function make(name, attributes = {}, ...inner) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) key in element ? (element[key] = value) : element.setAttribute(key, value);
  element.append(...inner.filter((part) => part !== null));
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

// ---- the table --------------------------------------------------------------------------

function table() {
  const rows = shown();
  const best = rowsOf().map((row) => row.score).filter(Number.isFinite).sort(better)[0];
  const scores = rows.map((row) => row.score).filter(Number.isFinite);
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  const heads = columns().map((column) => {
    const arrow = column.key === view.sort ? (view.down ? " ↓" : " ↑") : "";
    const head = make("th", { className: column.number ? "number" : "", textContent: column.title + arrow });
    head.dataset.key = column.key;
    head.onclick = () => {
      if (view.sort === column.key) view.down = !view.down;
      else [view.sort, view.down] = [column.key, column.key === "score" && !data.minimize];
      refresh();
    };
    return head;
  });
  document.querySelector("thead").replaceChildren(make("tr", {}, make("th"), ...heads, make("th", { textContent: "report" })));
  document.querySelector("tbody").replaceChildren(...rows.map((row) => line(row, row.score !== null && row.score === best, low, high)));
  document.getElementById("count").textContent = rows.length + " of " + rowsOf().length;
  for (const button of document.querySelectorAll("[data-view]")) button.className = button.dataset.view === view.rows ? "on" : "";
}

function line(row, best, low, high) {
  const tick = make("input", { type: "checkbox", checked: row.runs.every((run) => view.ticked.has(run.id)), title: "show its curve" });
  tick.onchange = () => {
    for (const run of row.runs) tick.checked ? view.ticked.add(run.id) : view.ticked.delete(run.id);
    keep();
    curves();
  };
  const cells = columns().map((column) => {
    const value = column.of(row);
    if (column.key === "score") return scoreCell(row, best, low, high);
    if (column.key === "state") return stateCell(row);
    const text = value === null || value === undefined ? "" : column.key === "seconds" ? duration(value) : column.number ? fixed(value) : brief(value);
    return make("td", { className: column.number ? "number" : "", textContent: text, title: column.number ? "" : show(value) });
  });
  const reports = make("td", {}, ...row.runs.filter((run) => run.report).flatMap((run, n) => [
    n ? " " : "",
    make("a", { href: run.report, textContent: row.runs.length > 1 ? (n ? "" : "seed ") + show(run.parameters[SEED] ?? n) : "report" }),
  ]));
  return make("tr", { className: best ? "best" : "" }, make("td", {}, tick), ...cells, reports);
}

function scoreCell(row, best, low, high) {
  if (row.score === null) return make("td", { className: "number" });
  const width = high > low ? 6 + (54 * (row.score - low)) / (high - low) : 60;
  const bar = make("span", { className: "bar-cell" });
  bar.style.width = width + "px";
  const spread = row.deviation === null ? "" : " ± " + row.deviation.toFixed(4);
  return make("td", { className: "number" }, bar, fixed(row.score) + spread, best ? make("span", { className: "badge", textContent: "best" }) : null);
}

function stateCell(row) {
  const errors = row.runs.map((run) => run.error).filter(Boolean);
  const cell = make("td", { title: errors.join("\n") }, make("span", { className: "state " + row.state, textContent: row.state }));
  const lines = (errors[0] || "").split("\n").map((text) => text.trim()).filter(Boolean);
  const said = lines.find((text) => /^\w*(Error|Exception):/.test(text)) || lines[0];
  if (said) cell.append(make("div", { className: "quiet state", textContent: said.slice(0, 90) }));
  return cell;
}

// ---- pictures ---------------------------------------------------------------------------

// Round numbers from low to high, about so many.
function ticks(low, high, about) {
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, n) => (first + n) * step);
}

function frame(width, height, low, high, format, unit = 1) {
  const box = { left: 52, right: width - 12, top: 12, bottom: height - 28 };
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const y = (value) => box.bottom - ((value - low) / (high - low || 1)) * (box.bottom - box.top);
  for (const value of ticks(low / unit, high / unit, height / 55).map((n) => n * unit)) {
    picture.append(draw("line", { x1: box.left, x2: box.right, y1: y(value), y2: y(value), class: "line" }));
    picture.append(draw("text", { x: box.left - 6, y: y(value) + 4, "text-anchor": "end" }, format(value)));
  }
  return { picture, box, y };
}

function range(values, fromZero = false) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const pad = (fromZero ? high : high - low) * 0.14 || Math.abs(high) * 0.05 || 0.01;
  return [fromZero ? 0 : low - pad, high + pad];
}

function finished() {
  const ids = new Set(shown().flatMap((row) => row.runs.map((run) => run.id)));
  return data.runs.filter((run) => ids.has(run.id) && score(run) !== null);
}

function axisPictures() {
  const own = finished();
  const split = (name) => {
    const first = new Map();
    return data.runs.map((run, n) => first.get(JSON.stringify(run.parameters[name])) ?? (first.set(JSON.stringify(run.parameters[name]), n), n)).join();
  };
  const axis = (title, picture, what) => make("div", { className: "axis" }, make("h3", { textContent: title }),
    make("div", {}, picture(what, score, data.score, (v) => v.toFixed(3)), picture(what, seconds, "time", duration, true)));
  const pictures = (own.length ? axes : []).map((name) => {
    if (continuous(name)) return axis(name, scatter, { name, own });
    // Parameters that change together, as a model and its weights do, are one axis.
    const twins = axes.filter((other) => split(other) === split(name));
    if (twins[0] !== name) return "";
    const values = [...new Set(data.runs.map((run) => JSON.stringify(run.parameters[name])))];
    const groups = values.map((value) => [brief(JSON.parse(value)), own.filter((run) => JSON.stringify(run.parameters[name]) === value)]);
    const numbers = values.every((value) => typeof JSON.parse(value) === "number");
    if (numbers) groups.sort((a, b) => Number(a[0]) - Number(b[0]));
    return axis(twins.join(", "), effect, groups);
  });
  document.getElementById("axes").replaceChildren(...pictures);
  document.getElementById("axes-section").hidden = !axes.length || !own.length;
}

// The frame of a score, or of a time, which is narrow and begins at 0.
function panel(values, title, format, ofTime) {
  const unit = ofTime && Math.max(...values) >= 90 ? 60 : 1;
  const framed = frame(ofTime ? 260 : 380, 210, ...range(values, ofTime), format, unit);
  framed.picture.append(draw("text", { x: framed.box.left, y: 9 }, title));
  return framed;
}

function effect(groups, measure, title, format, columnsWanted = false) {
  const all = groups.flatMap(([, own]) => own.map(measure)).filter(Number.isFinite);
  if (!all.length) return make("div");
  const { picture, box, y } = panel(all, title, format, columnsWanted);
  const step = (box.right - box.left) / groups.length;
  const middle = (n) => box.left + step * (n + 0.5);
  const means = groups.map(([, own]) => mean(own.map(measure).filter(Number.isFinite)));
  groups.forEach(([label, own], n) => {
    const every = Math.ceil(groups.length / 8);
    const room = Math.max(4, Math.floor((step * every) / 6.2));
    if (n % every === 0) picture.append(titled(draw("text", { x: middle(n), y: box.bottom + 16, "text-anchor": "middle" }, label.length > room ? label.slice(0, room - 1) + "…" : label), label));
    if (means[n] === null) return;
    if (columnsWanted) picture.append(draw("rect", { x: middle(n) - step * 0.3, width: step * 0.6, y: y(means[n]), height: box.bottom - y(means[n]), class: "column", rx: 3 }));
    own.forEach((run, k) => picture.append(titled(draw("circle", { cx: middle(n) + ((k % 5) - 2) * Math.min(4, step / 14), cy: y(measure(run)), r: 3.2, class: "dot" }), describe(run))));
    picture.append(draw("text", { x: middle(n), y: Math.max(box.top + 2, y(Math.max(...own.map(measure))) - 7), "text-anchor": "middle", class: "value" }, format(means[n])));
  });
  const points = means.map((value, n) => (value === null ? null : [middle(n), y(value)])).filter(Boolean);
  if (!columnsWanted) {
    picture.append(draw("polyline", { points: points.map((point) => point.join(",")).join(" "), class: "mean" }));
    for (const [cx, cy] of points) picture.append(draw("circle", { cx, cy, r: 4, class: "mean-dot" }));
  }
  return picture;
}

// Numbers that hardly come twice, as a search proposes them, have a place on a line instead.
function continuous(name) {
  const values = data.runs.map((run) => run.parameters[name]);
  return values.every((value) => typeof value === "number") && new Set(values).size > MOST_GROUPS;
}

function scatter({ name, own }, measure, title, format, narrow = false) {
  const dots = own.filter((run) => Number.isFinite(measure(run)));
  if (!dots.length) return make("div");
  const { picture, box, y } = panel(dots.map(measure), title, format, narrow);
  const values = data.runs.map((run) => run.parameters[name]).sort((a, b) => a - b);
  const [least, middle, most] = [values[0], values[values.length >> 1], values[values.length - 1]];
  const log = least > 0 && most / least > 10 && middle < (least + most) / 4; // crowded at the low end
  const place = log ? Math.log10 : Number;
  const [low, high] = [place(least), place(most)];
  const x = (value) => box.left + 6 + ((place(value) - low) / (high - low)) * (box.right - box.left - 20);
  for (const value of log ? decades(least, most) : ticks(least, most, narrow ? 3 : 5)) {
    picture.append(draw("text", { x: x(value), y: box.bottom + 16, "text-anchor": "middle" }, show(value)));
  }
  for (const run of dots) picture.append(titled(draw("circle", { cx: x(run.parameters[name]), cy: y(measure(run)), r: 4, class: "dot" }), describe(run)));
  return picture;
}

// 0.001, 0.003, 0.01 …, as many as lie between.
function decades(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    found.push(...[1, 3].map((n) => n * 10 ** power).filter((value) => value >= low && value <= high));
  }
  return found;
}

const describe = (run) => Object.entries(run.parameters).map(([name, value]) => name + "=" + show(value)).join("\n") + `\n${data.score} ${fixed(score(run))}` + (seconds(run) === null ? "" : `\n${duration(seconds(run))}`);

function curves() {
  const own = data.runs.filter((run) => view.ticked.has(run.id) && run.curve.length);
  const place = document.getElementById("curves");
  document.getElementById("curves-section").hidden = !data.runs.some((run) => run.curve.length);
  if (!own.length) return place.replaceChildren();
  const longest = Math.max(...own.map((run) => run.curve.length));
  const { picture, box, y } = frame(1160, 340, ...range(own.flatMap((run) => run.curve)), (v) => v.toFixed(3));
  const x = (n) => box.left + ((box.right - box.left) * n) / Math.max(1, longest - 1);
  const labelOf = (run) => axes.map((name) => name + "=" + brief(run.parameters[name])).join(" · ") || run.id;
  const labels = [...new Set(own.map(labelOf))];
  own.forEach((run) => {
    const label = labelOf(run);
    const points = run.curve.map((value, n) => x(n) + "," + y(value)).join(" ");
    picture.append(titled(draw("polyline", { points, fill: "none", stroke: PALETTE[labels.indexOf(label) % PALETTE.length], "stroke-width": 1.8, "stroke-opacity": 0.85, class: "curve" }), describeAny(run)));
  });
  for (let n = 0; n < longest; n += Math.ceil(longest / 12)) picture.append(draw("text", { x: x(n), y: box.bottom + 16, "text-anchor": "middle" }, n + 1));
  picture.append(draw("text", { x: box.right, y: box.bottom + 25, "text-anchor": "end" }, "epoch"));
  place.replaceChildren(picture, legend(labels, false));
}

const describeAny = (run) => (score(run) === null ? run.id + " " + run.state : describe(run));

function legend(labels, round) {
  return make("div", { className: "legend" }, ...labels.map((label, n) => {
    const sign = make("i", { className: round ? "round" : "" });
    sign.style.background = PALETTE[n % PALETTE.length];
    return make("span", {}, sign, label);
  }));
}

function cost() {
  const own = finished().filter((run) => Number.isFinite(seconds(run)));
  document.getElementById("cost-section").hidden = !own.length;
  if (!own.length) return;
  const inMinutes = Math.max(...own.map(seconds)) >= 120;
  const time = (run) => seconds(run) / (inMinutes ? 60 : 1);
  const { picture, box, y } = frame(1160, 380, ...range(own.map(score)), (v) => v.toFixed(3));
  const [low, high] = range(own.map(time), true);
  const x = (value) => box.left + ((value - low) / (high - low)) * (box.right - box.left);
  const values = [...new Set(data.runs.map((run) => show(run.parameters[view.colour])))];
  for (const value of ticks(low, high, 8)) picture.append(draw("text", { x: x(value), y: box.bottom + 16, "text-anchor": "middle" }, show(value)));
  for (const run of own) picture.append(titled(draw("circle", { cx: x(time(run)), cy: y(score(run)), r: 5.5, fill: PALETTE[values.indexOf(show(run.parameters[view.colour])) % PALETTE.length], "fill-opacity": 0.75 }), describe(run)));
  picture.append(draw("text", { x: box.right, y: box.bottom + 25, "text-anchor": "end" }, inMinutes ? "minutes" : "seconds"));
  picture.append(draw("text", { x: box.left, y: 9 }, data.score));
  document.getElementById("cost").replaceChildren(picture, view.colour ? legend(values.map(brief), true) : "");
}

// ---- all together -----------------------------------------------------------------------

function refresh() {
  keep();
  table();
  axisPictures();
  curves();
  cost();
}

function summary() {
  const counts = {};
  for (const run of data.runs) counts[run.state] = (counts[run.state] || 0) + 1;
  const best = data.settings.filter((setting) => setting.mean !== null).sort((a, b) => better(a.mean, b.mean))[0];
  const parts = [`${data.runs.length} runs: ` + Object.entries(counts).map(([state, count]) => `${count} ${state}`).join(", ") + ". "];
  if (best) {
    const spread = best.deviation === null ? "" : ` ± ${best.deviation.toFixed(4)} over ${best.count} seeds`;
    parts.push("Best ", make("b", { textContent: `${data.score} ${fixed(best.mean)}${spread}` }));
    const said = Object.entries(best.parameters).map(([name, value]) => `${name}=${brief(value)}`).join(", ");
    if (said) parts.push(" with ", make("b", { textContent: said }));
  }
  document.getElementById("title").textContent = document.title;
  document.getElementById("better").textContent = data.minimize ? "Down" : "Up";
  document.getElementById("summary").append(...parts);
}

function begin() {
  read();
  summary();
  const filter = document.getElementById("filter");
  filter.value = view.filter;
  filter.oninput = () => { view.filter = filter.value; refresh(); };
  for (const button of document.querySelectorAll("[data-view]")) button.onclick = () => { view.rows = button.dataset.view; refresh(); };
  const colour = document.getElementById("colour");
  colour.append(...axes.map((name) => make("option", { value: name, textContent: name, selected: name === view.colour })));
  colour.onchange = () => { view.colour = colour.value; refresh(); };
  document.getElementById("choices").append(...axes.slice(0, 6).map(choice));
  document.getElementById("tick-all").onclick = () => { for (const row of shown()) for (const run of row.runs) view.ticked.add(run.id); refresh(); };
  document.getElementById("tick-none").onclick = () => { view.ticked.clear(); refresh(); };
  refresh();
}

function choice(name) {
  const values = [...new Set(data.runs.map((run) => show(run.parameters[name])))];
  const select = make("select", { title: name }, make("option", { value: "", textContent: name + ": any" }), ...values.map((value) => make("option", { value, textContent: name + ": " + brief(value) })));
  select.onchange = () => {
    const others = view.filter.split(/\s+/).filter((word) => word && !word.toLowerCase().startsWith(name.toLowerCase() + "="));
    view.filter = [...others, ...(select.value ? [name + "=" + select.value] : [])].join(" ");
    document.getElementById("filter").value = view.filter;
    refresh();
  };
  return select;
}

begin();
