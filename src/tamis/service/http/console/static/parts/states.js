/** Placeholders for content (loading, empty, failed), and badges. */

import { h } from "../dom.js";

export function loading(what = "Loading …") {
  return h("p", { class: "loading", role: "status" }, what);
}

export function empty(text, ...more) {
  return h("div", { class: "empty" }, h("p", {}, text), more);
}

export function failure(error, again) {
  return h("div", { class: "notice bad", role: "alert" },
    h("p", {}, error.needsKey ? "Your key does not allow this." : error.message),
    error.needsKey ? h("p", { class: "muted" }, error.message) : null,
    again ? h("button", { type: "button", onclick: again }, "Try again") : null);
}

/** Badge: a word with a tone (good, busy, bad, still). The word alone says it; the colour repeats it. */
export function badge(word, tone = "still") {
  return h("span", { class: `badge ${tone}` }, word);
}
