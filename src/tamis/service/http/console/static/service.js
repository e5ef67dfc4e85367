/** Paths of the API, by purpose. The only module that knows them. */

import { call } from "./api.js";

const path = (...parts) => parts.map(encodeURIComponent).join("/");

export const status = (signal) => call("GET", "status", { signal });

export const subscriptions = (query, signal) => call("GET", "subscriptions", { query, signal });
export const subscription = (id, ticket, signal) => call("GET", path("subscriptions", id), { ticket, signal });
export const subscribe = (body) => call("POST", "subscriptions", { body });
export const change = (id, ticket, body) => call("PATCH", path("subscriptions", id), { ticket, body });
export const renew = (id, ticket, body) => call("POST", path("subscriptions", id, "renew"), { ticket, body });
export const replayFrom = (id, ticket, body) => call("POST", path("subscriptions", id, "replay"), { ticket, body });
export const cancel = (id, ticket) => call("DELETE", path("subscriptions", id), { ticket });
export const activity = (id, ticket, query, signal) =>
  call("GET", path("subscriptions", id, "activity"), { ticket, query, signal });
export const notifications = (id, ticket, query, signal) =>
  call("GET", path("subscriptions", id, "notifications"), { ticket, query, signal });
export const content = (id, ticket, signal) => call("GET", path("subscriptions", id, "content"), { ticket, signal });
export const testSubscription = (id, ticket, event, signal) =>
  call("POST", path("subscriptions", id, "test"), { ticket, body: { event }, signal });
export const streamOf = (id) => path("subscriptions", id, "stream");

export const checkFilter = (filter, signal) => call("POST", "filters/check", { body: { filter }, signal });
export const explainFilter = (filter, event, signal) =>
  call("POST", "filters/explain", { body: { filter, event }, signal });
export const tryFilter = (filter, signal) => call("POST", "filters/try", { body: { filter }, signal });
export const startBacktest = (filter, signal) => call("POST", "backtests", { body: { filter }, signal });
export const backtest = (id, signal) => call("GET", path("backtests", id), { signal });

export const network = (signal) => call("GET", "network", { signal });
export const operators = (signal) => call("GET", "operators", { signal });

export const schema = (signal) => call("GET", "schema", { signal });
export const extendSchema = (body) => call("POST", "schema/extensions", { body });

export const deadLetters = (query, signal) => call("GET", "dead-letters", { query, signal });
export const removeDeadLetter = (id) => call("DELETE", path("dead-letters", id));
export const replay = (id) => call("POST", path("dead-letters", id, "replay"), {});
export const keys = (signal) => call("GET", "keys", { signal });
export const createKey = (body) => call("POST", "keys", { body });
export const revokeKey = (id) => call("DELETE", path("keys", id));
