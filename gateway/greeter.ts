import type { Database } from '../shared/db.ts'
import type { Log } from '../shared/log.ts'
import { CLOSE } from '../shared/protocol/close-codes.ts'
import { type Hello, PROTOCOL } from '../shared/protocol/frames.ts'
import { formatTimestamp } from '../shared/protocol/timestamp.ts'
import { listAgentMonitors } from '../shared/store/agent-monitors.ts'
import type { Resume } from './resume.ts'
import { sumOf } from './reviewer.ts'
import type { Session } from './session.ts'
import type { Sightings } from './sightings.ts'

interface Deps {
  db: Database
  resume: Resume
  sightings: Sightings
  log: Log
  clock: () => number
}

async function welcome(session: Session, hello: Hello, { db, resume, sightings, clock }: Deps): Promise<void> {
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

/** Answers a hello with welcome; closes the socket when that cannot be done. */
export function greet(session: Session, hello: Hello, deps: Deps): void {
  welcome(session, hello, deps).catch((error) => {
    deps.log.warn({ err: error }, 'a hello could not be answered')
    session.close(CLOSE.overloaded)
  })
}
