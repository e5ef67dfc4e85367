/** Form that creates a subscription: delivery, validity, and the ticket, which is shown once. */

import { h, put } from "../dom.js";
import { moment } from "../format.js";
import { announce } from "../parts/announcer.js";
import { copyable } from "../parts/copying.js";
import { addressOf } from "../places.js";
import { subscribe } from "../service.js";

export const VALIDITIES = [["forever", "Until cancelled"], ["3600", "1 hour"], ["86400", "1 day"], ["604800", "1 week"], ["2592000", "30 days"]];

/** A chosen validity as the API takes it: seconds, or `forever`. */
export function validityOf(chosen) {
  return chosen === "forever" ? chosen : Number(chosen);
}

const MODES = [
  ["pull", "Pull", "Read notifications by polling, server-sent events or WebSocket."],
  ["webhook", "Webhook", "Each notification is posted to a URL, signed."],
  ["kafka", "Kafka", "Each notification is written to a topic."],
];

export class SwitchingOn {
  #text = null; #kind = null; #mode = "pull"; #form; #trouble = h("div", { "aria-live": "assertive" }); #extra = h("div", {}); #missing;

  /** `missing()` is called when there is no valid filter. */
  constructor(missing) {
    this.#missing = missing;
    this.#form = this.#build();
    this.element = h("section", { class: "card", "aria-labelledby": "switch-title" },
      h("h2", { id: "switch-title" }, "Create"), this.#form);
  }

  /** The text to switch on and its kind (filter, operator, join), as the check said; null while it is not valid. */
  offer(text, kind) {
    this.#text = text;
    this.#kind = kind;
  }

  #build() {
    const choose = (mode) => () => {
      this.#mode = mode;
      put(this.#extra, this.#fields());
    };
    return h("form", { onsubmit: (event) => this.#submit(event), novalidate: true },
      h("div", { class: "field" }, h("label", { for: "label" }, "Name"),
        h("input", { id: "label", maxlength: 200, autocomplete: "off", placeholder: "Name of the subscription" })),
      h("fieldset", {}, h("legend", {}, "Delivery"), MODES.map(([mode, name, note]) =>
        h("label", { class: "choice" },
          h("input", { type: "radio", name: "mode", value: mode, checked: mode === "pull", onchange: choose(mode) }),
          h("span", {}, h("strong", {}, name), h("span", { class: "muted" }, note))))),
      this.#extra,
      h("div", { class: "field" }, h("label", { for: "validity" }, "Valid for"),
        h("select", { id: "validity" }, VALIDITIES.map(([seconds, name]) =>
          h("option", { value: seconds, selected: seconds === "forever" }, name)))),
      this.#trouble,
      h("div", { class: "buttons" }, h("button", { type: "submit", class: "main" }, "Create")));
  }

  #fields() {
    const field = (id, label, attributes) =>
      h("div", { class: "field" }, h("label", { for: id }, label), h("input", { id, autocomplete: "off", ...attributes }));
    if (this.#mode === "webhook") return field("url", "URL", { type: "url", placeholder: "https://example.org/hook" });
    if (this.#mode === "kafka") return field("topic", "Topic", { maxlength: 249 });
    return [];
  }

  #delivery() {
    const given = (id) => document.getElementById(id).value.trim();
    if (this.#mode === "webhook") return { mode: "webhook", url: given("url") };
    if (this.#mode === "kafka") return { mode: "kafka", topic: given("topic") };
    return { mode: "pull" };
  }

  async #submit(event) {
    event.preventDefault();
    if (this.#text === null) {
      this.#complain("There is no valid filter to subscribe to.");
      this.#missing();
      return;
    }
    const button = this.#form.querySelector("button[type=submit]");
    button.disabled = true;
    put(this.#trouble);
    try {
      this.#show(await subscribe({
        kind: this.#kind, filter: this.#text, label: document.getElementById("label").value.trim(),
        delivery: this.#delivery(), validity: validityOf(document.getElementById("validity").value),
      }));
    } catch (error) {
      this.#complain(error.message);
      button.disabled = false;
    }
  }

  #complain(message) {
    put(this.#trouble, h("p", { class: "notice bad" }, message));
  }

  #show(made) {
    const { secret } = made.delivery;
    const done = h("div", { class: "done", tabindex: "-1" },
      h("p", { class: "lead" }, "The subscription is active until ", made.expires ? moment(made.expires) : "it is cancelled", "."),
      made.expires ? h("p", {}, "A notification is sent before it expires.") : null,
      h("p", {}, "This ticket reads, renews and cancels the subscription without a key. It is shown only once: keep it."),
      copyable(made.ticket, "Ticket"),
      secret ? [h("p", {}, "Secret that signs the webhook calls:"), copyable(secret, "Signing secret")] : null,
      h("div", { class: "buttons" },
        h("button", { type: "button", onclick: () => this.#again() }, "Create another"),
        h("a", { class: "button main", href: addressOf("subscriptions", [made.id]) }, "Open subscription")));
    this.#form.replaceWith(done);
    this.#form = done;
    done.focus();
    announce("Created. The ticket is shown once: copy it.");
  }

  #again() {
    this.#mode = "pull";
    put(this.#extra);
    const form = this.#build();
    this.#form.replaceWith(form);
    this.#form = form;
    form.querySelector("input").focus();
  }
}
