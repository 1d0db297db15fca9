// Photos on which two rows disagree.
import { button, byId, data, make } from "../../elements.js";
import { grouped, show } from "../../numbers.js";
import { SEED } from "../known/run.js";

const FIRST_PHOTOS = 8; // that A alone, B alone, or neither has right
const SIDE = 80; // pixels of a photo

// `data.photos`: truths [[id, class]], guesses {id of a run: a class for each of them}, the names
// of the classes, and pictures {id of a photo: its address}.
export function photosBeside([a, b]) {
  const { truths, guesses } = data.photos;
  const [left, right] = [a, b].map((row) => row.runs.find((run) => guesses[run.id]));
  byId("photos-part").hidden = !left || !right;
  if (!left || !right) return;
  const apart = disagreements(guesses[left.id], guesses[right.id]);
  const onlyA = apart.filter((photo) => photo.a === photo.truth);
  const onlyB = apart.filter((photo) => photo.b === photo.truth);
  const neither = apart.filter((photo) => photo.a !== photo.truth && photo.b !== photo.truth);
  const isSeeded = a.runs.length > 1 || b.runs.length > 1;
  const [seedA, seedB] = [left, right].map((run) => show(run.parameters[SEED]));
  const seeds = isSeeded ? ` (seed ${seedA} and seed ${seedB})` : "";
  const chance = probability(onlyA.length, onlyB.length);
  const atLeast = " Two equally good models would differ at least as much with a probability of ";
  byId("photos-words").textContent = [
    `A and B${seeds} disagree on ${apart.length} of ${grouped(truths.length)} photos: `,
    `only A is right on ${onlyA.length}, only B on ${onlyB.length}, neither on ${neither.length}.`,
    apart.length ? `${atLeast}${chance < 0.01 ? "less than 0.01" : chance.toFixed(2)}.` : "",
  ].join("");
  byId("photos").hidden = !apart.length;
  list([onlyA, onlyB, neither]);
}

// The photos that the two runs took for different classes, those with pictures first.
function disagreements(guessesA, guessesB) {
  const { truths, pictures } = data.photos;
  const all = truths.map(([id, truth], n) => ({ id, truth, a: guessesA[n], b: guessesB[n] }));
  const apart = all.filter((photo) => photo.a !== photo.b);
  return apart.sort((x, y) => (y.id in pictures) - (x.id in pictures));
}

// The chance that heads and tails divide as unevenly as this, or more: a sign test, by the normal
// curve (Abramowitz and Stegun, 7.1.26).
export function probability(heads, tails) {
  const z = Math.max(0, Math.abs(heads - tails) - 1) / Math.sqrt(heads + tails || 1);
  const t = 1 / (1 + 0.3275911 * (z / Math.SQRT2));
  const powers = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  return powers.reduce((sum, factor) => sum * t + factor, 0) * t * Math.exp((-z * z) / 2);
}

// The first photos of each group, and a button for all.
function list(groups) {
  const all = groups.flat();
  const first = groups.flatMap((photos) => photos.slice(0, FIRST_PHOTOS));
  const body = byId("photos").tBodies[0];
  body.replaceChildren(...first.map(line));
  if (first.length === all.length) return;
  const showAll = () => body.replaceChildren(...all.map(line));
  const rest = button(`Show all ${grouped(all.length)}`, showAll);
  body.append(make("tr", { className: "nothing" }, make("td", { colSpan: 4 }, rest)));
}

function line({ id, truth, a, b }) {
  const { names, pictures } = data.photos;
  const nameOf = (n) => names[n] ?? `class ${n}`;
  const cells = [a, b].map((guess) => {
    const isRight = guess === truth;
    const text = `${nameOf(guess)}${isRight ? " ✓" : ""}`;
    return make("td", { className: isRight ? "done" : "" }, text);
  });
  const size = { width: SIDE, height: SIDE };
  const picture = pictures[id] ? [make("img", { src: pictures[id], alt: "", ...size }), " "] : [];
  return make("tr", {}, make("td", {}, ...picture, id), make("td", {}, nameOf(truth)), ...cells);
}
