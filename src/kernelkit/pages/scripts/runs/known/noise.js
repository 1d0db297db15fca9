// Whether chance could make the difference of two rows: the only judge of this page.
import { fixed } from "../../numbers.js";
import { sum } from "../../statistics.js";

// By degrees of freedom: how many standard errors chance exceeds once in twenty.
const STUDENT = [12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
const STUDENT_BEYOND = 2.1;
const UNKNOWN = { noise: null, by: "", errors: null };

/* `noise` is true, false, or null where that is not known; `by` says what tells it; `errors` how
   many standard errors of the seeds the difference is, and `most` how many of them chance reaches
   with so many seeds. Rows of several seeds are judged by these (Welch's test, 1947), of one run
   each by their intervals, as in comparable.py. */
export function judge(a, b) {
  const apart = Math.abs(a.score - b.score);
  if (a.scores.length > 1 && b.scores.length > 1) return bySeeds(a, b, apart);
  if (a.runs.length > 1 || b.runs.length > 1) return UNKNOWN;
  const halves = [a, b].map(({ runs: [{ interval }] }) => (interval[1] - interval[0]) / 2);
  const width = Math.hypot(...halves); // of no interval it is NaN
  return width ? { noise: apart <= width, by: "intervals", errors: null } : UNKNOWN;
}

function bySeeds(a, b, apart) {
  const squares = [a, b].map((row) => row.deviation ** 2 / row.scores.length);
  const error = Math.sqrt(sum(squares));
  if (!error) return { noise: !apart, by: "seeds", errors: null };
  const parts = [a, b].map((row, n) => squares[n] ** 2 / (row.scores.length - 1));
  const freedom = sum(squares) ** 2 / sum(parts);
  const most = STUDENT[Math.max(1, Math.floor(freedom)) - 1] ?? STUDENT_BEYOND;
  return { noise: apart / error < most, by: "seeds", errors: apart / error, most };
}

export const COULD_BE_NOISE = "the gap could be noise";
const GAPS = new Map([[true, COULD_BE_NOISE], [false, "the gap is more than noise"], [null, ""]]);

// A difference that no digit shows is none, as in verdict.py.
export const isAlike = (a, b) => fixed(a.score) === fixed(b.score);

// The verdict of `judge` in words; "" if it is not known, or there is no gap.
export const gapWords = (noise) => GAPS.get(noise);
export const noiseOf = (a, b) => (isAlike(a, b) ? "" : gapWords(judge(a, b).noise));
