/** What one sender of the fleet knows: its key and the monitors that it reports. */
export interface Sender {
  apiKey: string
  monitorIds: string[]
}

/** Orders for one run of `load-generator.ts`, given as JSON in its only argument. */
export interface LoadPlan {
  port: number
  /** The certificate to trust where the server speaks TLS, or null where it does not. */
  caFile: string | null
  /** File with `Sender[]` as JSON; `connections` of them are used, from `firstSender` on. */
  fleetFile: string
  firstSender: number
  connections: number
  /** `closed`: each connection keeps `window` frames unacknowledged. `open`: `rate` frames a second whatever happens. */
  loop: 'closed' | 'open' | 'idle'
  window: number
  itemsPerFrame: number
  /** Frames a second over all connections; open loop only. */
  rate: number
  durationMs: number
  /** Latencies of the first milliseconds are thrown away: code is compiled, connections are new. */
  settleMs: number
  /** False for the bare server, which answers every frame and knows no hello. */
  hello: boolean
}

/** What the load generator prints on stdout, one JSON object a line. */
export type LoadEvent =
  | { event: 'connected'; milliseconds: number; reopened: number }
  | ({ event: 'done' } & LoadResult)

export interface LoadResult {
  /** Heartbeats acknowledged while the load ran, per second. */
  ackedPerSecond: number
  /** All heartbeats acknowledged, those after the end of the load included. */
  acked: number
  /** Heartbeats sent and never acknowledged; anything but 0 spoils the run. */
  unacked: number
  rejected: number
  /** Sockets that ended before their welcome and were opened again. */
  reopened: number
  /** Milliseconds from the time a frame was due (open) or written (closed) to its acknowledgement. */
  p50: number
  p99: number
  /** The same from the time the frame was written: without the generator's own delay. */
  p99SinceWritten: number
  /** Epoch milliseconds of the first frame. */
  startedAt: number
  /** Share of one core that the generator used while the load ran. */
  cpuShare: number
}
