/** Page of the network of brokers that the service is part of: its links, and their traffic. */

import { isLeaving } from "../api.js";
import { h, put } from "../dom.js";
import { bytes, count } from "../format.js";
import { badge, empty, failure } from "../parts/states.js";
import { facts, table } from "../parts/tables.js";
import { network as askNetwork } from "../service.js";

const COLUMNS = [["Neighbour", "wide"], ["State"], ["Filters in", "number"], ["Filters out", "number"],
  ["Events in", "number"], ["Events out", "number"], ["Bytes in", "number"], ["Bytes out", "number"], ["Queued", "number"]];
const AGAIN = 2000;

export async function showNetwork(container, place, signal) {
  const about = h("div", {});
  const links = h("div", {});
  const draw = async () => {
    const told = await askNetwork(signal);
    put(about, told.linked ? factsOf(told) : empty("This service is not linked to other brokers.", h("p", { class: "muted" },
      "Give links at start: ", h("code", {}, "tamis serve --broker-listen HOST:PORT --link HOST:PORT"))));
    put(links, told.links.length ? tableOf(told.links) : null,
      told.error ? h("div", { class: "notice bad" }, h("p", {}, told.error)) : null);
  };
  await draw();
  put(container, h("h1", {}, "Network"),
    h("p", { class: "muted" }, "A link carries only events that match a subscription behind it. Counted since the service started."),
    about, links);
  const timer = setInterval(() => draw().catch((error) => {
    if (!isLeaving(error) && !signal.aborted) put(links, failure(error, () => showNetwork(container, place, signal)));
  }), AGAIN);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function factsOf(told) {
  return facts([
    ["This broker", told.name],
    ["Brokers in the network", count(told.brokers)],
    ["Routing", told.policy],
    ["Dead letters", told.dead_letters ? badge(count(told.dead_letters), "bad") : count(0)],
  ]);
}

function tableOf(links) {
  return table("Links", COLUMNS, links.map((each) => [
    [h("strong", {}, each.name), each.address ? h("p", { class: "muted" }, each.address) : null],
    stateOf(each),
    count(each.subscriptions_in),
    count(each.subscriptions_out),
    count(each.events_in),
    count(each.events_out),
    bytes(each.bytes_in),
    bytes(each.bytes_out),
    each.queue_full ? badge(`${count(each.queue_events)}, full`, "bad") : count(each.queue_events),
  ]));
}

function stateOf({ state, in_use: used }) {
  if (state === "down") return badge("down", "bad");
  if (state === "connected") return badge("synchronising", "busy");
  return used ? badge("open", "good") : badge("in reserve", "still");
}
