"use strict";
/* What mattered: how much of the score's variance each parameter explains alone, how sure that is, and what cannot be told
   apart from it; and where two parameters act together.

   The share is that of a one-way analysis of variance, adjusted for the number of levels (epsilon squared: Kelley, 1935);
   a continuous parameter is cut into levels of equally many configurations. It is the first-order share of a functional analysis of
   variance (Hutter, Hoos and Leyton-Brown, ICML 2014), taken of the runs themselves and not of a model of them.
   Seeds of a configuration count once, by their mean. The interval is a bootstrap over configurations (Efron, 1979), moved by its own bias.
   That two parameters act together is an F test of their interaction, by Paulson's normal approximation (1942).
   Which parameters go together is Cramér's V, corrected for chance (Bergsma, 2013). */
const DRAWS = 200; // of the bootstrap
const PER_LEVEL = 8; // configurations, at least, of a level that a continuous parameter is cut into
const MOST_LEVELS = 6;
const TOGETHER = 0.3; // Cramér's V from which another parameter is named
const SAME = 0.95; // from which the two cannot be told apart
const LEAST = 6; // configurations that anything is said of
const PER_CELL = 5; // configurations, on average, in a cell of two parameters together
const CLEAR = 3; // standard deviations from which two parameters are said to act together: one pair in 740 by chance
const TELLING = 0.05; // share of a parameter whose effect is taken off before pairs are looked at, to see them better
const IDLE = 0.1; // share below which the whole interval lies where no effect is seen
const MOST_PAIRED = 8; // parameters, the most telling, of which pairs are looked at

// Random numbers, the same on every machine and at every visit.
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// The levels of a parameter among these configurations: {of: each one's level, names, values: those of each level}.
function levelsOf(name, own, most = Math.min(MOST_LEVELS, Math.floor(own.length / PER_LEVEL))) {
  const values = own.map((run) => run.parameters[name]);
  if (!continuous(name)) {
    const all = valuesOf(name).map((value) => JSON.stringify(value));
    const present = [...new Set(values.map((value) => all.indexOf(JSON.stringify(value))))].sort((a, b) => a - b);
    return { of: values.map((value) => present.indexOf(all.indexOf(JSON.stringify(value)))), names: present.map((n) => show(brief(valuesOf(name)[n]))), values: present.map((n) => valuesOf(name)[n]) };
  }
  const sorted = ascending(values);
  const count = Math.max(2, most);
  const edges = [...new Set(Array.from({ length: count - 1 }, (_, n) => sorted[Math.floor(((n + 1) * sorted.length) / count)]))];
  const of = values.map((value) => edges.filter((edge) => value >= edge).length);
  const inside = Array.from({ length: edges.length + 1 }, (_, n) => ascending(values.filter((_, k) => of[k] === n)));
  const short = (value) => show(Number(value.toPrecision(2)));
  return { of, names: inside.map((level) => (level.length ? `${short(level[0])} to ${short(level.at(-1))}` : "")), values: inside };
}

// Epsilon squared of the scores by level; null where nothing varies.
function explained(values, of, count) {
  const [sums, sizes] = [new Float64Array(count), new Float64Array(count)];
  let total = 0;
  for (let n = 0; n < values.length; n++) { sums[of[n]] += values[n]; sizes[of[n]] += 1; total += values[n]; }
  const middle = total / values.length;
  let [all, between, used] = [0, 0, 0];
  for (let n = 0; n < values.length; n++) all += (values[n] - middle) ** 2;
  for (let k = 0; k < count; k++) if (sizes[k]) { between += sizes[k] * (sums[k] / sizes[k] - middle) ** 2; used += 1; }
  if (all <= 0 || values.length <= used) return null;
  return 1 - ((1 - between / all) * (values.length - 1)) / (values.length - used);
}

