/** Counts in buckets of time as bars: matches of a subscription, matches and volume of a backtest. */

import { h, put, s } from "../dom.js";
import { count, instant, moment } from "../format.js";
import { Drawing, MARGIN, axes } from "./frame.js";

/** `buckets`: [[iso, n]] in order; `from` and `to`: the first and the last bucket to have room for, where there is more. */
export function barChart(label, buckets, { height = 180, kind = "accent", width: step, unit = "matches", from, to } = {}) {
  const points = buckets.map(([time, n]) => ({ at: new Date(time).getTime(), n }));
  const size = step ?? spacing(points);
  const readout = h("span", { class: "readout" });
  const total = points.reduce((sum, { n }) => sum + n, 0);
  const first = Math.min(points[0]?.at ?? Date.now() - 3600e3, from ? new Date(from).getTime() : Infinity);
  const last = Math.max(points.at(-1)?.at ?? Date.now(), to ? new Date(to).getTime() : -Infinity) + size;
  const most = Math.max(0, ...points.map(({ n }) => n));
  const summary = `${label}: ${count(total)} ${unit} between ${moment(first)} and ${moment(last)}, at most ${count(most)} at a time`;
  const drawing = new Drawing("bars", (width) => {
    const { x, y, axis } = axes({ width, height, from: first, to: last, most, wanted: height < 120 ? 2 : 4 });
    const wide = Math.max(1, x(first + size) - x(first) - 1);
    const svg = s("svg", { width, height, role: "img", "aria-label": summary }, axis, points.map(({ at, n }) =>
      s("rect", { class: `bar ${kind}`, x: x(at), y: y(n), width: wide, height: Math.max(0, height - MARGIN.bottom - y(n)) })));
    svg.addEventListener("pointermove", (event) => {
      const left = event.clientX - svg.getBoundingClientRect().left;
      const over = points.find(({ at }) => left >= x(at) && left < x(at + size));
      put(readout, over ? `${instant(over.at, last - first)}: ${count(over.n)} ${unit}` : "");
    });
    svg.addEventListener("pointerleave", () => put(readout));
    return svg;
  });
  return h("figure", { class: "figure" },
    h("figcaption", {}, h("span", { class: "figure-title" }, label), h("span", { class: "muted" }, `${count(total)} ${unit}`)),
    drawing.element, readout);
}

/** Width of a bucket, where none is given: the least distance between two. */
function spacing(points) {
  const gaps = points.slice(1).map(({ at }, before) => at - points[before].at).filter((gap) => gap > 0);
  return gaps.length ? Math.min(...gaps) : 60e3;
}
