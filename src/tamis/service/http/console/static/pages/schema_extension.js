/** Schema extension: an attribute, an event type, or any extension as JSON. Extensions only add. */

import { h, put } from "../dom.js";
import { announce } from "../parts/announcer.js";
import { extendSchema } from "../service.js";

const NEW_LIST = "a new list of values";

/** The extension that adds one attribute. */
export function attributeExtension({ name, domain, values, types, multiple }) {
  const definition = domain === NEW_LIST ? { type: "enumerated", values } : domain;
  const given = multiple ? ["optional", "multiple"] : "optional";
  return {
    attributes: { [name]: definition },
    optional: Object.fromEntries(types.map((type) => [type, { [name]: given }])),
  };
}

/** `done()` is called when the schema is extended. */
export function extensionForm(view, done) {
  const trouble = h("div", { "aria-live": "assertive" });
  const fields = h("div", {});
  const kinds = { attribute: attributeFields(view), type: typeFields(view), json: jsonFields() };
  let kind = "attribute";
  const choose = (next) => () => {
    kind = next;
    put(fields, kinds[kind].element);
  };
  put(fields, kinds[kind].element);
  const radio = (value, name) => h("label", { class: "segment" },
    h("input", { type: "radio", name: "extension", value, checked: value === kind, onchange: choose(value) }), h("span", {}, name));

  async function submit(event) {
    event.preventDefault();
    put(trouble);
    try {
      await extendSchema(kinds[kind].read());
      announce("Schema extended");
      done();
    } catch (error) {
      put(trouble, h("p", { class: "notice bad" }, error.message));
    }
  }
  return h("section", { class: "card", "aria-labelledby": "extend-title" },
    h("h2", { id: "extend-title" }, "Extend"),
    h("p", { class: "muted" }, "An extension only adds: every event and subscription stays valid. It cannot be undone. For administrators."),
    h("form", { onsubmit: submit },
      h("fieldset", { class: "segments" }, h("legend", {}, "What to add"),
        radio("attribute", "Attribute"), radio("type", "Event type"), radio("json", "JSON")),
      fields, trouble,
      h("div", { class: "buttons" }, h("button", { type: "submit", class: "main" }, "Extend the schema"))));
}

function attributeFields(view) {
  const name = h("input", { id: "attribute-name", required: true, autocomplete: "off", placeholder: "material" });
  const values = h("input", { id: "attribute-values", autocomplete: "off", placeholder: "oak, walnut, pine" });
  const listed = h("div", { class: "field", hidden: true }, h("label", { for: "attribute-values" }, "Values, comma-separated"), values);
  const domain = h("select", { id: "attribute-domain", onchange: () => { listed.hidden = domain.value !== NEW_LIST; } },
    [...view.domainNames, NEW_LIST].map((each) => h("option", { value: each, selected: each === "string" }, each)));
  const multiple = h("input", { type: "checkbox" });
  const boxes = Object.keys(view.types).map((type) => h("input", { type: "checkbox", value: type, checked: true }));
  return {
    element: h("div", {},
      h("div", { class: "row" },
        h("div", { class: "field grow" }, h("label", { for: "attribute-name" }, "Name"), name),
        h("div", { class: "field grow" }, h("label", { for: "attribute-domain" }, "Domain"), domain)),
      listed,
      h("fieldset", {}, h("legend", {}, "Event types that may have it"),
        boxes.map((box) => h("label", { class: "tick-box" }, box, box.value))),
      h("label", { class: "tick-box" }, multiple, "An event may have several values")),
    read: () => attributeExtension({
      name: name.value.trim(), domain: domain.value, multiple: multiple.checked,
      values: values.value.split(",").map((value) => value.trim()).filter(Boolean),
      types: boxes.filter((box) => box.checked).map((box) => box.value),
    }),
  };
}

function typeFields(view) {
  const name = h("input", { id: "type-name", required: true, autocomplete: "off", placeholder: "sculptures" });
  const choices = view.attributes.map((attribute) => [attribute.name, h("select", { id: `of-type-${attribute.name}` },
    ["absent", "optional", "mandatory"].map((each) => h("option", { value: each }, each)))]);
  return {
    element: h("div", {},
      h("div", { class: "field" }, h("label", { for: "type-name" }, "Name"), name),
      h("fieldset", {}, h("legend", {}, "Attributes"), h("div", { class: "pairs" }, choices.map(([attribute, select]) =>
        h("div", { class: "pair-field" }, h("label", { for: select.id }, h("code", {}, attribute)), select))))),
    read: () => ({
      event_types: { [name.value.trim()]: Object.fromEntries(choices.filter(([, select]) => select.value !== "absent")
        .map(([attribute, select]) => [attribute, view.named.get(attribute).multiple ? [select.value, "multiple"] : select.value])) },
    }),
  };
}

function jsonFields() {
  const field = h("textarea", { id: "extension-json", rows: 6, class: "code", spellcheck: "false",
    placeholder: '{"domains": {}, "attributes": {}, "event_types": {}, "optional": {}}' });
  return {
    element: h("div", { class: "field" }, h("label", { for: "extension-json" }, "Extension as JSON"), field),
    read: () => JSON.parse(field.value),
  };
}
