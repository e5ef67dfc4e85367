/** Joins: their results as a table, what they are made of, and what an event changes in them. */

import { h } from "../dom.js";
import { brief, count } from "../format.js";
import { table } from "./tables.js";

const SIGNS = { added: "+", removed: "−" };

/** `rows`: [{ id, row }]; `columns` in their order; `marks`: the class of those that have just changed, by id. */
export function resultTable(caption, columns, rows, marks = new Map()) {
  const numeric = new Set(columns.filter((name) => rows.some(({ row }) => typeof row[name] === "number")));
  const made = table(caption, columns.map((name) => [name, numeric.has(name) ? "number" : ""]),
    rows.map(({ row }) => columns.map((name) => (name in row ? brief(row[name]) : ""))));
  made.classList.add("results");
  [...made.tBodies[0].rows].forEach((line, at) => {
    const mark = marks.get(rows[at].id);
    if (mark) line.classList.add(mark);
  });
  return made;
}

/** The columns of results of which nobody has said them. */
export function columnsOf(rows) {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

/** `join`: { tables: [{ table, condition, rows }], on: [{ left, right, attributes }] }. */
export function joinParts({ tables, on }) {
  return h("div", { class: "join-parts" },
    h("ul", { class: "join-tables" }, tables.map(({ table: name, condition, rows }) =>
      h("li", {},
        h("strong", {}, name), " ",
        h("span", { class: "muted" }, `${count(rows)} ${rows === 1 ? "row" : "rows"}`),
        h("code", {}, condition === "TRUE" ? "every row" : condition)))),
    on.length ? h("p", { class: "muted" }, "Joined where ", on.flatMap(({ left, right, attributes }, at) => [
      at > 0 ? ", and where " : null,
      `${left} and ${right} agree on `, h("code", {}, attributes.join(", "))])) : null);
}

/** What a notification of a join tells. */
export function changesOf(changes) {
  if (!changes?.length) return null;
  return h("ul", { class: "changes", "aria-label": "What changed" }, changes.map(({ change, row }) =>
    change === "begins"
      ? h("li", { class: "muted" }, "The content begins anew.")
      : h("li", { class: change }, h("span", { class: "sign", "aria-label": change }, SIGNS[change]), " ",
        Object.entries(row).map(([name, value]) =>
          [h("span", { class: "pair" }, h("span", { class: "name" }, name), " ", brief(value)), " "]))));
}

/** What an event would change: { table, added, removed }. */
export function wouldChange({ table: name, added, removed }) {
  if (name === null) return h("p", {}, "The event is no row of the tables that are joined.");
  const changes = [...removed.map((row) => ({ change: "removed", row })), ...added.map((row) => ({ change: "added", row }))];
  return h("section", { class: "course" },
    h("h4", {}, `What it would change, as a row of ${name}`),
    changes.length ? changesOf(changes) : h("p", { class: "muted" }, "Nothing, as the tables are now."));
}
