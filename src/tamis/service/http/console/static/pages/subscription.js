/** Page of one subscription: its definition, activity, live matches, and actions. */

import { isLeaving } from "../api.js";
import { barChart } from "../charts/bars.js";
import { h, put } from "../dom.js";
import { fromNow, moment } from "../format.js";
import { announce } from "../parts/announcer.js";
import { liveMatches } from "../parts/live_matches.js";
import { badge, empty, failure, loading } from "../parts/states.js";
import { facts } from "../parts/tables.js";
import { addressOf } from "../places.js";
import { activity, streamOf, subscription } from "../service.js";
import { toneOf } from "../tones.js";
import { actions } from "./subscription_actions.js";
import { contentCard } from "./subscription_content.js";
import { pastNotifications } from "./subscription_past.js";
import { eventTest } from "./subscription_test.js";

const SPANS = [["3600", "Last hour"], ["86400", "Last day"], ["604800", "Last week"]];
const BARS = 48;

// Tickets that were typed in this tab's lifetime, so that one is asked for once; never stored.
const tickets = new Map();

export async function showSubscription(container, id, signal) {
  const back = h("a", { class: "back", href: addressOf("subscriptions") }, "← Subscriptions");
  put(container, back, loading());
  const ticket = tickets.get(id);
  let found;
  try {
    found = await subscription(id, ticket, signal);
  } catch (error) {
    if (isLeaving(error) || ![401, 403, 404].includes(error.status)) throw error;
    put(container, back, h("h1", {}, "Subscription"), ticketBox(error, ticket !== undefined, (given) => {
      tickets.set(id, given);
      showSubscription(container, id, signal);
    }));
    return;
  }
  const changed = (text) => {
    announce(text);
    showSubscription(container, id, signal);
  };
  const live = ["active", "paused", "suspended"].includes(found.state);
  put(container, back,
    h("div", { class: "page-head" }, h("h1", {}, found.label || found.id), badge(found.state, toneOf(found.state)), found.expiring ? badge("expiring", toneOf("expiring")) : null),
    h("div", { class: "columns" },
      h("div", { class: "stack" },
        h("section", { class: "card", "aria-label": "Definition" },
          h("pre", { class: "filter-text", tabindex: "0", "aria-label": "Filter" }, found.filter),
          about(found), actions(found, ticket, changed)),
        activityCard(found, ticket, signal),
        eventTest(found, ticket, signal)),
      h("div", { class: "stack" },
        found.kind === "join" && live ? contentCard(found, ticket, signal) : null,
        h("section", { class: "card", "aria-labelledby": "notifications-title" },
          h("h2", { id: "notifications-title" }, "Notifications"),
          live
            ? liveMatches({ path: streamOf(id), query: { cursor: "latest" }, ticket }, signal, { waiting: "New matches appear here." })
            : empty(`The subscription is ${found.state}: no more notifications.`),
          found.state === "cancelled" ? null : pastNotifications(id, ticket, signal)))));
}

function about(found) {
  const to = found.delivery.url ?? found.delivery.topic;
  return facts([
    ["Id", h("code", {}, found.id)],
    ["Kind", found.kind],
    ["Language", found.dialect !== "tamis" ? found.dialect : null],
    ["Delivery", [found.delivery.mode, to ? [" to ", h("span", { class: "breakable" }, to)] : null]],
    ["Created", moment(found.created)],
    ["Reason of suspension", found.reason ? h("span", { class: "error-text" }, found.reason) : null],
    ["Last delivery error", found.health?.last_error ? h("span", { class: "error-text" }, found.health.last_error) : null],
    [found.state === "expired" ? "Expired" : "Expires", found.state === "cancelled" ? null : until(found)],
  ]);
}

function until(found) {
  return found.expires ? `${moment(found.expires)} (${fromNow(found.expires)})` : "never";
}

function activityCard(found, ticket, signal) {
  const drawn = h("div", {}, loading());
  const span = h("select", { id: "span", onchange: ask }, SPANS.map(([seconds, name]) =>
    h("option", { value: seconds, selected: seconds === "86400" }, name)));

  async function ask() {
    const seconds = Number(span.value);
    const bucket = Math.max(60, Math.round(seconds / BARS));
    try {
      const answer = await activity(found.id, ticket, { seconds, bucket }, signal);
      const { counts, bucket_seconds: width } = answer;
      put(drawn, counts.some(([, n]) => n > 0)
        ? barChart("Matches over time", filled(counts, seconds, width), { width: width * 1000 })
        : empty("No matches in this time."));
    } catch (error) {
      if (!isLeaving(error)) put(drawn, failure(error, ask));
    }
  }
  ask();
  return h("section", { class: "card", "aria-labelledby": "activity-title" },
    h("div", { class: "card-head" }, h("h2", { id: "activity-title" }, "Activity"),
      h("span", {}, h("label", { for: "span", class: "unseen" }, "Time span"), span)), drawn);
}

/** Adds empty buckets, so that the axis spans the requested time. */
function filled(counts, seconds, bucket) {
  const known = counts.map(([time, n]) => [new Date(time).getTime(), n]);
  const size = bucket * 1000;
  const phase = known[0][0] % size;
  const last = Math.floor((Date.now() - phase) / size) * size + phase;
  const bars = new Map();
  for (let at = last - Math.floor((seconds * 1000) / size) * size + size; at <= last; at += size) bars.set(at, 0);
  for (const [at, n] of known) bars.set(at, n);
  return [...bars].sort(([one], [other]) => one - other).map(([at, n]) => [new Date(at).toISOString(), n]);
}

function ticketBox(problem, wrong, given) {
  const field = h("input", { id: "ticket", type: "password", autocomplete: "off", required: true, placeholder: "tkt_…" });
  const submit = (event) => {
    event.preventDefault();
    if (field.value.trim()) given(field.value.trim());
  };
  return h("form", { class: "card", onsubmit: submit },
    wrong ? h("p", { class: "notice bad", role: "alert" }, problem.message) : null,
    h("p", {}, "This subscription needs its ticket, or its owner's key."),
    h("div", { class: "field" }, h("label", { for: "ticket" }, "Ticket"), field),
    h("div", { class: "buttons" }, h("button", { type: "submit", class: "main" }, "Open")));
}
