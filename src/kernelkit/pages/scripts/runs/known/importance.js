/* How much of the score's variance each parameter explains alone, how sure that is, and what cannot
   be told apart from it.

   The share is that of a one-way analysis of variance, adjusted for the number of levels (epsilon
   squared: Kelley, 1935); a continuous parameter is cut into levels of equally many configurations.
   It is the first-order share of a functional analysis of variance (Hutter, Hoos and Leyton-Brown,
   ICML 2014), taken of the runs themselves and not of a model of them. Seeds of a configuration
   count once, by their mean. The interval is a bootstrap over configurations (Efron, 1979), moved
   by its own bias. Which parameters go together is Cramér's V, corrected for chance (Bergsma,
   2013). */
import { data } from "../../elements.js";
import { show } from "../../numbers.js";
import { ascending, finite, groupBy, mean, quantile } from "../../statistics.js";
import { finished } from "./filter.js";
import { axes, better, brief, isContinuous, isScored, score, valuesOf } from "./run.js";
import { view } from "./view.js";

const DRAWS = 200; // of the bootstrap
const PER_LEVEL = 8; // configurations, at least, of a level that a continuous parameter is cut into
const MOST_LEVELS = 6;
const LEAST = 6; // configurations that anything is said of
const TOGETHER = 0.3; // Cramér's V from which another parameter is named
const SAME = 0.95; // from which the two cannot be told apart
const NOTHING = 0.005; // share that is none
const IDLE = 0.1; // share below which the whole interval lies where no effect is seen

/* Of each parameter that varies among these runs, the most telling first:
   {name, share, levels, means: the mean scores of its levels, best: the level with the best,
   interval: [low, high] of the share or null, with: [[name, strength]] of what goes together} */
export function weigh(runs) {
  const own = [...groupBy(runs, (run) => run.setting).values()].map((seeds) => ({
    parameters: seeds[0].parameters,
    score: mean(seeds.map(score)),
  }));
  if (own.length < LEAST) return [];
  const rows = axes.map((name) => weighed(name, own)).filter(Boolean);
  for (const [n, row] of rows.entries()) {
    for (const other of rows.slice(0, n)) {
      const strength = cramer(row.levels, other.levels);
      if (strength < TOGETHER) continue;
      row.with.push([other.name, strength]);
      other.with.push([row.name, strength]);
    }
  }
  for (const row of rows) row.with.sort((a, b) => b[1] - a[1]);
  return rows.sort((a, b) => b.share - a.share);
}

export const overall = weigh(data.runs.filter(isScored)); // of all runs, whatever is filtered
const shares = new Map(overall.map(({ name, share }) => [name, share]));

// The share of a parameter among all runs: by it the parts of the page order the parameters.
export const shareOf = (name) => shares.get(name) ?? 0;

// Of the runs in the table.
export const inTable = () => (view.filter ? weigh(finished()) : overall);

// Whether chance is not likely to be all of a share; whether no effect is seen; and whether, as of
// few runs, the interval is too wide to say so.
export const isSure = ({ interval }) => interval !== null && interval[0] > NOTHING;
export const isIdle = (row) => row.interval !== null && !isSure(row) && row.interval[1] < IDLE;
export const isUnsure = (row) => row.interval !== null && !isSure(row) && row.interval[1] >= IDLE;

// Whether two parameters of this strength cannot be told apart.
export const isSame = (strength) => strength >= SAME;

// Whether the best of three or more numbers is the least or the greatest of them, and the notebook
// allows one beyond it.
export function isAtEdge({ name, best, levels: { values } }) {
  const tried = values.flat();
  if (values.length < 3 || !tried.every(Number.isFinite)) return false;
  const [low, high] = data.ends[name] ?? [];
  if (best === 0) return Math.min(...tried) > (low ?? -Infinity);
  return best === values.length - 1 && Math.max(...tried) < (high ?? Infinity);
}

function weighed(name, own) {
  const scores = own.map((setting) => setting.score);
  const levels = levelsOf(name, own);
  const share = levels.names.length > 1 ? explained(scores, levels.of, levels.names.length) : null;
  if (share === null) return null;
  const scoresAt = (level) => scores.filter((_, n) => levels.of[n] === level);
  const means = levels.names.map((_, level) => mean(scoresAt(level)));
  let best = 0;
  means.forEach((value, level) => {
    if (value !== null && better(value, means[best]) < 0) best = level;
  });
  const sure = interval(scores, levels, share);
  return { name, levels, means, best, share: Math.max(0, share), interval: sure, with: [] };
}

