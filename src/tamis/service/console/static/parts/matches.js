/** Notifications as people read them: when, which subscription, what the event says, and why it matched. */

import { h } from "../dom.js";
import { clock } from "../format.js";
import { addressOf } from "../places.js";
import { nameOf } from "../subscription_names.js";

const SHOWN_VALUES = 5;
const NAMES = ["title", "name", "subject"];

/** One notification; `named` says whether to show whose it is. */
export function matchItem(notification, named) {
  const id = notification.subscription;
  return h("li", { class: "match" },
    h("div", { class: "match-head" },
      h("time", { datetime: notification.time }, clock(notification.time)),
      named ? subscriptionLink(id) : null),
    h("p", { class: "match-event" }, eventSummary(notification.event)),
    reasons(notification.matched),
    h("details", {}, h("summary", {}, "Event"), eventText(notification.event)));
}

function subscriptionLink(id) {
  const link = h("a", { href: addressOf("subscriptions", [id]) }, id);
  nameOf(id).then((name) => { link.textContent = name; });
  return link;
}

/** The first few values of an event in one line; what it is called stands first, without saying so. */
export function eventSummary(event) {
  const all = Object.entries(event ?? {}).filter(([name]) => name !== "ce");
  const called = all.find(([name]) => NAMES.includes(name));
  const rest = all.filter((pair) => pair !== called && pair[0] !== "event_type");
  const parts = rest.slice(0, SHOWN_VALUES).map(([name, value]) =>
    h("span", { class: "pair" }, h("span", { class: "name" }, name), " ", brief(value)));
  const first = called ? h("strong", { class: "pair" }, brief(called[1])) : null;
  const type = event?.event_type ? h("span", { class: "pair name" }, brief(event.event_type)) : null;
  return [first, type, ...parts].filter(Boolean).flatMap((part) => [part, " "]);
}

/** An event as indented JSON. */
export function eventText(event) {
  return h("pre", { tabindex: "0", "aria-label": "The event as JSON" }, JSON.stringify(event, null, 2));
}

function reasons(matched = []) {
  if (!matched?.length) return null;
  return h("ul", { class: "reasons", "aria-label": "Why it matched" },
    matched.map(({ condition }) => h("li", {}, h("code", {}, condition))));
}

export function brief(value) {
  if (Array.isArray(value)) return value.map(brief).join(", ");
  if (value !== null && typeof value === "object") return "{…}";
  const text = String(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
