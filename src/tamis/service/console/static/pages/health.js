/** Whether things work: the pipeline, the ways out, what could not be delivered, and the keys. */

import { h, put } from "../dom.js";
import { bytes, count, duration } from "../format.js";
import { badge } from "../parts/states.js";
import { facts } from "../parts/tables.js";
import { latest, pulse } from "../pulse.js";
import { toneOf } from "../tones.js";
import { deadLettersCard } from "./health_dead_letters.js";
import { keysCard } from "./health_keys.js";
import { outletsCard } from "./health_outlets.js";

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
      ["In it for", duration(Date.now() - pipeline.since * 1000)],
      ["Restarts", count(pipeline.restarts)],
      ["Batches", count(pipeline.batches)],
      ["Newest batch", last ? `${count(last.events)} events, ${duration(last.milliseconds)}` : "none yet"],
      ["Events waiting", count(lag ?? NaN)],
      ["Latency p50", duration(p50 ?? NaN)],
      ["Latency p99", duration(p99 ?? NaN)],
      ["Illegible events", count(pipeline.dead)],
      ["Refused subscriptions", count(pipeline.refused_subscriptions)],
      ["Event log", `${count(log.events)} events, ${bytes(log.bytes)}`],
      ["Service", `${version}, up for ${duration(uptime * 1000)}`],
    ]),
    pipeline.error
      ? h("div", { class: "notice bad" }, h("p", {}, h("strong", {}, "Last error")),
        h("pre", { tabindex: "0", "aria-label": "Last error" }, pipeline.error))
      : h("p", { class: "muted" }, "No error to show since the service started."),
  ];
}

function deliveryOf(delivery) {
  const troubled = (number) => (number ? badge(count(number), "bad") : "0");
  return facts([
    ["Readers", count(delivery.listeners)],
    ["Handed to readers", count(delivery.handed_out)],
    ["Webhooks and topics", count(delivery.outlets)],
    ["Delivered to them", count(delivery.delivered)],
    ["Failed attempts", count(delivery.failed)],
    ["Failing now", troubled(delivery.failing)],
    ["Given up", troubled(delivery.disabled)],
    ["Open breakers", troubled(delivery.breakers_open)],
  ]);
}
