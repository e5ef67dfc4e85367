/** Waiting that ends early when the page is left, and doing something again and again until then. */

export function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}

/** Calls `work` at once and then every so often, never twice at a time, and not while nobody looks at the tab. */
export async function repeat(work, milliseconds, signal) {
  while (!signal.aborted) {
    if (!document.hidden) await work();
    await pause(milliseconds, signal);
  }
}

/** The last of a burst of calls, once there has been silence for so long. */
export function debounced(work, milliseconds) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
}
