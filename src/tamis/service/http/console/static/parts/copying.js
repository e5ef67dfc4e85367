/** Text with a button that copies it. */

import { h } from "../dom.js";
import { announce } from "./announcer.js";

export function copyable(text, what) {
  const shown = h("code", { class: "secret", tabindex: "0", "aria-label": what }, text);
  const button = h("button", { type: "button", onclick: copy }, "Copy");

  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      announce(`${what} copied`);
    } catch {
      // Without the permission, or on plain HTTP: the selected text is one key press away.
      getSelection().selectAllChildren(shown);
      announce(`${what} is selected; copy it with the keyboard`);
    }
  }
  return h("div", { class: "copyable" }, shown, button);
}
