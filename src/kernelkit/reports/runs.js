"use strict";
// The page of many runs: of a sweep, or of a folder of runs. Table, filters, curves, pictures.
const data = JSON.parse(document.getElementById("data").textContent);
const SEED = "seed";
const MOST_GROUPS = 8; // of an axis, beyond which its numbers are laid along a line
const MOST_CHOICES = 40; // values of a parameter that a list can be chosen from
const LAID = 40; // rows that are laid out at first, three screens: a sort waits for their layout above all
const ON_LOAD = 5; // settings whose curves are there when the page opens
const axes = data.axes;
const runs = new Map(data.runs.map((run) => [run.id, run]));
const byId = (id) => document.getElementById(id);

// What is looked at is kept in the address, so that a view can be linked to.
const view = { rows: data.sweep ? "settings" : "runs", sort: data.sweep ? "score" : "when", down: data.sweep ? !data.minimize : true, filter: "", ticked: null, colour: "" };

function read() {
  const hash = new URLSearchParams(location.hash.slice(1));
  if (hash.has("rows")) view.rows = hash.get("rows") === "runs" ? "runs" : "settings";
  if (hash.has("sort")) [view.sort, view.down] = [hash.get("sort"), hash.get("down") !== "0"];
  view.filter = hash.get("filter") || "";
  if (hash.has("ticked")) view.ticked = new Set(hash.get("ticked").split(",").filter((id) => runs.has(id)));
  if (axes.includes(hash.get("colour"))) view.colour = hash.get("colour");
}

function keep() {
  const hash = new URLSearchParams({ rows: view.rows, sort: view.sort, down: view.down ? "1" : "0" });
  if (view.filter) hash.set("filter", view.filter);
  if (view.ticked) hash.set("ticked", [...view.ticked].join(","));
  if (view.colour) hash.set("colour", view.colour);
  history.replaceState(null, "", "#" + hash);
}

// ---- rows -------------------------------------------------------------------------------

const score = (run) => (["done", ""].includes(run.state) && Number.isFinite(run.metrics[data.score]) ? run.metrics[data.score] : null);
const seconds = (run) => (["done", ""].includes(run.state) ? run.metrics.seconds ?? run.seconds : null);
const better = (a, b) => (data.minimize ? a - b : b - a);
const finite = (values) => values.filter(Number.isFinite);
const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);
const deviation = (values) => (values.length > 1 ? Math.sqrt(values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - 1)) : null);

function rowOf(own) {
  const scores = finite(own.map(score));
  const states = [...new Set(own.map((run) => run.state))];
  return {
    runs: own, name: own.length > 1 ? own[0].setting : own[0].name, parameters: own[0].parameters, data: own[0].data, scores,
    score: mean(scores), deviation: deviation(scores), seconds: mean(finite(own.map(seconds))), when: Math.max(...own.map((run) => run.when || 0)),
    device: own[0].device, state: states.length === 1 ? states[0] : own.filter((run) => run.state === "done").length + "/" + own.length + " done",
  };
}

function settings() {
  const groups = new Map();
  for (const run of data.runs) {
    const { [SEED]: _, ...setting } = run.parameters;
    const key = JSON.stringify([data.sweep ? "" : [run.setting, run.data], data.sweep ? axes.map((name) => setting[name]) : setting]);
    groups.has(key) ? groups.get(key).push(run) : groups.set(key, [run]);
  }
  return [...groups.values()].map(rowOf);
}

const made = { settings: settings(), runs: data.runs.map((run) => rowOf([run])) };
for (const row of [...made.settings, ...made.runs]) row.text = (row.name + " " + Object.entries(row.parameters).map(([name, value]) => name + "=" + show(value)).join(" ") + " " + [row.state, row.device, row.data].join(" ")).toLowerCase();

// Scores are only compared where they are of the same data: the best is that of the data which most were validated on,
// and of runs that are all alike none is.
for (const rows of Object.values(made)) {
  const groups = new Map();
  for (const row of rows) if (row.score !== null) groups.set(row.data, [...(groups.get(row.data) || []), row]);
  const [group = []] = [...groups.values()].sort((a, b) => b.length - a.length);
  group.sort((a, b) => better(a.score, b.score));
  for (const row of group) row.best = row.score === group[0].score && row.score !== group.at(-1).score;
}

