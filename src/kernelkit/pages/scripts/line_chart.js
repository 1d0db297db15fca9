// A chart of lines over whole steps, with a crosshair that follows the pointer and the arrow keys.
import { chart, frame, legend, look, mark, repaintInPlace } from "./charts.js";
import { draw, make, titled } from "./elements.js";
import { HOW_TO_READ, pointIn, readByKeys, zoomable } from "./reading.js";
import { range, ticks, tickText } from "./scales.js";
import { finite } from "./statistics.js";

/* series   [{label, values}], values by step
   label    above the chart
   step     what a step is, and `named(n)` what the nth is called
   phases   [{at, label}]: names of what begins after so many steps
   zero     the y-axis begins at zero, and the label says what is drawn
   linked   the readings of the charts that follow one another
   hint     whether it says how to read it while nobody does; digits: of its values */
export function lineChart(
  place,
  {
    series, label, height, step = "epoch", named = (n) => n + 1, phases = [], digits = 4,
    hint = true, linked = [], zero = false,
  },
) {
  const longest = Math.max(...series.map((one) => one.values.length));
  const whole = [0, Math.max(1, longest - 1)];
  let [from, to] = whole; // the steps that are shown
  let at = null; // the step that is read
  const reading = make("p", { className: "reading quiet", ariaLive: "polite" });
  const isShown = (n) => n >= from && n <= to;
  chart(place, paint);

  function paint(width) {
    const labels = series.map((one) => one.label);
    const near = finite(series.flatMap((one) => one.values.filter((_, n) => isShown(n))));
    const values = near.length ? near : finite(series.flatMap((one) => one.values));
    const name = `${label}: ${labels.join(", ")}`;
    const top = phases.length ? 40 : 24;
    const { picture, box, y } = frame(width, height, ...range(values, zero), tickText, name, top);
    const inner = box.right - box.left - 16;
    const middle = (box.left + box.right) / 2;
    const x = (n) => (longest > 1 ? box.left + 8 + (inner * (n - from)) / (to - from) : middle);
    picture.append(draw("text", { x: box.left, y: 12, class: "value" }, label));
    const told = stepsToTell(width);
    for (const n of told) {
      const attributes = { x: x(n), y: box.bottom + 16, "text-anchor": zero ? "end" : "middle" };
      picture.append(draw("text", attributes, named(n)));
    }
    picture.append(draw("text", { x: box.right, y: box.bottom + 31, "text-anchor": "end" }, step));
    for (const phase of phases) drawPhase(picture, box, phase, x);
    series.forEach((one, n) => drawSeries(picture, one, look(n), told, x, y));
    const upright = { y1: box.top, y2: box.bottom, class: "cross" };
    const cross = draw("line", { ...upright, visibility: "hidden" });
    picture.append(cross);
    const read = (n, follow = true) => readAt(n, follow, cross, x);
    picture.addEventListener("pointermove", (event) => {
      const [px] = pointIn(picture, event);
      read(longest > 1 ? Math.round(from + ((px - x(from)) / (x(to) - x(from))) * (to - from)) : 0);
    });
    readByKeys(picture, { first: from, last: Math.min(to, longest - 1), at: () => at, read });
    if (longest > 2) {
      zoomable(picture, {
        box,
        read: () => (at === null ? null : (at - from) / (to - from)),
        set: (low, high) => zoom(from + low * (to - from), from + high * (to - from)),
        all: () => zoom(...whole),
      });
    }
    place.replaceChildren(picture, ...(zero ? [] : [legend(labels)]), reading);
    const others = linked.filter((other) => other.place !== place);
    linked.splice(0, linked.length, ...others, { place, read });
    read(at, false);
  }

  // The steps whose names stand below the chart.
  function stepsToTell(width) {
    const room = width / Math.max(60, 12 * String(named(longest - 1)).length);
    const { values } = ticks(from + 1, Math.max(2, to + 1), Math.min(to - from + 1, room), true);
    return values.map((value) => value - 1).filter((n) => n < longest && isShown(n));
  }

  function drawPhase(picture, box, { at: begin, label: name }, x) {
    if (!isShown(begin - 0.5)) return;
    // The name has a row of its own above the curves, and leans to the side that has more room.
    const line = (x(begin - 1) + x(begin)) / 2;
    const isLate = line > (box.left + box.right) / 2;
    const anchor = isLate ? "end" : "start";
    picture.append(
      draw("line", { x1: line, x2: line, y1: 20, y2: box.bottom, class: "phase" }),
      draw("text", { x: line + (isLate ? -5 : 5), y: 32, "text-anchor": anchor }, name),
    );
  }

  function drawSeries(picture, one, { colour, dash, mark: kind }, told, x, y) {
    const isDrawn = (value, n) => Number.isFinite(value) && isShown(n);
    const places = one.values.map((value, n) => (isDrawn(value, n) ? [x(n), y(value)] : null));
    const points = places.filter(Boolean);
    const style = `stroke:${colour}`;
    const line = { points: points.join(" "), class: "curve", style, "stroke-dasharray": dash };
    picture.append(titled(draw("polyline", line), one.label));
    places.forEach((point, n) => {
      const isMarked = point && (told.includes(n) || points.length === 1);
      if (isMarked) picture.append(mark(kind, ...point, colour, 3));
    });
  }

  // Reads the nth step, or with null none; `follow`: the linked charts do, too.
  function readAt(n, follow, cross, x) {
    for (const other of follow ? linked : []) {
      if (other.place !== place) other.read(n, false);
    }
    const isElsewhere = !follow && !isShown(n ?? 0); // the other chart shows more than this one
    at = n === null || isElsewhere ? null : Math.min(longest - 1, to, Math.max(0, from, n));
    cross.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at === null) {
      reading.replaceChildren(hint ? HOW_TO_READ : "");
      return;
    }
    for (const end of ["x1", "x2"]) cross.setAttribute(end, x(at));
    const here = series.filter((one) => Number.isFinite(one.values[at]));
    here.sort((a, b) => b.values[at] - a.values[at]);
    const words = here.map((one) => {
      return make("span", {}, `${one.label} `, make("b", {}, one.values[at].toFixed(digits)));
    });
    reading.replaceChildren(make("b", {}, `${step} ${named(at)}`), ...words);
  }

  function zoom(low, high) {
    [from, to] = [Math.max(0, Math.round(low)), Math.min(whole[1], Math.round(high))];
    if (to <= from) [from, to] = from < whole[1] ? [from, from + 1] : [from - 1, from];
    repaintInPlace(place);
  }
}
