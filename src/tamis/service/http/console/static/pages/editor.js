/** Filter editor: checked while typing, tried on recent events, backtested, and then created as a subscription. */

import { isLeaving } from "../api.js";
import { h, put } from "../dom.js";
import { Backtest } from "../editor/backtest.js";
import { Checking } from "../editor/checking.js";
import { Completion } from "../editor/completion.js";
import { FilterField } from "../editor/filter_field.js";
import { SwitchingOn } from "../editor/switching_on.js";
import { Trial } from "../editor/trial.js";
import { debounced } from "../pause.js";
import { SchemaView } from "../schema_view.js";
import { operators as askOperators, schema as askSchema, subscription } from "../service.js";

const DRAFT = "tamis-draft";
const TRIED_AFTER = 400;

export async function showEditor(container, place, signal) {
  const trial = new Trial();
  const backtest = new Backtest(signal);
  const switchingOn = new SwitchingOn(() => field.area.focus());
  const tryIt = debounced(() => { if (!signal.aborted) trial.run(); }, TRIED_AFTER);

  const changed = () => {
    sessionStorage.setItem(DRAFT, field.text);
    checking.textChanged();
  };
  const field = new FilterField({ id: "filter", describedBy: "verdict", changed });
  const checking = new Checking(field, "verdict", (text, kind) => {
    const valid = kind === null ? null : text;
    trial.offer(valid, kind === "operator");
    backtest.offer(valid);
    switchingOn.offer(valid, kind);
    // Operators may be dear: they are called when somebody says so.
    if (kind === "filter" || kind === "join") tryIt();
  });
  const completion = new Completion(field, "suggestions");

  put(container, h("h1", {}, "Filter editor"),
    h("section", { class: "card filter-card" },
      h("label", { for: "filter", class: "card-title" }, "Filter"), field.element, checking.element),
    h("div", { class: "columns" }, trial.element, h("div", { class: "stack" }, backtest.element, switchingOn.element)));

  const begin = await beginning(place, signal);
  if (begin) field.text = begin;
  try {
    const [schema, operators] = await Promise.all([askSchema(signal), askOperators(signal)]);
    completion.schema = new SchemaView(schema, operators.items);
  } catch (error) {
    // The editor is of use without suggestions.
    if (isLeaving(error)) throw error;
  }
}

/** Initial text: that of a subscription which the address names, else the last draft. */
async function beginning(place, signal) {
  const from = place.query.get("from");
  if (!from) return sessionStorage.getItem(DRAFT) ?? "";
  const found = await subscription(from, null, signal);
  return found.filter;
}
