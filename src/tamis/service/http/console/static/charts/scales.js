/** Scales of a chart: values to positions, and the round numbers of an axis. */

export function linear(from, to, start, end) {
  const span = to - from || 1;
  return (value) => start + ((value - from) / span) * (end - start);
}

/** About `wanted` round numbers from 0 to the first one that is no less than `most`. */
export function ticks(most, wanted = 4) {
  const top = most > 0 ? most : 1;
  const rough = top / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let at = 0; at < top + step * 0.999; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

/** Evenly spread instants between two, as many as fit a drawing so wide. */
export function instants(from, to, width) {
  const parts = Math.max(1, Math.min(6, Math.floor(width / 110)));
  return Array.from({ length: parts + 1 }, (_, at) => from + ((to - from) * at) / parts);
}
