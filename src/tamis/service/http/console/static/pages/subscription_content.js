/** Content of a join as a live table: read once, and updated by the notifications after it. */

import { isLeaving } from "../api.js";
import { h, put } from "../dom.js";
import { follow } from "../event_stream.js";
import { count } from "../format.js";
import { joinParts, resultTable } from "../parts/joins.js";
import { badge, empty, failure, loading } from "../parts/states.js";
import { content, streamOf } from "../service.js";

const DRAWN = 200;
const DRAWN_EVERY = 250;

export function contentCard(found, ticket, signal) {
  const drawn = h("div", { class: "content" }, loading());
  const size = h("span", { class: "muted" });
  const state = h("span", { role: "status" });
  const parts = h("div", {});
  let columns = [];
  let rows = new Map();
  let marks = new Map();
  let scheduled = null;
  let following = null;

  async function ask() {
    following?.abort();
    try {
      const answer = await content(found.id, ticket, signal);
      columns = answer.join?.columns ?? [];
      rows = new Map(answer.rows.map(({ id, row }) => [id, row]));
      put(parts, answer.join ? joinParts(answer.join) : null);
      draw();
      if (found.state === "active") listen(answer.cursor);
    } catch (error) {
      if (!isLeaving(error)) put(drawn, failure(error, ask));
    }
  }

  function listen(cursor) {
    following = new AbortController();
    follow(streamOf(found.id), { query: { cursor }, ticket, signal: AbortSignal.any([signal, following.signal]) }, {
      event(data) {
        if (!take(JSON.parse(data).changes ?? [])) ask();
        scheduled ??= setTimeout(draw, DRAWN_EVERY);
      },
      state: (now) => put(state, badge(now, now === "live" ? "good" : "busy")),
      refused: (problem) => put(state, badge("not available"), " ", problem.message),
    });
  }

  /** Whether the changes fit what is here; if not, some were missed. */
  function take(changes) {
    for (const { change, id, row } of changes) {
      if (change === "begins") rows = new Map();
      else if (change === "removed") {
        if (!rows.has(id)) return false;
        // One that is added again right away has changed, and keeps its place.
        if (!changes.some((other) => other.change === "added" && other.id === id)) rows.delete(id);
      } else {
        marks.set(id, rows.has(id) ? "changed" : "come");
        rows.set(id, row);
      }
    }
    return true;
  }

  function draw() {
    scheduled = null;
    const all = [...rows].map(([id, row]) => ({ id, row })).sort(inOrder);
    const shown = all.slice(0, DRAWN);
    put(size, `${count(all.length)} ${all.length === 1 ? "row" : "rows"}`);
    put(drawn, all.length ? resultTable("Current content", columns, shown, marks) : empty("No rows now. New rows appear here."),
      all.length > DRAWN ? h("p", { class: "muted" }, `and ${count(all.length - DRAWN)} more`) : null);
    marks = new Map();
  }

  /** By the first column in which they differ. */
  function inOrder({ row: one }, { row: other }) {
    const name = columns.find((column) => one[column] !== other[column]);
    if (name === undefined) return 0;
    const [left, right] = [one[name] ?? "", other[name] ?? ""];
    return typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right));
  }

  ask();
  return h("section", { class: "card", "aria-labelledby": "content-title" },
    h("div", { class: "card-head" }, h("h2", { id: "content-title" }, "Content"), h("span", {}, size, " ", state)),
    drawn,
    h("details", { class: "past", open: true }, h("summary", {}, "Tables and conditions"), parts));
}
