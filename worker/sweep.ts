import type { Database } from '../shared/db.ts'
import type { Log } from '../shared/log.ts'
import type { Metrics } from '../shared/metrics.ts'
import { type AgentPresence, lastSeenOf, readPresence } from '../shared/presence.ts'
import type { IngestQueue } from '../shared/queue.ts'
import type { RedisClient } from '../shared/redis.ts'
import {
  type DueRow,
  dropVotes,
  type Judgement,
  listAgentsOf,
  listDue,
  putOffChecks,
  settleDue
} from '../shared/store/deadlines.ts'
import { deleteOldRuns, listOpenRuns, noteHungRuns } from '../shared/store/monitor-runs.ts'
import { recordAlerts } from '../shared/store/outbox.ts'
import type { LivePublisher } from './live.ts'
import { keepOutages, paintNextOutage } from './outages.ts'
import { type Horizon, judgeSilence, type Quiet } from './silence.ts'
import { judgeVotes, type VoteVerdict } from './votes.ts'
import { readWatermark } from './watermark.ts'

export interface SweepDeps {
  db: Database
  /** Who watches is told; absent: nobody is. */
  live?: LivePublisher
  client: RedisClient
  prefix: string
  queue: IngestQueue
  metrics: Metrics
  log: Log
  clock: () => number
}

export interface Swept {
  /** Up to where silence was judged; null: not at all, for no heartbeat can get in. */
  watermark: number | null
  judged: number
  transitions: number
}

/** Rows in one statement. */
const BATCH = 2000
/** A round ends after this long; the next goes on. */
const ROUND_MS = 5000
const RUNS_KEPT_MS = 86_400_000
/** Ended runs are forgotten once in so many rounds of a process. */
const CLEAN_ROUNDS = 600
const NO_VOTE: VoteVerdict = { gone: [], checkAt: null, transition: null }

function isAgentFed({ by_socket, kind }: DueRow): boolean {
  return by_socket ?? (kind !== 'push' && kind !== 'heartbeat')
}

interface Around {
  /** Of each monitor those that have a socket. */
  agents: ReadonlyMap<number, AgentPresence[]>
  /** Of each monitor when its agents were last heard of, epoch ms. */
  seenAt: ReadonlyMap<number, ReadonlyMap<string, number>>
  runs: ReadonlyMap<number, Array<{ rid: string; startedAt: number }>>
}

function toQuiet(row: DueRow, { agents, runs }: Around): Quiet {
  return {
    state: row.state,
    stateReason: row.state_reason,
    stateSince: row.state_since.getTime(),
    lastReceivedAt: row.last_received_at?.getTime() ?? null,
    agentFed: isAgentFed(row),
    agentIsTarget: row.agent_is_target,
    countedFrom: row.counted_from?.getTime() ?? null,
    alsoMissedAt: row.also_missed_at?.getTime() ?? null,
    timing: {
      intervalSeconds: row.interval_seconds,
      graceSeconds: row.grace_seconds,
      schedule: row.schedule,
      timezone: row.timezone
    },
    maxRuntimeSeconds: row.max_runtime_seconds,
    runs: runs.get(row.monitor_key) ?? [],
    agents: agents.get(row.monitor_key) ?? []
  }
}

function transitionsOf(judgements: readonly Judgement[]) {
  return judgements.flatMap(({ transition }) => transition ?? [])
}

function dateOf(time: number | null): Date | null {
  return time === null ? null : new Date(time)
}

interface Judged extends Judgement {
  hung: string[]
  gone: string[]
}

/** What silence makes of a monitor and, where that changes nothing, the vote of those who are left. */
function judge(row: DueRow, around: Around, horizon: Horizon): Judged {
  const { monitor_key: monitorKey, organization_id: organizationId, version } = row
  const silence = judgeSilence(toQuiet(row, around), horizon)
  const isVote = silence.transition === null && row.by_socket
  const vote = isVote ? judgeVotes(row, around.seenAt.get(monitorKey) ?? new Map(), horizon) : NO_VOTE
  const transition = silence.transition ?? vote.transition
  const checks = [silence.checkAt, vote.checkAt].filter((at) => at !== null)
  return {
    monitorKey,
    version,
    checkAt: checks.length === 0 ? null : new Date(Math.min(...checks)),
    alsoMissedAt: dateOf(silence.alsoMissedAt),
    transition: transition === null ? null : { monitorKey, organizationId, ...transition, at: new Date(transition.at) },
    hung: silence.hung,
    gone: vote.gone
  }
}

/** Turns deadlines that have passed into transitions. Any number of processes may sweep, at the same time even. */
export class Sweep {
  readonly #deps: SweepDeps
  readonly #transitions
  readonly #seconds
  readonly #lag
  #rounds = 0

