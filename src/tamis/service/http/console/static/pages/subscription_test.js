/** Test of a subscription on an event given as JSON, explained condition by condition. */

import { isLeaving } from "../api.js";
import { h, put } from "../dom.js";
import { explanationOf } from "../parts/explanations.js";
import { badge, failure, loading } from "../parts/states.js";
import { testSubscription } from "../service.js";

export function eventTest(found, ticket, signal) {
  const field = h("textarea", { id: "event", rows: 4, spellcheck: "false", class: "code", placeholder: '{"price": 9.5}' });
  const result = h("div", { "aria-live": "polite" });

  async function submit(given) {
    given.preventDefault();
    let event;
    try {
      event = JSON.parse(field.value);
    } catch (error) {
      put(result, h("p", { class: "notice bad" }, `Invalid JSON: ${error.message}`));
      return;
    }
    put(result, loading("Testing …"));
    try {
      const answer = await testSubscription(found.id, ticket, event, signal);
      put(result, h("p", {}, badge(answer.matched ? "match" : "no match", answer.matched ? "good" : "still")),
        answer.alternatives ? explanationOf(answer) : null);
    } catch (error) {
      if (!isLeaving(error)) put(result, failure(error));
    }
  }
  return h("section", { class: "card", "aria-labelledby": "test-title" },
    h("h2", { id: "test-title" }, "Test an event"),
    h("form", { onsubmit: submit },
      h("div", { class: "field" }, h("label", { for: "event" }, "Event as JSON"), field),
      h("div", { class: "buttons" }, h("button", { type: "submit" }, "Test"))),
    result);
}