function interval(values, levels, share) {
  const draw = random(1);
  const shares = [];
  const [drawn, of] = [new Float64Array(values.length), new Int32Array(values.length)];
  for (let n = 0; n < DRAWS; n++) {
    for (let k = 0; k < values.length; k++) {
      const at = Math.floor(draw() * values.length);
      drawn[k] = values[at];
      of[k] = levels.of[at];
    }
    const own = explained(drawn, of, levels.names.length);
    if (own !== null) shares.push(own);
  }
  if (shares.length < DRAWS / 2) return null;
  const moved = share - mean(shares);
  const sorted = ascending(shares);
  return [0.025, 0.975].map((at) => Math.min(1, Math.max(0, quantile(sorted, at) + moved)));
}

function cramer(a, b) {
  const [rows, columns, n] = [a.names.length, b.names.length, a.of.length];
  const counts = new Float64Array(rows * columns);
  const [left, top] = [new Float64Array(rows), new Float64Array(columns)];
  for (let k = 0; k < n; k++) { counts[a.of[k] * columns + b.of[k]] += 1; left[a.of[k]] += 1; top[b.of[k]] += 1; }
  let squared = -1;
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) if (left[i] && top[j]) squared += counts[i * columns + j] ** 2 / (left[i] * top[j]);
  const phi = Math.max(0, squared - ((rows - 1) * (columns - 1)) / (n - 1));
  const free = (k) => k - (k - 1) ** 2 / (n - 1);
  return Math.sqrt(phi / Math.max(1e-9, Math.min(free(rows), free(columns)) - 1));
}

let weighed = { key: null };
const withoutEffect = new Set(); // parameters of which no effect is seen among all runs
const firstShares = new Map(); // of all runs: parts that follow them keep their order when the filter changes

// Of each parameter that varies among the finished runs of the table, the most telling first.
function importances() {
  const key = view.rows + "\n" + view.filter;
  if (weighed.key === key) return weighed.rows;
  const own = [...groupBy(finished(), (run) => run.setting).values()].map((seeds) => ({ parameters: seeds[0].parameters, score: mean(seeds.map(score)) }));
  const values = own.map((setting) => setting.score);
  const rows = [];
  if (own.length >= LEAST) {
    for (const name of axes) {
      const levels = levelsOf(name, own);
      const share = levels.names.length > 1 ? explained(values, levels.of, levels.names.length) : null;
      if (share === null) continue;
      const means = levels.names.map((_, k) => mean(values.filter((_, n) => levels.of[n] === k)));
      const best = means.reduce((at, value, k) => (value !== null && (at < 0 || better(value, means[at]) < 0) ? k : at), -1);
      rows.push({ name, levels, means, best, share: Math.max(0, share), interval: interval(values, levels, share), with: [] });
    }
    for (const [n, row] of rows.entries()) {
      for (const other of rows.slice(0, n)) {
        const strength = cramer(row.levels, other.levels);
        if (strength < TOGETHER) continue;
        row.with.push([other.name, strength]);
        other.with.push([row.name, strength]);
      }
    }
    rows.sort((a, b) => b.share - a.share);
  }
  weighed = { key, rows, values, own };
  return rows;
}

// ---- two parameters together --------------------------------------------------------------

