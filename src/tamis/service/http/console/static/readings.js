/** Samples of GET /v1/status in the form that the console draws. Unknown numbers are null. */

export function reading(answer, at) {
  const { rates, latency, pipeline } = answer;
  return {
    at,
    state: pipeline.state,
    published: rates.published,
    matched: rates.matched,
    delivered: rates.delivered,
    p50: latency.p50,
    p99: latency.p99,
    lag: answer.lag.events,
    subscriptions: answer.subscriptions,
    deadLetters: answer.dead_letters,
    log: answer.log,
    pipeline,
    delivery: answer.delivery,
    schemaVersion: answer.schema_version,
    version: answer.version,
    uptime: answer.uptime_seconds,
  };
}
