/** The tone of a state: good, busy, bad or still. */

const TONES = {
  running: "good", active: "good", closed: "good", done: "good", ready: "good",
  starting: "busy", building: "busy", restarting: "busy", waiting: "busy", "half open": "busy", paused: "busy", expiring: "busy",
  failed: "bad", suspended: "bad", stopped: "bad", open: "bad", dead: "bad", disabled: "bad", unreachable: "bad",
};

export function toneOf(state) {
  return TONES[state] ?? "still";
}
