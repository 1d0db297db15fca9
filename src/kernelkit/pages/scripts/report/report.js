// The page of a run's report: its learning curves, its machine, its matrices, and its contents.
import { byId, data } from "../elements.js";
import { lineChart } from "../line_chart.js";
import { followContents } from "./contents.js";
import { machineCharts } from "./machine.js";
import { matrix } from "./matrix.js";

// Where the notebook shows a picture that stands above it, it is shown once more.
for (const place of document.querySelectorAll("[data-picture]")) {
  const picture = document.querySelector(`#picture-${place.dataset.picture} img`);
  if (picture) place.src = picture.src;
}

const linked = []; // the learning curves have one crosshair
for (const place of document.querySelectorAll("[data-chart]")) {
  const number = Number(place.dataset.chart);
  lineChart(place, { height: 240, hint: number === 0, linked, ...data.curves[number] });
}

const machine = byId("machine-charts");
if (machine) machineCharts(machine, data.resources);

document.querySelectorAll("[data-matrix]").forEach((place, n) => matrix(place, data.matrices[n]));

// A table of the notebook that is wider than the page can be scrolled from the keyboard.
function makeScrollable() {
  for (const table of document.querySelectorAll(".notebook table")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    else table.removeAttribute("tabindex");
  }
}

addEventListener("resize", makeScrollable);
document.querySelector("#notebook > details").addEventListener("toggle", makeScrollable);
makeScrollable();

// What is folded is printed too, but for the notebook.
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("section:not(#notebook) details")) one.open = true;
});

followContents();
