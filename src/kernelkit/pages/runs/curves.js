"use strict";
// Learning curves: by epoch, step or time, seeds as a band, and of many configurations how they spread.
const ON_LOAD = 5; // configurations whose curves are there when the page opens
const NAMED = 12; // configurations with a line and a name each; of more the spread is drawn, and the best few
const GRID = 60; // places at which curves by time are read
const AXES_OF_CURVES = { epoch: "epoch", step: "step", seconds: "time" };

function ticked() {
  const order = made.settings.filter((row) => row.runs.some((run) => run.curve.length));
  const scored = ranked.settings.filter((row) => order.includes(row));
  return new Set((scored.length ? scored : order).slice(0, ON_LOAD).flatMap((row) => row.runs.map((run) => run.id)));
}

// Whatever a history tells of where its rows lie: epochs always, steps and seconds where every row has them.
const axesOfCurves = () => Object.keys(AXES_OF_CURVES).filter((name) => name === "epoch" || data.runs.some((run) => run.along?.[name]?.length));

// As TensorBoard smooths: a mean that forgets, without its bias to zero.
function smoothed(values, weight) {
  let [mean, sum] = [0, 0];
  return values.map((value) => {
    mean = weight * mean + (1 - weight) * value;
    sum = weight * sum + (1 - weight);
    return mean / sum;
  });
}

function lineOf(run) {
  const xs = view.x === "epoch" ? run.curve.map((_, n) => n + 1) : run.along?.[view.x] ?? [];
  const points = run.curve.map((value, n) => [xs[n], value]).filter((point) => point.every(Number.isFinite));
  if (!points.length) return null;
  const ys = points.map(([, value]) => value);
  return { xs: points.map(([x]) => x), ys: view.smooth ? smoothed(ys, view.smooth) : ys };
}

// Its value at x, between two points on the straight line; null outside.
function at({ xs, ys }, x) {
  if (!(x >= xs[0] && x <= xs.at(-1))) return null;
  let n = 0;
  while (n < xs.length - 1 && xs[n + 1] <= x) n += 1;
  return n === xs.length - 1 ? ys[n] : ys[n] + ((x - xs[n]) / (xs[n + 1] - xs[n])) * (ys[n + 1] - ys[n]);
}

function gridOf(lines) {
  const [low, high] = [Math.min(...lines.map(({ xs }) => xs[0])), Math.max(...lines.map(({ xs }) => xs.at(-1)))];
  if (view.x !== "seconds" && high - low <= 400) return [...new Set(lines.flatMap(({ xs, grid = xs }) => grid))].sort((a, b) => a - b);
  const [from, to] = view.logx ? [Math.log(Math.max(low, 1e-9)), Math.log(high)] : [low, high];
  return Array.from({ length: GRID }, (_, n) => from + (n / (GRID - 1)) * (to - from)).map((value) => (view.logx ? Math.exp(value) : value));
}

// Over a grid the values of several lines: [{x, all}] where there are at least so many.
const across = (lines, grid, least) => grid.map((x) => ({ x, all: ascending(finite(lines.map((line) => at(line, x) ?? NaN))) })).filter(({ all }) => all.length >= least);

function seriesOf(own) {
  const groups = [...(view.rows === "runs" ? own.map((run) => [run.name, [run]]) : groupBy(own, (run) => run.setting))];
  const tell = apart(groups.map(([, members]) => members[0]));
  return groups.map(([name, members]) => {
    const seed = view.rows === "runs" ? seedOf(members[0]) : "";
    const label = (data.sweep && [tell(members[0]), seed].filter(Boolean).join(" ")) || name;
    const lines = members.map(lineOf).filter(Boolean);
    if (!lines.length) return null;
    const scores = finite(members.map(score));
    const title = [name, scores.length ? noteDoubt(`${scoreName} ${fixed(mean(scores))}`, members) : members[0].state, members.length > 1 ? `${members.length} seeds` : ""].filter(Boolean).join("\n");
    if (lines.length === 1) return { label, title, ...lines[0] };
    const means = across(lines, gridOf(lines), lines.length);
    return { label, title, xs: means.map(({ x }) => x), ys: means.map(({ all }) => mean(all)), band: means.map(({ x, all }) => [x, all[0], all.at(-1)]) };
  }).filter((series) => series?.xs.length);
}