// On the page of all runs, what every run has alike is said once and needs no column.
const told = [...data.columns.map((name) => ["p:" + name, name, (run) => run.parameters[name]]), ["device", "device", (run) => run.device], ["data", "validated on", (run) => run.data]];
const alike = data.sweep || data.runs.length < 2 ? [] : told.map(([key, name, of]) => ({ key, name, values: [...new Set(data.runs.map(of).filter((value) => !["", null, undefined].includes(value)).map(show))] })).filter(({ values }) => values.length === 1);

function columns() {
  const found = data.sweep ? [] : [{ key: "name", title: "run", of: (row) => row.name }, { key: "when", title: "when", of: (row) => row.when }];
  const names = data.sweep ? data.columns.filter((name) => name !== SEED || view.rows === "runs") : data.columns;
  found.push(...names.map((name) => ({ key: "p:" + name, title: name.replaceAll("_", " "), of: (row) => row.parameters[name] })));
  if (data.score) found.push({ key: "score", title: data.labels[data.score] ?? data.score, number: true, of: (row) => row.score });
  found.push({ key: "seconds", title: "time", number: true, name: "seconds", of: (row) => row.seconds });
  for (const name of data.measures) {
    const counts = data.runs.every((run) => run.metrics[name] === undefined || Number.isInteger(run.metrics[name]));
    found.push({ key: "m:" + name, title: data.labels[name] ?? name, number: true, counts, name, of: (row) => mean(finite(row.runs.map((run) => run.metrics[name]))) });
  }
  found.push({ key: "device", title: "device", of: (row) => row.device }, { key: "data", title: "validated on", of: (row) => row.data }, { key: "state", title: "state", of: (row) => row.state });
  return found.filter((column) => column.key === "score" || !alike.some(({ key }) => key === column.key) && made.runs.some((row) => !["", null, undefined, 0].includes(column.of(row))));
}

