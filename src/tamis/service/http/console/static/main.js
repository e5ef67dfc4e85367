/** Entry point of the console: key, theme, pages, sign-in box. */

import { currentKey, signOut, takeKeyFromAddress } from "./session.js";
import { startThemeSwitch } from "./theme.js";
import { startPulse } from "./pulse.js";
import { Places } from "./places.js";
import { signInBox } from "./parts/sign_in.js";
import { showOverview } from "./pages/overview.js";
import { showSubscriptions } from "./pages/subscriptions.js";
import { showEditor } from "./pages/editor.js";
import { showOperators } from "./pages/operators.js";
import { showSchema } from "./pages/schema.js";
import { showNetwork } from "./pages/network.js";
import { showHealth } from "./pages/health.js";

const element = (id) => document.getElementById(id);

takeKeyFromAddress();
startThemeSwitch(element("theme"));

const places = new Places(element("main"), element("places"), {
  "": { title: "Overview", label: "Overview", show: showOverview },
  subscriptions: { title: "Subscriptions", label: "Subscriptions", show: showSubscriptions },
  editor: { title: "Filter editor", label: "Editor", show: showEditor },
  operators: { title: "Operators", label: "Operators", show: showOperators },
  schema: { title: "Schema", label: "Schema", show: showSchema },
  network: { title: "Network", label: "Network", show: showNetwork },
  health: { title: "Delivery and health", label: "Health", show: showHealth },
});

element("skip").addEventListener("click", (event) => {
  // The fragment names the page, so the link moves the focus itself.
  event.preventDefault();
  element("main").focus();
});

const askForKey = (problem) => places.replace(signInBox(problem, () => location.reload()));

element("sign").textContent = currentKey() === null ? "Sign in" : "Sign out";
element("sign").addEventListener("click", () => {
  if (currentKey() === null) return askForKey(null);
  signOut();
  return location.reload();
});

addEventListener("hashchange", () => {
  if (!new URLSearchParams(location.hash.slice(1)).has("key")) return;
  takeKeyFromAddress();
  location.reload();
});

const shutOut = (problem) => {
  element("places").hidden = true;
  askForKey(problem);
};

if (await startPulse(element("pulse"), shutOut)) places.start();
