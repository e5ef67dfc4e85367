/** Frame of a chart: redrawn in true pixels whenever its size changes, so that type keeps its size. */

import { h, put, s } from "../dom.js";
import { instant, rate } from "../format.js";
import { instants, linear, ticks } from "./scales.js";

export const MARGIN = { top: 10, right: 10, bottom: 22, left: 54 };

/** An element that calls `draw(width)` for an SVG when it is first seen and when its width changes. */
export class Drawing {
  #draw; #width = 0;

  constructor(kind, draw) {
    this.#draw = draw;
    this.element = h("div", { class: `chart ${kind}` });
    new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width === this.#width || width === 0) return;
      this.#width = width;
      this.refresh();
    }).observe(this.element);
  }

  refresh() {
    if (this.#width > 0) put(this.element, this.#draw(this.#width));
  }
}

/** Horizontal lines with their numbers, and instants below; gives back both scales. */
export function axes({ width, height, from, to, most, wanted = 4, format = rate }) {
  const levels = ticks(most, wanted);
  const x = linear(from, to, MARGIN.left, width - MARGIN.right);
  const y = linear(0, levels.at(-1), height - MARGIN.bottom, MARGIN.top);
  const lines = levels.map((level) => s("g", {},
    s("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(level), y2: y(level) }),
    s("text", { class: "tick", x: MARGIN.left - 8, y: y(level) + 4, "text-anchor": "end" }, format(level))));
  const times = instants(from, to, width - MARGIN.left - MARGIN.right);
  const labels = times.map((at, place) => s("text", {
    class: "tick", x: x(at), y: height - 5,
    "text-anchor": place === 0 ? "start" : place === times.length - 1 ? "end" : "middle",
  }, instant(at, to - from)));
  return { x, y, axis: s("g", { class: "axis", "aria-hidden": "true" }, lines, labels) };
}