function curves() {
  const own = data.runs.filter((run) => view.ticked.has(run.id) && run.curve.length);
  byId("curves-section").hidden = !data.runs.some((run) => run.curve.length);
  byId("tick-none").disabled = !view.ticked.size;
  const place = byId("curves");
  const rank = new Map(ranked[view.rows].flatMap((row, n) => row.runs.map((run) => [run.id, n])));
  own.sort((a, b) => (rank.get(a.id) ?? runs.size) - (rank.get(b.id) ?? runs.size));
  const all = seriesOf(own);
  if (!all.length) {
    painted.delete(place);
    return place.replaceChildren(make("p", { className: "quiet", textContent: own.length ? `No curve that is ticked has a ${AXES_OF_CURVES[view.x]}.` : "No curve is ticked." }));
  }
  const many = all.length > NAMED;
  const series = many ? all.slice(0, ON_LOAD) : all;
  chart(place, (width) => drawCurves(place, width, series, many ? own.map(lineOf).filter(Boolean) : []));
}

// An axis with a scale of its own: where a value lies, and its ticks.
function axisOf(values, logarithmic, whole) {
  const log = logarithmic && values.some((value) => value > 0); // of none above zero there is no logarithm
  const positive = log ? values.filter((value) => value > 0) : values;
  let [low, high] = extent(positive);
  if (!log && !whole) [low, high] = range(positive);
  if (!(high > low)) high = low + (Math.abs(low) || 1);
  const to = log ? (value) => Math.log(Math.max(value, low)) : Number;
  const round = (about) => (log && high / low > 3 ? decades(low, high, about).map((value) => [value, show(Number(value.toPrecision(2)))]) : (({ values, digits }) => values.map((value) => [value, tickText(value, digits)]))(ticks(low, high, about, whole === "count")));
  const back = (share) => (log ? Math.exp : Number)(to(low) + share * (to(high) - to(low)));
  return { of: (value) => (to(value) - to(low)) / (to(high) - to(low)), back, round };
}

// What is shown of the curves' x-axis: [from, to] in its own units, or null for all of it.
let stretch = null;
let stretched = ""; // the axis that `stretch` is of

const inStretch = (x) => !stretch || (x >= stretch[0] && x <= stretch[1]);

// A line within the stretch, with its values at both ends of it; `own` are the places that it has points at.
function cut(line) {
  const own = line.xs.filter(inStretch);
  if (!stretch) return { ...line, own };
  const { xs, ys } = cutLine(line);
  const bound = (n) => cutLine({ xs: line.band.map(([x]) => x), ys: line.band.map((row) => row[n]) });
  if (!line.band?.length) return { ...line, xs, ys, own };
  const [low, high] = [bound(1), bound(2)];
  return { ...line, xs, ys, own, band: low.xs.map((x, n) => [x, low.ys[n], high.ys[n]]) };
}

function cutLine(line) {
  const within = line.xs.map((x, n) => [x, line.ys[n]]).filter(([x]) => x > stretch[0] && x < stretch[1]);
  const [first, last] = stretch.map((x) => [x, at(line, x)]);
  const points = [first, ...within, last].filter(([, y]) => y !== null);
  return { xs: points.map(([x]) => x), ys: points.map(([, y]) => y) };
}

