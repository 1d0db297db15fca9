"use strict";
// Notes and tags: read from notes.yaml beside this page when it is written; a page cannot write files, so it offers one.
const NOTES_KEPT = `kernelkit notes ${location.pathname}`;
let unsaved = {};

// Notes that are in no file yet are kept by this browser, where it keeps anything.
function keptNotes(put) {
  try {
    if (put === undefined) return JSON.parse(localStorage.getItem(NOTES_KEPT)) ?? {};
    localStorage.setItem(NOTES_KEPT, JSON.stringify(put));
  } catch { /* a browser that stores nothing for files */ }
  return {};
}

// The file is a person's: whatever it holds, a note is text and tags are texts.
function asNotes(file) {
  const entries = file && typeof file === "object" && !Array.isArray(file) ? Object.entries(file) : [];
  return Object.fromEntries(entries.filter(([, own]) => own && typeof own === "object").map(([id, own]) => [id, { tags: [own.tags ?? []].flat().map(String), note: String(own.note ?? "") }]));
}

function beginNotes() {
  const same = (a, b) => JSON.stringify([a?.tags ?? [], a?.note ?? ""]) === JSON.stringify([b?.tags ?? [], b?.note ?? ""]);
  data.notes = asNotes(data.notes);
  unsaved = Object.fromEntries(Object.entries({ ...keptNotes(), ...unsaved }).filter(([id, note]) => runs.has(id) && !same(note, data.notes[id])));
  Object.assign(data.notes, unsaved);
  for (const rows of Object.values(made)) for (const row of rows) indexed(row);
  byId("save-notes").onclick = () => save("notes.yaml", notesFile(), "text/yaml");
  sayNotes();
}

function takeNote(row, tags, note) {
  row.runs.forEach((run, n) => {
    data.notes[run.id] = unsaved[run.id] = n ? { tags, note: "" } : { tags, note };
  });
  keptNotes(unsaved);
  laidOut = {};
  last.key = null;
  for (const rows of Object.values(made)) for (const other of rows) if (other.runs.some((run) => row.runs.includes(run))) indexed(other);
  forgetLines();
  sayNotes();
  table();
}

// JSON's strings and lists are YAML's, too.
function notesFile() {
  const own = Object.entries(data.notes).filter(([, { tags = [], note = "" }]) => tags.length || note);
  return own.map(([id, { tags = [], note = "" }]) => `${JSON.stringify(id)}:\n  tags: ${JSON.stringify(tags)}\n  note: ${JSON.stringify(note)}\n`).join("") || "{}\n";
}

function sayNotes() {
  const count = Object.keys(unsaved).length;
  byId("notes-bar").hidden = !count && !data.damage;
  byId("save-notes").hidden = !count;
  const damage = data.damage ? `notes.yaml beside this page ${data.damage}. Its notes are missing here, and would be missing from a file that you save in its place. ` : "";
  byId("notes-words").textContent = damage + (!count ? "" : `Notes on ${count} run${count === 1 ? "" : "s"} are not in a file yet. Save notes.yaml beside this page, and the page has them the next time it is written. `);
}
