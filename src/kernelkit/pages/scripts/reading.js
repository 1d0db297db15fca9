// Reading a chart: by the pointer, by the arrow keys, and closer by zooming along x.
import { draw } from "./elements.js";

export const HOW_TO_READ =
  "Point at a chart, or focus it and use the arrow keys, to read values. Drag across it, or " +
  "press + and −, to zoom; double-click, or press 0, to see all of it.";
const LEAST_DRAG = 8; // pixels: a click is no drag

// Where an event of the pointer is, in the units of a picture.
export function pointIn(picture, event) {
  const shown = picture.getBoundingClientRect();
  const { width, height } = picture.viewBox.baseVal;
  const x = ((event.clientX - shown.left) * width) / shown.width;
  const y = ((event.clientY - shown.top) * height) / shown.height;
  return [x, y];
}

// The arrow keys go from place to place between the numbers `first` and `last`: `at()` is the place
// that is read, or null, and `read(n)` reads another, or with null none.
export function readByKeys(picture, { first = 0, last, at, read }) {
  picture.setAttribute("tabindex", "0");
  picture.addEventListener("keydown", (event) => {
    const moves = {
      ArrowLeft: (at() ?? last + 1) - 1,
      ArrowRight: (at() ?? first - 1) + 1,
      Home: first,
      End: last,
      Escape: null,
    };
    if (!(event.key in moves) || last < first) return;
    event.preventDefault();
    const to = moves[event.key];
    read(to === null ? null : Math.min(last, Math.max(first, to)));
  });
}

// Zoom along x: by dragging, and by + and − around the place that is read; all of it by 0 or a
// double click. `set(from, to)` takes shares of the range that is shown now, `all()` shows all;
// `read()` is the share that is read, or null.
export function zoomable(picture, { box, read, set, all }) {
  const [left, right] = [box.left + 8, box.right - 8];
  const height = box.bottom - box.top;
  const area = draw("rect", { y: box.top, height, class: "brush", visibility: "hidden" });
  picture.append(area);
  let begin = null; // the share at which a drag began

  function share(event) {
    const at = (pointIn(picture, event)[0] - left) / (right - left);
    return Math.min(1, Math.max(0, at));
  }
  const dragged = (event) => [begin, share(event)].sort((a, b) => a - b);
  const isDrag = ([from, to]) => (to - from) * (right - left) > LEAST_DRAG;
  function end() {
    begin = null;
    area.setAttribute("visibility", "hidden");
  }

  picture.addEventListener("pointerdown", (event) => {
    if (event.button === 0) begin = share(event);
  });
  picture.addEventListener("pointermove", (event) => {
    if (begin === null || !isDrag(dragged(event))) return;
    const [from, to] = dragged(event);
    picture.setPointerCapture(event.pointerId); // the drag may leave the chart
    area.setAttribute("x", left + from * (right - left));
    area.setAttribute("width", (to - from) * (right - left));
    area.setAttribute("visibility", "visible");
  });
  picture.addEventListener("pointerup", (event) => {
    if (begin === null) return;
    const chosen = dragged(event);
    end();
    if (isDrag(chosen)) set(...chosen);
  });
  picture.addEventListener("pointercancel", end);
  picture.addEventListener("dblclick", all);
  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's own zoom
    const from = Math.min(0.5, Math.max(0, (read() ?? 0.5) - 0.25));
    if (event.key === "0") all();
    else if (event.key === "+" || event.key === "=") set(from, from + 0.5);
    else if (event.key === "-") set(-0.5, 1.5);
    else return;
    event.preventDefault();
  });
}