// A filter is words: name=value, name>number, name<number, or any text in the row.
const words = () => (view.filter.toLowerCase().match(/[^\s"]*"[^"]*"|\S+/g) || []).map((word) => word.replaceAll('"', ""));

function passes(row) {
  return words().every((word) => {
    const rule = word.match(/^([\w.]+)(>=|<=|=|>|<)(.*)$/);
    if (!rule) return row.text.includes(word);
    const [, name, sign, wanted] = rule;
    const entry = Object.entries(row.parameters).find(([key]) => key.toLowerCase() === name);
    const own = { score: row.score, [data.score]: row.score, time: row.seconds, seconds: row.seconds, state: row.state };
    const value = entry ? entry[1] : own[name];
    if (value === undefined || value === null) return false;
    if (sign === "=") return show(value).toLowerCase() === wanted || (wanted !== "" && typeof value === "number" && value === Number(wanted));
    const [left, right] = [Number(value), Number(wanted)];
    return { ">": left > right, "<": left < right, ">=": left >= right, "<=": left <= right }[sign];
  });
}

// The values of a parameter: numbers in their order, then the others in that of the runs.
function valuesOf(name) {
  const values = [...new Map(data.runs.map((run) => [JSON.stringify(run.parameters[name]), run.parameters[name]])).values()];
  return [...finite(values).sort((a, b) => a - b), ...values.filter((value) => !Number.isFinite(value))];
}

const letters = new Intl.Collator(undefined, { numeric: true });

function compare(a, b) {
  const [none, nor] = [a, b].map((value) => value === null || value === undefined || value === "");
  if (none || nor) return none - nor; // empty ones stay at the end whichever way a column is sorted
  const order = typeof a === "number" && typeof b === "number" ? a - b : letters.compare(a, b);
  return view.down ? -order : order;
}

function shown() {
  const column = columns().find((one) => one.key === view.sort) || columns()[0];
  return made[view.rows].filter(passes).sort((a, b) => compare(column.of(a), column.of(b)));
}

// Of a file's path its name says enough; the whole is in what hovering shows.
const brief = (value) => (typeof value === "string" && value.length > 24 ? show(value).split("/").pop() : show(value));

// ---- the table --------------------------------------------------------------------------

function table() {
  const rows = shown();
  const found = columns();
  const heads = found.map((column) => {
    const button = make("button", { type: "button", textContent: column.title });
    const head = make("th", { className: column.number ? "number" : "", scope: "col" }, button);
    head.dataset.key = column.key;
    if (column.key === view.sort) head.setAttribute("aria-sort", view.down ? "descending" : "ascending");
    button.onclick = () => sortBy(column);
    return head;
  });
  const held = document.activeElement?.closest?.("th")?.dataset.key;
  byId("heads").replaceChildren(make("th", { scope: "col", textContent: "curve" }), ...heads, ...(linked() ? [] : [make("th", { scope: "col", textContent: "report" })]));
  byId("rows").replaceChildren();
  let there = 0;
  lay = (most) => {
    byId("rows").querySelector(".more")?.remove();
    const parts = rows.slice(there, there + most).map((row) => (row.line ??= line(row, found)));
    there += parts.length;
    if (there < rows.length) parts.push(rest(rows.length - there, found.length + 2));
    byId("rows").append(...parts);
  };
  more = () => { if (there < rows.length) lay(there); };
  lay(LAID);
  if (!rows.length) byId("rows").append(nothing(found.length + 2));
  byId("count").textContent = `${rows.length.toLocaleString("en")} of ${made[view.rows].length.toLocaleString("en")}`;
  for (const button of document.querySelectorAll("[data-view]")) button.setAttribute("aria-pressed", button.dataset.view === view.rows);
  // Both of these lay the page out, so they come last: the old rows are not laid out once more.
  if (held) document.querySelector(`th[data-key="${CSS.escape(held)}"] button`)?.focus({ preventScroll: true });
  document.querySelector(".scroll").scrollTop = 0;
}

let lay = () => {}; // lays out so many more of the rows that are shown
let more = () => {}; // as many again as are there: a long table takes a few steps, each one layout

function rest(count, width) {
  const all = make("button", { type: "button", textContent: "Show all" });
  all.onclick = () => lay(Infinity);
  return make("tr", { className: "more nothing" }, make("td", { colSpan: width }, `${count.toLocaleString("en")} more rows. `, all));
}

// Whether a run's name is the link to its report, so that no column of links is needed.
const linked = () => !data.sweep && view.rows === "runs";

// The first click shows what one looks for first: good scores, high numbers, early letters.
function sortBy(column) {
  if (view.sort === column.key) view.down = !view.down;
  else [view.sort, view.down] = [column.key, column.key === "score" ? !data.minimize : column.key === "when" || Boolean(column.number)];
  keep();
  table();
}

function nothing(width) {
  const clear = make("button", { type: "button", textContent: "Clear the filter" });
  clear.onclick = () => { view.filter = ""; byId("filter").value = ""; refresh(); byId("filter").focus(); };
  return make("tr", { className: "nothing" }, make("td", { colSpan: width }, view.filter ? `No run matches “${view.filter}”. ` : "There are no runs yet. ", view.filter ? clear : null));
}

// A row's line is made once: sorting a thousand of them only moves them about.
function line(row, found) {
  const tick = make("input", { type: "checkbox", checked: row.runs.every((run) => view.ticked.has(run.id)), ariaLabel: "curve of " + row.name });
  tick.disabled = !row.runs.some((run) => run.curve.length);
  tick.onchange = () => {
    for (const run of row.runs) tick.checked ? view.ticked.add(run.id) : view.ticked.delete(run.id);
    for (const rows of Object.values(made)) for (const other of rows) if (other !== row) delete other.line;
    keep();
    curves();
  };
  return make("tr", { className: row.best ? "best" : "" }, labelled(make("td", {}, tick), "curve"), ...found.map((column) => labelled(cell(row, column), column.title)), linked() ? null : labelled(reports(row), "report"));
}

function labelled(element, label) {
  if (element.childNodes.length) element.dataset.label = label;
  return element;
}

function cell(row, column) {
  const value = column.of(row);
  if (column.key === "score") return scoreCell(row);
  if (column.key === "state") return stateCell(row);
  if (column.key === "name") return nameCell(row);
  if (value === null || value === undefined || value === "") return make("td");
  if (column.key === "when") return make("td", { className: "when" }, value ? new Date(value * 1000).toLocaleString("sv").slice(0, 16) : "");
  const text = column.number ? measured(column.name, value, column.counts) : typeof value === "number" ? show(value) : brief(value);
  return make("td", { className: column.number || typeof value === "number" ? "number" : "brief", title: column.number ? "" : show(value) }, text);
}

function nameCell(row) {
  const [run] = row.runs;
  const name = run.report && row.runs.length === 1 ? make("a", { href: run.report, textContent: row.name }) : row.name;
  const under = row.runs.length === 1 && run.folder !== row.name ? make("small", {}, run.sweep ? make("a", { href: run.sweep, textContent: run.group }) : run.folder) : null;
  return make("td", { className: "name" }, make("span", {}, name, under, run.note ? make("small", { textContent: run.note }) : null));
}

function reports(row) {
  return make("td", { className: "links" }, make("span", {}, ...row.runs.filter((run) => run.report).flatMap((run, n) => [
    n ? ", " : row.runs.length > 1 ? "seed " : "",
    make("a", { href: run.report, textContent: row.runs.length > 1 ? show(run.parameters[SEED] ?? n) : "report", ariaLabel: "report of " + run.name }),
  ])));
}

const scores = finite(data.runs.map(score));
const [low, high] = [Math.min(...scores), Math.max(...scores)];

function scoreCell(row) {
  if (row.score === null) return make("td", { className: "number" });
  const place = (value) => (high > low ? (100 * (value - low)) / (high - low) : 50);
  const spread = make("span", { className: "spread", ariaHidden: "true" }, make("i"), make("b"));
  const ends = [Math.min(...row.scores), Math.max(...row.scores)].map(place);
  spread.firstChild.style.cssText = `left:${ends[0]}%;width:${ends[1] - ends[0]}%`;
  spread.lastChild.style.left = place(row.score) + "%";
  const seeds = row.deviation === null ? "" : ` ± ${row.deviation.toFixed(4)} (${row.scores.length} seeds)`;
  return make("td", { className: "number", title: row.scores.map(fixed).join(", ") }, make("span", {}, row.best ? make("span", { className: "badge", title: "the best of those validated on the same data", textContent: "best" }) : null, spread, fixed(row.score) + seeds));
}

function stateCell(row) {
  const errors = row.runs.map((run) => run.error).filter(Boolean);
  const state = make("span", { className: row.state, textContent: row.state });
  if (!errors.length) return make("td", {}, state);
  const lines = errors[0].split("\n").map((text) => text.trim()).filter(Boolean);
  const reason = lines.find((text) => /^[\w.]*(Error|Exception)\b/.test(text)) || lines[0];
  return make("td", {}, make("details", { className: "reason" }, make("summary", {}, state, " ", reason.slice(0, 90)), make("pre", { textContent: errors.join("\n\n") })));
}

// ---- pictures ---------------------------------------------------------------------------

function finished() {
  const ids = new Set(made[view.rows].filter(passes).flatMap((row) => row.runs.map((run) => run.id)));
  return data.runs.filter((run) => ids.has(run.id) && score(run) !== null);
}

function describe(run) {
  const scored = score(run) === null ? run.state : `${data.labels[data.score] ?? data.score} ${fixed(score(run))}`;
  return [run.name, scored, seconds(run) === null ? "" : duration(seconds(run))].filter(Boolean).join("\n");
}

function axisPictures() {
  const own = finished();
  const split = (name) => {
    const first = new Map();
    return data.runs.map((run, n) => first.get(JSON.stringify(run.parameters[name])) ?? (first.set(JSON.stringify(run.parameters[name]), n), n)).join();
  };
  const names = own.length ? axes : [];
  const place = byId("axes");
  place.replaceChildren();
  for (const name of names) {
    // Parameters that change together, as a model and its weights do, are one axis.
    const twins = axes.filter((other) => split(other) === split(name));
    if (!continuous(name) && twins[0] !== name) continue;
    if (new Set(own.map((run) => JSON.stringify(run.parameters[name]))).size < 2) continue; // no difference to see
    const where = make("div");
    place.append(make("div", { className: "axis" }, make("h3", { textContent: continuous(name) ? name : twins.join(", ") }), where));
    chart(where, (width) => where.replaceChildren((continuous(name) ? scatter : effect)(width, name, own)));
  }
  byId("axes-section").hidden = !place.childElementCount;
}

// The frame of a picture of the score.
function panel(width, height, own, by) {
  const title = data.labels[data.score] ?? data.score;
  const framed = frame(width, height, ...range(own.map(score)), tickText, `${title} by ${by}`);
  framed.picture.append(draw("text", { x: framed.box.left, y: 12, class: "value" }, title));
  return framed;
}

function effect(width, name, own) {
  const values = valuesOf(name);
  const groups = values.map((value) => [brief(value), own.filter((run) => JSON.stringify(run.parameters[name]) === JSON.stringify(value))]);
  const { picture, box, y } = panel(width, 220, own, name);
  const step = (box.right - box.left) / groups.length;
  const middle = (n) => box.left + step * (n + 0.5);
  const means = groups.map(([, group]) => mean(group.map(score)));
  const every = Math.ceil(groups.length / Math.max(1, (box.right - box.left) / 46));
  groups.forEach(([label, group], n) => {
    const room = Math.max(3, Math.floor((step * every) / 7.2));
    if (n % every === 0) picture.append(titled(draw("text", { x: middle(n), y: box.bottom + 16, "text-anchor": "middle" }, label.length > room ? label.slice(0, room - 1) + "…" : label), label));
    if (means[n] === null) return;
    group.forEach((run, k) => picture.append(titled(draw("circle", { cx: middle(n) + ((k % 5) - 2) * Math.min(4, step / 14), cy: y(score(run)), r: 3.2, class: "dot" }), describe(run))));
    const text = means[n].toFixed(3);
    // Below the value, where no dot and no line comes.
    if (step > text.length * 8 + 4) picture.append(draw("text", { x: middle(n), y: box.bottom + 31, "text-anchor": "middle", class: "value" }, text));
  });
  const points = means.map((value, n) => (value === null ? null : [middle(n), y(value)])).filter(Boolean);
  // Between categories there is nothing that a line could stand for.
  if (values.every(Number.isFinite)) picture.append(draw("polyline", { points: points.join(" "), class: "mean" }));
  for (const [cx, cy] of points) picture.append(draw("circle", { cx, cy, r: 4, class: "mean-dot" }));
  return picture;
}

// Numbers that hardly come twice, as a search proposes them, have a place on a line instead.
function continuous(name) {
  const values = data.runs.map((run) => run.parameters[name]);
  return values.every((value) => typeof value === "number") && new Set(values).size > MOST_GROUPS;
}

function scatter(width, name, own) {
  const { picture, box, y } = panel(width, 220, own, name);
  const values = valuesOf(name);
  const [least, middle, most] = [values[0], values[values.length >> 1], values[values.length - 1]];
  const log = least > 0 && most / least > 10 && middle < (least + most) / 4; // crowded at the low end
  const place = log ? Math.log10 : Number;
  const [low, high] = [place(least), place(most)];
  const x = (value) => box.left + 6 + ((place(value) - low) / (high - low)) * (box.right - box.left - 20);
  const about = (box.right - box.left) / 60;
  for (const value of log ? decades(least, most, about) : ticks(least, most, about).values) {
    picture.append(draw("text", { x: x(value), y: box.bottom + 16, "text-anchor": "middle" }, show(value)));
  }
  for (const run of own) picture.append(titled(draw("circle", { cx: x(run.parameters[name]), cy: y(score(run)), r: 4, class: "dot" }), describe(run)));
  return picture;
}

// 0.001, 0.003, 0.01 …, as many as lie between, or as there is room for.
function decades(low, high, about) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    found.push(...[1, 3].map((n) => n * 10 ** power).filter((value) => value >= low && value <= high));
  }
  const every = Math.ceil(found.length / Math.max(1, about));
  return found.filter((_, n) => n % every === 0);
}

