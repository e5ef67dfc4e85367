/**
 * Server-sent events by fetch, because EventSource cannot send an Authorization header.
 * Reconnects with a growing pause and Last-Event-ID; ends when `signal` is aborted or the service refuses.
 * A console observes: its reads do not count as delivered.
 */

import { Problem, address, credentials, isLeaving, read } from "./api.js";
import { pause } from "./pause.js";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15000;

/** `on.event(data, id)` for each event, `on.state("live" | "reconnecting")`, `on.refused(problem)` at the end. */
export async function follow(path, { query, ticket, signal }, on) {
  let lastId = null;
  let wait = FIRST_PAUSE;
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream", ...credentials(ticket) };
      if (lastId !== null) headers["Last-Event-ID"] = lastId;
      const answer = await fetch(address(path, { ...query, observe: true }), { headers, signal, cache: "no-store", credentials: "omit" });
      if (!answer.ok) await read(answer);
      on.state("live");
      wait = FIRST_PAUSE;
      for await (const event of events(answer.body)) {
        if (event.id !== null) lastId = event.id;
        if (event.data !== "") on.event(event.data, event.id, event.name);
      }
    } catch (error) {
      if (isLeaving(error) || signal.aborted) return;
      if (error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429) {
        on.refused(error);
        return;
      }
    }
    on.state("reconnecting");
    await pause(wait * (0.75 + Math.random() / 2), signal);
    wait = Math.min(wait * 2, LONGEST_PAUSE);
  }
}

/** The events of a byte stream; a blank line ends one, and an event cut off by the stream's end is dropped. */
export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let event = { id: null, name: "message", lines: [] };
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line === "") {
          yield { id: event.id, name: event.name, data: event.lines.join("\n") };
          event = { id: null, name: "message", lines: [] };
        } else takeLine(event, line);
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function takeLine(event, line) {
  const colon = line.indexOf(":");
  const field = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (field === "data") event.lines.push(value);
  else if (field === "id") event.id = value;
  else if (field === "event") event.name = value;
}
