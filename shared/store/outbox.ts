import { v7 as uuidv7 } from 'uuid'
import type { Queryable } from '../db.ts'
import { findMaintenanceEnds } from './maintenance.ts'
import { findAwaitedParents, findMutedByParents } from './monitor-parents.ts'

/** A state change as its writer knows it. */
export interface NotedTransition {
  readonly monitorKey: number
  readonly organizationId: string
  readonly from: string
  readonly to: string
  readonly at: Date
  readonly reason: string
}

export type AlertEvent = 'down' | 'degraded' | 'unknown' | 'agent' | 'pending'
export type AlertStatus = 'due' | 'held' | 'muted' | 'dropped' | 'told'

/** A row to be written; `id` is made by the application. */
interface Row {
  id: string
  transition: NotedTransition
  event: AlertEvent
  opens: boolean
  agentId: string | null
  beganAt: Date | null
  status: AlertStatus
  cause: string | null
  dueAt: Date
  endedAt: Date | null
}

/** An outage that is not over. */
interface Open {
  id: string
  at: Date
  status: AlertStatus
  /** Of this very transaction: not in the table yet. */
  row?: Row
}

/** So long is waited for an agent to come back, and for its other monitors to be missed, in milliseconds. */
const SETTLING_MS = 10_000

interface Context {
  now: Date
  open: Map<number, Open>
  /** End of the maintenance that holds, epoch ms. */
  maintenance: ReadonlyMap<number, number>
  muted: ReadonlySet<number>
  /** Of which nobody can know yet whether they will be muted, with the seconds after which that is known. */
  awaited: ReadonlyMap<number, number>
  agents: ReadonlyMap<number, string[]>
}

async function findOpenOutages(tx: Queryable, monitorKeys: readonly number[]): Promise<Map<number, Open>> {
  const rows = await tx.query<Open & { monitor_key: number }>(
    `select id, monitor_key, at, status from alert_outbox
     where monitor_key = any ($1::bigint[]) and event = 'down' and opens and ended_at is null
     order by monitor_key for update`,
    [monitorKeys]
  )
  return new Map(rows.map((row) => [row.monitor_key, row]))
}

async function findAgents(tx: Queryable, monitorKeys: readonly number[]): Promise<Map<number, string[]>> {
  const agents = new Map<number, string[]>()
  if (monitorKeys.length === 0) return agents
  const rows = await tx.query<{ monitor_key: number; agent_ids: string[] }>(
    `select am.monitor_key, array_agg(a.id order by a.id) as agent_ids
     from agent_monitors am join agents a on a.id = am.agent_id
     where am.monitor_key = any ($1::bigint[]) and a.kind = 'agent'
     group by am.monitor_key`,
    [monitorKeys]
  )
  for (const row of rows) agents.set(row.monitor_key, row.agent_ids)
  return agents
}

/** Does it say that an agent is gone, so that the agent is told of and not each of its monitors? */
function tellsOfAgents({ to, reason }: NotedTransition): boolean {
  return to === 'unknown' && reason === 'agent_offline'
}

/** Is something known again of a monitor of agents? Not where it is down because they are gone. */
function provesAgents({ from, to, reason }: NotedTransition): boolean {
  return from === 'unknown' && to !== 'paused' && to !== 'pending' && reason !== 'agent_offline'
}

async function contextOf(tx: Queryable, transitions: readonly NotedTransition[], now: Date): Promise<Context> {
  const keys = [...new Set(transitions.map(({ monitorKey }) => monitorKey))]
  const begun = transitions.filter(({ to }) => to === 'down' || to === 'degraded' || to === 'unknown')
  const ofAgents = transitions.filter((one) => tellsOfAgents(one) || one.from === 'unknown')
  return {
    now,
    open: await findOpenOutages(tx, keys),
    maintenance: await findMaintenanceEnds(tx, new Map(begun.map(({ monitorKey, at }) => [monitorKey, at.getTime()]))),
    muted: await findMutedByParents(
      tx,
      begun.map(({ monitorKey }) => monitorKey)
    ),
    awaited: await findAwaitedParents(
      tx,
      new Map(begun.filter(({ to }) => to === 'down').map(({ monitorKey, at }) => [monitorKey, at.getTime()]))
    ),
    agents: await findAgents(
      tx,
      ofAgents.map(({ monitorKey }) => monitorKey)
    )
  }
}

