import { crc32 } from 'node:zlib'
import type { Change, Changes } from '../shared/changes.ts'
import type { Database } from '../shared/db.ts'
import { mayReport } from '../shared/identity/caller.ts'
import type { Callers } from '../shared/identity/callers.ts'
import type { Log } from '../shared/log.ts'
import { CLOSE } from '../shared/protocol/close-codes.ts'
import type { AgentMonitor } from '../shared/protocol/frames.ts'
import { listAgentMonitors } from '../shared/store/agent-monitors.ts'
import type { Connections } from './connections.ts'
import type { Session } from './session.ts'

interface Deps {
  db: Database
  callers: Callers
  changes: Changes
  connections: Connections
  log: Log
}

/** Keeps open sessions true to the database: their key, rights and monitors follow changes. */
export interface Reviewer {
  /** To be looked at soon; many wishes for one session are one. */
  review(sessions: Iterable<Session>): void
  stop(): void
}

const RETRY_MS = 2000

/** Tells one set of monitors from another. */
export function sumOf(monitors: readonly AgentMonitor[]): number {
  return crc32(JSON.stringify(monitors))
}

async function reviewOne(session: Session, { callers, db }: Deps): Promise<void> {
  const caller = await callers.byDigest(session.keyDigest)
  if (caller === null) return session.close(CLOSE.keyRevoked)
  if (!mayReport(caller)) return session.close(CLOSE.suspended)
  session.caller = caller
  if (session.state !== 'welcomed') return
  const monitors = await listAgentMonitors(db, caller.sourceId)
  const sum = sumOf(monitors)
  if (sum === session.monitorsSum || session.state !== 'welcomed') return
  session.monitorsSum = sum
  session.send({ type: 'monitors', monitors })
}

/** The sessions that a change may touch. What must end at once is ended here, without asking the database. */
function touchedBy(change: Change, connections: Connections): Iterable<Session> {
  switch (change.type) {
    case 'agent_connected':
      connections.closeOlder(change.agentId, change.connection)
      return []
    case 'keys_revoked':
      for (const session of [...connections.of(change.agentId)]) {
        if (change.keyIds.includes(session.caller.keyId ?? '')) session.close(CLOSE.keyRevoked)
      }
      return []
    case 'agent_changed':
      return connections.of(change.agentId)
    case 'organization_changed': {
      const theirs = [...connections.all()].filter(({ caller }) => caller.organizationId === change.organizationId)
      if (!change.deleted) return theirs
      for (const session of theirs) session.close(CLOSE.keyRevoked)
      return []
    }
    case 'resync':
      return connections.all()
  }
}

export function createReviewer(deps: Deps): Reviewer {
  const { changes, connections, log } = deps
  const due = new Set<Session>()
  let running = false
  let stopped = false

  /** One after the other: a change of a large organization must not take the database from those who say hello. */
  async function run(): Promise<void> {
    running = true
    for (const session of due) {
      if (stopped) break
      due.delete(session)
      try {
        if (session.state !== 'ended') await reviewOne(session, deps)
      } catch (error) {
        // The database is away: what is connected stays so, for ingest does not need it.
        log.warn({ err: error, sessions: due.size + 1 }, 'sessions could not be reviewed; trying again')
        due.add(session)
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref())
      }
    }
    running = false
  }

  function review(sessions: Iterable<Session>): void {
    for (const session of sessions) due.add(session)
    if (!running && due.size > 0) void run()
  }

  const unlisten = changes.listen((change) => review(touchedBy(change, connections)))
  return {
    review,
    stop: () => {
      stopped = true
      unlisten()
    }
  }
}
