/** Why a filter did or did not match an event: every alternative, condition by condition. */

import { h } from "../dom.js";
import { brief } from "./matches.js";

const SIGNS = { held: "✓", failed: "✕", absent: "∅" };

/** `explanation`: { matched, alternatives: [[{ condition, state, values }]] }. */
export function explanationOf(explanation) {
  const alternatives = explanation.alternatives ?? [];
  if (alternatives.length === 0) return h("p", {}, "The filter contradicts itself: no event can match.");
  return h("div", { class: "explanation" }, alternatives.map((verdicts, at) => [
    at > 0 ? h("p", { class: "or" }, "or") : null,
    h("ul", { class: "verdicts" }, verdicts.length ? verdicts.map(verdict) : verdict({ condition: "TRUE", state: "held" })),
  ]));
}

function verdict({ condition, state, values = {} }) {
  return h("li", { class: `verdict ${state}` },
    h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[state] ?? "·"),
    h("code", {}, condition),
    h("span", { class: "state" }, state),
    h("span", { class: "seen" }, Object.entries(values).map(([name, seen]) =>
      h("span", {}, `${name} is ${seen?.length ? brief(seen) : "absent"} `))));
}