  constructor(deps: SweepDeps) {
    this.#deps = deps
    this.#transitions = deps.metrics.counter('pulsegate_sweep_transitions_total')
    this.#seconds = deps.metrics.histogram('pulsegate_sweep_seconds')
    this.#lag = deps.metrics.gauge('pulsegate_sweep_lag_seconds')
  }

  /** One round. @throws when a store cannot be read: then nothing is judged. */
  async round(): Promise<Swept> {
    const { db, clock, log } = this.#deps
    const stopTimer = this.#seconds.startTimer()
    const now = clock()
    const seen = await readWatermark(this.#deps, now)
    const outages = await keepOutages(db, seen, now)
    const swept: Swept = { watermark: seen.watermark, judged: 0, transitions: 0 }
    if (seen.watermark === null) return swept
    this.#lag.set((now - seen.watermark) / 1000)
    await this.#judgeAll({ watermark: seen.watermark, outages }, swept)
    this.#transitions.inc(swept.transitions)
    const blinded = await paintNextOutage(db, seen.watermark)
    if (blinded !== null) log.info({ monitors: blinded }, 'a span without ingest was marked as unknown')
    if (this.#rounds++ % CLEAN_ROUNDS === 0) await deleteOldRuns(db, new Date(now - RUNS_KEPT_MS))
    stopTimer()
    return swept
  }

  async #judgeAll(horizon: Horizon, swept: Swept): Promise<void> {
    const watermark = new Date(horizon.watermark)
    const end = performance.now() + ROUND_MS
    while ((await putOffChecks(this.#deps.db, watermark, BATCH)) === BATCH && performance.now() < end);
    while (performance.now() < end) {
      const due = await listDue(this.#deps.db, watermark, BATCH)
      const settled = due.length === 0 ? [] : await this.#judge(due, horizon)
      swept.judged += settled.length
      swept.transitions += settled.filter(({ transition }) => transition !== null).length
      // What is held by others comes again in the next round.
      if (due.length < BATCH || settled.length === 0) return
    }
  }

  /** Returns what was written. */
  async #judge(due: readonly DueRow[], horizon: Horizon): Promise<Judgement[]> {
    const around = { ...(await this.#agentsOf(due)), runs: await this.#runsOf(due) }
    const judged = due.map((row) => judge(row, around, horizon))
    const written = await this.#deps.db.transaction(async (tx) => {
      const settled = await settleDue(tx, judged)
      const kept = judged.filter(({ monitorKey }) => settled.has(monitorKey))
      const hanging = kept.flatMap(({ monitorKey, hung }) => hung.map((rid) => ({ monitorKey, rid })))
      if (hanging.length > 0) await noteHungRuns(tx, hanging, new Date(horizon.watermark))
      const gone = kept.flatMap(({ monitorKey, gone }) => gone.map((sourceId) => ({ monitorKey, sourceId })))
      if (gone.length > 0) await dropVotes(tx, gone)
      await recordAlerts(tx, transitionsOf(kept), new Date(this.#deps.clock()))
      return kept
    })
    this.#deps.live?.changed(transitionsOf(written))
    return written
  }

  /** The agents of every monitor that is fed by some. */
  async #agentsOf(due: readonly DueRow[]): Promise<Pick<Around, 'agents' | 'seenAt'>> {
    const { db, client, prefix } = this.#deps
    const agents = new Map<number, AgentPresence[]>()
    const seenAt = new Map<number, Map<string, number>>()
    const fed = due.filter(isAgentFed).map(({ monitor_key }) => monitor_key)
    if (fed.length === 0) return { agents, seenAt }
    const sets = await listAgentsOf(db, fed)
    const presence = await readPresence(client, prefix, [...new Set(sets.map(({ agent_id }) => agent_id))])
    for (const row of sets) {
      const { monitor_key: key, agent_id: id } = row
      const known = presence.get(id)
      if (known !== undefined) agents.set(key, [...(agents.get(key) ?? []), known])
      seenAt.set(key, (seenAt.get(key) ?? new Map()).set(id, lastSeenOf(row, known) ?? 0))
    }
    return { agents, seenAt }
  }

  async #runsOf(due: readonly DueRow[]): Promise<Around['runs']> {
    const running = due.filter((row) => row.running).map(({ monitor_key }) => monitor_key)
    const found = new Map<number, Array<{ rid: string; startedAt: number }>>()
    if (running.length === 0) return found
    for (const { monitor_key, rid, started_at } of await listOpenRuns(this.#deps.db, running)) {
      found.set(monitor_key, [...(found.get(monitor_key) ?? []), { rid, startedAt: started_at.getTime() }])
    }
    return found
  }
}
