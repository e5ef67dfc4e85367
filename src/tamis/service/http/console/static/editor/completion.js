/**
 * The list of suggestions at the caret. Arrow keys choose, Enter takes, Escape closes, Control+Space opens;
 * Tab always goes on to the next control, so that nobody is caught in the field.
 */

import { h, put } from "../dom.js";
import { suggestionsAt } from "./suggestions.js";

export class Completion {
  #field; #schema; #list; #found = null; #chosen = 0;

  constructor(field, listId) {
    this.#field = field;
    this.#list = h("ul", { id: listId, class: "suggestions", role: "listbox", "aria-label": "Suggestions", hidden: true });
    field.element.append(this.#list);
    const { area } = field;
    area.setAttribute("role", "combobox");
    area.setAttribute("aria-autocomplete", "list");
    area.setAttribute("aria-controls", listId);
    area.setAttribute("aria-expanded", "false");
    area.addEventListener("input", () => this.#look(false));
    area.addEventListener("keydown", (event) => this.#key(event));
    area.addEventListener("blur", () => this.#close());
    area.addEventListener("click", () => this.#close());
  }

  set schema(schema) {
    this.#schema = schema;
    this.#look(false); // whoever has begun to write was waiting for it
  }

  #look(asked) {
    const { area } = this.#field;
    const lone = area.selectionStart === area.selectionEnd;
    const found = this.#schema && lone ? suggestionsAt(area.value, area.selectionStart, this.#schema) : null;
    if (!found || !(asked || found.eager) || document.activeElement !== area) return this.#close();
    this.#found = found;
    this.#chosen = 0;
    return this.#draw();
  }

  #draw() {
    put(this.#list, this.#found.options.map((option, at) => h("li", {
      role: "option", id: `${this.#list.id}-${at}`, "aria-selected": String(at === this.#chosen),
      // The text area must keep the focus, or the list would close before the click.
      onpointerdown: (event) => { event.preventDefault(); this.#take(at); },
    }, h("span", {}, option.label), h("span", { class: "note" }, option.note))));
    this.#list.hidden = false;
    this.#place();
    this.#field.area.setAttribute("aria-expanded", "true");
    this.#field.area.setAttribute("aria-activedescendant", `${this.#list.id}-${this.#chosen}`);
    this.#list.children[this.#chosen].scrollIntoView({ block: "nearest" });
  }

  #place() {
    const frame = this.#field.element.getBoundingClientRect();
    const caret = this.#field.rectangleAt(this.#found.start);
    const left = Math.min(caret.left - frame.left, frame.width - this.#list.offsetWidth - 4);
    this.#list.style.left = `${Math.max(4, left)}px`;
    this.#list.style.top = `${caret.bottom - frame.top + 6}px`;
  }

  #close() {
    this.#found = null;
    this.#list.hidden = true;
    this.#field.area.setAttribute("aria-expanded", "false");
    this.#field.area.removeAttribute("aria-activedescendant");
  }

  #take(at) {
    const { start, end, options } = this.#found;
    this.#close();
    this.#field.replace(start, end, options[at].insert);
  }

  #key(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      return this.#look(true);
    }
    if (!this.#found) return undefined;
    const last = this.#found.options.length - 1;
    const moves = { ArrowDown: this.#chosen === last ? 0 : this.#chosen + 1, ArrowUp: this.#chosen === 0 ? last : this.#chosen - 1 };
    if (event.key in moves) {
      event.preventDefault();
      this.#chosen = moves[event.key];
      return this.#draw();
    }
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      return this.#take(this.#chosen);
    }
    if (event.key === "Escape") {
      event.preventDefault();
      return this.#close();
    }
    if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") this.#close();
    return undefined;
  }
}
