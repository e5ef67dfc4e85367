/** Requests to the API and their errors. Paths are relative to the page, so a prefix does no harm. */

import { currentKey } from "./session.js";

const ROOT = new URL("../v1/", document.baseURI);

/** Error answer (application/problem+json); status 0 where there was no answer at all. */
export class Problem extends Error {
  constructor(status, { title = "", detail = "", errors = [] } = {}) {
    super(wording(detail) || title || `The service answered ${status}.`);
    this.status = status;
    this.errors = Array.isArray(errors) ? errors : [];
  }

  get needsKey() {
    return this.status === 401 || this.status === 403;
  }
}

function wording(detail) {
  if (Array.isArray(detail)) return detail.map((part) => part.msg ?? String(part)).join("; ");
  return typeof detail === "string" ? detail : "";
}

export function address(path, query = {}) {
  const url = new URL(path, ROOT);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

export function credentials(ticket) {
  const headers = {};
  const key = currentKey();
  if (key) headers.Authorization = `Bearer ${key}`;
  if (ticket) headers["Tamis-Ticket"] = ticket;
  return headers;
}

export async function call(method, path, { query, body, ticket, signal } = {}) {
  const headers = { Accept: "application/json", ...credentials(ticket) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(address(path, query), {
      method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store", credentials: "omit",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { detail: "The service does not answer. It may be restarting." });
  }
  return read(answer);
}

/** The JSON of an answer, or a Problem. */
export async function read(answer) {
  const text = await answer.text();
  let content = null;
  try {
    content = text === "" ? null : JSON.parse(text);
  } catch {
    if (answer.ok) throw new Problem(answer.status, { detail: "The service's answer is no JSON." });
  }
  if (!answer.ok) throw new Problem(answer.status, content ?? { detail: text.slice(0, 300) });
  return content;
}

/** True if an error only says that the page was left meanwhile. */
export function isLeaving(error) {
  return error?.name === "AbortError";
}
