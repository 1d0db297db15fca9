// A matrix of true and predicted classes that can be read at a hundred classes: it zooms, and the
// cell that one points at, or goes to with the arrow keys, is told in words.
import { PAPER } from "../charts.js";
import { button, draw, make } from "../elements.js";
import { sum } from "../statistics.js";

const LABEL = 14; // pixels of a line of names
const LETTER = 7.8; // pixels of a bold letter
const WIDEST = 215; // pixels for names
const HIGHEST = 736; // pixels, as .matrix in style.css
const CELLS = [4, 5, 6, 8, 11, 14, 18, 24, 32]; // sides of a cell to choose from, in pixels
const COUNTED = 18; // side of a cell from which its count stands in it
const RULED = 8; // side of a cell from which each has its rules

// `counts[i][j]`: how many of class i were taken for class j.
export function matrix(place, { names, counts }) {
  const n = names.length;
  const sums = counts.map(sum);
  const longest = Math.max(...names.map((name) => name.length));
  // Wide enough for a bold name; on a narrow page a third of it, and names are cut short.
  const narrow = Math.max(110, place.clientWidth / 3);
  const side = Math.min(WIDEST, 12 + LETTER * longest, narrow);
  const letters = Math.floor((side - 12) / LETTER + 0.01);
  let at = null; // [row, column] of the cell that is read
  let level = null; // the place in CELLS of the side that a cell has
  let drawn = {};

  const hint = "Point at a cell, or focus the matrix and use the arrow keys.";
  const reading = make("p", { className: "reading", ariaLive: "polite" }, hint);
  const smaller = button("−", () => zoom(level - 1));
  const larger = button("+", () => zoom(level + 1));
  const fit = button("Fit", () => zoom(fitting()));
  smaller.ariaLabel = "smaller";
  larger.ariaLabel = "larger";
  const held = make("div", {
    className: "matrix",
    tabIndex: 0,
    role: "application",
    ariaLabel:
      `Matrix of ${n} by ${n}: rows are true, columns predicted. ` +
      "Arrow keys move from cell to cell, plus and minus zoom.",
  });
  place.append(make("div", { className: "bar zoom" }, smaller, larger, fit, key()), held, reading);
  held.addEventListener("pointermove", readByPointer);
  held.addEventListener("keydown", readByKey);
  let before = 0;
  addEventListener("beforeprint", () => {
    before = level;
    level = fitting(PAPER, 1.35 * PAPER);
    paint();
  });
  addEventListener("afterprint", () => {
    level = before;
    paint();
  });
  level = fitting();
  paint();

  // The largest cell with which the whole matrix is seen: in the window, or on paper.
  function fitting(width = held.clientWidth, height = 0.85 * window.innerHeight) {
    const room = Math.min(width, height, HIGHEST) - side - 20;
    return Math.max(0, CELLS.findLastIndex((size) => size * n <= room));
  }

  // Around the cells, or the first name is cut off.
  function pad() {
    return Math.max(0, Math.ceil(9 - CELLS[level] / 2));
  }

  function paint() {
    const size = CELLS[level];
    const all = size * n + 2 * pad();
    const hidden = { "aria-hidden": "true" };
    const viewBox = `${-pad()} ${-pad()} ${all} ${all}`;
    const grid = draw("svg", { width: all, height: all, viewBox, ...hidden });
    const left = draw("svg", { class: "left", width: side, height: all, ...hidden });
    const top = draw("svg", { class: "top", width: all, height: side, ...hidden });
    grid.append(draw("rect", { width: size * n, height: size * n, class: "ground" }));
    drawCells(grid, size);
    drawRules(grid, size);
    const square = { width: size, height: size, class: "cursor" };
    const cursor = draw("rect", { ...square, visibility: "hidden" });
    grid.append(cursor);
    drawn = { grid, cursor, rows: [], columns: [] };
    drawNames(left, top, size);
    const corner = make("div", { className: "corner" }, "true ↓", make("br"), "predicted →");
    corner.style.cssText = `width:${side}px;height:${side}px`;
    held.replaceChildren(make("div", { className: "grid" }, corner, top, left, grid));
    smaller.disabled = level === 0;
    larger.disabled = level === CELLS.length - 1;
    mark();
  }

  function drawCells(grid, size) {
    for (let i = 0; i < n; i += 1) {
      for (let j = 0; j < n; j += 1) {
        if (counts[i][j]) drawCell(grid, size, i, j);
      }
    }
  }

  function drawCell(grid, size, i, j) {
    const share = Math.sqrt(counts[i][j] / sums[i]);
    const isRight = i === j;
    const opacity = 0.18 + (isRight ? 0.6 : 0.82) * share;
    const cell = draw("rect", {
      x: j * size,
      y: i * size,
      width: size,
      height: size,
      class: isRight ? "right" : "wrong",
      "fill-opacity": opacity.toFixed(2),
    });
    grid.append(cell);
    if (size < COUNTED) return;
    const middle = { x: (j + 0.5) * size, y: (i + 0.5) * size + 4, "text-anchor": "middle" };
    grid.append(draw("text", { ...middle, class: "count" }, counts[i][j]));
  }

  function drawRules(grid, size) {
    const every = size >= RULED ? 1 : Math.ceil(LABEL / size);
    for (let k = 0; k <= n; k += every) {
      const [place, end] = [k * size, n * size];
      grid.append(
        draw("line", { x1: place, x2: place, y1: 0, y2: end, class: "rule" }),
        draw("line", { y1: place, y2: place, x1: 0, x2: end, class: "rule" }),
      );
    }
  }

  function drawNames(left, top, size) {
    const every = Math.ceil(LABEL / size);
    for (let k = 0; k < n; k += every) {
      const name = names[k];
      const short = name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
      const end = pad() + (k + 0.5) * size + 4;
      const transform = `translate(${end} ${side - 5}) rotate(-90)`;
      drawn.rows[k] = draw("text", { x: side - 5, y: end, "text-anchor": "end" }, short);
      drawn.columns[k] = draw("text", { transform }, short);
      left.append(drawn.rows[k]);
      top.append(drawn.columns[k]);
    }
  }

  // Marks the cell that is read, and says it.
  function mark() {
    if (!at) return;
    const [i, j] = at;
    const size = CELLS[level];
    drawn.cursor.setAttribute("x", j * size);
    drawn.cursor.setAttribute("y", i * size);
    drawn.cursor.setAttribute("visibility", "visible");
    drawn.rows.forEach((text, k) => text.classList.toggle("at", k === i));
    drawn.columns.forEach((text, k) => text.classList.toggle("at", k === j));
    const count = counts[i][j];
    const share = sums[i] ? ` of ${sums[i]} (${((100 * count) / sums[i]).toFixed(0)} %)` : "";
    reading.replaceChildren(
      make("span", {}, "true ", make("b", {}, names[i])),
      make("span", {}, "predicted ", make("b", {}, names[j])),
      make("span", {}, make("b", {}, count), share),
    );
  }

  // Scrolls to the cell that is read.
  function see() {
    const size = CELLS[level];
    const [top, left] = at.map((k) => k * size);
    const width = held.clientWidth - side;
    const height = held.clientHeight - side;
    if (left < held.scrollLeft) held.scrollLeft = left;
    if (left + size > held.scrollLeft + width) held.scrollLeft = left + size - width;
    if (top < held.scrollTop) held.scrollTop = top;
    if (top + size > held.scrollTop + height) held.scrollTop = top + size - height;
  }

  function zoom(to) {
    const before = CELLS[level];
    const { scrollLeft, scrollTop } = held;
    level = Math.min(CELLS.length - 1, Math.max(0, to));
    paint();
    const by = CELLS[level] / before;
    held.scrollLeft = scrollLeft * by;
    held.scrollTop = scrollTop * by;
    if (at) see();
  }

  function readByPointer(event) {
    const shown = drawn.grid.getBoundingClientRect();
    const i = Math.floor((event.clientY - shown.top - pad()) / CELLS[level]);
    const j = Math.floor((event.clientX - shown.left - pad()) / CELLS[level]);
    if (i < 0 || j < 0 || i >= n || j >= n) return;
    if (at && at[0] === i && at[1] === j) return;
    at = [i, j];
    mark();
  }

  function readByKey(event) {
    if (event.key === "+" || event.key === "=") zoom(level + 1);
    if (event.key === "-") zoom(level - 1);
    const [i, j] = at ?? [0, 0];
    const moves = {
      ArrowUp: [i - 1, j],
      ArrowDown: [i + 1, j],
      ArrowLeft: [i, j - 1],
      ArrowRight: [i, j + 1],
      Home: [i, 0],
      End: [i, n - 1],
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    at = at ? moves[event.key].map((k) => Math.min(n - 1, Math.max(0, k))) : [0, 0];
    mark();
    see();
  }
}

// What the colours of the cells mean.
function key() {
  return make(
    "span",
    { className: "quiet" },
    make("span", { className: "key " }),
    " blue = correct, ",
    make("span", { className: "key wrong" }),
    " orange = wrong; stronger = larger share of the class",
  );
}
