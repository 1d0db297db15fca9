"use strict";
// Two or more runs side by side: only what differs, of parameters, measures, classes and photos.
const MOST_BESIDE = 6;
const MOST_OFFERED = 200; // rows to choose from, the best that pass the filter
const FIRST_CLASSES = 8; // that gained, and that lost, before the rest is folded
const FIRST_PHOTOS = 8; // that A alone, B alone, or neither has right

const beside = () => {
  const rows = new Map(made[view.rows].flatMap((row) => row.runs.map((run) => [run.id, row])));
  const chosen = [...new Set(view.compare.map((id) => rows.get(id)).filter(Boolean))];
  const best = matching().filter((row) => counts(row) && row.content === ranked[view.rows][0]?.content).sort((a, b) => better(a.score, b.score));
  return chosen.length > 1 ? chosen : [...chosen, ...best.filter((row) => !chosen.includes(row))].slice(0, 2);
};

function choose(rows) {
  view.compare = [...new Set(rows)].slice(0, MOST_BESIDE).map((row) => row.key);
  keep();
  sideBySide();
}

function sideBySide() {
  const rows = beside();
  byId("compare-section").hidden = rows.length < 2;
  if (rows.length < 2) return;
  const order = [...matching()].sort((a, b) => (a.score === null) - (b.score === null) || better(a.score, b.score));
  const options = [...new Set([...order.slice(0, MOST_OFFERED), ...rows])];
  const differing = apart(options);
  const tell = (row) => (data.sweep && [differing(row), view.rows === "runs" ? seedOf(row) : ""].filter(Boolean).join(" ")) || row.name;
  byId("compare-choices").replaceChildren(...rows.map((row, n) => {
    const select = make("select", { ariaLabel: `run ${n + 1} of the comparison` }, ...options.map((option, k) => make("option", { value: k, selected: option === row, textContent: `${option.score === null ? option.state : noteDoubt(fixed(option.score), option.runs)}  ${tell(option)}` })));
    select.onchange = () => choose(rows.map((other) => (other === row ? options[select.value] : other)));
    return select;
  }));
  byId("compare-more").disabled = rows.length >= Math.min(MOST_BESIDE, options.length);
  byId("compare-more").onclick = () => choose([...rows, options.find((row) => !rows.includes(row))]);
  byId("compare-fewer").disabled = rows.length < 3;
  byId("compare-fewer").onclick = () => choose(rows.slice(0, -1));
  differences(rows);
  classesBeside(rows);
  photosBeside(rows);
  byId("each-run").replaceChildren(...rows.map(eachRun));
}

const column = (n) => String.fromCharCode(65 + n);

function differences(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.parameters)))].filter((name) => name !== SEED || rows.every((row) => row.runs.length === 1));
  const texts = names.map((name) => [inWords(name), rows.map((row) => show(row.parameters[name]))]);
  const differing = texts.filter(([, values]) => new Set(values).size > 1);
  const measures = allColumns().filter(({ key, number }) => number && key !== "score");
  const lines = [
    ...differing.map(([name, values]) => [name, values.map((text) => make("td", {}, text))]),
    [scoreName, rows.map((row, n) => make("td", {}, row.score === null ? row.state : scored(row), n && row.score !== null && rows[0].score !== null ? ` (${signed(row.score - rows[0].score)})` : ""))],
    ...measures.map((measure) => [measure.title, rows.map((row) => make("td", {}, EMPTY.includes(measure.of(row)) ? "" : cellText(measure.of(row), measure)))]).filter(([, cells]) => new Set(cells.map((cell) => cell.textContent)).size > 1),
  ];
  byId("differences").replaceChildren(
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "differs"), ...rows.map((row, n) => make("th", { scope: "col" }, column(n))))),
    make("tbody", {}, ...lines.map(([name, cells]) => make("tr", {}, make("th", { scope: "row" }, name), ...cells))),
  );
  byId("compare-words").textContent = `${differing.length ? inCommon(texts.length - differing.length) : "Their parameters are the same. "}${noise(rows)}`;
}

function inCommon(count) {
  if (!count) return "";
  return count === 1 ? "One parameter is the same in all. " : `${count} parameters are the same in all. `;
}

const signed = (value, digits = 4) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(Math.abs(value) < 10 ? digits : 0);

