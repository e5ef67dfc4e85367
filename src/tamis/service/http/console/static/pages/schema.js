/** Page of the schema: event types with their attributes, and the domains with their values. */

import { currentKey } from "../session.js";
import { h, put } from "../dom.js";
import { count } from "../format.js";
import { announce } from "../parts/announcer.js";
import { badge, empty } from "../parts/states.js";
import { facts, table } from "../parts/tables.js";
import { SchemaView, annotation, valuesOf } from "../schema_view.js";
import { schema as askSchema } from "../service.js";
import { extensionForm } from "./schema_extension.js";

const COLUMNS = [["Attribute"], ["Domain"], ["Presence"]];

export async function showSchema(container, place, signal) {
  const view = new SchemaView(await askSchema(signal));
  const find = h("input", { id: "find", type: "search", placeholder: "Attribute, type or value", oninput: () => draw() });
  const shown = h("div", { class: "stack" });

  const draw = () => {
    const wanted = find.value.trim().toLowerCase();
    const has = (...words) => wanted === "" || words.some((word) => word.toLowerCase().includes(wanted));
    const types = Object.entries(view.types).map(([name, attributes]) =>
      [name, Object.entries(attributes).filter(([attribute]) => has(name, attribute))])
      .filter(([name, attributes]) => attributes.length || has(name));
    const domains = Object.entries(view.domains).filter(([name, domain]) =>
      has(name, ...valuesOf(domain).map(({ value }) => value)));
    put(shown, h("div", { class: "halves" }, types.map(([name, attributes]) => typeCard(name, attributes, view))),
      domains.map(([name, domain]) => domainCard(name, domain)),
      types.length + domains.length === 0 ? empty("No match in the schema.") : null);
    if (wanted) announce(`${types.length} event types and ${domains.length} domains`);
  };

  put(container,
    h("div", { class: "page-head" }, h("h1", {}, "Schema"),
      view.version === null ? null : h("span", { class: "muted" }, `version ${view.version}`)),
    h("div", { class: "search" }, h("div", { class: "field grow" }, h("label", { for: "find" }, "Find"), find)),
    shown,
    currentKey() === null ? null : extensionForm(view, () => showSchema(container, place, signal)));
  draw();
}

function typeCard(name, attributes, view) {
  const rows = attributes.map(([attribute, given]) => {
    const { mandatory, multiple } = annotation(given);
    const domain = view.named.get(attribute)?.domain ?? "";
    return [
      h("code", {}, attribute),
      domain in view.domains ? h("a", { href: "#/schema", onclick: (event) => reveal(event, domain) }, domain) : domain,
      [mandatory ? badge("mandatory", "good") : "optional", multiple ? ", several values" : ""],
    ];
  });
  return h("section", { class: "card", "aria-labelledby": `type-${name}` },
    h("div", { class: "card-head" }, h("h2", { id: `type-${name}` }, name),
      h("span", { class: "muted" }, `${name in view.tables ? "table" : "event type"}, ${count(rows.length)} attributes`)),
    name in view.tables ? tableFacts(view.tables[name] ?? {}) : null,
    rows.length ? table(`Attributes of ${name}`, COLUMNS, rows) : empty("No attributes of its own."));
}

/** Key, join attributes and retention of a table. */
function tableFacts({ key, join, retention }) {
  const kept = retention?.count ? `the latest ${count(retention.count)} rows` : retention?.window ? `rows within ${retention.window} by ${retention.by}` : "all rows";
  return facts([
    ["Key", key?.length ? h("code", {}, key.join(", ")) : "none (append-only)"],
    ["Joined by", join?.length ? h("code", {}, join.join(", ")) : null],
    ["Retention", kept],
  ]);
}

/** The domain's card; the fragment names the page, so the link goes there itself. */
function reveal(event, domain) {
  event.preventDefault();
  const card = document.getElementById(`domain-${domain}`);
  card?.scrollIntoView({ block: "start" });
  card?.focus({ preventScroll: true });
}

function domainCard(name, domain) {
  const values = valuesOf(domain);
  return h("section", { class: "card", "aria-labelledby": `domain-${name}` },
    h("div", { class: "card-head" }, h("h2", { id: `domain-${name}`, tabindex: "-1" }, name),
      h("span", { class: "muted" }, `${domain.type}, ${count(values.length)} values`)),
    domain.type === "hierarchical" ? tree(domain.tree) : chips(domain));
}

function chips({ values = [], order }) {
  return [
    h("ul", { class: "chips" }, values.map((value) => h("li", {}, h("code", {}, value)))),
    order?.length ? h("p", { class: "muted" }, "In order: ", chains(order)) : null,
  ];
}

/** Pairs [smaller, larger] as chains: A < B, B < C is A < B < C. */
function chains(order) {
  return order.reduce((text, [less, more], at) => {
    if (at === 0) return `${less} < ${more}`;
    return order[at - 1][1] === less ? `${text} < ${more}` : `${text}, ${less} < ${more}`;
  }, "");
}

function tree(nodes) {
  return h("ul", { class: "tree" }, Object.entries(nodes).map(([name, below]) => h("li", {},
    Object.keys(below ?? {}).length
      ? h("details", { open: true }, h("summary", {}, h("code", {}, name)), tree(below))
      : h("code", {}, name))));
}
