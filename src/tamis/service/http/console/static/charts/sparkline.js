/** A small line without axes beside a number: its course, not its values. */

import { s } from "../dom.js";
import { linear } from "./scales.js";
import { line } from "./lines.js";
import { Drawing } from "./frame.js";

const HEIGHT = 32;

export function sparkline(of) {
  let samples = [];
  const drawing = new Drawing("spark", (width) => {
    const known = samples.map(of).filter((value) => value !== null);
    const x = linear(samples[0]?.at ?? 0, samples.at(-1)?.at ?? 1, 1, width - 3);
    const y = linear(0, Math.max(1e-9, ...known), HEIGHT - 2, 3);
    const last = samples.at(-1);
    return s("svg", { width, height: HEIGHT, "aria-hidden": "true" },
      s("path", { class: "line accent", d: line(samples, x, (each) => y(of(each)), of) }),
      last && of(last) !== null ? s("circle", { class: "dot", cx: x(last.at), cy: y(of(last)), r: 2.2 }) : null);
  });
  return {
    element: drawing.element,
    update(given) {
      samples = given;
      drawing.refresh();
    },
  };
}
