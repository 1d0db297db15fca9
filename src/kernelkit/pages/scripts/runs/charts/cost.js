// The part "Score against time".
import { chart, legend, look, ticksBelow } from "../../charts.js";
import { byId, draw } from "../../elements.js";
import { show } from "../../numbers.js";
import { range, ticks, tickText } from "../../scales.js";
import { extent } from "../../statistics.js";
import { finished } from "../known/filter.js";
import { brief, isContinuous, score, seconds, valuesOf } from "../known/run.js";
import { view } from "../known/view.js";
import { cloud, scoreFrame } from "./cloud.js";

const FEWEST = 3; // runs
const SAME_TIME = 1.05; // how much longer than the shortest run the longest takes, for this chart
const IN_MINUTES = 120; // seconds of the longest run, from which times are in minutes
const HEIGHT = 340;

export function cost() {
  const own = finished().filter((run) => Number.isFinite(seconds(run)));
  const [shortest, longest] = extent(own.map(seconds));
  const isTold = own.length >= FEWEST && longest > SAME_TIME * shortest;
  byId("cost-section").hidden = !isTold;
  if (!isTold) return;
  chart(byId("cost"), (width) => drawCost(byId("cost"), width, own, longest >= IN_MINUTES));
}

function drawCost(place, width, own, inMinutes) {
  const time = (run) => seconds(run) / (inMinutes ? 60 : 1);
  const framed = scoreFrame(width, HEIGHT, own, "time");
  const { picture, box, y } = framed;
  const [low, high] = range(own.map(time), true);
  const x = (value) => box.left + ((value - low) / (high - low)) * (box.right - box.left);
  const marks = ticks(low, high, width / 90);
  ticksBelow(framed, marks.values.map((value) => [x(value), tickText(value, marks.digits)]));
  const unit = inMinutes ? "minutes" : "seconds";
  picture.append(draw("text", { x: box.right, y: box.bottom + 31, "text-anchor": "end" }, unit));
  const points = own.map((run) => ({ run, x: x(time(run)), y: y(score(run)) }));
  const isColoured = view.colour && !isContinuous(view.colour);
  const values = isColoured ? valuesOf(view.colour).map(show) : [];
  if (values.length < 2) {
    cloud(place, picture, points);
    return;
  }
  const valueOf = (run) => show(run.parameters[view.colour]);
  cloud(place, picture, points, (run) => look(values.indexOf(valueOf(run))));
  const drawn = new Set(own.map(valueOf));
  const isDrawn = (n) => drawn.has(values[n]);
  place.append(legend(values.map(brief), { lines: false, isDrawn }));
}
