// Each chart as SVG and PNG, each table as CSV and LaTeX: made here, from what is shown.
import { button, draw, make } from "../../elements.js";
import { show } from "../../numbers.js";
import { columnsOfTable, isEmpty } from "../known/columns.js";
import { made } from "../known/rows.js";
import { view } from "../known/view.js";
import { save } from "../../saving.js";
import { shown } from "./table.js";

const STYLED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity",
  "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "visibility",
  "text-anchor", "paint-order",
];
const SHARPER = 2; // pixels of a PNG for each of the page
const LATEX = {
  "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
  "±": "$\\pm$", "−": "$-$", "×": "$\\times$", "↓": "", "→": "", "✓": "",
};

// A list of files below each section, made when it is opened.
export function addExports() {
  for (const section of document.querySelectorAll("main > section")) {
    const list = make("ul");
    const summary = make("summary", {}, "Export");
    const menu = make("details", { className: "export" }, summary, list);
    menu.ontoggle = () => list.replaceChildren(...(menu.open ? filesOf(section) : []));
    section.append(menu);
  }
}

function filesOf(section) {
  const pictures = [...section.querySelectorAll(".chart > svg")].map((picture) => {
    const [name] = picture.getAttribute("aria-label").split(":");
    const svg = (file) => save(`${file}.svg`, standalone(picture), "image/svg+xml");
    const png = async (file) => save(`${file}.png`, await pngOf(picture));
    return item(name, { SVG: svg, PNG: png });
  });
  const seen = [...section.querySelectorAll("table")].filter((table) => table.checkVisibility());
  const tables = seen.map((table) => {
    const name = table.ariaLabel ?? section.ariaLabel ?? section.querySelector("h2").textContent;
    const csv = (file) => save(`${file}.csv`, asCsv(textsOf(table)), "text/csv");
    const latex = (file) => save(`${file}.tex`, asLatex(textsOf(table)), "text/x-tex");
    return item(name, { CSV: csv, LaTeX: latex });
  });
  return [...pictures, ...tables];
}

function item(name, writers) {
  const buttons = Object.entries(writers).map(([kind, write]) => {
    const own = button(kind, () => write(fileName(name)));
    own.ariaLabel = `${name} as ${kind}`;
    return own;
  });
  return make("li", {}, make("span", {}, name), ...buttons);
}

function fileName(text) {
  const words = `${document.title} ${text}`.toLowerCase();
  return words.replaceAll(/[^\p{L}\p{N}]+/gu, "-").replaceAll(/^-|-$/g, "");
}

// ---- pictures -----------------------------------------------------------------------------

// A picture that stands alone: the page's style sheet is not beside it.
function standalone(picture) {
  const copied = picture.cloneNode(true);
  const copies = [copied, ...copied.querySelectorAll("*")];
  [picture, ...picture.querySelectorAll("*")].forEach((element, n) => {
    const style = getComputedStyle(element);
    copies[n].removeAttribute("style");
    for (const name of STYLED) {
      const value = style.getPropertyValue(name);
      if (value) copies[n].setAttribute(name, value);
    }
  });
  const { width, height } = picture.viewBox.baseVal;
  copied.setAttribute("width", width);
  copied.setAttribute("height", height);
  const fill = getComputedStyle(picture.closest("section")).backgroundColor;
  copied.prepend(draw("rect", { width: "100%", height: "100%", fill }));
  return new XMLSerializer().serializeToString(copied);
}

async function pngOf(picture) {
  const { baseVal } = picture.viewBox;
  const [width, height] = [SHARPER * baseVal.width, SHARPER * baseVal.height];
  const image = new Image(width, height);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(picture))}`;
  await image.decode();
  const canvas = make("canvas", { width, height });
  canvas.getContext("2d").drawImage(image, 0, 0, width, height);
  return new Promise((done) => canvas.toBlob(done));
}

// ---- tables -------------------------------------------------------------------------------

// The rows of a table as texts, its headings first.
function textsOf(table) {
  if (table.classList.contains("runs")) return textsOfRuns();
  const rows = [...table.rows].filter((row) => !row.classList.contains("nothing"));
  return rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
}

// Of the table of runs all rows that pass the filter, laid out or not, with numbers in full.
function textsOfRuns() {
  const all = columnsOfTable();
  if (made[view.rows].some((row) => row.deviation !== null)) {
    all.push({ title: "deviation", of: (row) => row.deviation });
    all.push({ title: "seeds", of: (row) => row.scores.length });
  }
  const rows = shown().map((row) => all.map(({ key, of }) => fullText(key, of(row))));
  return [all.map(({ title }) => title), ...rows];
}

function fullText(key, value) {
  if (isEmpty(value)) return "";
  if (key === "when") return value ? new Date(value * 1000).toISOString() : "0";
  return typeof value === "number" ? String(value) : show(value);
}

export const asCsv = (rows) => rows.map((row) => `${row.map(csvCell).join(",")}\n`).join("");

// A text that a spreadsheet would take for a formula is quoted as a text.
function csvCell(text) {
  const isFormula = /^[=+\-@\t]/.test(text) && !Number.isFinite(Number(text));
  const harmless = isFormula ? `'${text}` : text;
  return /[",\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

function asLatex([head, ...rows]) {
  const isNumber = (text = "") => /^[-+−]?[\d.,]*( ?%)?( ±.*)?$/.test(text);
  const kinds = head.map((_, n) => (rows.every((row) => isNumber(row[n])) ? "r" : "l"));
  const line = (row) => `  ${row.map(latexCell).join(" & ")} \\\\\n`;
  return [
    "% needs \\usepackage{booktabs}\n",
    `\\begin{tabular}{${kinds.join("")}}\n`,
    `  \\toprule\n${line(head)}  \\midrule\n${rows.map(line).join("")}  \\bottomrule\n`,
    "\\end{tabular}\n",
  ].join("");
}

function latexCell(text) {
  const escape = (sign) => LATEX[sign] ?? `\\${sign}`;
  const escaped = text.replaceAll(/[\\~^±−×↓→✓&%$#_{}]/g, escape);
  return escaped.replaceAll(/\s+/g, " ").trim();
}
