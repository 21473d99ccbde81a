import type { ExplanationAnswer } from '../../shared/contract/history.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import type { ExplanationRow } from '../../shared/store/explanations.ts'
import type { HistoryRow } from '../../shared/store/heartbeats.ts'
import { toHistoryAnswer } from './read-history.ts'

/** Why a monitor came into its state, by the reason of the change; the sentence goes on with since when. */
const REASONS: Readonly<Record<string, string>> = {
  created: 'No heartbeat has come yet',
  missed: 'No heartbeat came before its deadline',
  hung: 'A run was started and did not end in time',
  agent_offline: 'The agent that checks it is not connected, so nobody knows',
  platform: 'Pulsegate itself could not take heartbeats, so nobody knows',
  paused: 'It was paused by hand',
  resumed: 'It was resumed and waits for its next heartbeat'
}

function sentenceOf(row: ExplanationRow, last: HistoryRow | undefined): string {
  const since = formatTimestamp(row.state_since.getTime())
  const said = last?.message ? `, saying "${last.message}"` : ''
  const reported = last?.status === row.state ? `The newest heartbeat reported it${said}` : 'A heartbeat reported it'
  const why =
    row.state_reason === 'reported' ? reported : (REASONS[row.state_reason] ?? `The reason is ${row.state_reason}`)
  const next =
    row.state === 'up' && row.expected_at !== null
      ? ` The next heartbeat is expected by ${formatTimestamp(row.expected_at.getTime())}.`
      : ''
  return `"${row.name}" is ${row.state} since ${since}. ${why}.${next}`
}

function timeOf(time: Date | null): string | null {
  return time === null ? null : formatTimestamp(time.getTime())
}

export function explain(monitorId: string, row: ExplanationRow, last: HistoryRow | undefined): ExplanationAnswer {
  return {
    state: row.state,
    reason: row.state_reason,
    since: formatTimestamp(row.state_since.getTime()),
    sentence: sentenceOf(row, last),
    lastHeartbeat: last === undefined ? null : toHistoryAnswer(monitorId, last),
    intervalSeconds: row.interval_seconds,
    graceSeconds: row.grace_seconds,
    expectedAt: timeOf(row.expected_at),
    deadlineAt: timeOf(row.deadline_at)
  }
}
