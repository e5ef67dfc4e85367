/** Check of the filter while it is typed: the fault underlined and named below, or the canonical text. */

import { isLeaving } from "../api.js";
import { h, put } from "../dom.js";
import { debounced } from "../pause.js";
import { checkFilter } from "../service.js";
import { unitsOf } from "./tokens.js";

const SILENCE = 250;
const VALID = { operator: "✓ Valid, and calls operators.", join: "✓ Valid, and joins tables." };

/** Verdict on the newest text, as an element. `decided(text, kind | null)` is called for each verdict. */
export class Checking {
  #field; #decided; #asked = null; #check;

  constructor(field, id, decided) {
    this.#field = field;
    this.#decided = decided;
    this.element = h("div", { class: "verdict-line", id, role: "status", "aria-live": "polite" });
    this.#check = debounced(() => this.#ask(), SILENCE);
    this.textChanged();
  }

  textChanged() {
    this.#asked?.abort();
    this.#decided(this.#field.text, null);
    if (this.#field.text.trim() === "") {
      put(this.element, h("span", { class: "muted" }, "A condition on the event's attributes. Control+Space suggests."));
      return;
    }
    this.#check();
  }

  async #ask() {
    const { text } = this.#field;
    if (text.trim() === "") return;
    this.#asked?.abort();
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    try {
      const answer = await checkFilter(text, signal);
      if (signal.aborted) return;
      this.#field.underline([]);
      this.#accept(text, answer);
    } catch (error) {
      if (isLeaving(error) || signal.aborted) return;
      this.#refuse(text, error);
    }
  }

  #accept(text, { canonical, kind }) {
    const never = canonical === "FALSE" ? " No event can satisfy it." : canonical === "TRUE" ? " Every event satisfies it." : "";
    put(this.element, h("span", { class: "ok" }, VALID[kind] ?? "✓ Valid."), never, " ",
      h("span", { class: "muted" }, "Read as "), h("code", {}, canonical));
    this.#decided(text, kind);
  }

  #refuse(text, problem) {
    const faults = problem.errors.length ? problem.errors : [{ message: problem.message }];
    this.#field.underline(faults);
    put(this.element, faults.map((fault) => h("p", { class: "fault-line" },
      h("span", { class: "fault-sign", "aria-hidden": "true" }, "✕"), " ", place(text, fault), fault.message)));
  }
}

function place(text, { start }) {
  if (!Number.isInteger(start)) return null;
  const before = text.slice(0, unitsOf(text, start)).split("\n");
  const column = Array.from(before.at(-1)).length + 1;
  const name = before.length > 1 ? `Line ${before.length}, character ${column}` : `Character ${column}`;
  return h("span", { class: "muted" }, `${name}: `);
}
