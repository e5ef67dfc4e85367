/** Dialogs: the browser's own modal dialog, which keeps and returns the focus. */

import { h, freshId, put } from "../dom.js";

/**
 * Asks, and calls `act(values)` when confirmed; an error that it throws is shown in the dialog, which stays.
 * `fields`: [{ name, label, type?, options?, note?, required? }].
 */
export function ask({ title, text, fields = [], confirm, danger = false, act }) {
  const heading = freshId("dialog");
  const trouble = h("div", { "aria-live": "assertive" });
  const inputs = fields.map((field) => ({ ...field, id: freshId(field.name) }));
  const go = h("button", { type: "submit", class: danger ? "main danger" : "main" }, confirm);
  const form = h("form", { method: "dialog", onsubmit: submit },
    h("h2", { id: heading }, title), text ? h("p", {}, text) : null,
    inputs.map(row), trouble,
    h("div", { class: "buttons" },
      h("button", { type: "button", onclick: () => dialog.close() }, "Back"), go));
  const dialog = h("dialog", { "aria-labelledby": heading, onclose: () => dialog.remove() }, form);

  async function submit(event) {
    event.preventDefault();
    const values = Object.fromEntries(inputs.map(({ name, id }) => [name, document.getElementById(id).value.trim()]));
    go.disabled = true;
    try {
      await act(values);
      dialog.close();
    } catch (error) {
      put(trouble, h("p", { class: "notice bad" }, error.message));
      go.disabled = false;
    }
  }
  document.body.append(dialog);
  dialog.showModal();
}

function row({ id, label, type = "text", options, note, required = true }) {
  const field = options
    ? h("select", { id }, options.map(([value, name]) => h("option", { value }, name)))
    : h("input", { id, type, required, autocomplete: "off", spellcheck: "false" });
  return h("div", { class: "field" }, h("label", { for: id }, label), field, note ? h("p", { class: "muted" }, note) : null);
}
