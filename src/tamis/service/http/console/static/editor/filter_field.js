/**
 * A text area whose text is coloured and underlined. The text area holds the text, transparent; a layer behind it, with
 * the same type and wrapping, shows it. Both lie in one grid cell, so the field grows with its text and never scrolls.
 */

import { h, put } from "../dom.js";
import { tokens, unitsOf } from "./tokens.js";

const COLOURED = new Set(["word", "string", "number", "comment", "variable"]);

export class FilterField {
  #layer; #faults = [];

  /** `changed()` is called after every change of the text. */
  constructor({ id, describedBy, changed }) {
    this.#layer = h("div", { class: "filter-layer", "aria-hidden": "true" });
    this.area = h("textarea", {
      id, class: "filter-area", rows: 3, spellcheck: "false", autocapitalize: "off", autocomplete: "off",
      maxlength: 20000, "aria-describedby": describedBy, placeholder: "price < 100 AND title LIKE '%oak%'",
    });
    this.area.addEventListener("input", () => {
      // The old fault's place means nothing in the new text.
      this.#faults = [];
      this.area.setAttribute("aria-invalid", "false");
      this.#draw();
      changed();
    });
    this.element = h("div", { class: "filter-field" }, this.#layer, this.area);
    this.#draw();
  }

  get text() {
    return this.area.value;
  }

  /** Replaces the text between two places as typing would, so that undo still works. */
  replace(start, end, text) {
    this.area.focus();
    this.area.setSelectionRange(start, end);
    if (!document.execCommand("insertText", false, text)) {
      this.area.setRangeText(text, start, end, "end");
      this.area.dispatchEvent(new Event("input"));
    }
  }

  set text(text) {
    this.area.value = text;
    this.area.dispatchEvent(new Event("input"));
  }

  /** Underlines the parts at fault; each has start and end in characters. */
  underline(faults) {
    const text = this.text;
    this.#faults = faults.filter(({ start }) => Number.isInteger(start)).map(({ start, end }) => {
      const from = unitsOf(text, start);
      return { start: from, end: Math.max(unitsOf(text, end ?? start), from) };
    });
    this.area.setAttribute("aria-invalid", String(faults.length > 0));
    this.#draw();
  }

  /** Where a place of the text is on the screen. */
  rectangleAt(offset) {
    const walker = document.createTreeWalker(this.#layer, NodeFilter.SHOW_TEXT);
    let left = offset;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (left <= node.length) {
        const range = document.createRange();
        range.setStart(node, left);
        range.setEnd(node, left);
        return range.getClientRects()[0] ?? node.parentElement.getBoundingClientRect();
      }
      left -= node.length;
    }
    return this.#layer.getBoundingClientRect();
  }

  #draw() {
    const text = this.text;
    const parts = [];
    let at = 0;
    for (const fault of this.#faults) {
      if (fault.start < at) continue;
      parts.push(...coloured(text, at, fault.start));
      // A fault at the very end, such as a value that is missing, is shown on a blank after the text.
      const inside = fault.end > fault.start ? coloured(text, fault.start, fault.end) : ["\u00a0"];
      parts.push(h("mark", { class: "fault" }, inside));
      at = fault.end;
    }
    parts.push(...coloured(text, at, text.length));
    // A last line that is empty has height only if something stands on it.
    put(this.#layer, parts, "\u200b");
  }
}

/** The pieces of text[from:to], the words of the language and literals in spans of their kind. */
function coloured(text, from, to) {
  const parts = [];
  let at = from;
  for (const { kind, start, end } of tokens(text)) {
    if (!COLOURED.has(kind) || end <= from || start >= to) continue;
    if (start > at) parts.push(text.slice(at, start));
    parts.push(h("span", { class: `token-${kind}` }, text.slice(Math.max(start, from), Math.min(end, to))));
    at = Math.min(end, to);
  }
  if (at < to) parts.push(text.slice(at, to));
  return parts;
}
