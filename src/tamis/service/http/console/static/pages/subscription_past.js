/** Stored notifications, newest first, a page at a time: read on demand. */

import { isLeaving } from "../api.js";
import { h, put } from "../dom.js";
import { announce } from "../parts/announcer.js";
import { matchItem } from "../parts/matches.js";
import { empty, failure, loading } from "../parts/states.js";
import { notifications } from "../service.js";

const PAGE = 20;

export function pastNotifications(id, ticket, signal) {
  const shown = h("div", {});
  const details = h("details", { class: "past", ontoggle: () => { if (details.open && !shown.hasChildNodes()) ask(); } },
    h("summary", {}, "Stored notifications, newest first"), shown);

  async function ask(cursor = "") {
    if (cursor === "") put(shown, loading());
    try {
      const answer = await notifications(id, ticket, { order: "newest", cursor, limit: PAGE }, signal);
      draw(answer);
    } catch (error) {
      if (!isLeaving(error)) put(shown, failure(error, () => ask(cursor)));
    }
  }

  function draw({ notifications: found, cursor, more }) {
    if (found.length === 0) {
      put(shown, empty("No stored notifications."));
      return;
    }
    put(shown, h("ol", { class: "matches" }, found.map((each) => matchItem(each, false))),
      more ? h("div", { class: "paging" }, h("button", { type: "button", onclick: () => ask(cursor) }, "Older")) : null);
    announce(`${found.length} notifications shown`);
  }
  return details;
}