// The levels of a parameter: {names, values: those of each, of: the level of each configuration}.
function levelsOf(name, own) {
  const values = own.map(({ parameters }) => parameters[name]);
  return isContinuous(name) ? cutLevels(values) : ownLevels(values, valuesOf(name));
}

// Each value is a level.
function ownLevels(values, all) {
  const texts = all.map((value) => JSON.stringify(value));
  const places = values.map((value) => texts.indexOf(JSON.stringify(value)));
  const present = ascending(new Set(places));
  return {
    of: places.map((place) => present.indexOf(place)),
    names: present.map((place) => show(brief(all[place]))),
    values: present.map((place) => all[place]),
  };
}

// Levels of equally many values.
function cutLevels(values) {
  const sorted = ascending(values);
  const count = Math.max(2, Math.min(MOST_LEVELS, Math.floor(values.length / PER_LEVEL)));
  const edges = new Set();
  for (let n = 1; n < count; n += 1) edges.add(sorted[Math.floor((n * sorted.length) / count)]);
  const of = values.map((value) => [...edges].filter((edge) => value >= edge).length);
  const short = (value) => show(Number(value.toPrecision(2)));
  const [names, inside] = [[], []];
  for (let level = 0; level <= edges.size; level += 1) {
    const own = ascending(values.filter((_, n) => of[n] === level));
    names.push(own.length ? `${short(own[0])} to ${short(own.at(-1))}` : "");
    inside.push(own);
  }
  return { of, names, values: inside };
}

// Epsilon squared of the scores by level; null where nothing varies.
export function explained(scores, of, count) {
  const sums = new Float64Array(count);
  const sizes = new Float64Array(count);
  let total = 0;
  scores.forEach((value, n) => {
    sums[of[n]] += value;
    sizes[of[n]] += 1;
    total += value;
  });
  const middle = total / scores.length;
  const all = scores.reduce((squares, value) => squares + (value - middle) ** 2, 0);
  let [between, used] = [0, 0];
  for (let level = 0; level < count; level += 1) {
    if (!sizes[level]) continue;
    between += sizes[level] * (sums[level] / sizes[level] - middle) ** 2;
    used += 1;
  }
  if (all <= 0 || scores.length <= used) return null;
  return 1 - ((1 - between / all) * (scores.length - 1)) / (scores.length - used);
}

// Where a share lies with 95 %; null where too few draws vary.
function interval(scores, levels, share) {
  const draw = random(1);
  const shares = [];
  const drawn = new Float64Array(scores.length);
  const of = new Int32Array(scores.length);
  for (let n = 0; n < DRAWS; n += 1) {
    for (let k = 0; k < scores.length; k += 1) {
      const at = Math.floor(draw() * scores.length);
      drawn[k] = scores[at];
      of[k] = levels.of[at];
    }
    const own = explained(drawn, of, levels.names.length);
    if (own !== null) shares.push(own);
  }
  if (shares.length < DRAWS / 2) return null;
  const bias = mean(shares) - share;
  const sorted = ascending(finite(shares));
  const end = (at) => Math.min(1, Math.max(0, quantile(sorted, at) - bias));
  return [end(0.025), end(0.975)];
}

// Random numbers (mulberry32), the same on every machine and at every visit.
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

// How closely the levels of two parameters go together, from 0 to 1.
export function cramer(a, b) {
  const [rows, columns, n] = [a.names.length, b.names.length, a.of.length];
  const counts = new Float64Array(rows * columns);
  const inRow = new Float64Array(rows);
  const inColumn = new Float64Array(columns);
  for (let k = 0; k < n; k += 1) {
    counts[a.of[k] * columns + b.of[k]] += 1;
    inRow[a.of[k]] += 1;
    inColumn[b.of[k]] += 1;
  }
  let squared = -1;
  counts.forEach((count, k) => {
    if (count) squared += count ** 2 / (inRow[Math.floor(k / columns)] * inColumn[k % columns]);
  });
  const phi = Math.max(0, squared - ((rows - 1) * (columns - 1)) / (n - 1));
  const free = (levels) => levels - (levels - 1) ** 2 / (n - 1);
  return Math.sqrt(phi / Math.max(1e-9, Math.min(free(rows), free(columns)) - 1));
}
