"use strict";
// Each chart as SVG and PNG, each table as CSV and LaTeX: made here, from what is shown.
const STYLED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "visibility", "text-anchor", "paint-order"];
const button = (textContent, onclick) => make("button", { type: "button", textContent, onclick });

function save(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

async function copy(text, place) {
  const before = place.textContent;
  try { await navigator.clipboard.writeText(text); place.textContent = "Copied"; } catch { place.textContent = "Select the text and copy it"; }
  setTimeout(() => { place.textContent = before; }, 1500);
}

// A picture that stands alone: the page's style sheet is not beside it.
function standalone(picture) {
  const copied = picture.cloneNode(true);
  const [own, copies] = [[picture, ...picture.querySelectorAll("*")], [copied, ...copied.querySelectorAll("*")]];
  own.forEach((element, n) => {
    const style = getComputedStyle(element);
    copies[n].removeAttribute("style");
    for (const name of STYLED) if (style.getPropertyValue(name)) copies[n].setAttribute(name, style.getPropertyValue(name));
  });
  const { width, height } = picture.viewBox.baseVal;
  for (const [name, value] of Object.entries({ xmlns: SVG, width, height })) copied.setAttribute(name, value);
  copied.prepend(draw("rect", { width: "100%", height: "100%", fill: getComputedStyle(picture.closest("section")).backgroundColor }));
  return new XMLSerializer().serializeToString(copied);
}

async function png(picture) {
  const { width, height } = picture.viewBox.baseVal;
  const image = new Image(2 * width, 2 * height);
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(standalone(picture));
  await image.decode();
  const canvas = make("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  return new Promise((done) => canvas.toBlob(done));
}

// ---- tables -----------------------------------------------------------------------------

// The rows of a table as texts. Of the table of runs all that pass the filter, laid out or not, with numbers in full.
function cellsOf(table) {
  if (table.classList.contains("runs")) {
    const text = (value) => (EMPTY.includes(value) ? "" : typeof value === "number" ? String(value) : show(value));
    const deviations = made[view.rows].some((row) => row.deviation !== null);
    const extra = deviations ? [{ title: "deviation", of: (row) => row.deviation }, { title: "seeds", of: (row) => row.scores.length }] : [];
    const all = [...columns(), ...extra];
    return [all.map(({ title }) => title), ...shown().map((row) => all.map((own) => text(own.key === "when" && own.of(row) ? new Date(own.of(row) * 1000).toISOString() : own.of(row))))];
  }
  return [...table.rows].filter((row) => !row.classList.contains("nothing")).map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
}

// A text that a spreadsheet would take for a formula is quoted as a text.
const csvCell = (text) => {
  const harmless = /^[=+\-@\t]/.test(text) && !Number.isFinite(Number(text)) ? "'" + text : text;
  return /[",\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};
const asCsv = (rows) => rows.map((row) => row.map(csvCell).join(",") + "\n").join("");

const LATEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "±": "$\\pm$", "−": "$-$", "×": "$\\times$", "↓": "", "→": "", "✓": "" };
const latexCell = (text) => text.replaceAll(/[\\~^±−×↓→✓]|[&%$#_{}]/g, (sign) => LATEX[sign] ?? "\\" + sign).replaceAll(/\s+/g, " ").trim();
function asLatex([head, ...rows]) {
  const numeric = (n) => rows.every((row) => /^[-+−]?[\d.,]*( ?%)?( ±.*)?$/.test(row[n] ?? ""));
  const lines = (cells) => cells.map((row) => "  " + row.map(latexCell).join(" & ") + " \\\\\n").join("");
  return `% needs \\usepackage{booktabs}\n\\begin{tabular}{${head.map((_, n) => (numeric(n) ? "r" : "l")).join("")}}\n  \\toprule\n${lines([head])}  \\midrule\n${lines(rows)}  \\bottomrule\n\\end{tabular}\n`;
}

// ---- a list of files in each section ----------------------------------------------------

const fileName = (text) => `${document.title} ${text}`.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, "-").replaceAll(/^-|-$/g, "");

function addExports() {
  for (const section of document.querySelectorAll("main > section")) {
    const list = make("ul");
    const menu = make("details", { className: "export" }, make("summary", {}, "Export"), list);
    menu.ontoggle = () => {
      const pictures = [...section.querySelectorAll(".chart > svg")].map((picture) => [picture.getAttribute("aria-label").split(":")[0], [["SVG", async (name) => save(name + ".svg", standalone(picture), "image/svg+xml")], ["PNG", async (name) => save(name + ".png", await png(picture))]]]);
      const tables = [...section.querySelectorAll("table")].filter((table) => table.checkVisibility()).map((table) => [table.getAttribute("aria-label") ?? section.getAttribute("aria-label") ?? section.querySelector("h2").textContent, [["CSV", async (name) => save(name + ".csv", asCsv(cellsOf(table)), "text/csv")], ["LaTeX", async (name) => save(name + ".tex", asLatex(cellsOf(table)), "text/x-tex")]]]);
      list.replaceChildren(...(menu.open ? [...pictures, ...tables] : []).map(([text, kinds]) => make("li", {}, make("span", {}, text), ...kinds.map(([kind, write]) => { const own = button(kind, () => write(fileName(text))); own.ariaLabel = `${text} as ${kind}`; return own; }))));
    };
    section.append(menu);
  }
}
