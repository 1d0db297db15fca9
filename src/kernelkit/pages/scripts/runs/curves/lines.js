// Learning curves as lines: by epoch, step or time, smoothed, and over seeds as a mean and a band.
import { data } from "../../elements.js";
import { fixed } from "../../numbers.js";
import { ascending, extent, finite, groupBy, mean } from "../../statistics.js";
import { made, ranked } from "../known/rows.js";
import { noteDoubt, score, scoreName, seedOf, tellApart } from "../known/run.js";
import { view } from "../known/view.js";

export const ON_LOAD = 5; // configurations whose curves are there when the page opens
const GRID = 60; // places at which curves by time are read
const MOST_STEPS = 400; // of an axis that is read at each of its steps
const AXES = { epoch: "epoch", step: "step", seconds: "time" };

// The ids of the runs whose curves are drawn before anybody ticks.
export function bestCurves() {
  const curved = made.settings.filter((row) => row.runs.some((run) => run.curve.length));
  const scored = ranked.settings.filter((row) => curved.includes(row));
  const first = (scored.length ? scored : curved).slice(0, ON_LOAD);
  return new Set(first.flatMap((row) => row.runs.map((run) => run.id)));
}

// {name: what the page calls it} of the axes that a history tells of: epochs always.
export function axesOfCurves() {
  const isTold = (name) => data.runs.some((run) => run.along?.[name]?.length);
  const isThere = ([name]) => name === "epoch" || isTold(name);
  return Object.fromEntries(Object.entries(AXES).filter(isThere));
}

export const axisName = () => AXES[view.x];

// A run's curve as {xs, ys}; null where it has no values on the axis of the view.
export function lineOf(run) {
  const epochs = run.curve.map((_, n) => n + 1);
  const places = view.x === "epoch" ? epochs : (run.along?.[view.x] ?? []);
  const points = run.curve.map((value, n) => [places[n], value]);
  const known = points.filter((point) => point.every(Number.isFinite));
  if (!known.length) return null;
  const ys = known.map(([, value]) => value);
  return { xs: known.map(([x]) => x), ys: view.smooth ? smoothed(ys, view.smooth) : ys };
}

// As TensorBoard smooths: a mean that forgets, without its bias to zero.
function smoothed(values, weight) {
  let [mean, sum] = [0, 0];
  return values.map((value) => {
    mean = weight * mean + (1 - weight) * value;
    sum = weight * sum + (1 - weight);
    return mean / sum;
  });
}

// A line's value at x, between two points on the straight line; null outside.
export function valueAt({ xs, ys }, x) {
  if (!(x >= xs[0] && x <= xs.at(-1))) return null;
  const n = xs.findLastIndex((own) => own <= x);
  if (n === xs.length - 1) return ys[n];
  return ys[n] + ((x - xs[n]) / (xs[n + 1] - xs[n])) * (ys[n + 1] - ys[n]);
}

// The places at which these lines are read: their own, `grid` or xs, or evenly many along the axis.
export function gridOf(lines) {
  const [low, high] = extent(lines.flatMap(({ xs }) => [xs[0], xs.at(-1)]));
  if (view.x !== "seconds" && high - low <= MOST_STEPS) {
    return ascending(new Set(lines.flatMap(({ xs, grid = xs }) => grid)));
  }
  const [from, to] = view.logx ? [Math.log(Math.max(low, 1e-9)), Math.log(high)] : [low, high];
  const places = Array.from({ length: GRID }, (_, n) => from + (n / (GRID - 1)) * (to - from));
  return view.logx ? places.map(Math.exp) : places;
}

// The sorted values of several lines, [{x, all}], where there are at least so many.
export function across(lines, least) {
  const values = (x) => ascending(finite(lines.map((line) => valueAt(line, x) ?? NaN)));
  const places = gridOf(lines).map((x) => ({ x, all: values(x) }));
  return places.filter(({ all }) => all.length >= least);
}

// The lines of these runs: each run's own, or for a configuration the mean over its seeds with
// their range as `band`, [[x, low, high]]. `label` names a line, `title` says more of it.
export function seriesOf(runs) {
  const groups = groupBy(runs, (run) => (view.rows === "runs" ? run : run.setting));
  const tell = tellApart([...groups.values()].map(([first]) => first));
  const series = [...groups.values()].map((members) => lineOfGroup(members, tell));
  return series.filter((line) => line?.xs.length);
}

function lineOfGroup(members, tell) {
  const lines = members.map(lineOf).filter(Boolean);
  if (!lines.length) return null;
  const [first] = members;
  const isRun = view.rows === "runs";
  const name = isRun ? first.name : first.setting;
  const short = [tell(first), isRun ? seedOf(first) : ""].filter(Boolean).join(" ");
  const label = (data.sweep && short) || name;
  const title = titleOf(name, members);
  if (lines.length === 1) return { label, title, ...lines[0] };
  const means = across(lines, lines.length);
  return {
    label,
    title,
    xs: means.map(({ x }) => x),
    ys: means.map(({ all }) => mean(all)),
    band: means.map(({ x, all }) => [x, all[0], all.at(-1)]),
  };
}

function titleOf(name, members) {
  const scores = finite(members.map(score));
  const scored = scores.length ? noteDoubt(`${scoreName} ${fixed(mean(scores))}`, members) : "";
  const seeds = members.length > 1 ? `${members.length} seeds` : "";
  return [name, scored || members[0].state, seeds].filter(Boolean).join("\n");
}

// A line between the ends of a stretch, [from, to], with its values there; `own` are the places
// that it has points at.
export function cut(line, stretch) {
  if (!stretch) return { ...line, own: line.xs };
  const own = line.xs.filter((x) => x >= stretch[0] && x <= stretch[1]);
  const { xs, ys } = cutLine(line, stretch);
  if (!line.band?.length) return { ...line, xs, ys, own };
  const places = line.band.map(([x]) => x);
  const low = cutLine({ xs: places, ys: line.band.map(([, value]) => value) }, stretch);
  const high = cutLine({ xs: places, ys: line.band.map(([, , value]) => value) }, stretch);
  return { ...line, xs, ys, own, band: low.xs.map((x, n) => [x, low.ys[n], high.ys[n]]) };
}

function cutLine(line, [from, to]) {
  const all = line.xs.map((x, n) => [x, line.ys[n]]);
  const within = all.filter(([x]) => x > from && x < to);
  const points = [[from, valueAt(line, from)], ...within, [to, valueAt(line, to)]];
  const known = points.filter(([, y]) => y !== null);
  return { xs: known.map(([x]) => x), ys: known.map(([, y]) => y) };
}
