/** Backtest card: runs the filter over the stored events, with progress, then matches over time. */

import { isLeaving } from "../api.js";
import { barChart } from "../charts/bars.js";
import { h, put } from "../dom.js";
import { count } from "../format.js";
import { announce } from "../parts/announcer.js";
import { eventSummary, eventText } from "../parts/matches.js";
import { empty, failure, loading } from "../parts/states.js";
import { pause } from "../pause.js";
import { backtest, startBacktest } from "../service.js";

const ASKED_EVERY = 700;

export class Backtest {
  #results = h("div", {}); #button; #text; #leaving; #running = null;

  /** `leaving`: the page's signal, with which a run that is waited for ends. */
  constructor(leaving) {
    this.#leaving = leaving;
    this.#button = h("button", { type: "button", disabled: true, onclick: () => this.run() }, "Backtest");
    this.element = h("section", { class: "card", "aria-labelledby": "backtest-title" },
      h("div", { class: "card-head" }, h("h2", { id: "backtest-title" }, "Backtest"), this.#button), this.#results);
    this.offer(null);
  }

  offer(text) {
    this.#button.disabled = text === null;
    if (text === this.#text) return;
    this.#text = text;
    this.#running?.abort();
    put(this.#results, empty("Count the stored events that the filter would have matched."));
  }

  async run() {
    this.#running?.abort();
    this.#running = new AbortController();
    const signal = AbortSignal.any([this.#running.signal, this.#leaving]);
    put(this.#results, loading("Starting …"));
    try {
      const job = await startBacktest(this.#text, signal);
      await this.#wait(job.id, signal);
    } catch (error) {
      if (!isLeaving(error) && !signal.aborted) put(this.#results, failure(error, () => this.run()));
    }
  }

  async #wait(id, signal) {
    const bar = h("progress", { "aria-label": "Progress of the backtest" });
    const words = h("span", { class: "muted" });
    put(this.#results, h("div", { class: "progress" }, bar, words));
    while (!signal.aborted) {
      const job = await backtest(id, signal);
      if (job.error) throw new Error(job.error);
      if (job.result) {
        this.#show(job.result);
        return;
      }
      const known = job.total > 0;
      if (known) {
        bar.max = job.total;
        bar.value = job.done;
      }
      put(words, known ? `${Math.floor((100 * job.done) / job.total)} % done` : "Queued …");
      await pause(ASKED_EVERY, signal);
    }
  }

  #show(result) {
    const step = (result.window_seconds ?? 0) * 1000 || undefined;
    const illegible = result.illegible ? ` ${count(result.illegible)} were invalid.` : "";
    const said = result.rows === undefined
      ? `${count(result.total)} of ${count(result.events)} stored events would have matched.${illegible}`
      : `${count(result.total)} changes in ${count(result.events)} stored events, and ${count(result.rows)} rows at the end.${illegible}`;
    const samples = (result.samples ?? []).slice(0, 5);
    // Both over the same time, so that one can be held against the other.
    const span = { width: step, from: result.volume?.[0]?.[0], to: result.volume?.at(-1)?.[0] };
    put(this.#results, h("p", { class: "lead" }, said),
      (result.errors ?? []).map((error) => h("p", { class: "notice bad" }, error.message ?? String(error))),
      result.counts?.length ? barChart(result.rows === undefined ? "Matches over time" : "Changes over time", result.counts, span) : null,
      result.volume?.length
        ? barChart("All events", result.volume, { ...span, kind: "plain", height: 110, unit: "events" }) : null,
      samples.length ? h("section", {}, h("h3", {}, "Samples"), h("ul", { class: "tried" }, samples.map((event) =>
        h("li", {}, h("details", {}, h("summary", {}, eventSummary(event)), eventText(event)))))) : null);
    announce(said);
  }
}
