// The part "What mattered": the share of each parameter in the variance of the score.
import { byId, make } from "../elements.js";
import { fixed, percent } from "../numbers.js";
import { isByResult } from "./known/filter.js";
import { inTable, isSame } from "./known/importance.js";
import { inWords } from "./known/run.js";
import { labelled } from "./table/table.js";

const BY_RESULT =
  "The filter chooses runs by their results: among these, a parameter that decides the score may " +
  "explain nothing.";

export function importance() {
  const rows = inTable();
  byId("importance-section").hidden = !rows.length;
  byId("importance-words").textContent = isByResult() ? BY_RESULT : "";
  byId("importance").replaceChildren(...rows.map(line));
}

function line({ name, share, interval, levels, best, means, with: others }) {
  const sure = interval
    ? `${Math.round(100 * interval[0])}–${percent(interval[1])}`
    : "too few runs";
  const onAverage = `${levels.names[best]} (${fixed(means[best])})`;
  return make(
    "tr",
    {},
    labelled(make("th", { scope: "row" }, inWords(name)), "parameter"),
    make("td", { className: "track" }, bar(share, interval)),
    labelled(make("td", { className: "number" }, percent(share)), "explains"),
    labelled(make("td", { className: "number" }, sure), "interval"),
    labelled(make("td", {}, onAverage), "best on average"),
    labelled(make("td", {}, others.map(strengthText).join(", ")), "associated with"),
  );
}

function bar(share, interval) {
  const own = make("span", { className: "share", ariaHidden: "true" }, make("i"), make("b"));
  own.firstChild.style.width = `${100 * share}%`;
  if (interval) {
    const [low, high] = interval.map((end) => 100 * end);
    own.lastChild.style.cssText = `left:${low}%;width:${high - low}%`;
  }
  return own;
}

function strengthText([name, strength]) {
  if (isSame(strength)) return `${inWords(name)} (changes with it)`;
  return `${inWords(name)} (V ${strength.toFixed(2).replace(/^0/, "")})`;
}
