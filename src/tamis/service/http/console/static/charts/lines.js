/** Several series over time as lines, with a legend, and the values at the pointer. */

import { h, put, s } from "../dom.js";
import { clock, rate } from "../format.js";
import { Drawing, MARGIN, axes } from "./frame.js";

/** `series`: [{ name, kind, of(sample) }], drawn over samples with `at`. `update(samples)` redraws. */
export function lineChart(label, series, { height = 220, span = 30000, format = rate } = {}) {
  let samples = [];
  const readout = h("span", { class: "readout" });
  const drawing = new Drawing("lines", draw);
  const legend = h("ul", { class: "legend" }, series.map(({ name, kind }) =>
    h("li", {}, s("svg", { width: 22, height: 10, "aria-hidden": "true" },
      s("line", { class: `line ${kind}`, x1: 1, x2: 21, y1: 5, y2: 5 })), name)));

  function draw(width) {
    const to = samples.at(-1)?.at ?? Date.now();
    const from = Math.min(samples[0]?.at ?? to, to - span);
    const most = Math.max(0, ...samples.flatMap((sample) => series.map(({ of }) => of(sample) ?? 0)));
    const { x, y, axis } = axes({ width, height, from, to, most, format });
    const pointer = s("line", { class: "pointer", y1: MARGIN.top, y2: height - MARGIN.bottom, visibility: "hidden" });
    const svg = s("svg", { width, height, role: "img", "aria-label": summary() }, axis,
      series.map(({ kind, of }) => s("path", { class: `line ${kind}`, d: line(samples, x, (at) => y(of(at)), of) })), pointer);
    svg.addEventListener("pointermove", (event) => {
      const left = event.clientX - svg.getBoundingClientRect().left;
      const near = nearest(samples, (sample) => Math.abs(x(sample.at) - left));
      if (!near) return;
      pointer.setAttribute("x1", x(near.at));
      pointer.setAttribute("x2", x(near.at));
      pointer.setAttribute("visibility", "visible");
      put(readout, `${clock(near.at)}: `, series.map(({ name, of }) => `${name} ${format(of(near))}`).join(", "));
    });
    svg.addEventListener("pointerleave", () => {
      pointer.setAttribute("visibility", "hidden");
      put(readout);
    });
    return svg;
  }

  const summary = () => {
    const now = samples.at(-1);
    return now ? `${label}. Now: ${series.map(({ name, of }) => `${name} ${format(of(now))}`).join(", ")}` : label;
  };
  return {
    element: h("figure", { class: "figure" },
      h("figcaption", {}, h("span", { class: "figure-title" }, label), legend), drawing.element, readout),
    update(given) {
      samples = given;
      drawing.refresh();
    },
  };
}

/** The path through the samples; it is broken where nothing is known. */
export function line(samples, x, y, of) {
  let path = "";
  let pen = "M";
  for (const sample of samples) {
    if (of(sample) === null) {
      pen = "M";
      continue;
    }
    path += `${pen}${x(sample.at).toFixed(1)} ${y(sample).toFixed(1)}`;
    pen = "L";
  }
  return path;
}

function nearest(samples, distance) {
  return samples.reduce((best, each) => (best === null || distance(each) < distance(best) ? each : best), null);
}
