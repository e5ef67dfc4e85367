/** Tokens of a filter's text, for colouring and completion. Their meaning is the service's business. */

export const WORDS = new Set(["AND", "BETWEEN", "CONTAINS", "ESCAPE", "FALSE", "ILIKE", "IN", "IS", "LIKE", "NOT", "NULL",
  "OR", "REGEXP", "RLIKE", "TIMESTAMP", "TRUE"]);

const JOIN_WORDS = new Set([...WORDS, "AS", "FROM", "INNER", "JOIN", "NATURAL", "ON", "SELECT", "USING", "WHERE"]);

const PARTS = [
  ["comment", /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/],
  ["string", /'(?:[^']|'')*(?:'|$)/],
  ["name", /"(?:[^"]|"")*(?:"|$)|`(?:[^`]|``)*(?:`|$)/],
  ["name", /[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}\p{N}_]*)*/],
  ["variable", /\?[\p{L}_][\p{L}\p{N}_]*/],
  ["number", /\d+(?:\.\d*)?(?:[eE][+-]?\d+)?/],
  ["sign", /<=|>=|<>|!=|[=<>(),+\-*/?]/],
  ["other", /[^\s]/],
];
const ANY = new RegExp(PARTS.map(([, part]) => `(${part.source})`).join("|"), "gu");

/** [{ kind, start, end, text, word }]; `word` is the language's own word in capitals, or null. */
export function tokens(text) {
  const words = /^\s*SELECT\b/i.test(text) ? JOIN_WORDS : WORDS;
  return Array.from(text.matchAll(ANY), (match) => {
    const at = match.slice(1).findIndex((group) => group !== undefined);
    const found = match[0];
    const word = PARTS[at][0] === "name" && words.has(found.toUpperCase()) ? found.toUpperCase() : null;
    return { kind: word ? "word" : PARTS[at][0], start: match.index, end: match.index + found.length, text: found, word };
  });
}

/** The service counts characters; the browser counts UTF-16 units, of which some characters have two. */
export function unitsOf(text, characters) {
  let units = 0;
  for (const character of text) {
    if (characters <= 0) break;
    characters -= 1;
    units += character.length;
  }
  return units;
}
