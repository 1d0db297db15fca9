// What a run took of its machine, as a chart for each column of resources.csv that has numbers.
import { make } from "../elements.js";
import { lineChart } from "../line_chart.js";
import { duration } from "../numbers.js";
import { extent, finite, mean } from "../statistics.js";

const MOST_POINTS = 120;
const TAKEN = [
  { column: "memory", title: "Memory", unit: "GB", scale: 1e9 },
  { column: "cores", title: "CPU", unit: "cores", scale: 1 },
  { column: "device_mib", title: "Memory of the first device", unit: "GB", scale: 1e9 / 2 ** 20 },
];

// `resources`: {column: values}, with the time of each in `seconds`.
export function machineCharts(room, resources) {
  const seconds = resources.seconds ?? [];
  const columns = { ...resources, cores: coresUsed(seconds, resources.cpu_seconds ?? []) };
  const each = Math.ceil(seconds.length / MOST_POINTS);
  const ends = grouped(seconds, each).map((times) => times.at(-1));
  const linked = [];
  for (const { column, title, unit, scale } of TAKEN) {
    // What is not known is null, which a division makes 0.
    const taken = (columns[column] ?? []).map((value) => (value ?? NaN) / scale);
    const known = finite(taken);
    if (!known.length) continue;
    const values = grouped(taken, each).map((part) => (part.length ? Math.max(...part) : NaN));
    const most = extent(known)[1];
    const place = make("div");
    room.append(make("figure", {}, place));
    lineChart(place, {
      label: `${title}: most ${most.toFixed(2)} ${unit}, mean ${mean(known).toFixed(2)}`,
      series: [{ label: `${title}, ${unit}`, values }],
      step: "after",
      named: (n) => duration(ends[n]),
      digits: 2,
      height: 200,
      hint: false,
      zero: true,
      linked,
    });
  }
}

// The cores that were busy between one time and the next.
function coresUsed(seconds, busy) {
  return seconds.map((time, n) => {
    if (n === 0) return NaN;
    // The seconds of a process that has ended are gone from the sum.
    return Math.max(0, busy[n] - busy[n - 1]) / (time - seconds[n - 1]);
  });
}

// The values in groups of so many, without those that are no numbers.
function grouped(values, each) {
  const count = Math.ceil(values.length / each);
  return Array.from({ length: count }, (_, n) => finite(values.slice(n * each, (n + 1) * each)));
}
