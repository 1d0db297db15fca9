// Notes and tags of runs: notes.yaml beside the page holds them when the page is written. A page
// cannot write files, so this browser keeps what is typed until somebody saves that file.
import { data } from "../../elements.js";
import { runs } from "./run.js";
import { change } from "./view.js";

const KEPT = `kernelkit notes ${location.pathname}`;

const inFile = asNotes(data.notes);
const unsaved = {}; // {id: what is in no file yet}

for (const [id, note] of Object.entries(kept())) {
  if (runs.has(id) && !isSame(note, inFile[id])) unsaved[id] = note;
}

// The file is a person's: whatever it holds, a note is text and tags are texts.
function asNotes(file) {
  const notes = {};
  for (const [id, own] of Object.entries(file ?? {})) {
    if (!own || typeof own !== "object") continue;
    notes[id] = { tags: [own.tags ?? []].flat().map(String), note: String(own.note ?? "") };
  }
  return notes;
}

function isSame(a, b) {
  const text = (note) => JSON.stringify([note?.tags ?? [], note?.note ?? ""]);
  return text(a) === text(b);
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) ?? {};
  } catch {
    return {}; // a browser that stores nothing for files
  }
}

function keep() {
  try {
    localStorage.setItem(KEPT, JSON.stringify(unsaved));
  } catch {
    // a browser that stores nothing for files
  }
}

const noteOf = (run) => unsaved[run.id] ?? inFile[run.id] ?? { tags: [], note: "" };

// The tags, or the notes, of a row's runs: each text once.
export function tagsOf(row) {
  return [...new Set(row.runs.flatMap((run) => noteOf(run).tags))];
}

export function notesOf(row) {
  return [...new Set(row.runs.map((run) => noteOf(run).note))].filter(Boolean);
}

// Tags all runs of a row, and notes its first.
export function takeNote(row, tags, note) {
  row.runs.forEach((run, n) => {
    unsaved[run.id] = { tags, note: n ? "" : note };
  });
  keep();
  change({}, "notes");
}

export const countUnsaved = () => Object.keys(unsaved).length;

// What notes.yaml should hold. JSON's strings and lists are YAML's, too.
export function notesFile() {
  const all = Object.entries({ ...inFile, ...unsaved });
  const own = all.filter(([, { tags, note }]) => tags.length || note);
  const entries = own.map(([id, { tags, note }]) => {
    const lines = [`tags: ${JSON.stringify(tags)}`, `note: ${JSON.stringify(note)}`];
    return `${JSON.stringify(id)}:\n${lines.map((line) => `  ${line}\n`).join("")}`;
  });
  return entries.join("") || "{}\n";
}
