/** Explanation of a filter on an event: every alternative, condition by condition; and operator evaluations. */

import { h } from "../dom.js";
import { brief, count, duration } from "../format.js";
import { wouldChange } from "./joins.js";
import { bindingsOf } from "./matches.js";

const SIGNS = { held: "✓", failed: "✕", absent: "∅", unknown: "?", "not asked": "–" };

/** `explanation`: { matched, alternatives: [[{ condition, state, values }]], first_failure, steps?, bindings? }. */
export function explanationOf(explanation) {
  const alternatives = explanation.alternatives ?? [];
  if (explanation.join?.table === null) return wouldChange(explanation.join);
  if (alternatives.length === 0) return h("p", {}, "The filter contradicts itself: no event can match.");
  return h("div", { class: "explanation" },
    alternatives.map((verdicts, at) => [
      at > 0 ? h("p", { class: "or" }, "or") : null,
      h("ul", { class: "verdicts" }, verdicts.length ? verdicts.map(verdict) : verdict({ condition: "TRUE", state: "held" })),
    ]),
    explanation.omitted ? h("p", { class: "muted" }, `And ${count(explanation.omitted)} more, further from a match.`) : null,
    explanation.steps ? courseOf(explanation) : null,
    explanation.join ? wouldChange(explanation.join) : null);
}

function verdict({ condition, state, values = {} }) {
  return h("li", { class: `verdict ${state.replace(" ", "-")}` },
    h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[state] ?? "·"),
    h("code", {}, condition),
    h("span", { class: "state" }, state),
    h("span", { class: "seen" }, Object.entries(values).map(([name, seen]) =>
      h("span", {}, `${name} is ${seen?.length ? brief(seen) : "absent"} `))));
}

/** Evaluations of operators for the event, in the order chosen. */
function courseOf({ steps, in_question: open, matched, first_failure: failed, bindings, alternatives }) {
  const many = alternatives.length > 1;
  return h("section", { class: "course" },
    h("h4", {}, "Operator evaluations"),
    h("p", { class: "muted" }, leadOf(steps, open, many)),
    steps.length ? h("ol", { class: "steps" }, steps.map((step) => stepOf(step, many))) : null,
    matched ? bindingsOf(bindings) : null,
    !matched && failed ? h("p", {}, "First to fail: ", h("code", {}, failed.condition)) : null);
}

function leadOf(steps, open, many) {
  if (steps.length === 0) return "None: the plain conditions decide.";
  const asked = `${count(steps.length)} ${steps.length === 1 ? "evaluation" : "evaluations"}, in the order chosen`;
  return many ? `${asked}, for ${count(open)} ${open === 1 ? "alternative" : "alternatives"} that the plain conditions left open.` : `${asked}.`;
}

function stepOf({ predicate, truth, bindings, failure, milliseconds, eliminated }, many) {
  const bound = bindings.map((each) => Object.entries(each).map(([name, value]) => `${name} = ${brief(value)}`).join(", "));
  const decided = many ? `rules out ${count(eliminated)} ${eliminated === 1 ? "alternative" : "alternatives"}` : "rules the filter out";
  return h("li", { class: `step ${truth}` },
    h("code", {}, predicate),
    h("span", { class: "state" }, truth),
    h("span", { class: "seen" },
      [...bound, failure, milliseconds < 1 ? "under 1 ms" : duration(milliseconds)].filter(Boolean).join("; "),
      eliminated > 0 ? [", ", h("span", { class: "decided" }, decided)] : null));
}
