// What is looked at: kept in the address, so that a view can be linked to; the page follows it.
import { data } from "../../elements.js";
import { axes, runs } from "./run.js";

export const view = {
  rows: data.sweep ? "settings" : "runs", // what a row of the table is: a configuration or a run
  sort: data.sweep ? "score" : "when", // the key of a column
  down: data.sweep ? !data.minimize : true, // whether the greatest comes first
  filter: "",
  ticked: null, // the ids of the runs whose curves are drawn
  colour: "", // the parameter that colours the score against time
  x: "epoch", // the x-axis of the curves: epoch, step or seconds
  logx: false,
  logy: false,
  smooth: 0, // from 0 to 0.95
  compare: [], // the ids of the runs side by side
};

const followers = [];
let atFirst = null; // what is ticked before anybody ticks

// `follower(names)` is called after each change, with the names of what changed.
export function follow(follower) {
  followers.push(follower);
}

// Changes parts of the view, or says by name that something else did.
export function change(parts, ...others) {
  Object.assign(view, parts);
  writeAddress();
  for (const follower of followers) follower([...Object.keys(parts), ...others]);
}

// Takes the view from the address; without ticks there, those of `ticked`.
export function readAddress(ticked) {
  const hash = new URLSearchParams(location.hash.slice(1));
  const idsIn = (name) => (hash.get(name) ?? "").split(",").filter((id) => runs.has(id));
  if (hash.has("rows")) view.rows = hash.get("rows") === "runs" ? "runs" : "settings";
  if (hash.has("sort")) {
    view.sort = hash.get("sort");
    view.down = hash.get("down") !== "0";
  }
  view.filter = hash.get("filter") ?? "";
  if (hash.has("ticked")) view.ticked = new Set(idsIn("ticked"));
  if (!view.ticked) view.ticked = atFirst = ticked;
  if (axes.includes(hash.get("colour"))) view.colour = hash.get("colour");
  view.x = hash.get("x") ?? "epoch";
  view.logx = hash.get("logx") === "1";
  view.logy = hash.get("logy") === "1";
  view.smooth = Math.min(0.95, Math.max(0, Number(hash.get("smooth")) || 0));
  view.compare = idsIn("compare");
}

export function writeAddress() {
  const { rows, sort, down, ticked, compare } = view;
  const hash = new URLSearchParams({ rows, sort, down: down ? "1" : "0" });
  if (ticked !== atFirst) hash.set("ticked", [...ticked].join(","));
  for (const name of ["filter", "colour", "smooth"]) {
    if (view[name]) hash.set(name, view[name]);
  }
  if (view.logx) hash.set("logx", "1");
  if (view.logy) hash.set("logy", "1");
  if (view.x !== "epoch") hash.set("x", view.x);
  if (compare.length) hash.set("compare", compare.join(","));
  history.replaceState(null, "", `#${hash}`);
}
