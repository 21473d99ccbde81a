import t from 'tap'
import { createJournal, identityOf } from '../support/journal.ts'
import { type Evidence, judge, NO_VIOLATION } from '../support/judge.ts'

const monitorId = 'a monitor'
const sourceId = 'an agent'

/** Three acknowledged heartbeats (up, down, down) and all that they must have left behind. */
function honest() {
  const journal = createJournal()
  const statuses = ['up', 'down', 'down'] as const
  const beats = statuses.map((status, i) => ({
    monitorId,
    sourceId,
    timestamp: i + 1,
    status,
    latency: i,
    acked: true
  }))
  for (const beat of beats) journal.sent.set(identityOf(beat), beat)
  const evidence: Evidence = {
    rows: beats.map(({ status, acked, ...rest }) => ({ ...rest, status: status === 'up' ? 0 : 1 })),
    monitors: [{ monitorId, state: 'down', lastHeartbeatAt: 3 }],
    transitions: [
      { monitorId, from: 'pending', to: 'up', at: 1 },
      { monitorId, from: 'up', to: 'down', at: 2 }
    ]
  }
  return { journal, evidence }
}

t.test('a kept promise is no violation', async (t) => {
  const { journal, evidence } = honest()
  t.same(judge(journal, evidence), NO_VIOLATION)
})

t.test('what was sent and never acknowledged need not be there', async (t) => {
  const { journal, evidence } = honest()
  const beat = { monitorId, sourceId, timestamp: 9, status: 'up', latency: 9, acked: false } as const
  journal.sent.set(identityOf(beat), beat)
  t.same(judge(journal, evidence), NO_VIOLATION)
})

t.test('an acknowledged heartbeat without a row is reported as lost', async (t) => {
  const { journal, evidence } = honest()
  evidence.rows[1] = evidence.rows[0]!
  t.match(judge(journal, evidence), { lost: [`${monitorId} ${sourceId} 2`], twice: [`${monitorId} ${sourceId} 1`] })
})

t.test('a row that nobody sent and a row that says something else are reported', async (t) => {
  const { journal, evidence } = honest()
  evidence.rows.push({ ...evidence.rows[0]!, sourceId: 'a stranger' })
  evidence.rows[1]!.latency = 77
  const verdict = judge(journal, evidence)
  t.match(verdict, { lost: [], unsent: [`${monitorId} a stranger 1`], altered: [`${monitorId} ${sourceId} 2`] })
})

t.test('a state that is not the newest heartbeat is reported', async (t) => {
  const { journal, evidence } = honest()
  evidence.monitors[0]!.state = 'up'
  t.match(judge(journal, evidence), { states: [/is up, its newest says down/], transitions: [/end at down, it is up/] })
  evidence.monitors[0] = { monitorId, state: 'down', lastHeartbeatAt: 2 }
  t.match(judge(journal, evidence), { states: [/newest 3, noted 2/], transitions: [] })
})

t.test('of several agents the worst is what counts', async (t) => {
  const { journal, evidence } = honest()
  const other = { monitorId, sourceId: 'another agent', timestamp: 4, status: 'up', latency: 1, acked: true } as const
  journal.sent.set(identityOf(other), other)
  evidence.rows.push({ ...other, status: 0 })
  evidence.monitors[0] = { monitorId, state: 'down', lastHeartbeatAt: 4 }
  t.same(judge(journal, evidence), NO_VIOLATION)
  evidence.monitors[0].state = 'up'
  evidence.transitions.push({ monitorId, from: 'down', to: 'up', at: 4 })
  t.match(judge(journal, evidence), { states: [/is up, its newest says down/], transitions: [] })
  evidence.transitions.splice(2, 1, { monitorId, from: 'down', to: 'degraded', at: 4 })
  t.match(judge(journal, evidence), { transitions: [/no heartbeat says so/, /end at degraded, it is up/] })
})

t.test('transitions that do not follow one another are reported', async (t) => {
  const { journal, evidence } = honest()
  evidence.transitions.push({ monitorId, from: 'up', to: 'down', at: 3 })
  t.match(judge(journal, evidence), { transitions: [/up to down at 3, after down/] })
  evidence.transitions.splice(1, 2, { monitorId, from: 'up', to: 'down', at: 1 })
  t.match(judge(journal, evidence), { transitions: [/not after 1/, /no heartbeat says so/] })
})

t.test('what a gateway may not do is reported', async (t) => {
  const { journal, evidence } = honest()
  journal.broken.push('a socket was closed with 4400')
  t.match(judge(journal, evidence), { broken: ['a socket was closed with 4400'] })
})
