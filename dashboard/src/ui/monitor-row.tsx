import './monitor-row.css'
import { memo, useMemo } from 'react'
import { Link } from 'wouter'
import type { Answer } from '../api.ts'
import { agoOf, exactOf, percentOf } from './format.ts'
import { HeartbeatBar } from './heartbeat-bar.tsx'
import { inWords } from './slices.ts'
import { Sparkline } from './sparkline.tsx'
import { StateBadge } from './state-badge.tsx'

export type Monitor = Answer<'GET /v1/monitors'>['data'][number]
export type Overview = NonNullable<Monitor['overview']>

const WINDOWS = ['24h', '7d', '30d', '90d'] as const

function Uptimes({ uptime }: { uptime: Overview['uptime'] | undefined }) {
  return (
    <dl className="uptime" aria-label="Uptime">
      {WINDOWS.map((window) => {
        const share = uptime?.[window] ?? null
        return (
          <div key={window}>
            <dt>{window}</dt>
            <dd>{share === null ? '–' : percentOf(share)}</dd>
          </div>
        )
      })}
    </dl>
  )
}

/** What the last five hours looked like; the space is kept until it is known. */
function Recent({ recent }: { recent: Overview['recent'] | undefined }) {
  const slices = useMemo(() => recent?.map(({ status }) => status) ?? [], [recent])
  const latencies = useMemo(() => recent?.map(({ latency }) => latency) ?? [], [recent])
  if (recent === undefined) return null
  return (
    <>
      <div className="bar">
        <HeartbeatBar slices={slices} label={`Last five hours: ${inWords(slices)} spans of five minutes`} />
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
  picked: boolean
  onPick: (id: string, picked: boolean) => void
}

/** Plain elements: of a thousand rows each component would be felt. */
export const MonitorRow = memo(function MonitorRow({ monitor, overview, picked, onPick }: Options) {
  const { id, name, target, kind, tags, lastHeartbeatAt } = monitor
  return (
    <li className="monitor-row">
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
        <div className="clip quiet">{[target ?? kind, ...tags.map((tag) => `#${tag}`)].join(' · ')}</div>
      </div>
      <Recent recent={overview?.recent} />
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
