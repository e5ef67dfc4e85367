/** Push subscriptions (webhook or topic), with the health of each one's delivery. */

import { isLeaving } from "../api.js";
import { h, put } from "../dom.js";
import { count, fromNow, moment } from "../format.js";
import { badge, empty, failure, loading } from "../parts/states.js";
import { table } from "../parts/tables.js";
import { addressOf } from "../places.js";
import { subscriptions } from "../service.js";

const COLUMNS = [["Subscription"], ["To", "wide"], ["State"], ["Failures", "number"], ["Next attempt"], ["Last error", "wide"]];
const LOOKED_AT = 1000;

export function outletsCard(signal) {
  const shown = h("div", {}, loading());
  const found = [];
  let seen = 0;

  async function look(after = "") {
    try {
      const answer = await subscriptions({ state: "active", after, limit: LOOKED_AT }, signal);
      seen += answer.items.length;
      found.push(...answer.items.filter(({ delivery }) => delivery.mode !== "pull"));
      draw(answer.next ?? null);
    } catch (error) {
      if (isLeaving(error)) return;
      put(shown, error.needsKey ? empty("Sign in with a key to see them.") : failure(error, () => look(after)));
    }
  }

  function draw(next) {
    const troubled = (each) => each.health?.failures ?? 0;
    const rows = [...found].sort((one, other) => troubled(other) - troubled(one)).map(row);
    put(shown, rows.length ? table("Webhooks and topics", COLUMNS, rows) : empty("No active push subscriptions."),
      next === null ? null : h("div", { class: "paging" },
        h("span", { class: "muted" }, `Among the first ${count(seen)} active subscriptions.`),
        h("button", { type: "button", onclick: () => look(next) }, "Search more")));
  }
  look();
  return h("section", { class: "card", "aria-labelledby": "outlets-title" }, h("h2", { id: "outlets-title" }, "Webhooks and topics"), shown);
}

function row({ id, label, delivery, health }) {
  return [
    h("a", { href: addressOf("subscriptions", [id]) }, label || id),
    h("span", { class: "breakable" }, delivery.url ?? delivery.topic),
    stateOf(health),
    count(health?.failures ?? 0),
    health?.next_attempt
      ? h("time", { datetime: health.next_attempt, title: moment(health.next_attempt) }, fromNow(health.next_attempt)) : "–",
    health?.last_error ? h("span", { class: "error-text" }, health.last_error) : "–",
  ];
}

function stateOf(health) {
  if (!health) return badge("no attempt yet");
  if (health.disabled) return badge("given up", "bad");
  return health.failures > 0 ? badge("failing", "bad") : badge("answering", "good");
}