// What the pair explains beyond both alone: the cells' means against the best sum of one number a row and one a column.
// `values` are the scores less the effects of other parameters, for which `spent` numbers were chosen.
function together(values, a, b, all = variation(values), spent = 0) {
  const [rows, columns] = [a.names.length, b.names.length];
  const cells = Array.from({ length: rows * columns }, () => []);
  values.forEach((value, n) => cells[a.of[n] * columns + b.of[n]].push(value));
  const [up, across] = [new Float64Array(rows), new Float64Array(columns)];
  const sizes = cells.map((cell) => cell.length);
  const means = cells.map(mean);
  for (let turn = 0; turn < 25; turn++) {
    for (let i = 0; i < rows; i++) {
      let [total, size] = [0, 0];
      for (let j = 0; j < columns; j++) if (sizes[i * columns + j]) { total += sizes[i * columns + j] * (means[i * columns + j] - across[j]); size += sizes[i * columns + j]; }
      up[i] = size ? total / size : 0;
    }
    for (let j = 0; j < columns; j++) {
      let [total, size] = [0, 0];
      for (let i = 0; i < rows; i++) if (sizes[i * columns + j]) { total += sizes[i * columns + j] * (means[i * columns + j] - up[i]); size += sizes[i * columns + j]; }
      across[j] = size ? total / size : 0;
    }
  }
  let [apart, within] = [0, 0];
  cells.forEach((cell, n) => {
    if (!cell.length) return;
    apart += cell.length * (means[n] - up[Math.floor(n / columns)] - across[n % columns]) ** 2;
    for (const value of cell) within += (value - means[n]) ** 2;
  });
  const used = sizes.filter(Boolean).length;
  const free = used - rows - columns + 1;
  const rest = values.length - used - spent;
  if (free < 1 || rest < 1 || all <= 0) return { share: null, clear: 0 };
  const noise = within / rest; // what a cell's mean differs by without any reason, times its runs
  const ratio = noise > 0 ? apart / free / noise : apart > 1e-12 ? 1e9 : 0;
  const [p, q] = [2 / (9 * free), 2 / (9 * rest)];
  const clear = ((1 - q) * Math.cbrt(ratio) - (1 - p)) / Math.sqrt(q * Math.cbrt(ratio) ** 2 + p);
  return { share: Math.max(0, (apart - free * noise) / all), clear };
}

const variation = (values) => { const middle = mean(values); return sum(values.map((value) => (value - middle) ** 2)); };

// The scores less one number for each level of these parameters, which are found turn by turn.
function residuals(values, rows) {
  const remaining = Float64Array.from(values);
  for (let turn = 0; turn < 10; turn++) {
    for (const { levels } of rows) {
      const means = levels.names.map((_, k) => mean([...remaining].filter((_, n) => levels.of[n] === k)) ?? 0);
      levels.of.forEach((k, n) => { remaining[n] -= means[k]; });
    }
  }
  return [...remaining];
}

function pairs() {
  if (weighed.pairs) return weighed.pairs;
  const rows = importances().slice(0, MOST_PAIRED);
  const most = Math.min(4, Math.floor(Math.sqrt(weighed.values.length / PER_CELL)));
  const levels = new Map(rows.map(({ name }) => [name, levelsOf(name, weighed.own, most)]));
  const strong = importances().filter(({ share }) => share > TELLING);
  const spent = sum(strong.map((row) => row.levels.names.length - 1));
  const values = residuals(weighed.values, strong);
  const all = variation(weighed.values);
  weighed.pairs = rows.flatMap((b, n) => rows.slice(0, n).map((a) => {
    const [left, top] = [levels.get(a.name), levels.get(b.name)];
    return { a: a.name, b: b.name, left, top, key: `${a.name}*${b.name}`, ...together(values, left, top, all, spent) };
  }));
  weighed.pairs.sort((x, y) => y.clear - x.clear);
  return weighed.pairs;
}
const acting = () => pairs().filter(({ clear, share }) => clear > CLEAR && share > 0.01);

// ---- drawn ------------------------------------------------------------------------------

const percent = (share) => `${Math.round(100 * share)} %`;
const strengthText = ([name, strength]) => (strength >= SAME ? `${inWords(name)} (changes with it)` : `${inWords(name)} (V ${strength.toFixed(2).replace(/^0/, "")})`);
// Where the interval is wide, as of few runs, an effect may still be there.
const unsure = (row) => row.interval && row.interval[0] <= 0.005 && row.interval[1] >= IDLE;
const idle = (row) => row.interval && row.interval[0] <= 0.005 && row.interval[1] < IDLE && !acting().some(({ a, b }) => a === row.name || b === row.name);
// Whether the best of three or more numbers is the least or the greatest of them, and the notebook allows one beyond it.
function atEdge({ name, best, levels: { values } }) {
  const tried = values.flat();
  if (values.length < 3 || !tried.every(Number.isFinite)) return false;
  const [low, high] = data.ends[name] ?? [];
  if (best === 0) return Math.min(...tried) > (low ?? -Infinity);
  return best === values.length - 1 && Math.max(...tried) < (high ?? Infinity);
}