function curves() {
  const own = data.runs.filter((run) => view.ticked.has(run.id) && run.curve.length);
  byId("curves-section").hidden = !data.runs.some((run) => run.curve.length);
  byId("tick-none").disabled = !view.ticked.size;
  const place = byId("curves");
  if (!own.length) {
    painted.delete(place);
    return place.replaceChildren(make("p", { className: "quiet", textContent: "No curve is ticked." }));
  }
  const seeds = new Set(own.map((run) => run.setting)).size < own.length;
  const rank = new Map(made.settings.filter((row) => row.score !== null).sort((a, b) => better(a.score, b.score)).map((row, n) => [row.runs[0].setting, n]));
  own.sort((a, b) => (rank.get(a.setting) ?? runs.size) - (rank.get(b.setting) ?? runs.size));
  lineChart(place, {
    label: data.curve, height: 330,
    series: own.map((run) => ({ label: seeds ? run.name : run.setting, group: run.setting, values: run.curve, title: describe(run) })),
  });
}

function cost() {
  const own = finished().filter((run) => Number.isFinite(seconds(run)));
  byId("cost-section").hidden = !own.length;
  if (!own.length) return;
  const unit = Math.max(...own.map(seconds)) >= 120 ? 60 : 1;
  const values = view.colour ? [...new Set(valuesOf(view.colour).map(show))] : [""];
  const place = byId("cost");
  chart(place, (width) => {
    const { picture, box, y } = panel(width, 340, own, "time");
    const [low, high] = range(own.map((run) => seconds(run) / unit), true);
    const x = (value) => box.left + ((value - low) / (high - low)) * (box.right - box.left);
    const marks = ticks(low, high, width / 90);
    for (const value of marks.values) picture.append(draw("text", { x: x(value), y: box.bottom + 16, "text-anchor": "middle" }, tickText(value, marks.digits)));
    for (const run of own) {
      const { colour, mark: kind } = look(view.colour ? values.indexOf(show(run.parameters[view.colour])) : 0);
      picture.append(titled(mark(kind, x(seconds(run) / unit), y(score(run)), colour, 4.5), describe(run)));
    }
    picture.append(draw("text", { x: box.right, y: box.bottom + 31, "text-anchor": "end" }, unit === 60 ? "minutes" : "seconds"));
    const drawn = new Set(own.map((run) => show(run.parameters[view.colour])));
    place.replaceChildren(picture, view.colour ? legend(values.map(brief), false, values.map((value) => drawn.has(value))) : "");
  });
}

