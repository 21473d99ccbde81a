import type { ExplanationAnswer } from '../../shared/contract/history.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { deadlineAfter, expectedAfter, type Outage } from '../../shared/schedule/deadline.ts'
import type { ExplanationRow } from '../../shared/store/explanations.ts'
import type { HistoryRow } from '../../shared/store/heartbeats.ts'
import { votesNeeded } from '../../shared/vote.ts'
import { toHistoryAnswer } from './read-history.ts'
import type { Vote } from './votes.ts'

export interface Facts {
  row: ExplanationRow
  last: HistoryRow | undefined
  outages: readonly Outage[]
  votes: readonly Vote[]
  /** May the reader know the agents? */
  namesAgents: boolean
  /** When the maintenance that holds now ends, epoch ms; null: none does. */
  maintenanceUntil: number | null
  /** Is one down that it depends on? */
  muted: boolean
}

/** Why a monitor came into its state, by the reason of the change. */
const REASONS: Readonly<Record<string, string>> = {
  created: 'No heartbeat has come yet.',
  missed: 'No heartbeat came before its deadline.',
  hung: 'A run was started and did not end in time.',
  agent_offline: 'The agent that checks it is not connected, so nobody can know.',
  platform: 'Pulsegate could not take heartbeats for a while, so nobody can know.',
  paused: 'It was paused.',
  resumed: 'It was resumed and waits for its next heartbeat.'
}

function reasonOf({ row, last }: Facts): string {
  if (row.state_reason === 'agent_offline' && row.state === 'down') return 'The agent of the machine was not connected.'
  if (row.state_reason !== 'reported') return REASONS[row.state_reason] ?? `The reason is ${row.state_reason}.`
  if (last?.status !== row.state) return 'Its heartbeats said so.'
  return last.message ? `The newest heartbeat says so: "${last.message}".` : 'The newest heartbeat says so.'
}

/** Who says what, where several agents decide together. */
function votesInWords({ row, votes, namesAgents }: Facts): string[] {
  if (votes.length < 2) return []
  const told = (['down', 'degraded'] as const).flatMap((status) => {
    const names = votes.filter((vote) => vote.status === status).map(({ name }) => name)
    const say = names.length === 1 ? 'says' : 'say'
    const who = namesAgents ? `: ${names.join(', ')}` : ''
    return names.length === 0 ? [] : [`${names.length} of ${votes.length} agents ${say} ${status}${who}.`]
  })
  if (told.length === 0) return [`All ${votes.length} agents say up.`]
  return [...told, `It takes ${votesNeeded(row.quorum, votes.length)} of them to make it down.`]
}

/** Why nobody is told of an outage. */
function silenceInWords({ row, maintenanceUntil, muted }: Facts): string[] {
  if (maintenanceUntil !== null) {
    return [
      `It is under maintenance until ${formatTimestamp(maintenanceUntil)}; what begins meanwhile is told after that.`
    ]
  }
  return muted && row.state === 'down' ? ['Nobody is told of it while one that it depends on is down.'] : []
}

function sentences(facts: Facts, deadlineAt: number | null): string[] {
  const { row } = facts
  const needed = row.state === 'down' ? row.recoveries : row.confirmations
  const since = formatTimestamp(row.state_since.getTime())
  const told = [`"${row.name}" is ${row.state} since ${since}.`, reasonOf(facts), ...votesInWords(facts)]
  if (row.streak > 0) told.push(`${row.streak} of ${needed} heartbeats that it takes to change say ${row.observed}.`)
  if (row.also_missed_at !== null && row.state === 'down') {
    told.push(`Since ${formatTimestamp(row.also_missed_at.getTime())} its heartbeats are missing as well.`)
  }
  if (deadlineAt !== null && row.state !== 'down') {
    told.push(`Without a heartbeat it counts as missed at ${formatTimestamp(deadlineAt)}.`)
  }
  return [...told, ...silenceInWords(facts)]
}

/** When it has to be heard of next; null before the first heartbeat, and while it is paused. */
function timesOf({ row, outages }: Facts): { expectedAt: number; deadlineAt: number } | null {
  if (row.last_received_at === null || row.state === 'paused') return null
  const { interval_seconds: intervalSeconds, grace_seconds: graceSeconds, schedule, timezone } = row
  const timing = { intervalSeconds, graceSeconds, schedule, timezone }
  const from = Math.max(row.last_received_at.getTime(), row.counted_from?.getTime() ?? 0)
  return { expectedAt: expectedAfter(timing, from), deadlineAt: deadlineAfter(timing, from, outages) }
}

export function explain(monitorId: string, facts: Facts): ExplanationAnswer {
  const { row, last } = facts
  const times = timesOf(facts)
  return {
    state: row.state,
    reason: row.state_reason,
    since: formatTimestamp(row.state_since.getTime()),
    sentence: sentences(facts, times?.deadlineAt ?? null).join(' '),
    observed: row.observed,
    quorum: row.quorum,
    votes: facts.votes.map(({ agentId, name, status, timestamp }) => ({
      ...(facts.namesAgents ? { agentId, name } : {}),
      status,
      timestamp: formatTimestamp(timestamp)
    })),
    lastHeartbeat: last === undefined ? null : toHistoryAnswer(monitorId, last),
    intervalSeconds: row.interval_seconds,
    graceSeconds: row.grace_seconds,
    expectedAt: times === null ? null : formatTimestamp(times.expectedAt),
    deadlineAt: times === null ? null : formatTimestamp(times.deadlineAt)
  }
}
