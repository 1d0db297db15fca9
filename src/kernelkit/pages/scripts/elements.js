// Elements and drawings, and the data that a page brings for its scripts.

const SVG = "http://www.w3.org/2000/svg";

export const data = JSON.parse(document.getElementById("data").textContent);
export const byId = (id) => document.getElementById(id);

// An element with these properties or attributes, around what is not null.
export function make(name, attributes = {}, ...inner) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...inner.filter((part) => part !== null && part !== undefined));
  return element;
}

export const button = (textContent, onclick) =>
  make("button", { type: "button", textContent, onclick });

// An element of SVG.
export function draw(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// What hovering shows of an element of SVG.
export function titled(element, text) {
  element.append(draw("title", {}, text));
  return element;
}