/** Who hears of it, and when. Maintenance is looked at first: its end asks again, and then the parents too. */
function decide(transition: NotedTransition, { now, maintenance, muted }: Context) {
  const end = maintenance.get(transition.monitorKey)
  if (end !== undefined && end > now.getTime()) {
    return { status: 'held', cause: 'maintenance', dueAt: new Date(end) } as const
  }
  if (muted.has(transition.monitorKey)) return { status: 'muted', cause: 'parent_down', dueAt: now } as const
  return { status: 'due', cause: null, dueAt: now } as const
}

function rowOf(transition: NotedTransition, event: AlertEvent, opens: boolean, more: Partial<Row>, now: Date): Row {
  return {
    id: uuidv7(),
    transition,
    event,
    opens,
    agentId: null,
    beganAt: null,
    status: 'due',
    cause: null,
    dueAt: now,
    endedAt: null,
    ...more
  }
}

interface Written {
  rows: Row[]
  /** Outages that are over: id and when; those that nobody was told of will never be told. */
  ended: Array<{ id: string; at: Date }>
}

/** The outage ends. People hear so when they heard, or are about to hear, of the outage itself. */
function endOutage(transition: NotedTransition, open: Open, context: Context, into: Written): void {
  const { from, at } = transition
  context.open.delete(transition.monitorKey)
  const told = open.status === 'told' || open.status === 'due'
  if (open.row === undefined) into.ended.push({ id: open.id, at })
  else {
    open.row.endedAt = at
    if (!told) Object.assign(open.row, { status: 'dropped', cause: 'recovered' })
  }
  // Who pauses a monitor, or begins anew with it, knows.
  const silent = from === 'pending' || from === 'paused' || transition.to === 'paused' || transition.to === 'pending'
  if (told && !silent) into.rows.push(rowOf(transition, 'down', false, { beganAt: open.at }, context.now))
}

/** What is noticed before the one that it depends on is told only when that one is known to be there. */
function decideOutage(transition: NotedTransition, context: Context) {
  const decision = decide(transition, context)
  const seconds = context.awaited.get(transition.monitorKey)
  if (decision.status !== 'due' || seconds === undefined) return decision
  return { status: 'held', cause: 'settling', dueAt: new Date(context.now.getTime() + seconds * 1000) } as const
}

function beginOutage(transition: NotedTransition, context: Context, into: Written): void {
  const row = rowOf(transition, 'down', true, decideOutage(transition, context), context.now)
  into.rows.push(row)
  context.open.set(transition.monitorKey, { id: row.id, at: transition.at, status: row.status, row })
}

/** What is told by who asked for it, and never later: within maintenance or below a parent that is down it is dropped. */
function noteChange(transition: NotedTransition, event: AlertEvent, opens: boolean, context: Context, into: Written) {
  const { status, cause } = decide(transition, context)
  const more: Partial<Row> = status === 'due' ? {} : { status: 'dropped', cause }
  into.rows.push(rowOf(transition, event, opens, more, context.now))
}

function noteAgents(transition: NotedTransition, context: Context, into: Written): void {
  const { status, dueAt } = decide(transition, context)
  const settled = context.now.getTime() + SETTLING_MS
  for (const agentId of context.agents.get(transition.monitorKey) ?? []) {
    const more = { agentId, status: 'held', cause: 'settling' } as const
    const due = new Date(status === 'held' ? Math.max(dueAt.getTime(), settled) : settled)
    into.rows.push(rowOf(transition, 'agent', true, { ...more, dueAt: due }, context.now))
  }
}

function note(transition: NotedTransition, context: Context, into: Written): void {
  const { monitorKey, from, to } = transition
  const open = context.open.get(monitorKey)
  // An outage goes on while nothing is known of the monitor.
  const goesOn = to === 'unknown' || (to === 'down' && from !== 'pending' && from !== 'paused')
  if (open !== undefined && !goesOn) endOutage(transition, open, context, into)
  if (to === 'down' && !context.open.has(monitorKey)) beginOutage(transition, context, into)
  if (to === 'degraded' && open === undefined) noteChange(transition, 'degraded', true, context, into)
  if (from === 'degraded' && to === 'up') noteChange(transition, 'degraded', false, context, into)
  if (to !== 'unknown') return
  if (tellsOfAgents(transition) && context.agents.has(monitorKey)) noteAgents(transition, context, into)
  else noteChange(transition, 'unknown', true, context, into)
}

