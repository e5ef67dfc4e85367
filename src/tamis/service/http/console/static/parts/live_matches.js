/** List of live notifications, newest first; it can be paused to be read. */

import { h, put } from "../dom.js";
import { follow } from "../event_stream.js";
import { matchItem } from "./matches.js";
import { badge, failure } from "./states.js";

const KEPT = 50;
const DRAWN_EVERY = 250;

/** `source`: { path, query?, ticket? }; `named`: true to show each one's subscription. */
export function liveMatches(source, signal, { named = false, waiting }) {
  const list = h("ol", { class: "matches", "aria-label": "Matches, newest first" });
  const state = h("span", { role: "status" }, badge("connecting", "busy"));
  const pause = h("button", { type: "button", class: "quiet", "aria-pressed": "false", "aria-label": "Pause live matches", onclick: toggle }, "Pause");
  const note = h("p", { class: "muted" }, waiting);
  let queue = [];
  let held = false;
  let scheduled = null;

  function toggle() {
    held = !held;
    pause.setAttribute("aria-pressed", String(held));
    pause.textContent = held ? "Resume" : "Pause";
    pause.setAttribute("aria-label", `${pause.textContent} live matches`);
    draw();
  }

  function draw() {
    scheduled = null;
    if (held || queue.length === 0) return;
    note.hidden = true;
    list.prepend(...queue.reverse().map((each) => matchItem(each, named)));
    queue = [];
    while (list.childElementCount > KEPT) list.lastElementChild.remove();
  }

  follow(source.path, { ...source, signal }, {
    event(data) {
      const notification = read(data);
      if (notification === null) return;
      queue.push(notification);
      if (queue.length > KEPT) queue.shift();
      // A burst is drawn at once: a busy stream must not keep the browser from answering.
      scheduled ??= setTimeout(draw, DRAWN_EVERY);
    },
    state: (now) => put(state, badge(now, now === "live" ? "good" : "busy")),
    refused(problem) {
      put(state, badge("not available"));
      put(note, failure(problem));
    },
  });
  return h("div", { class: "live" }, h("div", { class: "live-head" }, state, pause), note, list);
}

function read(data) {
  try {
    const notification = JSON.parse(data);
    return notification !== null && typeof notification === "object" && "event" in notification ? notification : null;
  } catch {
    return null;
  }
}
