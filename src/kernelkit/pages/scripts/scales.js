// Scales: the range of an axis, and the round numbers along it.
import { extent } from "./statistics.js";

// Round numbers from low to high, about so many, and how many digits tell them apart.
export function ticks(low, high, about, whole = false) {
  if (!(high > low)) return { values: [low], digits: 3 };
  const rough = (high - low) / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
  if (whole) step = Math.max(1, Math.ceil(step));
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.max(0, Math.floor(high / step + 1e-9) - first + 1);
  const values = Array.from({ length: count }, (_, n) => (first + n) * step);
  return { values, digits: digitsOf(step) };
}

function digitsOf(step) {
  function isTold(digits) {
    const scaled = step * 10 ** digits;
    return Math.abs(scaled - Math.round(scaled)) <= 1e-6;
  }
  let digits = 0;
  while (digits < 12 && !isTold(digits)) digits += 1;
  return digits;
}

export function tickText(value, digits) {
  const isMinusZero = Object.is(Math.round(value * 1e12), -0);
  return (isMinusZero ? 0 : value).toFixed(digits);
}

// 0.001, 0.003, 0.01 …, as many as lie between, or as there is room for.
export function decades(low, high, about) {
  const values = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    values.push(10 ** power, 3 * 10 ** power);
  }
  const inside = values.filter((value) => value >= low && value <= high);
  const every = Math.ceil(inside.length / Math.max(1, about));
  return inside.filter((_, n) => n % every === 0);
}

// The range of an axis on which these values lie, with some room at its ends.
export function range(values, fromZero = false) {
  const [low, high] = extent(values);
  const pad = (fromZero ? high : high - low) * 0.12 || Math.abs(high) * 0.05 || 0.01;
  return [fromZero ? 0 : low - pad, high + pad];
}
