import type { Routes } from '../../shared/contract/routes.ts'
import type { Transaction } from '../../shared/db.ts'
import { stateEvent } from '../../shared/live.ts'
import { pauseMonitors, resumeMonitors, type Switched } from '../../shared/store/monitor-switches.ts'
import { deleteMonitor, findMonitorKeys } from '../../shared/store/monitors.ts'
import { audit } from '../http/audit.ts'
import type { Call, Handlers } from '../http/contract.ts'
import { tellLive } from '../live/tell.ts'
import type { Parts } from '../parts.ts'
import { announce, read, type Tools, targetOf } from './monitor-answer.ts'

type Action = 'pause' | 'resume' | 'delete'
type Asked = Pick<Call<Routes['pauseMonitor']>, 'principal' | 'address' | 'requestId'>

const AUDITED = { pause: 'monitor.paused', resume: 'monitor.resumed', delete: 'monitor.deleted' } as const

type Done = Pick<Switched, 'id' | 'name'> & Partial<Switched>

async function deleteMonitors(tx: Transaction, organizationId: string, ids: readonly string[]): Promise<Done[]> {
  const deleted: Done[] = []
  for (const id of ids) {
    const name = await deleteMonitor(tx, organizationId, id)
    if (name !== undefined) deleted.push({ id, name })
  }
  return deleted
}

/** Does it to those of the monitors that are not so yet, and notes it; returns those. */
async function apply(
  tx: Transaction,
  call: Asked,
  action: Action,
  ids: readonly string[],
  now: number
): Promise<Done[]> {
  const { organizationId } = call.principal
  const which = { organizationId, ids, at: new Date(now) }
  const done =
    action === 'delete'
      ? await deleteMonitors(tx, organizationId, ids)
      : await (action === 'pause' ? pauseMonitors : resumeMonitors)(tx, which)
  for (const monitor of done) await audit(tx, call, AUDITED[action], { target: targetOf(monitor) })
  return done
}

/** Gateways and people who watch hear of it, when it is committed. */
async function tell(parts: Parts, organizationId: string, done: readonly Done[]): Promise<void> {
  await announce(parts, organizationId)
  const events = done.flatMap(({ id, transition }) => (transition === undefined ? [] : [stateEvent(id, transition)]))
  await tellLive(parts, organizationId, events)
}

export function createSwitchHandlers(
  parts: Parts,
  { toMonitor }: Tools
): Pick<Handlers, 'pauseMonitor' | 'resumeMonitor' | 'changeMonitors'> {
  const { db, clock } = parts

  async function turn(call: Asked & { params: { id: string } }, action: 'pause' | 'resume') {
    const { principal, params } = call
    const { organizationId } = principal
    const now = clock()
    const { row, done } = await db.tenant(organizationId, async (tx) => {
      const { id } = await read(tx, principal, params.id, now)
      const switched = await apply(tx, call, action, [id], now)
      return { row: await read(tx, principal, id, now), done: switched }
    })
    await tell(parts, organizationId, done)
    return { status: 200, body: toMonitor(row, principal) } as const
  }

  return {
    pauseMonitor: (call) => turn(call, 'pause'),
    resumeMonitor: (call) => turn(call, 'resume'),

    changeMonitors: async (call) => {
      const { action, ids: asked } = call.body
      const { organizationId } = call.principal
      const ids = asked.map((id) => id.toLowerCase())
      const { known, done } = await db.tenant(organizationId, async (tx) => {
        const rows = await findMonitorKeys(tx, organizationId, ids)
        const found = rows.map(({ id }) => id)
        return { known: new Set(found), done: await apply(tx, call, action, found, clock()) }
      })
      await tell(parts, organizationId, done)
      const changed = new Set(done.map(({ id }) => id))
      const resultOf = (id: string) => (changed.has(id) ? 'done' : known.has(id) ? 'unchanged' : 'not_found')
      return { status: 200, body: { data: ids.map((id) => ({ id, result: resultOf(id) }) as const) } }
    }
  }
}
