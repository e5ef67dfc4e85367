/** API keys, for administrators: list, create (the secret is shown once), revoke. */

import { isLeaving } from "../api.js";
import { h, put } from "../dom.js";
import { count, moment } from "../format.js";
import { announce } from "../parts/announcer.js";
import { copyable } from "../parts/copying.js";
import { ask } from "../parts/dialogs.js";
import { badge, empty, failure, loading } from "../parts/states.js";
import { table } from "../parts/tables.js";
import { createKey, keys, revokeKey } from "../service.js";

const COLUMNS = [["Name"], ["Roles"], ["Created"], ["State"], [""]];
const ROLES = ["publish", "subscribe", "administer"];

export function keysCard(signal) {
  const shown = h("div", {}, loading());

  async function show() {
    try {
      const answer = await keys(signal);
      const all = answer.items;
      put(shown, all.length ? table("API keys", COLUMNS, all.map(row)) : empty("No keys."), newKey(show));
    } catch (error) {
      if (isLeaving(error)) return;
      put(shown, error.needsKey ? empty("Only administrators may see keys.") : failure(error, show));
    }
  }

  const row = (key) => [
    h("span", {}, key.name || key.id),
    key.roles.join(", "),
    moment(key.created),
    key.revoked ? badge("revoked") : badge("active", "good"),
    key.revoked ? "" : h("button", { type: "button", class: "danger", "aria-label": `Revoke ${key.name || key.id}`, onclick: () => revoke(key) }, "Revoke"),
  ];

  const revoke = (key) => ask({
    title: `Revoke ${key.name || key.id}?`, text: "Requests with this key are refused from now on, and its subscriptions are paused.", confirm: "Revoke it", danger: true,
    async act() {
      const { paused } = await revokeKey(key.id);
      await show();
      const told = `Revoked. Subscriptions paused: ${count(paused)}.`;
      document.getElementById("new-key").append(h("p", {}, told));
      announce(told);
    },
  });

  show();
  return h("section", { class: "card", "aria-labelledby": "keys-title" }, h("h2", { id: "keys-title" }, "Keys"), shown);
}

function newKey(done) {
  const name = h("input", { id: "key-name", maxlength: 200, required: true, autocomplete: "off", placeholder: "Owner of the key" });
  const boxes = ROLES.map((role) => h("input", { type: "checkbox", value: role, checked: role === "subscribe" }));
  const outcome = h("div", { "aria-live": "polite" });

  async function submit(event) {
    event.preventDefault();
    try {
      const made = await createKey({ name: name.value.trim(), roles: boxes.filter((box) => box.checked).map((box) => box.value) });
      await done();
      const place = document.getElementById("new-key");
      put(place, h("p", {}, "The new key is shown only once:"), copyable(made.secret, "Key"));
    } catch (error) {
      put(outcome, h("p", { class: "notice bad" }, error.message));
    }
  }
  return [
    h("div", { id: "new-key", role: "status" }),
    h("form", { onsubmit: submit }, h("h3", {}, "New key"),
      h("div", { class: "field" }, h("label", { for: "key-name" }, "Name"), name),
      h("fieldset", {}, h("legend", {}, "Roles"), boxes.map((box) => h("label", { class: "tick-box" }, box, box.value))),
      outcome, h("div", { class: "buttons" }, h("button", { type: "submit" }, "Create key"))),
  ];
}
