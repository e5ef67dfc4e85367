/** Trial card: recent events that match the filter, and those that do not, each explained when it is opened. */

import { isLeaving } from "../api.js";
import { h, put } from "../dom.js";
import { clock, count } from "../format.js";
import { announce } from "../parts/announcer.js";
import { explanationOf } from "../parts/explanations.js";
import { columnsOf, resultTable } from "../parts/joins.js";
import { bindingsOf, eventSummary, eventText } from "../parts/matches.js";
import { badge, empty, failure, loading } from "../parts/states.js";
import { explainFilter, tryFilter } from "../service.js";

export class Trial {
  #results = h("div", { class: "trial-results" }); #button; #text = ""; #asked = null;

  constructor() {
    this.#button = h("button", { type: "button", disabled: true, onclick: () => this.run() }, "Try now");
    this.element = h("section", { class: "card", "aria-labelledby": "trial-title" },
      h("div", { class: "card-head" }, h("h2", { id: "trial-title" }, "Recent events"), this.#button), this.#results);
    this.offer(null);
  }

  /** The filter to try from now on; null while there is no valid one. `dear`: it is not tried by itself. */
  offer(text, dear = false) {
    this.#asked?.abort();
    this.#text = text;
    this.#button.disabled = text === null;
    if (text === null) put(this.#results, empty("A valid filter is tried on the newest events immediately."));
    else if (dear) put(this.#results, empty("This filter calls operators, which may be slow: press the button to try it."));
  }

  async run() {
    const text = this.#text;
    // The filter may have become another, and not be checked yet, since this was called for.
    if (text === null) return;
    this.#asked?.abort();
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    if (!this.#results.querySelector(".trial-lists")) put(this.#results, loading("Trying …"));
    try {
      const answer = await tryFilter(text, signal);
      if (!signal.aborted) this.#show(text, answer, signal);
    } catch (error) {
      if (!isLeaving(error) && !signal.aborted) put(this.#results, failure(error, () => this.run()));
    }
  }

  #show(text, answer, signal) {
    if (answer.rows) {
      this.#showJoin(answer);
      return;
    }
    if (answer.examined === 0) {
      put(this.#results, empty("There are no recent events to try it on. Publish some, and try again."));
      return;
    }
    const matched = answer.events.map((each) => ({ ...each, matched: true }));
    const rest = answer.misses.map((each) => ({ ...each, matched: false }));
    const said = `${count(answer.matched)} of ${count(answer.examined)} recent events match.`;
    put(this.#results, h("p", { class: "lead" }, said),
      h("div", { class: "trial-lists" },
        list("Matching", matched, answer.matched, "None of the recent events matches.", text, signal),
        list("Not matching", rest, answer.examined - answer.matched, "All recent events match.", text, signal)));
    announce(said);
  }

  /** Of a join: what its content would be. */
  #showJoin({ rows, matched, examined }) {
    const said = `${count(matched)} ${matched === 1 ? "row" : "rows"} now, from ${count(examined)} rows of its tables.`;
    put(this.#results, h("p", { class: "lead" }, said),
      h("div", { class: "trial-lists" },
        rows.length ? resultTable("Content", columnsOf(rows), rows.map((row, id) => ({ id, row }))) : null,
        matched > rows.length ? h("p", { class: "muted" }, `and ${count(matched - rows.length)} more`) : null));
    announce(said);
  }
}

function list(title, shown, all, none, text, signal) {
  return h("section", {}, h("h3", {}, title, " ", h("span", { class: "muted" }, count(all))),
    all === 0 ? empty(none) : h("ul", { class: "tried" }, shown.map((each) => item(each, text, signal))),
    all > shown.length ? h("p", { class: "muted" }, `and ${count(all - shown.length)} older ones`) : null);
}

function item({ event, time, matched, bindings }, text, signal) {
  const why = h("div", { class: "why" });
  const details = h("details", { ontoggle: explain },
    h("summary", {}, badge(matched ? "match" : "no match", matched ? "good" : "still"), " ",
      time ? h("time", { datetime: time }, clock(time)) : null, " ", eventSummary(event), bindingsOf(bindings)), why);

  async function explain() {
    if (!details.open || why.childElementCount > 0) return;
    put(why, loading("Explaining …"));
    try {
      put(why, explanationOf(await explainFilter(text, event, signal)), h("details", {}, h("summary", {}, "Event"), eventText(event)));
    } catch (error) {
      if (!isLeaving(error)) put(why, failure(error));
    }
  }
  return h("li", {}, details);
}
