"use strict";
// Clouds of runs: the score by each parameter and by time; each with its trend and spread.
const SINGLE = 150; // runs, beyond which dots are drawn together: a thousand elements a chart are too many
const LAYERS = 5; // in which many dots are drawn, so that where they are dense it is darker
const SAME_TIME = 1.05; // how much longer than the shortest run the longest takes, for a chart of both
const TREND = 12; // runs that a trend is drawn from

// The frame of a picture of the score.
function panel(width, height, own, by) {
  const framed = frame(width, height, ...range(own.map(score)), tickText, `${scoreName} by ${by}`);
  framed.picture.append(draw("text", { x: framed.box.left, y: 12, class: "value" }, scoreName));
  return framed;
}

// Ticks below a chart that have room for their texts.
function ticksBelow({ picture, box }, places, y = box.bottom + 16) {
  let free = -Infinity;
  for (const [x, text] of places) {
    const half = text.length * 3.6;
    const middle = Math.min(Math.max(x, box.left - 20 + half), box.right + 12 - half);
    if (middle - half < free) continue;
    picture.append(draw("text", { x: middle, y, "text-anchor": "middle" }, text));
    free = middle + half + 8;
  }
}

// Dots at [x, y], and a crosshair that says which run the nearest is: points: [{x, y, run}].
function cloud(place, { picture, width, points, look: lookOf = () => null }) {
  const solid = (x, y) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`;
  if (points.length <= SINGLE) {
    for (const { x, y, run } of points) {
      const own = lookOf(run);
      picture.append(titled(own ? mark(own.mark, x, y, own.colour, 4.5) : draw("circle", { cx: x, cy: y, r: 3.6, class: "dot" }), describe(run)));
    }
  } else {
    for (const own of groupBy(points, ({ run }) => lookOf(run)?.mark).values()) {
      const kind = lookOf(own[0].run);
      for (let layer = 0; layer < LAYERS; layer++) {
        const members = own.filter((_, n) => n % LAYERS === layer);
        if (!members.length) continue;
        const d = members.map(({ x, y }) => (kind ? mark(kind.mark, x, y, "", 3).getAttribute("d") : solid(x, y))).join("");
        picture.append(draw("path", kind ? { d, class: "marks", style: `fill:${kind.colour};stroke:${kind.colour}` } : { d, class: "dots" }));
      }
    }
  }
  const ring = draw("circle", { r: 6, class: "ring", visibility: "hidden" });
  const reading = make("p", { className: "reading quiet", ariaLive: "polite" });
  picture.append(ring);
  picture.setAttribute("tabindex", "0");
  const order = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  let at = null;
  const say = (n) => {
    at = n;
    ring.setAttribute("visibility", n === null ? "hidden" : "visible");
    if (n === null) return reading.replaceChildren();
    ring.setAttribute("cx", order[n].x);
    ring.setAttribute("cy", order[n].y);
    const [name, ...facts] = describe(order[n].run).split("\n");
    reading.replaceChildren(...facts.map((fact) => make("b", {}, fact)), make("span", {}, name));
  };
  picture.addEventListener("pointermove", (event) => {
    const own = picture.getBoundingClientRect();
    const [x, y] = [((event.clientX - own.left) * width) / own.width, ((event.clientY - own.top) * width) / own.width];
    let [nearest, least] = [null, 24 ** 2];
    order.forEach((point, n) => { const apart = (point.x - x) ** 2 + (point.y - y) ** 2; if (apart < least) [nearest, least] = [n, apart]; });
    if (nearest !== at) say(nearest);
  });
  picture.addEventListener("pointerleave", () => say(null));
  picture.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: (at ?? order.length) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: order.length - 1, Escape: null };
    if (!(event.key in moves) || !order.length) return;
    event.preventDefault();
    say(moves[event.key] === null ? null : Math.min(order.length - 1, Math.max(0, moves[event.key])));
  });
  place.replaceChildren(picture, reading);
}

// Medians of neighbouring runs, and between which values half of them lie: [{x, low, middle, high}].
function trend(points) {
  const own = [...points].sort((a, b) => a.at - b.at);
  const bins = Math.min(12, Math.max(3, Math.round(Math.sqrt(own.length) / 2)));
  return Array.from({ length: bins }, (_, n) => {
    const bin = own.slice(Math.floor((n * own.length) / bins), Math.floor(((n + 1) * own.length) / bins));
    const values = ascending(bin.map(({ value }) => value));
    return { x: quantile(ascending(bin.map(({ at }) => at)), 0.5), low: quantile(values, 0.25), middle: quantile(values, 0.5), high: quantile(values, 0.75) };
  });
}

function drawTrend(picture, points, x, y) {
  if (points.length < TREND) return;
  const bins = trend(points);
  const edge = [...bins.map((bin) => [x(bin.x), y(bin.high)]), ...bins.toReversed().map((bin) => [x(bin.x), y(bin.low)])];
  picture.append(draw("path", { d: "M" + edge.map((point) => point.join(" ")).join("L") + "z", class: "spread-band" }));
  picture.append(draw("polyline", { points: bins.map((bin) => `${x(bin.x)},${y(bin.middle)}`).join(" "), class: "trend" }));
}

// ---- the score by each parameter --------------------------------------------------------

function axisPictures() {
  const own = finished();
  const split = new Map(axes.map((name) => {
    const first = new Map();
    return [name, data.runs.map((run, n) => {
      const key = JSON.stringify(run.parameters[name]);
      if (!first.has(key)) first.set(key, n);
      return first.get(key);
    }).join()];
  }));
  const place = byId("axes");
  const folded = byId("axes-without");
  for (const room of [place, folded]) room.replaceChildren();
  for (const name of own.length ? [...axes].sort((a, b) => (firstShares.get(b) ?? 0) - (firstShares.get(a) ?? 0)) : []) {
    // Parameters that change together, as a model and its weights do, are one axis.
    const twins = axes.filter((other) => split.get(other) === split.get(name));
    if (!continuous(name) && twins[0] !== name) continue;
    if (new Set(own.map((run) => JSON.stringify(run.parameters[name]))).size < 2) continue; // no difference to see
    const where = make("div");
    const shown = continuous(name) ? [name] : twins;
    (shown.every((one) => withoutEffect.has(one)) ? folded : place).append(make("div", { className: "axis" }, make("h3", { textContent: continuous(name) ? name : twins.join(", ") }), where));
    soon(() => chart(where, (width) => (continuous(name) ? scatter : effect)(where, width, name, own)));
  }
  folded.parentElement.hidden = !folded.childElementCount;
  byId("axes-section").hidden = !place.childElementCount && !folded.childElementCount;
}

function effect(place, width, name, own) {
  const values = valuesOf(name);
  const of = groupBy(own, (run) => JSON.stringify(run.parameters[name]));
  const groups = values.map((value) => [brief(value), of.get(JSON.stringify(value)) ?? []]);
  const framed = panel(width, 220, own, name);
  const { picture, box, y } = framed;
  const step = (box.right - box.left) / groups.length;
  const middle = (n) => box.left + step * (n + 0.5);
  const means = groups.map(([, group]) => mean(group.map(score)));
  const every = Math.ceil(groups.length / Math.max(1, (box.right - box.left) / 46));
  const points = [];
  groups.forEach(([label, group], n) => {
    const room = Math.max(3, Math.floor((step * every) / 7.2));
    if (n % every === 0) picture.append(titled(draw("text", { x: middle(n), y: box.bottom + 16, "text-anchor": "middle" }, shortened(label, room)), label));
    if (means[n] === null) return;
    const wide = group.length > 10 ? step * 0.7 : 4 * Math.min(4, step / 14);
    group.forEach((run, k) => points.push({ run, x: middle(n) + wide * (group.length > 10 ? ((k * 0.618) % 1) - 0.5 : ((k % 5) - 2) / 4), y: y(score(run)) }));
    const text = means[n].toFixed(3);
    // Below the value, where no dot and no line comes.
    if (step > text.length * 8 + 4) picture.append(draw("text", { x: middle(n), y: box.bottom + 31, "text-anchor": "middle", class: "value" }, text));
  });
  cloud(place, { picture, width, points });
  groups.forEach(([, group], n) => {
    if (group.length < TREND) return;
    const values = ascending(group.map(score));
    const [top, bottom] = [y(quantile(values, 0.75)), y(quantile(values, 0.25))];
    picture.append(draw("rect", { x: middle(n) - step * 0.36, width: step * 0.72, y: top, height: Math.max(1, bottom - top), class: "spread-band" }));
  });
  const joined = means.map((value, n) => (value === null ? null : [middle(n), y(value)])).filter(Boolean);
  // Between categories there is nothing that a line could stand for.
  if (values.every(Number.isFinite)) picture.append(draw("polyline", { points: joined.join(" "), class: "mean" }));
  for (const [cx, cy] of joined) picture.append(draw("circle", { cx, cy, r: 4, class: "mean-dot" }));
}

function scatter(place, width, name, own) {
  const framed = panel(width, 220, own, name);
  const { picture, box, y } = framed;
  const values = valuesOf(name);
  const log = logarithmic(name);
  const at = log ? Math.log10 : Number;
  const [low, high] = [at(values[0]), at(values.at(-1))];
  const x = (value) => box.left + 6 + ((value - low) / (high - low)) * (box.right - box.left - 20);
  ticksBelow(framed, ticksOf(values[0], values.at(-1), log, (box.right - box.left) / 60).map((value) => [x(at(value)), show(value)]));
  const points = own.map((run) => ({ run, at: at(run.parameters[name]), value: score(run) }));
  cloud(place, { picture, width, points: points.map(({ run, at: own, value }) => ({ run, x: x(own), y: y(value) })) });
  drawTrend(picture, points, x, y);
}

const ticksOf = (low, high, log, about) => (log ? decades(low, high, about) : ticks(low, high, about).values);

// 0.001, 0.003, 0.01 …, as many as lie between, or as there is room for.
function decades(low, high, about) {
  const values = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    values.push(...[1, 3].map((n) => n * 10 ** power).filter((value) => value >= low && value <= high));
  }
  const every = Math.ceil(values.length / Math.max(1, about));
  return values.filter((_, n) => n % every === 0);
}

// ---- the score against time --------------------------------------------------------------

function cost() {
  const own = finished().filter((run) => Number.isFinite(seconds(run)));
  const times = own.map(seconds);
  const compared = own.length > 2 && Math.max(...times) > SAME_TIME * Math.min(...times);
  byId("cost-section").hidden = !compared;
  if (!compared) return;
  const unit = Math.max(...own.map(seconds)) >= 120 ? 60 : 1;
  const by = view.colour && !continuous(view.colour) ? valuesOf(view.colour).map(show) : [""];
  const place = byId("cost");
  chart(place, (width) => {
    const framed = panel(width, 340, own, "time");
    const { picture, box, y } = framed;
    const [low, high] = range(own.map((run) => seconds(run) / unit), true);
    const x = (value) => box.left + ((value - low) / (high - low)) * (box.right - box.left);
    const marks = ticks(low, high, width / 90);
    ticksBelow(framed, marks.values.map((value) => [x(value), tickText(value, marks.digits)]));
    picture.append(draw("text", { x: box.right, y: box.bottom + 31, "text-anchor": "end" }, unit === 60 ? "minutes" : "seconds"));
    const points = own.map((run) => ({ run, x: x(seconds(run) / unit), y: y(score(run)) }));
    cloud(place, { picture, width, points, look: by.length > 1 ? (run) => look(by.indexOf(show(run.parameters[view.colour]))) : undefined });
    const drawn = new Set(own.map((run) => show(run.parameters[view.colour])));
    if (by.length > 1) place.append(legend(by.map(brief), false, by.map((value) => drawn.has(value))));
  });
}
