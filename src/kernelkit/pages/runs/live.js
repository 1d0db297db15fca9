"use strict";
// While a command runs, it writes the page on disk again and again. The page loads itself again,
// and keeps what is looked at: the view is in the address, the place in the tab's own memory.
const RUNNING = 6; // runs whose last lines are shown
const PLACE = `kernelkit place ${location.pathname}`;

function followLive() {
  const { text, until, again, written } = data.live;
  byId("live").hidden = !again;
  if (!again) return;
  const left = until - Date.now() / 1000;
  const since = `as of ${new Date(1000 * written).toLocaleTimeString("sv")}`;
  byId("live-words").textContent = silent ? "This page is no longer updated: the command was stopped." : text;
  byId("live-when").textContent = [left > 0 && !silent ? `about ${duration(Math.ceil(left))} left` : "", since].filter(Boolean).join(", ");
  const running = data.runs.filter((run) => run.state === "running" && run.log).slice(0, RUNNING);
  byId("live-runs").replaceChildren(...running.map((run) => make("figure", {}, make("figcaption", { textContent: run.name }), make("pre", { textContent: run.log }))));
  setTimeout(loadAgain, 1000 * (silent ? SILENT : again));
}

// Not while somebody types, selects text or reads another tab.
function loadAgain() {
  const typing = document.activeElement.matches("input[type=search], textarea, select");
  if (typing || document.hidden || !getSelection().isCollapsed) return setTimeout(loadAgain, 500);
  const focused = document.activeElement;
  const label = focused.getAttribute("aria-label");
  const place = { top: scrollY, inside: document.querySelector(".scroll").scrollTop, laid: byId("rows").rows.length, label };
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(place));
  } finally {
    location.reload();
  }
}

function returnToPlace() {
  let place = null;
  try {
    place = JSON.parse(sessionStorage.getItem(PLACE));
    sessionStorage.removeItem(PLACE);
  } catch {
    return; // a browser that keeps nothing for a page on disk
  }
  if (!place) return;
  lay(Math.max(0, place.laid - LAID));
  document.querySelector(".scroll").scrollTop = place.inside;
  scrollTo(0, place.top);
  if (place.label) document.querySelector(`main [aria-label="${CSS.escape(place.label)}"]`)?.focus({ preventScroll: true });
}
