/** Table that becomes a list of cards on a phone: each cell carries the name of its column. */

import { h } from "../dom.js";

/** `columns`: [[name, class?]]; `rows`: arrays of cells in their order. The first cell of a row is its heading. */
export function table(caption, columns, rows) {
  return h("table", { class: "stacking" },
    h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, columns.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))),
    h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, at) => cellOf(cell, at, columns[at]))))));
}

function cellOf(cell, at, [name, kind]) {
  const attributes = { class: kind, "data-column": name };
  return at === 0 ? h("th", { scope: "row", ...attributes }, cell) : h("td", attributes, cell);
}

/** Definition list of names and values, such as the facts of one subscription. */
export function facts(pairs) {
  return h("dl", { class: "facts" },
    pairs.filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}
