// Values as people write them.

export function show(value) {
  if (value === undefined) return "";
  if (value === null) return "None"; // as Python and the names of runs have it
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "object") return JSON.stringify(value).replaceAll(",", ", ");
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  if (Math.abs(value) < 1e-4) return value.toExponential(3).replace(/\.?0*e/, "e");
  return String(Number(value.toPrecision(4)));
}

// Seconds as kernelkit.shown writes them: 8.2 s, 88 s, 2 min 46 s, 1 h 05 min.
export function duration(value) {
  const whole = Math.round(value);
  if (value > 0 && value < 0.05) return `${Number(value.toPrecision(1))} s`;
  if (value > 0 && value < 9.95) return `${value.toFixed(1)} s`;
  if (whole < 120) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(value / 60);
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

// 12,345, with so many digits behind the point.
export const grouped = (value, digits = 0) =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

// A score: 0.8731, 87.31, 8,731.
export function fixed(value) {
  if (Math.abs(value) < 10) return value.toFixed(4);
  return Math.abs(value) < 100 ? value.toFixed(2) : grouped(value);
}

// A difference with its sign.
export function signed(value, digits = 4) {
  const size = Math.abs(value);
  return (value < 0 ? "−" : "+") + size.toFixed(size < 10 ? digits : 0);
}

export const percent = (share) => `${Math.round(100 * share)} %`;

// A measure by its name in metrics.json: seconds, something per second, a count or a score.
export function measured(name, value, isCount) {
  if (/(^|_)seconds$/.test(name)) return duration(value);
  if (name.includes("_per_second")) {
    if (value >= 99.5) return grouped(value);
    return grouped(value, value >= 9.95 ? 1 : 2);
  }
  return isCount ? grouped(Math.round(value)) : fixed(value);
}

export const counted = (count, thing) => `${grouped(count)} ${thing}${count === 1 ? "" : "s"}`;
export const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
export const shortened = (text, most) =>
  text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
export const listed = (texts) =>
  texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`;