function drawCurves(place, width, all, cloud) {
  const height = 340;
  if (stretched !== view.x) [stretched, stretch] = [view.x, null];
  if (!all.some((line) => cut(line).xs.length > 1)) stretch = null; // other curves are ticked
  const series = all.map(cut);
  const ends = all.flatMap(({ xs }) => [xs[0], xs.at(-1)]);
  const whole = [Math.min(...ends), Math.max(...ends)];
  const zoom = (from, to) => {
    const [low, high] = [Math.max(whole[0], from), Math.min(whole[1], to)];
    stretch = low > whole[0] || high < whole[1] ? [low, high] : null;
    repaintInPlace(place);
  };
  const spread = cloud.length ? across(cloud, gridOf(cloud), Math.min(3, cloud.length)).map(({ x, all }) => [x, ...[0.1, 0.25, 0.5, 0.75, 0.9].map((share) => quantile(all, share))]).filter(([x]) => inStretch(x)) : [];
  const drawn = [...series.map(({ xs, ys }) => ({ xs, ys })), { xs: spread.map(([x]) => x), ys: spread.flatMap(([, ...ys]) => ys) }];
  const xAxis = axisOf([...drawn.flatMap(({ xs }) => xs), ...(stretch ?? [])], view.logx, view.x === "seconds" ? "from" : "count");
  const yAxis = axisOf([...drawn.flatMap(({ ys }) => ys), ...series.flatMap(({ band = [] }) => band.flatMap(([, low, high]) => [low, high]))], view.logy);
  const yTicks = yAxis.round(height / 55);
  const left = 12 + 7 * Math.max(2, ...yTicks.map(([, text]) => text.length));
  const box = { left, right: width - 12, top: 24, bottom: height - 36 };
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${curveName}: ${series.map(({ label }) => label).join(", ")}`, tabindex: 0 });
  const x = (value) => box.left + 8 + xAxis.of(value) * (box.right - box.left - 16);
  const y = (value) => box.bottom - yAxis.of(value) * (box.bottom - box.top);
  const seconds = view.x === "seconds";
  picture.append(draw("text", { x: box.left, y: 12, class: "value" }, curveName));
  for (const [value, text] of yTicks) {
    if (y(value) < box.top - 2) continue;
    picture.append(draw("line", { x1: box.left, x2: box.right, y1: y(value), y2: y(value), class: "line" }), draw("text", { x: box.left - 6, y: y(value) + 4, "text-anchor": "end" }, text));
  }
  ticksBelow({ picture, box }, xAxis.round(width / (seconds ? 110 : 60)).map(([value, text]) => [x(value), seconds ? duration(value) : text]));
  picture.append(draw("text", { x: box.right, y: box.bottom + 31, "text-anchor": "end" }, AXES_OF_CURVES[view.x]));
  const area = (upper, lower) => "M" + [...upper, ...lower.toReversed()].map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("L") + "z";
  for (const [low, high] of spread.length > 1 ? [[1, 5], [2, 4]] : []) picture.append(draw("path", { d: area(spread.map((row) => [row[0], row[high]]), spread.map((row) => [row[0], row[low]])), class: "spread-band density" }));
  if (spread.length) picture.append(draw("polyline", { points: spread.map((row) => `${x(row[0])},${y(row[3])}`).join(" "), class: "trend density" }));
  series.forEach(({ band }, n) => band && picture.append(draw("path", { d: area(band.map(([a, , c]) => [a, c]), band.map(([a, b]) => [a, b])), class: "seeds-band", style: `fill:${look(n).colour}` })));
  series.forEach(({ xs, ys, own, title }, n) => {
    const { colour, dash, mark: kind } = look(n);
    const points = xs.map((value, k) => [x(value), y(ys[k])]);
    picture.append(titled(draw("polyline", { points: points.map((point) => point.map((value) => value.toFixed(1))).join(" "), class: "curve", style: `stroke:${colour}`, "stroke-dasharray": dash }), title));
    const places = new Set(own);
    const marked = points.filter((_, k) => places.has(xs[k])); // a line goes on to the edge, where no epoch ends
    const every = Math.max(1, Math.ceil(marked.length / 8));
    marked.forEach((point, k) => (k % every === 0 || k === marked.length - 1) && picture.append(mark(kind, ...point, colour, 3)));
  });
  const words = cloud.length ? make("p", { className: "quiet" }, `${cloud.length.toLocaleString("en")} curves are ticked: half of them lie in the inner band, eight in ten in the outer one, and the dashed line is their median. Lines are the best ${series.length} ${view.rows === "runs" ? "runs" : "configurations"}.`) : null;
  const held = series.filter(({ xs }) => xs.length).map((line) => (seconds ? line : { ...line, grid: line.own }));
  const reading = crosshair(picture, { series: held, x, box, width, spread });
  zoomable(picture, { box, width, read: () => (reading.at() === null ? null : xAxis.of(reading.at())), set: (from, to) => zoom(xAxis.back(from), xAxis.back(to)), all: () => zoom(...whole) });
  place.replaceChildren(...[picture, legend(series.map(({ label }) => label)), reading.words, words].filter(Boolean));
}

// Reads the values where the pointer is, or where the arrow keys have gone.
function crosshair(picture, { series, x, box, width, spread }) {
  const grid = gridOf([...series, ...(spread.length ? [{ xs: spread.map(([at]) => at) }] : [])]);
  const reading = make("p", { className: "reading quiet", ariaLive: "polite" });
  const cross = draw("line", { y1: box.top, y2: box.bottom, class: "cross", visibility: "hidden" });
  picture.append(cross);
  let place = null;
  const say = (n) => {
    place = n === null ? null : Math.min(grid.length - 1, Math.max(0, n));
    cross.setAttribute("visibility", place === null ? "hidden" : "visible");
    if (place === null) return reading.replaceChildren(HOW_TO_READ);
    const here = grid[place];
    for (const end of ["x1", "x2"]) cross.setAttribute(end, x(here));
    const values = series.map((line) => [line.label, at(line, here)]).filter(([, value]) => value !== null).sort((a, b) => b[1] - a[1]);
    const middle = spread.find(([value]) => value === here);
    const name = view.x === "seconds" ? duration(here) : `${AXES_OF_CURVES[view.x]} ${show(here)}`;
    reading.replaceChildren(make("b", {}, name), ...(middle ? [make("span", {}, "median ", make("b", {}, middle[3].toFixed(4)))] : []), ...values.map(([label, value]) => make("span", {}, `${label} `, make("b", {}, value.toFixed(4)))));
  };
  picture.addEventListener("pointermove", (event) => {
    const own = picture.getBoundingClientRect();
    const where = ((event.clientX - own.left) * width) / own.width;
    let nearest = 0;
    grid.forEach((value, n) => { if (Math.abs(x(value) - where) < Math.abs(x(grid[nearest]) - where)) nearest = n; });
    if (nearest !== place) say(nearest);
  });
  picture.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: (place ?? grid.length) - 1, ArrowRight: (place ?? -1) + 1, Home: 0, End: grid.length - 1, Escape: null };
    if (event.key in moves) { event.preventDefault(); say(moves[event.key]); }
  });
  say(null);
  return { words: reading, at: () => (place === null ? null : grid[place]) };
}

function curveControls() {
  const names = axesOfCurves();
  if (!names.includes(view.x)) view.x = "epoch";
  byId("curve-x").replaceChildren(...names.map((name) => make("option", { value: name, textContent: AXES_OF_CURVES[name], selected: name === view.x })));
  byId("curve-x").parentElement.hidden = names.length < 2;
  byId("curve-x").onchange = () => { view.x = byId("curve-x").value; keep(); curves(); };
  for (const name of ["logx", "logy"]) {
    byId(name).checked = view[name];
    byId(name).onchange = () => { view[name] = byId(name).checked; keep(); curves(); };
  }
  byId("smooth").value = view.smooth;
  byId("smooth").oninput = () => { view.smooth = Number(byId("smooth").value); keep(); curves(); };
}