// ---- all together -----------------------------------------------------------------------

function refresh() {
  keep();
  choices();
  table();
  curves();
  axisPictures();
  cost();
}

function summary() {
  const counts = {};
  for (const run of data.runs) if (run.state) counts[run.state] = (counts[run.state] || 0) + 1;
  const states = Object.entries(counts).map(([state, count]) => `${count} ${state}`).join(", ");
  const parts = [`${data.runs.length.toLocaleString("en")} run${data.runs.length === 1 ? "" : "s"}${states ? ": " + states : ""}. `];
  const best = data.sweep ? made.settings.filter((row) => row.score !== null).sort((a, b) => better(a.score, b.score))[0] : null;
  if (best) {
    const spread = best.deviation === null ? "" : ` ± ${best.deviation.toFixed(4)} over ${best.scores.length} seeds`;
    parts.push("Best ", make("b", { textContent: `${data.labels[data.score] ?? data.score} ${fixed(best.score)}${spread}` }));
    if (axes.length) parts.push(" with ", make("b", { textContent: best.runs[0].setting }));
  }
  byId("better").textContent = data.minimize ? "Down" : "Up";
  byId("summary").append(...parts);
  byId("sweeps").append(...data.sweeps.map((sweep) => make("li", {}, make("a", { href: sweep.href, textContent: sweep.name }), ` ${sweep.count} run${sweep.count === 1 ? "" : "s"}`)));
  const same = Object.fromEntries(alike.map(({ name, values }) => [name, values[0]]));
  for (const [id, values] of [["base", { ...data.base, ...same }], ["defaults", data.defaults]]) {
    byId(id).append(...Object.entries(values).map(([name, value]) => make("li", { textContent: `${name}=${show(value)}` })));
    byId(id + "-part").hidden = !Object.keys(values).length;
  }
}

