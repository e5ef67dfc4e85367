/** Page of health: pipeline, delivery, dead letters, and keys. */

import { h, put } from "../dom.js";
import { bytes, count, duration, fromNow, moment } from "../format.js";
import { badge } from "../parts/states.js";
import { facts, table } from "../parts/tables.js";
import { latest, pulse } from "../pulse.js";
import { toneOf } from "../tones.js";
import { deadLettersCard } from "./health_dead_letters.js";
import { keysCard } from "./health_keys.js";
import { outletsCard } from "./health_outlets.js";

const ENDPOINTS = [["Endpoint", "wide"], ["Breaker"], ["Failures", "number"], ["Next attempt"]];

export async function showHealth(container, place, signal) {
  const pipeline = h("div", {});
  const delivery = h("div", {});
  put(container, h("h1", {}, "Delivery and health"),
    h("div", { class: "stack" },
      h("section", { class: "card", "aria-labelledby": "pipeline-title" }, h("h2", { id: "pipeline-title" }, "Pipeline"), pipeline),
      h("section", { class: "card", "aria-labelledby": "delivery-title" }, h("h2", { id: "delivery-title" }, "Delivery"), delivery),
      outletsCard(signal), deadLettersCard(signal), keysCard(signal)));

  const draw = () => {
    const sample = latest();
    if (!sample) return;
    put(pipeline, pipelineOf(sample));
    put(delivery, deliveryOf(sample.delivery));
  };
  pulse.addEventListener("sample", draw, { signal });
  draw();
}

function pipelineOf({ pipeline, lag, p50, p99, log, uptime, version }) {
  const last = pipeline.last_batch;
  return [
    facts([
      ["State", badge(pipeline.state, toneOf(pipeline.state))],
      ["For", duration(Date.now() - pipeline.since * 1000)],
      ["Restarts", count(pipeline.restarts)],
      ["Batches", count(pipeline.batches)],
      ["Last batch", last ? `${count(last.events)} events, ${duration(last.milliseconds)}` : "none yet"],
      ["Running batch", pipeline.busy_seconds ? `for ${duration(pipeline.busy_seconds * 1000)}` : "none"],
      ["Lag, events", count(lag ?? NaN)],
      ["Latency p50", duration(p50 ?? NaN)],
      ["Latency p99", duration(p99 ?? NaN)],
      ["Invalid events", count(pipeline.dead)],
      ["Refused subscriptions", count(pipeline.refused_subscriptions)],
      ["Event log", log ? `${count(log.events)} events, ${bytes(log.bytes)}` : "does not answer"],
      ["Service", `${version}, up for ${duration(uptime * 1000)}`],
    ]),
    pipeline.error
      ? h("div", { class: "notice bad" }, h("p", {}, h("strong", {}, "Last error")),
        h("pre", { tabindex: "0", "aria-label": "Last error" }, pipeline.error))
      : h("p", { class: "muted" }, "No error since the service started."),
  ];
}

function deliveryOf(delivery) {
  const troubled = (number) => (number ? badge(count(number), "bad") : "0");
  return [numbersOf(delivery, troubled), delivery.endpoints?.length ? endpointsOf(delivery.endpoints) : null];
}

/** Endpoints that failed lately, which the service names to administrators only. */
function endpointsOf(endpoints) {
  return [
    h("h3", {}, "Failing endpoints"),
    table("Failing endpoints", ENDPOINTS, endpoints.map((each) => [
      h("code", { class: "breakable" }, each.endpoint),
      badge(each.state, toneOf(each.state)),
      count(each.failures),
      each.next_attempt
        ? h("time", { datetime: each.next_attempt, title: moment(each.next_attempt) }, fromNow(each.next_attempt)) : "–",
    ])),
  ];
}

function numbersOf(delivery, troubled) {
  return facts([
    ["Listeners", count(delivery.listeners)],
    ["Read by subscribers", count(delivery.handed_out)],
    ["Webhooks and topics", count(delivery.outlets)],
    ["Delivered by push", count(delivery.delivered)],
    ["Failed attempts", count(delivery.failed)],
    ["Failing now", troubled(delivery.failing)],
    ["Given up", troubled(delivery.disabled)],
    ["Open breakers", troubled(delivery.breakers_open)],
  ]);
}
