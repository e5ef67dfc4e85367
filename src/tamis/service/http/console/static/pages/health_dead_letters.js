/** Dead letters: events that could not be read, and notifications that could not be delivered. The latter can be replayed. */

import { isLeaving } from "../api.js";
import { h, put } from "../dom.js";
import { moment } from "../format.js";
import { announce } from "../parts/announcer.js";
import { empty, failure, loading } from "../parts/states.js";
import { table } from "../parts/tables.js";
import { deadLetters, removeDeadLetter, replay } from "../service.js";

const COLUMNS = [["Id"], ["Kind"], ["Time"], ["Reason", "wide"], ["Content", "wide"], [""]];
const PAGE = 20;

export function deadLettersCard(signal) {
  const shown = h("div", {}, loading());
  const kind = h("select", { id: "letter-kind", onchange: () => ask() },
    [["", "All"], ["event", "Events"], ["delivery", "Deliveries"]].map(([value, name]) => h("option", { value }, name)));

  async function ask(after = "") {
    try {
      const answer = await deadLetters({ kind: kind.value, order: "newest", after, limit: PAGE }, signal);
      const letters = answer.dead_letters;
      put(shown, letters.length ? table("Dead letters", COLUMNS, letters.map(row)) : empty("No dead letters."),
        answer.next ? h("nav", { class: "paging", "aria-label": "Pages of dead letters" },
          h("button", { type: "button", onclick: () => ask(answer.next) }, "Older")) : null);
    } catch (error) {
      if (isLeaving(error)) return;
      put(shown, error.status === 401 ? empty("Sign in with a key to see them.") : failure(error, () => ask()));
    }
  }

  const row = (letter) => [
    h("code", {}, nameOf(letter)),
    letter.kind,
    h("time", { datetime: letter.time }, moment(letter.time)),
    letter.reason,
    h("details", {}, h("summary", {}, "Show"), h("pre", { tabindex: "0", "aria-label": "Content" }, pretty(letter.body))),
    h("div", { class: "buttons start tight" },
      letter.kind === "delivery" ? button("Replay", letter, () => replay(letter.id), "Delivered") : null,
      button("Remove", letter, () => removeDeadLetter(letter.id), "Removed")),
  ];

  function button(name, letter, act, done) {
    const pressed = async () => {
      made.disabled = true;
      try {
        await act();
        announce(done);
        await ask();
      } catch (error) {
        if (!isLeaving(error)) made.replaceWith(h("span", { class: "error-text", role: "alert" }, error.message));
      }
    };
    const made = h("button", { type: "button", "aria-label": `${name} ${nameOf(letter)}`, onclick: pressed }, name);
    return made;
  }
  ask();
  return h("section", { class: "card", "aria-labelledby": "letters-title" },
    h("div", { class: "card-head" }, h("h2", { id: "letters-title" }, "Dead letters"),
      h("span", {}, h("label", { for: "letter-kind", class: "unseen" }, "Kind of dead letters"), kind)), shown);
}

/** An event that was refused at the door has no id to be known by. */
function nameOf({ id, subject }) {
  return subject || `letter ${id}`;
}

function pretty(body) {
  if (typeof body !== "string") return JSON.stringify(body, null, 2);
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
