/** Sign-in box, for services that require an API key. */

import { h, freshId } from "../dom.js";
import { currentKey, signIn } from "../session.js";

/** `problem`: reason why the present key is refused; null without one. */
export function signInBox(problem, entered) {
  const refusal = problem && currentKey() !== null ? problem.message : null;
  const id = freshId("key");
  const field = h("input", { id, type: "password", autocomplete: "off", spellcheck: "false", required: true,
    placeholder: "tk_…", "aria-describedby": `${id}-note` });
  const submit = (event) => {
    event.preventDefault();
    const key = field.value.trim();
    if (key === "") return field.focus();
    signIn(key);
    return entered();
  };
  queueMicrotask(() => field.focus());
  return h("form", { class: "card sign-in", onsubmit: submit, "aria-labelledby": `${id}-title` },
    h("h1", { id: `${id}-title` }, "Sign in"),
    refusal ? h("p", { class: "notice bad", role: "alert" }, refusal) : null,
    h("label", { for: id }, "API key"), field,
    h("p", { class: "muted", id: `${id}-note` },
      "The key stays in this tab and is forgotten when it closes. The service wrote the first one into its state folder."),
    h("button", { type: "submit", class: "main" }, "Sign in"));
}
