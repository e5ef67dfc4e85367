/** API key of this tab: from the address (#key=…) or the sign-in box, kept in sessionStorage, gone with the tab. */

const STORED = "tamis-key";

/** Takes a key out of the address, so that it is in neither the history nor a copied link. */
export function takeKeyFromAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (given === null) return;
  sessionStorage.setItem(STORED, given);
  history.replaceState(null, "", `${location.pathname}${location.search}#/`);
}

export function currentKey() {
  return sessionStorage.getItem(STORED);
}

export function signIn(key) {
  sessionStorage.setItem(STORED, key);
}

export function signOut() {
  sessionStorage.removeItem(STORED);
}