// Whether the first two differ by more than chance, in the words that `judge` allows.
function noise([a, b]) {
  if (a.score === null || b.score === null) return "";
  if (alikeScores(a, b)) return "Their scores are the same.";
  if (![a, b].every(counts)) return "";
  if (a.content !== b.content) return "They are not known to be of the same data, so their scores cannot be compared.";
  if (unseeded(a.parameters) === unseeded(b.parameters) && seedOf(a) !== seedOf(b)) return "Only the seed differs: the difference is seed-to-seed noise.";
  const { noise, by, errors, most } = judge(a, b);
  if (by === "seeds") return errors === null ? "No seed changes their scores: the difference is not noise of the seeds." : `A and B differ by ${Math.abs(a.score - b.score).toFixed(4)}, ${errors.toFixed(1)} standard errors of their seeds; with so many seeds, chance reaches ${most}: ${GAPS.get(noise)}.`;
  const single = [a, b].map((row, n) => (row.scores.length < 2 ? column(n) : "")).filter(Boolean);
  const unknown = `${listed(single)} ${single.length === 1 ? "has one seed" : "have one seed each"}: how much of this difference is seed-to-seed noise is not known.`;
  return by ? `${capital(GAPS.get(noise))}, by their intervals. ${unknown}` : unknown;
}

// ---- classes and photos -----------------------------------------------------------------

// Means over a row's seeds; null where no run has them.
function classesOf(row) {
  const own = row.runs.map((run) => run.classes).filter((scores) => scores?.length);
  return own.length ? data.classes.map((_, n) => mean(finite(own.map((scores) => scores[n])))) : null;
}

function classChanges(a, b) {
  const [first, second] = [classesOf(a), classesOf(b)];
  if (!first || !second) return [];
  return data.classes.map((name, n) => ({ name, a: first[n], b: second[n], change: first[n] - second[n] })).filter(({ change, a: x, b: y }) => Number.isFinite(change) && x !== null && y !== null);
}

function classesBeside([a, b]) {
  const changes = classChanges(a, b).sort((x, y) => y.change - x.change);
  byId("classes-part").hidden = !changes.length;
  if (!changes.length) return;
  const [better, worse] = [changes.filter(({ change }) => change > 5e-4), changes.filter(({ change }) => change < -5e-4).reverse()];
  byId("classes-words").textContent = `Of ${changes.length} classes A is better on ${better.length} and B on ${worse.length}.`;
  const most = Math.max(...changes.map(({ change }) => Math.abs(change)), 1e-9);
  const head = (text) => make("thead", {}, make("tr", {}, ...[text, "", "A", "B", "A − B"].map((name, n) => make("th", { scope: "col", className: ["", "", "number more", "number more", "number"][n] }, name))));
  const lines = (rows) => rows.map(({ name, a: x, b: y, change }) => {
    const bar = make("i");
    bar.style.width = `${(100 * Math.abs(change)) / most}%`;
    return make("tr", { className: change < 0 ? "below" : "" }, make("td", {}, name), make("td", { className: "track" }, bar), ...[x.toFixed(3), y.toFixed(3), signed(change, 3)].map((text, n) => make("td", { className: n < 2 ? "number more" : "number" }, text)));
  });
  const part = (text, rows) => make("div", {}, make("table", { className: "bars", ariaLabel: text }, head(text), make("tbody", {}, ...lines(rows.slice(0, FIRST_CLASSES)))), rows.length > FIRST_CLASSES ? make("details", {}, make("summary", {}, `the other ${rows.length - FIRST_CLASSES}`), make("table", { className: "bars" }, head(text), make("tbody", {}, ...lines(rows.slice(FIRST_CLASSES))))) : null);
  byId("classes").replaceChildren(...[["A is better", better], ["B is better", worse]].filter(([, rows]) => rows.length).map(([text, rows]) => part(text, rows)));
}

// The chance that heads and tails divide as unevenly as this, or more (a sign test, by the normal curve).
function unevenly(heads, tails) {
  const z = Math.max(0, Math.abs(heads - tails) - 1) / Math.sqrt(heads + tails || 1);
  const t = 1 / (1 + 0.3275911 * (z / Math.SQRT2));
  return ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t * Math.exp((-z * z) / 2);
}

const chanceText = (share) => (share < 0.01 ? "less than 0.01" : share.toFixed(2));