/** Of one agent there is one row until it is back, whoever of its monitors is missed first; the earliest time counts. */
async function insertRows(tx: Queryable, rows: readonly Row[], now: Date): Promise<void> {
  const values = rows.map((row) => ({
    id: row.id,
    organization_id: row.transition.organizationId,
    event: row.event,
    opens: row.opens,
    monitor_key: row.agentId === null ? row.transition.monitorKey : null,
    agent_id: row.agentId,
    from_state: row.transition.from,
    to_state: row.transition.to,
    at: row.transition.at,
    reason: row.transition.reason,
    began_at: row.beganAt,
    status: row.status,
    cause: row.cause,
    due_at: row.dueAt,
    ended_at: row.endedAt,
    created_at: now
  }))
  const table = (list: typeof values) => [JSON.stringify(list)]
  const insert = `insert into alert_outbox select * from jsonb_populate_recordset(null::alert_outbox, $1::jsonb)`
  const ofMonitors = values.filter(({ agent_id }) => agent_id === null)
  const ofAgents = new Map<string | null, (typeof values)[number]>()
  for (const value of values) {
    const known = ofAgents.get(value.agent_id)
    if (value.agent_id !== null && (known === undefined || value.due_at < known.due_at)) {
      ofAgents.set(value.agent_id, value)
    }
  }
  if (ofMonitors.length > 0) await tx.query(insert, table(ofMonitors))
  if (ofAgents.size === 0) return
  const inOrder = [...ofAgents.values()].sort((a, b) => String(a.agent_id).localeCompare(String(b.agent_id)))
  await tx.query(
    `${insert} on conflict (agent_id) where event = 'agent' and opens and ended_at is null
     do update set due_at = least(alert_outbox.due_at, excluded.due_at) where alert_outbox.status = 'held'`,
    table(inOrder)
  )
}

async function endRows(tx: Queryable, ended: Written['ended']): Promise<void> {
  await tx.query(
    `update alert_outbox o
     set ended_at = e.at, status = case when o.status in ('held', 'muted') then 'dropped' else o.status end,
       cause = case when o.status in ('held', 'muted') then 'recovered' else o.cause end
     from unnest($1::uuid[], $2::timestamptz[]) as e (id, at) where o.id = e.id`,
    [ended.map(({ id }) => id), ended.map(({ at }) => at)]
  )
}

/** The agents of monitors that are known of again are back: who heard of the loss hears of that, once. */
async function endLosses(tx: Queryable, back: readonly NotedTransition[], context: Context): Promise<Row[]> {
  const byAgent = new Map<string, NotedTransition>()
  for (const transition of back) {
    for (const agentId of context.agents.get(transition.monitorKey) ?? []) byAgent.set(agentId, transition)
  }
  if (byAgent.size === 0) return []
  const lost = await tx.query<Open & { agent_id: string }>(
    `select id, agent_id, at, status from alert_outbox
     where agent_id = any ($1::uuid[]) and event = 'agent' and opens and ended_at is null order by agent_id for update`,
    [[...byAgent.keys()]]
  )
  await endRows(
    tx,
    lost.map(({ id }) => ({ id, at: context.now }))
  )
  return lost
    .filter(({ status }) => status === 'told' || status === 'due')
    .flatMap(({ agent_id: agentId, at: beganAt }) => {
      const transition = byAgent.get(agentId)
      return transition === undefined ? [] : [rowOf(transition, 'agent', false, { agentId, beganAt }, context.now)]
    })
}

/**
 * Leaves what people should hear of these state changes in the outbox, in the transaction that made them: one row each,
 * with the decision who hears of it and when. The states are written already. Nothing here is sent.
 */
export async function recordAlerts(tx: Queryable, transitions: readonly NotedTransition[], now: Date): Promise<void> {
  if (transitions.length === 0) return
  const context = await contextOf(tx, transitions, now)
  const written: Written = { rows: [], ended: [] }
  for (const transition of transitions) note(transition, context, written)
  const back = transitions.filter(provesAgents)
  const returned = await endLosses(tx, back, context)
  if (written.ended.length > 0) await endRows(tx, written.ended)
  const rows = [...written.rows, ...returned]
  if (rows.length > 0) await insertRows(tx, rows, now)
}

/** What maintenance holds in this organization is decided anew at once: it is not what it was. */
export async function reconsiderAlerts(db: Queryable, organizationId: string, at: Date): Promise<void> {
  await db.query(
    `update alert_outbox set due_at = $2
     where organization_id = $1 and status = 'held' and cause = 'maintenance' and due_at > $2`,
    [organizationId, at]
  )
}
