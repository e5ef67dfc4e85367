/** Page with the service's status: throughput, latency, lag, health, and live matches. */

import { lineChart } from "../charts/lines.js";
import { sparkline } from "../charts/sparkline.js";
import { h, put } from "../dom.js";
import { count, duration, rate } from "../format.js";
import { liveMatches } from "../parts/live_matches.js";
import { badge } from "../parts/states.js";
import { facts } from "../parts/tables.js";
import { addressOf } from "../places.js";
import { latest, pulse, samples } from "../pulse.js";
import { toneOf } from "../tones.js";

const RATES = [
  { name: "in", kind: "plain", of: (sample) => sample.published },
  { name: "matched", kind: "accent", of: (sample) => sample.matched },
  { name: "delivered", kind: "dashed", of: (sample) => sample.delivered },
];
const LATENCIES = [
  { name: "p50", kind: "plain", of: (sample) => sample.p50 },
  { name: "p99", kind: "accent", of: (sample) => sample.p99 },
];

export async function showOverview(container, place, signal) {
  const tiles = [
    tile("Events in", "per second", RATES[0].of, rate),
    tile("Matches", "per second", RATES[1].of, rate),
    tile("Delivered", "per second", RATES[2].of, rate),
    tile("Latency", "p99, publish to visible", LATENCIES[1].of, duration),
    tile("Lag", "events waiting", (sample) => sample.lag, count),
  ];
  const rates = lineChart("Throughput, per second", RATES);
  const latencies = lineChart("Latency", LATENCIES, { height: 160, format: duration });
  const health = h("div", {});
  const silence = h("div", { "aria-live": "polite" });

  put(container, h("h1", {}, "Overview"), silence,
    h("ul", { class: "tiles" }, tiles.map(({ element }) => element)),
    h("div", { class: "columns" },
      h("div", { class: "stack" },
        h("section", { class: "card", "aria-label": "Throughput" }, rates.element),
        h("section", { class: "card", "aria-label": "Latency" }, latencies.element),
        h("section", { class: "card", "aria-labelledby": "health-title" },
          h("div", { class: "card-head" }, h("h2", { id: "health-title" }, "Health"), h("a", { href: addressOf("health") }, "More")),
          health)),
      h("section", { class: "card", "aria-labelledby": "live-title" },
        h("h2", { id: "live-title" }, "Matches"),
        liveMatches({ path: "stream", query: { cursor: "latest" } }, signal, {
          named: true, waiting: "Matches of your subscriptions appear here as they happen.",
        }))));

  const draw = () => {
    put(silence);
    for (const each of [...tiles, rates, latencies]) each.update(samples);
    if (latest()) put(health, healthOf(latest()));
  };
  pulse.addEventListener("sample", draw, { signal });
  pulse.addEventListener("silence", () => put(silence,
    h("p", { class: "notice bad" }, "The service does not answer; the numbers below are its last.")), { signal });
  draw();
}

function tile(name, unit, of, format) {
  const number = h("span", { class: "number" }, "–");
  const spark = sparkline(of);
  return {
    element: h("li", { class: "tile" },
      h("span", { class: "tile-name" }, name), number, h("span", { class: "unit" }, unit), spark.element),
    update(all) {
      const now = all.at(-1);
      put(number, format(now ? of(now) ?? NaN : NaN));
      spark.update(all);
    },
  };
}

function healthOf({ pipeline, delivery, deadLetters, subscriptions, uptime, schemaVersion }) {
  const troubled = delivery.failing + delivery.disabled;
  return facts([
    ["Pipeline", badge(pipeline.state, toneOf(pipeline.state))],
    ["Restarts", count(pipeline.restarts)],
    ["Last error", pipeline.error ? h("span", { class: "error-text" }, pipeline.error.split("\n")[0]) : null],
    ["Subscriptions", `${count(subscriptions.active)} active`],
    ["Listeners", count(delivery.listeners)],
    ["Webhooks and topics", troubled ? badge(`${count(troubled)} failing`, "bad") : badge("all healthy", "good")],
    ["Dead letters", count(deadLetters)],
    ["Schema", `version ${schemaVersion}`],
    ["Uptime", duration(uptime * 1000)],
  ]);
}