function photosBeside([a, b]) {
  const { truths, guesses, names, pictures } = data.photos;
  const [left, right] = [a, b].map((row) => row.runs.find((run) => guesses[run.id]));
  byId("photos-part").hidden = !left || !right;
  if (!left || !right) return;
  const nameOf = (n) => names[n] ?? `class ${n}`;
  const apart = truths.map(([id, truth], n) => ({ id, truth, a: guesses[left.id][n], b: guesses[right.id][n] })).filter((photo) => photo.a !== photo.b).sort((x, y) => (y.id in pictures) - (x.id in pictures));
  const [onlyA, onlyB] = [apart.filter((photo) => photo.a === photo.truth), apart.filter((photo) => photo.b === photo.truth)];
  const neither = apart.filter((photo) => photo.a !== photo.truth && photo.b !== photo.truth);
  const seeds = [a, b].some((row) => row.runs.length > 1) ? ` (seed ${show(left.parameters[SEED])} and seed ${show(right.parameters[SEED])})` : "";
  byId("photos-words").textContent = `A and B${seeds} disagree on ${apart.length} of ${truths.length.toLocaleString("en")} photos: only A is right on ${onlyA.length}, only B on ${onlyB.length}, neither on ${neither.length}.${apart.length ? ` Two equally good models would differ at least as much with a probability of ${chanceText(unevenly(onlyA.length, onlyB.length))}.` : ""}`;
  byId("photos").hidden = !apart.length;
  const line = (photo) => make("tr", {}, make("td", {}, ...(pictures[photo.id] ? [make("img", { src: pictures[photo.id], alt: "", width: 80, height: 80 }), " "] : []), photo.id), make("td", {}, nameOf(photo.truth)), ...[photo.a, photo.b].map((guess) => make("td", { className: guess === photo.truth ? "done" : "" }, nameOf(guess) + (guess === photo.truth ? " ✓" : ""))));
  const all = [...onlyA, ...onlyB, ...neither];
  const first = [...onlyA.slice(0, FIRST_PHOTOS), ...onlyB.slice(0, FIRST_PHOTOS), ...neither.slice(0, FIRST_PHOTOS)];
  const body = byId("photos").tBodies[0];
  const rest = button(`Show all ${all.length.toLocaleString("en")}`, () => body.replaceChildren(...all.map(line)));
  body.replaceChildren(...first.map(line), ...(first.length < all.length ? [make("tr", { className: "nothing" }, make("td", { colSpan: 4 }, rest))] : []));
}

// ---- a run's parameters, its command, its notes -----------------------------------------

const yamlValue = (value) => (typeof value === "string" && /^[A-Za-z_][\w./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value) ? value : JSON.stringify(value));
const asYaml = (values) => Object.entries(values).map(([name, value]) => `${name}: ${yamlValue(value)}\n`).join("");
const inShell = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const settingsOf = (run) => ({ ...data.base, ...run.parameters });

// A value as -p reads it, as Python writes it; a text that is no part of a list stands for itself.
function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (value && typeof value === "object") return `{${Object.entries(value).map((pair) => pair.map(literal).join(": ")).join(", ")}}`;
  return new Map([[null, "None"], [true, "True"], [false, "False"]]).get(value) ?? JSON.stringify(value);
}

function command(run) {
  const given = Object.entries(settingsOf(run)).map(([name, value]) => "-p " + inShell(`${name}=${typeof value === "string" ? value : literal(value)}`));
  return `kernelkit run ${inShell(data.notebook)} ${given.join(" ")}`;
}

function eachRun(row, n) {
  const run = row.runs[0];
  const copied = (title, text, name) => make("details", {}, make("summary", {}, title), make("pre", {}, text), button("Copy", (event) => copy(text, event.target)), name ? button("Save", () => save(name, text, "text/yaml")) : null);
  const tags = make("input", { value: noted(row, "tags").join(" "), placeholder: "tags", ariaLabel: `tags of ${column(n)}` });
  const note = make("textarea", { value: noted(row, "note").join("\n"), placeholder: "note", rows: 2, ariaLabel: `note on ${column(n)}` });
  tags.onchange = note.onchange = () => takeNote(row, tags.value.split(/[\s,]+/).filter(Boolean), note.value.trim());
  const links = row.runs.filter((own) => own.report).map((own) => make("a", { href: own.report, textContent: row.runs.length > 1 ? `report, seed ${show(own.parameters[SEED])}` : "report" }));
  return make("div", {},
    make("h3", {}, `${column(n)} `, make("small", {}, row.name)),
    make("p", { className: "links" }, ...links.flatMap((link) => [link, " "])),
    copied("Its parameters as YAML", asYaml(settingsOf(run)), `${run.id.replaceAll(/[^\w.-]+/g, "-")}.yaml`),
    data.notebook ? copied(row.runs.length > 1 ? "The commands that repeat its runs" : "The command that repeats it", row.runs.map(command).join("\n")) : null,
    tags, note);
}
