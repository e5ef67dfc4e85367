/** Joins: results as a table, tables and conditions, and changes by an event. */

import { h } from "../dom.js";
import { brief, count } from "../format.js";
import { table } from "./tables.js";

const SIGNS = { added: "+", removed: "−" };

/** `rows`: [{ id, row }]; `columns` in order; `marks`: class of recently changed rows, by id. */
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

/** Columns of results that do not declare them. */
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

/** Changes in a join's notification. */
export function changesOf(changes) {
  if (!changes?.length) return null;
  return h("ul", { class: "changes", "aria-label": "Changes" }, changes.map(({ change, row }) =>
    change === "begins"
      ? h("li", { class: "muted" }, "The content is reset.")
      : h("li", { class: change }, h("span", { class: "sign", "aria-label": change }, SIGNS[change]), " ",
        Object.entries(row).map(([name, value]) =>
          [h("span", { class: "pair" }, h("span", { class: "name" }, name), " ", brief(value)), " "]))));
}

/** Changes that an event would make: { table, added, removed }. */
export function wouldChange({ table: name, added, removed }) {
  if (name === null) return h("p", {}, "The event is not a row of the joined tables.");
  const changes = [...removed.map((row) => ({ change: "removed", row })), ...added.map((row) => ({ change: "added", row }))];
  return h("section", { class: "course" },
    h("h4", {}, `Changes that it would make, as a row of ${name}`),
    changes.length ? changesOf(changes) : h("p", { class: "muted" }, "None, as the tables are now."));
}
