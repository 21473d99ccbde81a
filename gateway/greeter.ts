import { crc32 } from 'node:zlib'
import type { Change, Changes } from '../shared/changes.ts'
import type { Database } from '../shared/db.ts'
import type { Callers } from '../shared/identity/callers.ts'
import type { Log } from '../shared/log.ts'
import { CLOSE } from '../shared/protocol/close-codes.ts'
import { type AgentMonitor, type Hello, PROTOCOL } from '../shared/protocol/frames.ts'
import { formatTimestamp } from '../shared/protocol/timestamp.ts'
import { listAgentMonitors } from '../shared/store/agent-monitors.ts'
import type { Connections } from './connections.ts'
import type { Resume } from './resume.ts'
import type { Session } from './session.ts'
import type { Sightings } from './sightings.ts'

interface Deps {
  db: Database
  callers: Callers
  changes: Changes
  connections: Connections
  resume: Resume
  sightings: Sightings
  log: Log
  clock: () => number
}

export interface Greeter {
  /** Answers a hello with welcome; closes the socket when that cannot be done. */
  greet(session: Session, hello: Hello): void
  stop(): void
}

function sumOf(monitors: AgentMonitor[]): number {
  return crc32(JSON.stringify(monitors))
}

/** Says hello to sessions and keeps them true: monitors follow changes, revoked keys and suspended tenants are closed. */
export function createGreeter({ db, callers, changes, connections, resume, sightings, log, clock }: Deps): Greeter {
  async function welcome(session: Session, hello: Hello): Promise<void> {
    const { sourceId } = session.caller
    const [remembered, monitors] = await Promise.all([
      // Redis forgetting, or being away, costs a resend only.
      resume.recall(sourceId, hello.stream).catch(() => 0),
      listAgentMonitors(db, sourceId)
    ])
    session.monitorsSum = sumOf(monitors)
    session.welcome(remembered, hello.first, {
      type: 'welcome',
      connection: session.connection,
      maxBatch: PROTOCOL.maxBatch,
      maxInFlight: PROTOCOL.maxInFlight,
      time: formatTimestamp(clock()),
      monitors
    })
    sightings.note(sourceId, hello.agent?.version ?? null)
  }

  /** Reads the session's caller and monitors anew and acts on what changed. */
  async function review(session: Session): Promise<void> {
    const caller = await callers.byDigest(session.keyDigest)
    if (caller === null) return session.close(CLOSE.keyRevoked)
    if (caller.suspended) return session.close(CLOSE.suspended)
    session.caller = caller
    if (session.state !== 'welcomed') return
    const monitors = await listAgentMonitors(db, caller.sourceId)
    const sum = sumOf(monitors)
    if (sum === session.monitorsSum || session.state !== 'welcomed') return
    session.monitorsSum = sum
    session.send({ type: 'monitors', monitors })
  }

  async function reviewAll(sessions: Session[]): Promise<void> {
    for (const session of sessions) {
      await review(session).catch((error) => {
        log.warn({ err: error }, 'a session could not be reviewed; it is asked to come back')
        session.close(CLOSE.overloaded)
      })
    }
  }

  function touchedBy(change: Change): Session[] {
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
        return [...connections.of(change.agentId)]
      case 'organization_changed':
        return [...connections.all()].filter(({ caller }) => caller.organizationId === change.organizationId)
      case 'resync':
        return [...connections.all()]
    }
  }

  const unlisten = changes.listen((change) => void reviewAll(touchedBy(change)))
  return {
    greet: (session, hello) => {
      welcome(session, hello).catch((error) => {
        log.warn({ err: error }, 'a hello could not be answered')
        session.close(CLOSE.overloaded)
      })
    },
    stop: unlisten
  }
}
