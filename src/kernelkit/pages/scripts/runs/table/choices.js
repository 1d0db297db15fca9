// Lists of the values of parameters, to filter by.
import { byId, data, make } from "../../elements.js";
import { show } from "../../numbers.js";
import { quoted, restrict, terms } from "../known/filter.js";
import { axes, brief, inWords, isContinuous, valuesOf } from "../known/run.js";

const MOST_LISTS = 6;
const MOST_CHOICES = 40; // values of a parameter that one can choose from a list

export function addChoices() {
  const names = axes.length ? axes : data.columns;
  for (const name of names.slice(0, MOST_LISTS)) {
    const values = [...new Set(valuesOf(name).map(show))].filter(Boolean);
    const isLine = axes.length && isContinuous(name);
    if (values.length < 2 || values.length > MOST_CHOICES || isLine) continue;
    byId("choices").append(choice(name, values));
  }
}

function choice(name, values) {
  const option = (value, text) => make("option", { value }, `${inWords(name)}: ${text}`);
  const any = option("", "any");
  const options = values.map((value) => option(value, brief(value)));
  const select = make("select", { ariaLabel: name }, any, ...options);
  select.dataset.name = name;
  select.onchange = () => {
    restrict(name, ...(select.value ? [`${name}=${quoted(select.value)}`] : []));
  };
  return select;
}

// The lists say what the filter says, however it came there.
export function showChoices() {
  for (const select of byId("choices").children) {
    const isOfIt = ({ name, sign }) => name === select.dataset.name && sign === "=";
    const wanted = terms().find(isOfIt)?.wanted;
    const values = [...select.options].map((option) => option.value).filter(Boolean);
    select.value = values.find((value) => value.toLowerCase() === wanted) ?? "";
  }
}
