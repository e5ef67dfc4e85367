/** Suggestions at the caret: attributes, operators that fit the attribute, values of its domain. */

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

/** True if the caret is in a word that is still being written; a closed string and a sign are not. */
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
  if (!last) return { options: operands(schema, before), eager: false };
  if (before[0].word === "SELECT") {
    const where = before.findIndex(({ word }) => word === "WHERE");
    return where < 0 ? inHead(last, previous, schema) : expected(before.slice(where + 1), schema);
  }
  const call = callAround(before, schema);
  if (call) return argumentsOf(call, last);
  if (COMPARISONS.has(last.text) || last.word === "CONTAINS") return values(attributeBefore(before, before.length - 1, schema));
  if (last.word === "BETWEEN") return values(attributeBefore(before, before.length - 1, schema));
  if (last.text === "," || (last.text === "(" && previous?.word === "IN")) return values(listed(before, schema));
  if (last.word === "AND" && isBetween(before)) return nothing;
  if (last.word === "AND" || last.word === "OR" || last.text === "(") return { options: operands(schema, before), eager: false };
  if (last.word === "NOT") {
    const attribute = previous?.kind === "name" ? schema.named.get(nameOf(previous)) : null;
    return { options: attribute ? negatable(attribute) : operands(schema, before), eager: false };
  }
  if (last.word === "IS") return { options: words("NULL", "NOT NULL"), eager: true };
  if (last.word === "IN") return { options: [{ insert: "(", label: "(", note: "a list" }], eager: false };
  if (last.kind === "variable") return { options: compared(), eager: false };
  if (last.kind === "name" && schema.operators.has(last.text)) return { options: words("("), eager: false };
  if (last.kind === "name") return { options: operators(schema.named.get(nameOf(last))), eager: false };
  if (["string", "number"].includes(last.kind) || last.text === ")" || ["NULL", "TRUE", "FALSE"].includes(last.word)) {
    return { options: words("AND ", "OR "), eager: false };
  }
  return nothing;
}

/** Before the WHERE of a join. */
function inHead(last, previous, schema) {
  const tables = Object.keys(schema.tables).map((name) => ({ insert: `${name} `, label: name, note: "table" }));
  if (last.word === "SELECT") return { options: words("* FROM "), eager: false };
  if (last.word === "FROM" || last.word === "JOIN") return { options: tables, eager: true };
  if (previous?.word === "FROM" || last.text === ")") return { options: words("JOIN ", "WHERE "), eager: false };
  if (previous?.word === "JOIN") return { options: words("USING ("), eager: false };
  if (last.text === "(" || last.text === ",") {
    const shared = [...new Set(Object.values(schema.tables).flatMap((table) => table?.join ?? []))];
    return { options: shared.map((name) => ({ insert: name, label: name, note: "joins tables" })), eager: true };
  }
  return { options: [], eager: false };
}

/** The operator whose call we are in, and the number of the argument; null if we are in none. */
function callAround(before, schema) {
  let depth = 0;
  let argument = 0;
  for (let at = before.length - 1; at > 0; at -= 1) {
    const { text } = before[at];
    if (text === ")") depth += 1;
    else if (text === "(" && depth > 0) depth -= 1;
    else if (text === "(") {
      const operator = before[at - 1].kind === "name" ? schema.operators.get(before[at - 1].text) : undefined;
      return operator ? { operator, argument } : null;
    } else if (text === "," && depth === 0) argument += 1;
  }
  return null;
}

/** Values for an argument: those that the operator knows, or a variable. */
function argumentsOf({ operator, argument }, last) {
  const { parameters } = operator;
  const parameter = parameters[argument] ?? (parameters.at(-1)?.repeated ? parameters.at(-1) : undefined);
  if (last.text !== "(" && last.text !== ",") {
    const more = argument + 1 < parameters.length || parameters.at(-1)?.repeated;
    return { options: words(...(more ? [", "] : []), ") "), eager: false };
  }
  if (!parameter) return { options: words(") "), eager: false };
  const values = parameter.choices.map((value) => ({ insert: quoted(value), label: value, note: parameter.name }));
  const variable = parameter.variable ? [{ insert: `?${parameter.name}`, label: `?${parameter.name}`, note: `binds ${parameter.kind}` }] : [];
  const left = parameter.optional || parameter.variable ? [{ insert: ") ", label: ")", note: "left out" }] : [];
  return { options: [...variable, ...values, ...left], eager: true };
}

function compared() {
  return ["=", "!=", ...ORDER, "IN"].map((word) => ({ insert: word === "IN" ? "IN (" : `${word} `, label: word, note: "" }));
}

function quoted(value) {
  return `'${value.replaceAll("'", "''")}'`;
}

function operands(schema, before) {
  const called = [...schema.operators.values()].map(({ name, parameters }) =>
    ({ insert: `${name}(`, label: `${name}(`, note: parameters.map((each) => (each.variable ? `?${each.name}` : each.name)).join(", ") || "operator" }));
  const bound = [...new Set(before.filter(({ kind }) => kind === "variable").map(({ text }) => text))].map((text) =>
    ({ insert: `${text} `, label: text, note: "variable" }));
  const attributes = [...schema.named.values()].map(({ name, domain }) =>
    ({ insert: `${written(name)} `, label: name, note: domain }));
  return [...bound, ...attributes, ...called, ...words("NOT ")];
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
    ({ insert: quoted(value), label: value, note: within.join(" › ") }));
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
