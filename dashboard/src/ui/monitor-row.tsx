import './monitor-row.css'
import { memo, useMemo } from 'react'
import { Link } from 'wouter'
import type { Answer } from '../api.ts'
import { agoOf, exactOf, latencyOf, percentOf } from './format.ts'
import { HeartbeatBar } from './heartbeat-bar.tsx'
import { useSeen } from './sight.ts'
import type { Slice } from './slices.ts'
import { Sparkline } from './sparkline.tsx'
import { StateBadge } from './state-badge.tsx'

export type Monitor = Answer<'GET /v1/monitors'>['data'][number]
export type Overview = NonNullable<Monitor['overview']>

export const UPTIMES = ['24h', '7d', '30d', '90d'] as const
const STEP_MS = 300_000

function Uptimes({ uptime }: { uptime: Overview['uptime'] | undefined }) {
  return (
    <dl className="uptime" aria-label="Uptime">
      {UPTIMES.map((window) => {
        const share = uptime?.[window] ?? null
        return (
          <div key={window}>
            <dt>{window}</dt>
            <dd data-short={share !== null && share < 0.99}>{share === null ? '–' : percentOf(share)}</dd>
          </div>
        )
      })}
    </dl>
  )
}

/** What the last five hours looked like. `readAt`: when that was asked for, epoch ms. */
function Recent({ recent, readAt }: { recent: Overview['recent']; readAt: number }) {
  const slices = useMemo(
    () => recent.map(({ status, latency }): Slice => ({ status, note: latency === null ? '' : latencyOf(latency) })),
    [recent]
  )
  const latencies = useMemo(() => recent.map(({ latency }) => latency), [recent])
  const to = (Math.floor(readAt / STEP_MS) + 1) * STEP_MS
  return (
    <>
      <div className="bar">
        <HeartbeatBar slices={slices} label="Last five hours" from={to - recent.length * STEP_MS} to={to} />
      </div>
      <div className="line">
        <Sparkline values={latencies} label="Latency of the last five hours" />
      </div>
    </>
  )
}

interface Options {
  monitor: Monitor
  overview: Overview | undefined
  readAt: number
  picked: boolean
  onPick: (id: string, picked: boolean) => void
}

/** Plain elements, and what is dear only once it is seen: of a thousand rows each component would be felt. */
export const MonitorRow = memo(function MonitorRow({ monitor, overview, readAt, picked, onPick }: Options) {
  const { id, name, target, kind, tags, lastHeartbeatAt } = monitor
  const [row, seen] = useSeen<HTMLLIElement>()
  return (
    <li className="monitor-row" ref={row}>
      <input
        className="pick"
        type="checkbox"
        aria-label={`Select ${name}`}
        checked={picked}
        onChange={(event) => onPick(id, event.currentTarget.checked)}
      />
      <div className="state">
        <StateBadge state={monitor.state} />
      </div>
      <div className="name">
        <Link href={`/monitors/${id}`} className="clip">
          {name}
        </Link>
        <div className="clip quiet">
          {monitor.maintenance !== null ? <span className="maintenance">Maintenance</span> : null}
          {[target ?? kind, ...tags.map((tag) => `#${tag}`)].join(' · ')}
        </div>
      </div>
      {overview === undefined || !seen ? null : <Recent recent={overview.recent} readAt={readAt} />}
      <Uptimes uptime={overview?.uptime} />
      <div className="seen quiet">
        {lastHeartbeatAt === null ? (
          'no heartbeat yet'
        ) : (
          <time dateTime={lastHeartbeatAt} title={exactOf(lastHeartbeatAt)}>
            {agoOf(lastHeartbeatAt, Math.max(Date.now(), Date.parse(lastHeartbeatAt)))}
          </time>
        )}
      </div>
    </li>
  )
})

/** Says once, where there is room for columns, what they are; each row says it for itself to who does not see them. */
export function MonitorColumns() {
  return (
    <div className="monitor-columns" aria-hidden>
      <span className="state">State</span>
      <span className="name">Monitor</span>
      <span className="bar">Last 5 hours</span>
      <span className="line">Latency</span>
      <span className="uptime">
        {UPTIMES.map((window) => (
          <span key={window}>{window}</span>
        ))}
      </span>
      <span className="seen">Last heartbeat</span>
    </div>
  )
}
