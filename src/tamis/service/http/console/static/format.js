/** Formats of numbers, times and durations for people. */

const WHOLE = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const FINE = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
const FINER = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });
const SHORT = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });
const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const CLOCK_SHORT = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const RELATIVE = new Intl.RelativeTimeFormat("en-GB", { numeric: "auto" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const UNKNOWN = "–";

export function count(value) {
  if (!Number.isFinite(value)) return UNKNOWN;
  return Math.abs(value) >= 100000 ? SHORT.format(value) : WHOLE.format(value);
}

export function rate(value) {
  if (!Number.isFinite(value)) return UNKNOWN;
  if (value >= 100000) return SHORT.format(value);
  return (value >= 100 ? WHOLE : value >= 1 || value === 0 ? FINE : FINER).format(value);
}

export function bytes(value) {
  if (!Number.isFinite(value)) return UNKNOWN;
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  return `${FINE.format(value / 1000 ** power)} ${units[power]}`;
}

/** A share from 0 to 1 as a percentage. */
export function share(value) {
  return value === null || !Number.isFinite(value) ? UNKNOWN : `${(value < 0.1 ? FINE : WHOLE).format(100 * value)} %`;
}

/** A duration given in milliseconds. */
export function duration(milliseconds) {
  if (!Number.isFinite(milliseconds)) return UNKNOWN;
  if (milliseconds < 999.5) return `${WHOLE.format(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${FINE.format(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.round((seconds % 86400) / 3600)} h`;
}

export function moment(time) {
  return known(time) ? MOMENT.format(new Date(time)) : UNKNOWN;
}

export function clock(time) {
  return known(time) ? CLOCK.format(new Date(time)) : UNKNOWN;
}

/** The label of an instant on an axis that spans so many milliseconds. */
export function instant(time, span) {
  const date = new Date(time);
  if (span > 4 * 86400e3) return DAY.format(date);
  return (span > 600e3 ? CLOCK_SHORT : CLOCK).format(date);
}

export function fromNow(time, now = Date.now()) {
  if (!known(time)) return UNKNOWN;
  const seconds = Math.round((new Date(time) - now) / 1000);
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? UNITS.at(-1);
  return RELATIVE.format(Math.round(seconds / size), unit);
}

function known(time) {
  return time !== null && time !== undefined && !Number.isNaN(new Date(time).getTime());
}

/** A value of an event in a few characters. */
export function brief(value) {
  if (Array.isArray(value)) return value.map(brief).join(", ");
  if (value !== null && typeof value === "object") return "{…}";
  const text = String(value);
  // What has no blank in so much text is a picture in base64, or another thing that nobody reads.
  const most = /\s/.test(text.slice(0, 60)) ? 60 : 24;
  return text.length > 60 ? `${text.slice(0, most - 1)}…` : text;
}
