/** List of subscriptions: searched, filtered by state, a page at a time. Each has a page of its own. */

import { isLeaving } from "../api.js";
import { h, put } from "../dom.js";
import { count, fromNow, moment } from "../format.js";
import { announce } from "../parts/announcer.js";
import { badge, empty, failure, loading } from "../parts/states.js";
import { table } from "../parts/tables.js";
import { addressOf } from "../places.js";
import { debounced } from "../pause.js";
import { subscriptions } from "../service.js";
import { toneOf } from "../tones.js";
import { showSubscription } from "./subscription.js";

const PAGE = 25;
const STATES = [["", "Any state"], ["active", "Active"], ["paused", "Paused"], ["suspended", "Suspended"], ["expiring", "Expiring soon"], ["expired", "Expired"], ["cancelled", "Cancelled"]];
const COLUMNS = [["Subscription"], ["Filter", "wide"], ["Kind"], ["State"], ["Delivery"], ["Expires"]];

export async function showSubscriptions(container, place, signal) {
  if (place.rest.length) return showSubscription(container, place.rest[0], signal);
  const given = { search: place.query.get("search") ?? "", state: place.query.get("state") ?? "" };
  const results = h("div", {}, loading());
  const list = new List(results, given, signal);
  const search = h("input", { id: "search", type: "search", value: given.search, placeholder: "Name, id or filter",
    oninput: debounced(() => list.ask({ search: search.value.trim() }), 300) });
  const state = h("select", { id: "state", onchange: () => list.ask({ state: state.value }) },
    STATES.map(([value, name]) => h("option", { value, selected: value === given.state }, name)));

  put(container,
    h("div", { class: "page-head" }, h("h1", {}, "Subscriptions"), h("a", { class: "button main", href: addressOf("editor") }, "New")),
    h("form", { class: "search", role: "search", onsubmit: (event) => { event.preventDefault(); list.ask({ search: search.value.trim() }); } },
      h("div", { class: "field grow" }, h("label", { for: "search" }, "Search"), search),
      h("div", { class: "field" }, h("label", { for: "state" }, "State"), state)),
    results);
  return list.show();
}

/** List with paging; `trail` holds the beginning of each page. */
class List {
  #results; #given; #leaving; #trail = [0]; #asked = null;

  constructor(results, given, leaving) {
    this.#results = results;
    this.#given = given;
    this.#leaving = leaving;
  }

  /** Another search: from its first page, and into the address, so that the way back leads here. */
  ask(change) {
    Object.assign(this.#given, change);
    this.#trail = [0];
    history.replaceState(null, "", addressOf("subscriptions", [], this.#given));
    return this.show();
  }

  async show() {
    this.#asked?.abort();
    this.#asked = new AbortController();
    const signal = AbortSignal.any([this.#asked.signal, this.#leaving]);
    try {
      const answer = await subscriptions({ ...this.#given, after: this.#trail.at(-1) || "", limit: PAGE }, signal);
      this.#draw(answer.items, answer.next ?? null, answer.total);
    } catch (error) {
      if (isLeaving(error) || signal.aborted) return;
      put(this.#results, error.status === 401
        ? empty("Listing needs a key. Without one, open a subscription by its id and ticket.", byId())
        : failure(error, () => this.show()));
    }
  }

  #draw(found, next, total) {
    if (found.length === 0) {
      const searching = this.#given.search || this.#given.state;
      put(this.#results, searching
        ? empty("No subscription matches the search.")
        : empty("You have no subscriptions yet.", h("a", { class: "button", href: addressOf("editor") }, "Create the first"),
          byId()));
      announce("No subscriptions found");
      return;
    }
    put(this.#results, table("Subscriptions", COLUMNS, found.map(row)), this.#ways(next, total));
    announce(`${found.length} subscriptions shown`);
  }

  #ways(next, total) {
    const go = (change) => async () => {
      change();
      await this.show();
      this.#results.querySelector("a")?.focus();
    };
    return h("nav", { class: "paging", "aria-label": "Pages of subscriptions" },
      h("button", { type: "button", disabled: this.#trail.length === 1, onclick: go(() => this.#trail.pop()) }, "Back"),
      h("span", { class: "muted" }, this.#given.search ? `Page ${this.#trail.length}` : `Page ${this.#trail.length} of ${count(Math.ceil(total / PAGE))}`),
      h("button", { type: "button", disabled: next === null, onclick: go(() => this.#trail.push(next)) }, "Next"));
  }
}

function row(each) {
  return [
    h("a", { href: addressOf("subscriptions", [each.id]) }, each.label || each.id),
    h("code", { class: "clipped", title: each.filter }, each.filter),
    each.kind,
    h("span", {}, badge(each.state, toneOf(each.state)), each.expiring ? [" ", badge("expiring", toneOf("expiring"))] : null),
    each.delivery.mode,
    each.state === "cancelled" ? "–" : !each.expires ? "never" : h("time", { datetime: each.expires, title: moment(each.expires) }, fromNow(each.expires)),
  ];
}

/** A subscription made without a key is in nobody's list: its id and its ticket lead to it. */
function byId() {
  const id = h("input", { id: "known-id", autocomplete: "off", placeholder: "sub_…" });
  const go = (event) => {
    event.preventDefault();
    if (id.value.trim()) location.hash = addressOf("subscriptions", [id.value.trim()]);
  };
  return h("form", { class: "search", onsubmit: go },
    h("div", { class: "field grow" }, h("label", { for: "known-id" }, "Open by id"), id),
    h("button", { type: "submit" }, "Open"));
}
