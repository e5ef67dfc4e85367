/** Timers that end when the page is left: wait, repeat, debounce. */

export function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}

/** Calls `work` at once and then periodically, never twice at a time, and not while the tab is hidden. */
export async function repeat(work, milliseconds, signal) {
  while (!signal.aborted) {
    if (!document.hidden) await work();
    await pause(milliseconds, signal);
  }
}

/** Debounces: the last of a burst of calls, once there has been silence for a while. */
export function debounced(work, milliseconds) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
}
