// While a command runs, it writes the page on disk again and again. The page loads itself again,
// and keeps what is looked at: the view is in the address, the place in the tab's own memory.
import { byId, data, make } from "../elements.js";
import { duration } from "../numbers.js";
import { isSilent, SILENT } from "./known/run.js";
import { LAID, layMore } from "./table/table.js";

const RUNNING = 6; // runs whose last lines are shown
const PLACE = `kernelkit place ${location.pathname}`;
const WAIT = 500; // milliseconds, while somebody is busy with the page
const STOPPED = "This page is no longer updated: the command was stopped.";

export function followLive() {
  const { text, until, again, written } = data.live;
  byId("live").hidden = !again;
  if (!again) return;
  const left = until - Date.now() / 1000;
  const words = [`as of ${new Date(1000 * written).toLocaleTimeString("sv")}`];
  if (left > 0 && !isSilent) words.unshift(`about ${duration(Math.ceil(left))} left`);
  byId("live-words").textContent = isSilent ? STOPPED : text;
  byId("live-when").textContent = words.join(", ");
  const running = data.runs.filter((run) => run.state === "running" && run.log);
  byId("live-runs").replaceChildren(...running.slice(0, RUNNING).map(lastLines));
  setTimeout(loadAgain, 1000 * (isSilent ? SILENT : again));
}

const lastLines = ({ name, log }) =>
  make("figure", {}, make("figcaption", {}, name), make("pre", {}, log));

// Not while somebody types, selects text or reads another tab.
function loadAgain() {
  const focused = document.activeElement;
  const isTyping = focused.matches("input[type=search], textarea, select");
  if (isTyping || document.hidden || !getSelection().isCollapsed) {
    setTimeout(loadAgain, WAIT);
    return;
  }
  const place = {
    top: scrollY,
    inside: document.querySelector(".scroll").scrollTop,
    laid: byId("rows").rows.length,
    label: focused.getAttribute("aria-label"),
  };
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(place));
  } finally {
    location.reload();
  }
}

// Where the reader was before the page loaded itself again.
export function returnToPlace() {
  const place = keptPlace();
  if (!place) return;
  layMore(Math.max(0, place.laid - LAID));
  document.querySelector(".scroll").scrollTop = place.inside;
  scrollTo(0, place.top);
  if (!place.label) return;
  const focused = document.querySelector(`main [aria-label="${CSS.escape(place.label)}"]`);
  focused?.focus({ preventScroll: true });
}

function keptPlace() {
  try {
    const place = JSON.parse(sessionStorage.getItem(PLACE));
    sessionStorage.removeItem(PLACE);
    return place;
  } catch {
    return null; // a browser that keeps nothing for a page on disk
  }
}
