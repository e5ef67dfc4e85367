/** What could stand at the caret: attributes, operators that fit the attribute, values of its domain. */

import { tokens } from "./tokens.js";

const COMPARISONS = new Set(["=", "!=", "<>", "<", "<=", ">", ">="]);
const ORDER = ["<", "<=", ">", ">=", "BETWEEN"];
const SHOWN = 40;

/** { start, end, options: [{ insert, label, note }], eager }; `eager`: worth showing before a letter is typed. */
export function suggestionsAt(text, caret, schema) {
  const all = tokens(text);
  const here = all.find(({ start, end, kind, text: word }) => start < caret && caret <= end && isOpen(kind, word, caret, end));
  if (here && here.kind === "comment") return null;
  const start = here ? here.start : caret;
  const typed = text.slice(start, caret);
  const before = all.filter(({ end }) => end <= start);
  const { options, eager } = expected(before, schema);
  const found = matching(options, bare(typed)).slice(0, SHOWN);
  if (found.length === 0 || (found.length === 1 && found[0].insert.trim() === typed)) return null;
  return { start, end: here ? here.end : caret, options: found, eager: eager || typed !== "" };
}

/** Whether the caret is in a word that is still being written; a closed string and a sign are not. */
function isOpen(kind, word, caret, end) {
  if (kind === "sign" || kind === "number") return false;
  return kind !== "string" || caret < end || word.length === 1 || !word.endsWith("'");
}

function bare(typed) {
  return typed.replace(/^['"`]/, "").toLowerCase();
}

function matching(options, typed) {
  if (typed === "") return options;
  const lower = (option) => bare(option.label);
  const starting = options.filter((option) => lower(option).startsWith(typed));
  return [...starting, ...options.filter((option) => !lower(option).startsWith(typed) && lower(option).includes(typed))];
}

function expected(before, schema) {
  const last = before.at(-1);
  const previous = before.at(-2);
  const nothing = { options: [], eager: false };
  if (!last) return { options: operands(schema), eager: false };
  if (COMPARISONS.has(last.text) || last.word === "CONTAINS") return values(attributeBefore(before, before.length - 1, schema));
  if (last.word === "BETWEEN") return values(attributeBefore(before, before.length - 1, schema));
  if (last.text === "," || (last.text === "(" && previous?.word === "IN")) return values(listed(before, schema));
  if (last.word === "AND" && isBetween(before)) return nothing;
  if (last.word === "AND" || last.word === "OR" || last.text === "(") return { options: operands(schema), eager: false };
  if (last.word === "NOT") {
    const attribute = previous?.kind === "name" ? schema.named.get(nameOf(previous)) : null;
    return { options: attribute ? negatable(attribute) : operands(schema), eager: false };
  }
  if (last.word === "IS") return { options: words("NULL", "NOT NULL"), eager: true };
  if (last.word === "IN") return { options: [{ insert: "(", label: "(", note: "a list" }], eager: false };
  if (last.kind === "name") return { options: operators(schema.named.get(nameOf(last))), eager: false };
  if (["string", "number"].includes(last.kind) || last.text === ")" || ["NULL", "TRUE", "FALSE"].includes(last.word)) {
    return { options: words("AND ", "OR "), eager: false };
  }
  return nothing;
}

function operands(schema) {
  const attributes = [...schema.named.values()].map(({ name, domain }) =>
    ({ insert: `${written(name)} `, label: name, note: domain }));
  return [...attributes, ...words("NOT ")];
}

function operators(attribute) {
  const order = attribute && (attribute.type === "string" || attribute.type === "boolean" || (attribute.type === "enumerated" && !attribute.ordered))
    ? [] : ORDER;
  const kinds = attribute?.type === "hierarchical" ? { "<=": "is a kind of", "<": "is a strict kind of" } : {};
  const patterns = attribute?.type === "string" ? ["LIKE", "ILIKE", "RLIKE"] : [];
  const several = attribute?.multiple ? ["CONTAINS"] : [];
  const after = attribute?.type === "boolean" ? ["AND", "OR"] : [];
  return ["=", "!=", ...order, ...several, "IN", ...patterns, "IS NULL", "IS NOT NULL", ...after].map((word) =>
    ({ insert: word === "IN" ? "IN (" : `${word} `, label: word, note: kinds[word] ?? "" }));
}

function negatable(attribute) {
  const known = new Set(operators(attribute).map(({ label }) => label));
  return words("IN (", "BETWEEN ", "LIKE ", "ILIKE ", "RLIKE ", "CONTAINS ").filter(({ label }) => known.has(label.replace(" (", "")));
}

function words(...all) {
  return all.map((word) => ({ insert: word, label: word.trim(), note: "" }));
}

function values(attribute) {
  if (!attribute) return { options: [], eager: false };
  if (attribute.type === "boolean") return { options: words("TRUE", "FALSE"), eager: true };
  const options = attribute.values.map(({ value, within }) =>
    ({ insert: `'${value.replaceAll("'", "''")}'`, label: value, note: within.join(" › ") }));
  return { options, eager: true };
}

/** The attribute that the comparison ending at token `at` is about. */
function attributeBefore(before, at, schema) {
  let place = at - 1;
  if (before[place]?.word === "NOT") place -= 1;
  const token = before[place];
  return token?.kind === "name" ? schema.named.get(nameOf(token)) : undefined;
}

/** The attribute before the IN whose list we are in. */
function listed(before, schema) {
  for (let at = before.length - 1; at >= 0; at -= 1) {
    if (before[at].text === ")") return undefined;
    if (before[at].word === "IN") return attributeBefore(before, at, schema);
  }
  return undefined;
}

function isBetween(before) {
  return before.slice(-4).some(({ word }, at, some) => word === "BETWEEN" && at < some.length - 1);
}

function nameOf({ text }) {
  return /^["`]/.test(text) ? text.slice(1, -1) : text;
}

function written(name) {
  return /^[\p{L}_][\p{L}\p{N}_]*(\.[\p{L}_][\p{L}\p{N}_]*)*$/u.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
