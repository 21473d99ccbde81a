import type { AgentPresence } from '../shared/presence.ts'
import { deadlineAfter, type Outage, type Timing } from '../shared/schedule/deadline.ts'
import type { MonitorState, Transition } from './monitor-state.ts'

/** What the sweep knows of a monitor that it looks at. Times are epoch ms. */
export interface Quiet {
  state: MonitorState
  stateReason: string
  stateSince: number
  /** When the last live heartbeat reached the edge; null: never, and then nothing is expected. */
  lastReceivedAt: number | null
  /** Is silence judged by the agents that check it? */
  agentFed: boolean
  /** Does it stand for their machine, so that it is down without them? */
  agentIsTarget: boolean
  /** Silence is not counted from before this. */
  countedFrom: number | null
  alsoMissedAt: number | null
  timing: Timing
  maxRuntimeSeconds: number | null
  /** Runs that began and neither ended nor were noticed to hang. */
  runs: ReadonlyArray<{ rid: string; startedAt: number }>
  /** Of the agents that have a socket now. */
  agents: readonly AgentPresence[]
}

/** Up to where every heartbeat has been seen, and when none could get in. */
export interface Horizon {
  watermark: number
  outages: readonly Outage[]
}

export interface Verdict {
  /** When to look again; null: not before it is heard of. */
  checkAt: number | null
  transition: Transition | null
  /** A deadline that passed while the monitor was down for another reason. */
  alsoMissedAt: number | null
  /** Runs that hang. */
  hung: string[]
}

/** While a socket is open and says nothing: until its next pong, or its end. */
const WAIT_MS = 1000
/** A monitor without an agent is looked at again within half its patience, so that a returning agent is seen in time. */
const AGAIN_MS = { least: 2000, most: 60_000 }

function move(quiet: Quiet, to: MonitorState, at: number, reason: string): Transition {
  return { from: quiet.state, to, at: Math.max(at, quiet.stateSince), reason }
}

function patienceMs({ intervalSeconds, graceSeconds }: Timing): number {
  return (intervalSeconds + graceSeconds) * 1000
}

/**
 * An agent that came back gets the time that a monitor is given from its start: what it could not send comes first. Of
 * several the one that has been there longest should have told.
 */
function deadlineOf(quiet: Quiet, heardAt: number, own: number): number {
  if (!quiet.agentFed || quiet.agents.length === 0) return own
  const openedAt = Math.min(...quiet.agents.map((agent) => agent.openedAt))
  return openedAt > heardAt ? Math.max(own, openedAt + patienceMs(quiet.timing)) : own
}

/** What follows from a deadline that has passed while no agent is there. */
function judgeLost(quiet: Quiet, deadline: number, watermark: number): Omit<Verdict, 'hung'> {
  const half = Math.min(Math.max(patienceMs(quiet.timing) / 2, AGAIN_MS.least), AGAIN_MS.most)
  const again = { checkAt: watermark + half, transition: null, alsoMissedAt: null }
  const lost = quiet.agentIsTarget ? 'down' : 'unknown'
  if (quiet.state === lost) return again
  // Who is down or unknown was so until now; all others are lost since the deadline.
  const at = quiet.state === 'down' || quiet.state === 'unknown' ? watermark : deadline
  return { ...again, transition: move(quiet, lost, at, 'agent_offline') }
}

/** What follows from a deadline that has passed. */
function judgeMissed(quiet: Quiet, deadline: number, { watermark, outages }: Horizon): Omit<Verdict, 'hung'> {
  if (quiet.agentFed && quiet.agents.length === 0) return judgeLost(quiet, deadline, watermark)
  const later = deadlineAfter(quiet.timing, watermark, outages)
  const nothing = { checkAt: later, transition: null, alsoMissedAt: null }
  if (quiet.state === 'down') {
    const isNew = quiet.alsoMissedAt === null || quiet.alsoMissedAt <= (quiet.lastReceivedAt ?? 0)
    return quiet.stateReason !== 'missed' && isNew ? { ...nothing, alsoMissedAt: deadline } : nothing
  }
  if (quiet.agentFed && quiet.agents.every(({ heardAt }) => heardAt <= deadline)) {
    return { ...nothing, checkAt: watermark + WAIT_MS }
  }
  return { ...nothing, transition: move(quiet, 'down', deadline, 'missed') }
}

function judgeDeadline(quiet: Quiet, horizon: Horizon): Omit<Verdict, 'hung'> {
  if (quiet.lastReceivedAt === null) return { checkAt: null, transition: null, alsoMissedAt: null }
  const heardAt = Math.max(quiet.lastReceivedAt, quiet.countedFrom ?? 0)
  const own = deadlineAfter(quiet.timing, heardAt, horizon.outages)
  const deadline = deadlineOf(quiet, heardAt, own)
  if (deadline <= horizon.watermark) return judgeMissed(quiet, deadline, horizon)
  // Its agents may go, and then there is nothing to wait for.
  const checkAt = own <= horizon.watermark ? Math.min(deadline, horizon.watermark + AGAIN_MS.least) : deadline
  return { checkAt, transition: null, alsoMissedAt: null }
}

/** The end of a run that was lost while nothing could get in is no fault of the job. */
function runEndsBy(quiet: Quiet, startedAt: number, outages: readonly Outage[]): number {
  const runtime = { intervalSeconds: quiet.maxRuntimeSeconds ?? 0, graceSeconds: 0, schedule: null, timezone: null }
  return deadlineAfter(runtime, startedAt, outages)
}

/**
 * What silence makes of a monitor, when everything that was received before the watermark is known. Pure. Deadlines are
 * counted from receive times only, so however often and by whomever it is asked, the answer is the same.
 */
export function judgeSilence(quiet: Quiet, horizon: Horizon): Verdict {
  if (quiet.state === 'paused') return { checkAt: null, transition: null, alsoMissedAt: null, hung: [] }
  const runs = quiet.maxRuntimeSeconds === null ? [] : quiet.runs
  const ends = runs.map(({ rid, startedAt }) => ({ rid, endsBy: runEndsBy(quiet, startedAt, horizon.outages) }))
  const hanging = ends.filter(({ endsBy }) => endsBy <= horizon.watermark)
  const hung = hanging.map(({ rid }) => rid)
  const verdict = { ...judgeDeadline(quiet, horizon), hung }
  const waiting = ends.filter(({ endsBy }) => endsBy > horizon.watermark).map(({ endsBy }) => endsBy)
  if (waiting.length > 0) verdict.checkAt = Math.min(verdict.checkAt ?? Number.POSITIVE_INFINITY, ...waiting)
  if (hung.length > 0 && verdict.transition === null && quiet.state !== 'down') {
    verdict.transition = move(quiet, 'down', Math.min(...hanging.map(({ endsBy }) => endsBy)), 'hung')
  }
  return verdict
}
