/** Names of subscriptions, fetched once each; the id where there is no name or no answer. */

import { subscription } from "./service.js";

const KEPT = 500;
const names = new Map();

export function nameOf(id) {
  if (!names.has(id)) {
    if (names.size >= KEPT) names.delete(names.keys().next().value);
    names.set(id, subscription(id).then((found) => found.label || id, () => id));
  }
  return names.get(id);
}
