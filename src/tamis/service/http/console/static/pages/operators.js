/** Page of operators: signatures, costs, and health. */

import { isLeaving } from "../api.js";
import { h, put } from "../dom.js";
import { count, duration, share } from "../format.js";
import { badge, empty, failure } from "../parts/states.js";
import { facts, table } from "../parts/tables.js";
import { operators as askOperators } from "../service.js";

const COLUMNS = [["Operator", "wide"], ["Cost", "number"], ["Evaluations", "number"], ["Calls", "number"], ["Selectivity", "number"],
  ["Failures", "number"], ["State"]];
const AGAIN = 3000;

export async function showOperators(container, place, signal) {
  const listed = h("div", {});
  const shown = h("div", { class: "stack" });
  const draw = async () => {
    const { items } = await askOperators(signal);
    const open = new Set([...shown.querySelectorAll("details[open]")].map((each) => each.id));
    put(listed, items.length ? tableOf(items) : null);
    put(shown, items.length ? items.map((each) => detailsOf(each, open))
      : empty("This service offers no operators.", h("p", { class: "muted" },
        "Name operators at start: ", h("code", {}, "tamis serve --operators loc_in,mob_pattern"))));
  };
  await draw();
  put(container, h("h1", {}, "Operators"),
    h("p", { class: "muted" }, "Functions that filters may call. Counts are from matching, since the service started."),
    listed, shown);
  const timer = setInterval(() => draw().catch((error) => {
    if (!isLeaving(error) && !signal.aborted) put(shown, failure(error, () => showOperators(container, place, signal)));
  }), AGAIN);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function tableOf(items) {
  return table("Operators", COLUMNS, items.map((each) => [
    [h("code", {}, each.signature), h("p", { class: "muted about" }, firstSentence(each.about))],
    costOf(each),
    count(each.evaluations),
    count(each.calls),
    heldOf(each),
    troubled(each.failures + each.timeouts),
    stateOf(each),
  ]));
}

function detailsOf(each, open) {
  const id = `operator-${each.name}`;
  return h("details", { class: "card", id, open: open.has(id) },
    h("summary", {}, h("strong", {}, each.name), " ", h("span", { class: "muted" }, `version ${each.version}`)),
    each.about ? h("p", { class: "whole-about" }, each.about) : null,
    facts([
      ["Reads", each.reads.map((name) => (name === "*" ? "the whole event" : name)).join(", ") || "nothing"],
      ["Cost per evaluation", costOf(each)],
      ["Input", each.batch ? "many events at a time" : "one event at a time"],
      ["Time limit", each.time_limit === null ? "none" : duration(each.time_limit * 1000)],
      ["Distinct calls", count(each.predicates)],
      ["Evaluations", count(each.evaluations)],
      ["Held", count(each.held)],
      ["Selectivity", heldOf(each)],
      ["Unknown", count(each.unknown)],
      ["Failures", troubled(each.failures)],
      ["Time-outs", troubled(each.timeouts)],
      ["Skipped while suspended", count(each.skipped)],
      ["Attribute absent", count(each.absent)],
      ["Time in calls", duration(each.seconds * 1000)],
    ]),
    each.last_failure
      ? h("div", { class: "notice bad" }, h("p", {}, h("strong", {}, "Last failure")),
        h("pre", { tabindex: "0", "aria-label": `Last failure of ${each.name}` }, each.last_failure))
      : null);
}

function costOf({ cost, cost_learned: learned }) {
  if (cost === null) return h("span", { class: "muted" }, "not known yet");
  return learned ? `${cost < 1 ? cost.toPrecision(2) : duration(cost)}${cost < 1 ? " ms" : ""}, learned` : `${cost}`;
}

function heldOf({ selectivity, selectivity_learned: learned }) {
  return selectivity === null || learned ? share(selectivity) : `${share(selectivity)}, declared`;
}

function stateOf({ suspended, evaluations }) {
  if (suspended) return badge("suspended", "bad");
  return evaluations ? badge("in use", "good") : badge("idle");
}

function troubled(number) {
  return number ? badge(count(number), "bad") : "0";
}

function firstSentence(text) {
  return text.split(/(?<=\.)\s|\n/)[0];
}
