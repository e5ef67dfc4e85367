/**
 * Samples of the service's status, polled every two seconds and kept for ten minutes, whichever page is shown.
 * `samples` holds the newest last; pages that draw them listen for "sample" on `pulse`.
 */

import { repeat } from "./pause.js";
import { reading } from "./readings.js";
import { put } from "./dom.js";
import { status } from "./service.js";

const INTERVAL = 2000;
const KEPT = 300;

export const pulse = new EventTarget();
export const samples = [];

/** The newest sample, or null. */
export function latest() {
  return samples.at(-1) ?? null;
}

/** Polls the status; resolves to true if access is granted. `refused` is called when it is denied, then or later. */
export async function startPulse(label, refused) {
  const ending = new AbortController();
  const beat = async () => {
    const problem = await ask(label, ending.signal);
    if (!problem?.needsKey) return;
    ending.abort();
    refused(problem);
  };
  await beat();
  repeat(beat, INTERVAL, ending.signal);
  return !ending.signal.aborted;
}

async function ask(label, signal) {
  try {
    const answer = await status(signal);
    samples.push(reading(answer, Date.now()));
    if (samples.length > KEPT) samples.shift();
    show(label, latest().state);
    pulse.dispatchEvent(new Event("sample"));
    return null;
  } catch (problem) {
    show(label, problem.needsKey ? "signed out" : "unreachable");
    pulse.dispatchEvent(new Event("silence"));
    return problem;
  }
}

function show(label, state) {
  if (label.dataset.state === state) return;
  label.dataset.state = state;
  put(label, state);
}