function importance() {
  const rows = importances();
  byId("importance-section").hidden = !rows.length;
  byId("importance-words").textContent = byResult() ? "The filter chooses runs by their results: among these, a parameter that decides the score may explain nothing." : "";
  byId("importance").replaceChildren(...rows.map((row) => {
    const bar = make("span", { className: "share", ariaHidden: "true" }, make("i"), make("b"));
    bar.firstChild.style.width = `${100 * row.share}%`;
    if (row.interval) bar.lastChild.style.cssText = `left:${100 * row.interval[0]}%;width:${100 * (row.interval[1] - row.interval[0])}%`;
    return make("tr", {},
      labelled(make("th", { scope: "row" }, inWords(row.name)), "parameter"),
      make("td", { className: "track" }, bar),
      labelled(make("td", { className: "number" }, percent(row.share)), "explains"),
      labelled(make("td", { className: "number" }, row.interval ? `${Math.round(100 * row.interval[0])}–${percent(row.interval[1])}` : "too few runs"), "interval"),
      labelled(make("td", {}, `${row.levels.names[row.best]} (${fixed(row.means[row.best])})`), "best on average"),
      labelled(make("td", {}, row.with.sort((a, b) => b[1] - a[1]).map(strengthText).join(", ")), "associated with"));
  }));
  const all = pairs();
  byId("pair-part").hidden = !acting().length && !view.pair; // nobody needs a table of two that do not act together
  const chosen = all.find(({ key }) => key === view.pair) ?? all[0];
  byId("pair").replaceChildren(...all.map(({ key, a, b, share, clear }) => make("option", { value: key, selected: key === chosen.key, textContent: `${inWords(a)} × ${inWords(b)}${clear > CLEAR ? `: ${percent(share)} beyond both alone` : ""}` })));
  if (chosen) heat(chosen);
}

function heat({ a, b, left, top, share, clear }) {
  const { values } = weighed;
  const columns = top.names.length;
  const cells = Array.from({ length: left.names.length * columns }, () => []);
  values.forEach((value, n) => cells[left.of[n] * columns + top.of[n]].push(value));
  const means = cells.map(mean);
  const [low, high] = [Math.min(...finite(means)), Math.max(...finite(means))];
  const good = (value) => (high > low ? (data.minimize ? (high - value) / (high - low) : (value - low) / (high - low)) : 0.5);
  const head = make("tr", {}, make("th", { scope: "col" }, `${inWords(a)} ↓ ${inWords(b)} →`), ...top.names.map((name) => make("th", { scope: "col", className: "number" }, name)));
  const lines = left.names.map((name, i) => make("tr", {}, make("th", { scope: "row" }, name), ...top.names.map((_, j) => {
    const own = cells[i * columns + j];
    const cell = make("td", { className: "number", title: own.length ? `${own.length} configurations` : "" }, own.length ? fixed(mean(own)) : "not tried");
    if (own.length) cell.style.background = `color-mix(in srgb, var(--s0) ${Math.round(38 * good(mean(own)))}%, var(--paper))`;
    return cell;
  })));
  byId("heat").replaceChildren(make("thead", {}, head), make("tbody", {}, ...lines));
  const empty = cells.filter((cell) => !cell.length).length;
  byId("heat-words").textContent = `Mean ${scoreName} of the configurations with both values; the stronger the colour, the better. ${share === null ? "There are too few runs to say whether the two act together." : clear > CLEAR ? `Their interaction explains ${percent(share)} of the variance, beyond what each explains by itself.` : "There is no sign that the two act together: choose each by itself."}${empty ? ` ${empty} of ${cells.length} combinations were not tried.` : ""}`;
}
