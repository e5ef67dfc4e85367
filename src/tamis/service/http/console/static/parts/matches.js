/** Notifications as list items: time, subscription, event, and the conditions that held. */

import { h } from "../dom.js";
import { brief, clock, count, moment } from "../format.js";
import { addressOf } from "../places.js";
import { nameOf } from "../subscription_names.js";
import { changesOf } from "./joins.js";

const SHOWN_VALUES = 5;
const LONG = 240;
const NAMES = ["title", "name", "subject"];

/** Notification as a list item; `named` is true to show its subscription. */
export function matchItem(notification, named) {
  const id = notification.subscription;
  if (notification.type === "subscription.expiring") {
    return h("li", { class: "match" },
      h("div", { class: "match-head" },
        h("time", { datetime: notification.time }, clock(notification.time)), named ? subscriptionLink(id) : null),
      h("p", { class: "match-event" }, h("strong", {}, "Expires "), moment(notification.expires), ", unless it is renewed."));
  }
  return h("li", { class: "match" },
    h("div", { class: "match-head" },
      h("time", { datetime: notification.time }, clock(notification.time)),
      named ? subscriptionLink(id) : null),
    h("p", { class: "match-event" }, eventSummary(notification.event)),
    changesOf(notification.changes),
    reasons(notification.matched),
    bindingsOf(notification.bindings),
    h("details", {}, h("summary", {}, "Event"), eventText(notification.event)));
}

function subscriptionLink(id) {
  const link = h("a", { href: addressOf("subscriptions", [id]) }, id);
  nameOf(id).then((name) => { link.textContent = name; });
  return link;
}

/** First few values of an event in one line; its name stands first, without a label. */
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

/** Event as indented JSON; very long texts, such as pictures in base64, are cut. */
export function eventText(event) {
  const shortened = (_, value) => (typeof value === "string" && value.length > LONG
    ? `${value.slice(0, LONG - 40)}… (${count(value.length)} characters)` : value);
  return h("pre", { tabindex: "0", "aria-label": "The event as JSON" }, JSON.stringify(event, shortened, 2));
}

/** Bindings of a filter's variables; nothing without variables. */
export function bindingsOf(bindings) {
  const bound = Object.entries(bindings ?? {});
  if (bound.length === 0) return null;
  return h("ul", { class: "bindings", "aria-label": "Bindings" }, bound.map(([name, value]) =>
    h("li", {}, h("code", {}, `?${name} = ${brief(value)}`))));
}

function reasons(matched = []) {
  if (!matched?.length) return null;
  return h("ul", { class: "reasons", "aria-label": "Why it matched" },
    matched.map(({ condition }) => h("li", {}, h("code", {}, condition))));
}
