/** Actions on a subscription: renew, pause, resume, replay, cancel, by the key or ticket that opened the page. */

import { h } from "../dom.js";
import { VALIDITIES, validityOf } from "../editor/switching_on.js";
import { ask } from "../parts/dialogs.js";
import { addressOf } from "../places.js";
import { cancel, change, renew, replayFrom } from "../service.js";

/** `held`: the ticket that the page was opened with, if any. `changed(text)` is called after each, with the outcome. */
export function actions(found, held, changed) {
  const { id, state } = found;
  const ended = state === "cancelled";
  const pushed = found.delivery.mode !== "pull" && !ended && state !== "expired";
  const button = (name, question, danger = false) =>
    h("button", { type: "button", class: danger ? "danger" : undefined, onclick: () => ask({ ...question, danger }) }, name);
  const resting = ["paused", "suspended"].includes(state);
  const pausing = resting ? ["Resume", "active"] : ["Pause", "paused"];
  return h("div", { class: "buttons start" },
    ended ? null : button("Renew", {
      title: "Renew", text: "The new validity begins now.", confirm: "Renew",
      fields: [{ name: "validity", label: "Valid for", options: VALIDITIES }],
      async act({ validity }) {
        await renew(id, held, { validity: validityOf(validity) });
        changed("Renewed");
      },
    }),
    state === "active" || resting ? button(pausing[0], {
      title: pausing[0], confirm: pausing[0],
      text: resting ? "Events are matched again from now on." : "Events are not matched until you resume.",
      async act() {
        await change(id, held, { state: pausing[1] });
        changed(resting ? "Resumed" : "Paused");
      },
    }) : null,
    pushed ? button("Replay", {
      title: "Replay", confirm: "Replay", text: "What was sent since then is sent again, in order and under the same ids.",
      fields: [{ name: "since", label: "Events received since", type: "datetime-local" }],
      async act({ since }) {
        await replayFrom(id, held, { since: new Date(since).toISOString() });
        changed("It is sent again");
      },
    }) : null,
    ended ? null : button("Cancel", {
      title: "Cancel this subscription?", text: "This cannot be undone.", confirm: "Cancel it",
      async act() {
        await cancel(id, held);
        changed("Cancelled");
      },
    }, true),
    h("a", { class: "button", href: addressOf("editor", [], { from: id }) }, "Duplicate"));
}