function ticked() {
  const order = made.settings.filter((row) => row.runs.some((run) => run.curve.length));
  const scored = order.filter((row) => row.score !== null).sort((a, b) => better(a.score, b.score));
  return new Set((scored.length ? scored : order).slice(0, ON_LOAD).flatMap((row) => row.runs.map((run) => run.id)));
}

function tickRows(rows) {
  view.ticked = new Set(rows.flatMap((row) => row.runs.map((run) => run.id)));
  for (const all of Object.values(made)) for (const row of all) delete row.line;
  refresh();
}

// The axis whose values' mean scores lie furthest apart tells most when it is the colour.
function telling() {
  const apart = (name) => {
    const groups = new Map();
    for (const run of data.runs) if (score(run) !== null) groups.set(show(run.parameters[name]), [...(groups.get(show(run.parameters[name])) || []), score(run)]);
    const means = [...groups.values()].map(mean);
    return means.length > 1 ? Math.max(...means) - Math.min(...means) : -1;
  };
  return [...axes].sort((a, b) => continuous(a) - continuous(b) || apart(b) - apart(a))[0] || "";
}

function begin() {
  view.colour = telling();
  read();
  view.ticked ??= ticked();
  summary();
  const filter = byId("filter");
  filter.value = view.filter;
  filter.oninput = () => { view.filter = filter.value; refresh(); };
  for (const button of document.querySelectorAll("[data-view]")) button.onclick = () => { view.rows = button.dataset.view; refresh(); };
  document.querySelector(".switch").hidden = made.settings.length === data.runs.length;
  if (made.settings.length === data.runs.length) view.rows = "runs";
  const colour = byId("colour");
  colour.append(...axes.map((name) => make("option", { value: name, textContent: name, selected: name === view.colour })));
  colour.onchange = () => { view.colour = colour.value; keep(); cost(); };
  byId("colour-part").hidden = !axes.length;
  for (const name of (axes.length ? axes : data.columns).slice(0, 6)) {
    const values = [...new Set(valuesOf(name).map(show))].filter(Boolean);
    if (values.length > 1 && values.length <= MOST_CHOICES) byId("choices").append(choice(name, values));
  }
  const scroll = document.querySelector(".scroll");
  scroll.onscroll = () => { if (scroll.scrollTop + 2 * scroll.clientHeight > scroll.scrollHeight) more(); };
  addEventListener("beforeprint", () => lay(Infinity));
  byId("tick-all").onclick = () => tickRows(made[view.rows].filter(passes));
  byId("tick-none").onclick = () => tickRows([]);
  refresh();
}

const quoted = (value) => (/\s/.test(value) ? `"${value}"` : value);

function choice(name, values) {
  const select = make("select", { ariaLabel: name }, make("option", { value: "", textContent: name.replaceAll("_", " ") + ": any" }), ...values.map((value) => make("option", { value, textContent: name.replaceAll("_", " ") + ": " + brief(value) })));
  select.dataset.name = name;
  select.onchange = () => {
    const others = (view.filter.match(/[^\s"]*"[^"]*"|\S+/g) || []).filter((word) => !word.toLowerCase().startsWith(name.toLowerCase() + "="));
    view.filter = [...others, ...(select.value ? [name + "=" + quoted(select.value)] : [])].join(" ");
    byId("filter").value = view.filter;
    refresh();
  };
  return select;
}

// The lists say what the filter says, however it came there.
function choices() {
  for (const select of byId("choices").children) {
    const wanted = words().find((word) => word.startsWith(select.dataset.name.toLowerCase() + "="))?.split("=").slice(1).join("=");
    select.value = [...select.options].find((option) => option.value && option.value.toLowerCase() === wanted)?.value ?? "";
  }
}

begin();
