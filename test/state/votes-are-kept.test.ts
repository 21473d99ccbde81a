import fc from 'fast-check'
import { test } from 'tap'
import { v7 as uuidv7 } from 'uuid'
import { createMetrics } from '../../shared/metrics.ts'
import { type Ballot, type BallotRow, ballotOf, standingVotes } from '../../shared/vote.ts'
import { GroupWriter } from '../../worker/group-writer.ts'
import { advance, type Beat, type MonitorStatus } from '../../worker/monitor-state.ts'
import { openStores, type Stores } from '../support/ingest.ts'
import { jobOf, keyOf } from '../support/jobs.ts'
import { monitor, STATUSES, WINDOW } from '../support/monitor-status.ts'
import { createTenant } from '../support/tenant.ts'

const START = Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000
const AGENTS = [uuidv7(), uuidv7(), uuidv7()]
const ANOTHER = uuidv7()

/** Mostly the same agent saying the same, so that many of them are written without the fold. */
const randomStep = fc.record({
  sourceId: fc.oneof(
    { weight: 6, arbitrary: fc.constant(AGENTS[0]) },
    { weight: 4, arbitrary: fc.constantFrom(...AGENTS, ANOTHER) }
  ),
  status: fc.oneof({ weight: 3, arbitrary: fc.constant('down' as const) }, fc.constantFrom(...STATUSES)),
  afterMs: fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 20_000 }) },
    fc.integer({ min: -40_000, max: 90_000 })
  ),
  lateMs: fc.oneof({ weight: 5, arbitrary: fc.nat(50) }, fc.integer({ min: 0, max: 100_000 })),
  /** Does a transaction end with it? */
  last: fc.boolean()
})
type Step = typeof randomStep extends fc.Arbitrary<infer T> ? T : never

function beatsOf(steps: readonly Step[]): Beat[] {
  let timestamp = START
  return steps.map(({ sourceId = '', status, afterMs, lateMs }) => {
    timestamp += afterMs
    return { sourceId, status, timestamp, receivedAt: timestamp + lateMs, bySocket: sourceId !== ANOTHER }
  })
}

type Seen = Ballot & Pick<MonitorStatus, 'state' | 'streak'>

/** What decides; what is too old to count is forgotten only by the fold. */
function textOf(seen: Seen): string {
  const votes = standingVotes(seen, WINDOW).map(
    ([sourceId, said]) => `${sourceId} ${said} ${seen.liveSources[sourceId]}`
  )
  return [seen.state, seen.streak, seen.lastHeartbeatAt, ...votes.sort()].join(', ')
}

async function readSeen({ db }: Stores, key: number): Promise<Seen> {
  const [row] = await db.query<BallotRow & Pick<MonitorStatus, 'state' | 'streak'>>(
    'select * from monitor_states where monitor_key = $1',
    [key]
  )
  if (row === undefined) throw new Error('the monitor has no state')
  return { ...ballotOf(row), state: row.state, streak: row.streak }
}

const QUORUMS = ['any', 'majority', 'all', 'count:2']
/** Each for a monitor of its own. */
const randomSequences = fc.array(
  fc.record({ steps: fc.array(randomStep, { minLength: 12, maxLength: 12 }), quorum: fc.constantFrom(...QUORUMS) }),
  { minLength: 60, maxLength: 60 }
)

test('however heartbeats are grouped, with and without the fold, the table holds the votes of a pure fold', async (t) => {
  const stores = await openStores(t)
  const tenant = await createTenant(stores.db, stores.secrets)
  const writer = new GroupWriter({ ...stores, metrics: createMetrics(), clock: () => Date.now() })

  async function monitorFor({ steps, quorum }: { steps: Step[]; quorum: string }) {
    const key = await keyOf(stores, await tenant.addMonitor({ kind: 'http' }))
    await stores.db.query('update monitors set quorum = $2, confirmations = 2 where key = $1', [key, quorum])
    const rules = { windowMs: WINDOW, confirmations: 2, recoveries: 1, quorum }
    return { key, rules, expected: monitor(), beats: beatsOf(steps), ends: steps.map(({ last }) => last) }
  }

  async function agree(sequences: Array<{ steps: Step[]; quorum: string }>): Promise<void> {
    const monitors = await Promise.all(sequences.map(monitorFor))
    for (let left = 12; left > 0; left--) {
      const rows = monitors.flatMap(({ key, rules, expected, beats, ends }) => {
        const group = beats.splice(0, ends.splice(0, ends.indexOf(true) + 1 || ends.length).length)
        for (const one of group.toSorted((a, b) => a.timestamp - b.timestamp)) advance(expected, one, rules)
        return group.map((one) => ({ ...one, key, way: one.bySocket ? ('socket' as const) : ('http' as const) }))
      })
      if (rows.length > 0) await writer.write(jobOf(rows))
      for (const { key, expected } of monitors) {
        const [found, wanted] = [textOf(await readSeen(stores, key)), textOf(expected)]
        if (found !== wanted) throw new Error(`${found} instead of ${wanted}`)
      }
    }
  }

  for (const sequences of fc.sample(randomSequences, 3)) await agree(sequences)
  t.pass('they agreed after every transaction')
})
