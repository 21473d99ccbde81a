import type { Test } from 'tap'
import { openDeadLetters } from '../../shared/queue.ts'
import type { Stores } from './ingest.ts'
import { createJournal, type Journal } from './journal.ts'
import { judge, readEvidence, type Verdict } from './judge.ts'
import { type StreamingAgent, startStreamingAgent } from './streaming-agent.ts'
import { createTenant } from './tenant.ts'
import { waitFor } from './wait-for.ts'

const AGENTS = 4
const OWN_MONITORS = 3

export interface Load {
  readonly journal: Journal
  readonly agents: readonly StreamingAgent[]
  /** Resolves when this many more heartbeats than now are acknowledged. */
  moreAcked(count: number, timeoutMs?: number): Promise<void>
  /** Between 300 and 2,000 more: some moment under load. */
  randomMoment(): Promise<void>
  /** Lets everything be acknowledged and recorded, then judges. @throws when that does not come to an end. */
  judgement(): Promise<Verdict>
  /** Judges what is there now. */
  judge(): Promise<Verdict>
}

/** Resolves when no job waits or is under way. @throws when some went to the dead letters, or after `timeoutMs`. */
export async function drained({ queue, redis, prefix }: Stores, timeoutMs: number): Promise<void> {
  const counts = await waitFor(
    async () => {
      const now = await queue.counts()
      return now.waiting + now.active + now.delayed === 0 && now
    },
    { what: 'the queue is empty', timeoutMs }
  )
  if (counts.failed === 0) return
  const deadLetters = openDeadLetters({ redis, prefix, shards: queue.shards })
  const [newest] = await deadLetters.list(1)
  await deadLetters.stop()
  throw new Error(`${counts.failed} jobs are dead letters, the last of them because: ${newest?.reason}`)
}

/** Several agents that stream about 4,000 heartbeats a second in all, each to monitors of its own and to one that they share. */
export async function startLoad(t: Test, stores: Stores, url: () => string): Promise<Load> {
  const tenant = await createTenant(stores.db, stores.secrets)
  const journal = createJournal()
  const shared = await tenant.addMonitor()
  const monitorIds = [shared]
  const agents: StreamingAgent[] = []
  for (let i = 0; i < AGENTS; i++) {
    const own = [shared]
    while (own.length <= OWN_MONITORS) own.push(await tenant.addMonitor())
    monitorIds.push(...own.slice(1))
    const agent = await tenant.addAgent(own)
    agents.push(startStreamingAgent({ url, agent, monitorIds: own, journal }))
  }
  t.teardown(() => Promise.all(agents.map((agent) => agent.abort())))
  const moreAcked = async (count: number, timeoutMs = 20_000) => {
    const goal = journal.acked + count
    await waitFor(() => journal.acked >= goal, { what: `${count} more are acknowledged`, timeoutMs })
  }
  const judgeNow = async () => judge(journal, await readEvidence(stores.db, monitorIds))
  return {
    journal,
    agents,
    moreAcked,
    randomMoment: () => moreAcked(300 + Math.floor(Math.random() * 1700)),
    judgement: async () => {
      await Promise.all(agents.map((agent) => agent.finish()))
      // A killed worker's jobs are taken over when its locks have run out: 15 s, and two looks 5 s apart.
      await drained(stores, 45_000)
      return judgeNow()
    },
    judge: judgeNow
  }
}
