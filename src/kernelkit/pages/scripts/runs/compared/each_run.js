// Below a comparison, of each row: its reports, its parameters, its command, its notes.
import { button, data, make } from "../../elements.js";
import { show } from "../../numbers.js";
import { notesOf, tagsOf, takeNote } from "../known/notes.js";
import { SEED } from "../known/run.js";
import { copyButton, save } from "../../saving.js";

// `letter`: what the comparison calls the row.
export function eachRun(row, letter) {
  const [run] = row.runs;
  const areMany = row.runs.length > 1;
  const yaml = asYaml(settingsOf(run));
  const file = `${run.id.replaceAll(/[^\w.-]+/g, "-")}.yaml`;
  const saving = button("Save", () => save(file, yaml, "text/yaml"));
  const parts = [folded("Its parameters as YAML", yaml, saving)];
  if (data.notebook) {
    const title = areMany ? "The commands that repeat its runs" : "The command that repeats it";
    parts.push(folded(title, row.runs.map(command).join("\n"), null));
  }
  return make(
    "div",
    {},
    make("h3", {}, `${letter} `, make("small", {}, row.name)),
    make("p", { className: "links" }, ...links(row)),
    ...parts,
    ...noteFields(row, letter),
  );
}

function folded(title, text, saving) {
  const summary = make("summary", {}, title);
  return make("details", {}, summary, make("pre", {}, text), copyButton(text), saving);
}

function links(row) {
  const areMany = row.runs.length > 1;
  return row.runs.filter((run) => run.report).flatMap((run) => {
    const text = areMany ? `report, seed ${show(run.parameters[SEED])}` : "report";
    return [make("a", { href: run.report, textContent: text }), " "];
  });
}

function noteFields(row, letter) {
  const tags = make("input", {
    value: tagsOf(row).join(" "),
    placeholder: "tags",
    ariaLabel: `tags of ${letter}`,
  });
  const note = make("textarea", {
    value: notesOf(row).join("\n"),
    placeholder: "note",
    rows: 2,
    ariaLabel: `note on ${letter}`,
  });
  const take = () => takeNote(row, tags.value.split(/[\s,]+/).filter(Boolean), note.value.trim());
  tags.onchange = take;
  note.onchange = take;
  return [tags, note];
}

// ---- parameters and commands --------------------------------------------------------------

const settingsOf = (run) => ({ ...data.base, ...run.parameters });

function asYaml(values) {
  const lines = Object.entries(values).map(([name, value]) => `${name}: ${yamlValue(value)}\n`);
  return lines.join("");
}

// JSON is YAML, too; a word that YAML takes for nothing else needs no quotes.
function yamlValue(value) {
  const isWord = typeof value === "string" && /^[A-Za-z_][\w./-]*$/.test(value);
  const isOther = /^(true|false|null|yes|no|on|off|y|n)$/i.test(value);
  return isWord && !isOther ? value : JSON.stringify(value);
}

// The command that repeats a run.
export function command(run) {
  const given = Object.entries(settingsOf(run)).map(([name, value]) => {
    const text = typeof value === "string" ? value : literal(value);
    return `-p ${inShell(`${name}=${text}`)}`;
  });
  return `kernelkit run ${inShell(data.notebook)} ${given.join(" ")}`;
}

// A value as -p reads it, as Python writes it; a text that is no part of a list stands for itself.
function literal(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const pairs = Object.entries(value).map((pair) => pair.map(literal).join(": "));
  return `{${pairs.join(", ")}}`;
}

function inShell(text) {
  const isPlain = /^[\w@%+=:,./-]+$/.test(text);
  return isPlain ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
