import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/**
 * Every metric of every process, so that docs and dashboards have one list. A process shows only those it uses.
 * Labels never hold an id: their values are few and known.
 */
export const METRICS = {
  pulsegate_heartbeats_accepted_total: 'Heartbeats accepted by the ingest door, by way in.',
  pulsegate_heartbeats_rejected_total: 'Heartbeats refused by the ingest door, by code.',
  pulsegate_heartbeats_overloaded_total: 'Heartbeats that could not be made durable in time and were not acknowledged.',
  pulsegate_ingest_buffered: 'Heartbeats taken in and not yet durable.',
  pulsegate_ingest_job_seconds: 'Time from handing a job to Redis until it is on disk.',
  pulsegate_gateway_sockets: 'Open agent sockets.',
  pulsegate_gateway_upgrades_refused_total: 'Upgrades refused, by problem code.',
  pulsegate_gateway_closes_total: 'Sockets closed by the gateway, by close code.',
  pulsegate_http_requests_total: 'Answers of the API, by status class.',
  pulsegate_http_request_seconds: 'Time to answer an API request.',
  pulsegate_password_hashes_total: 'Passwords hashed, to be stored or to be compared.',
  pulsegate_worker_rows_total: 'Heartbeats written, by path (copy or merge).',
  pulsegate_worker_skipped_total: 'Heartbeats of monitors deleted before they were written.',
  pulsegate_worker_transitions_total: 'State changes written.',
  pulsegate_worker_group_seconds: 'Time of one transaction of a group of jobs.',
  pulsegate_sweep_seconds: 'Time of one round over passed deadlines.',
  pulsegate_sweep_transitions_total: 'State changes that silence made.',
  pulsegate_sweep_lag_seconds: 'How far deadlines are judged behind now; heartbeats that wait hold it back.',
  pulsegate_worker_deliveries_total: 'Tries to deliver an alert, by outcome.',
  pulsegate_queue_jobs: 'Jobs in the ingest queues, by state; failed are the dead letters.'
} as const
export type MetricName = keyof typeof METRICS

export interface Metrics {
  counter(name: MetricName, label?: string): Counter<string>
  gauge(name: MetricName, label?: string): Gauge<string>
  /** Buckets in seconds, 1 ms to 10 s. */
  histogram(name: MetricName): Histogram<string>
  /** The Prometheus text format. */
  text(): Promise<string>
  readonly contentType: string
}

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const base = (name: MetricName, label?: string) => ({
    name,
    help: METRICS[name],
    registers: [registry],
    ...(label === undefined ? {} : { labelNames: [label] })
  })
  return {
    counter: (name, label) => new Counter(base(name, label)),
    gauge: (name, label) => new Gauge(base(name, label)),
    histogram: (name) => new Histogram({ ...base(name), buckets: BUCKETS }),
    text: () => registry.metrics(),
    contentType: registry.contentType
  }
}
