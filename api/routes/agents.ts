import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import type { AgentAnswer, PatchAgentBody } from '../../shared/contract/agents.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { partsToShow } from '../../shared/identity/api-key.ts'
import type { Log } from '../../shared/log.ts'
import { type AgentPresence, lastSeenOf, presenceOf, readPresence } from '../../shared/presence.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import {
  type AgentRow,
  deleteAgent,
  findAgent,
  insertAgent,
  listAgents,
  lockAgent,
  replaceAgentMonitors,
  updateAgent
} from '../../shared/store/agents.ts'
import { revokeApiKeys } from '../../shared/store/api-keys.ts'
import { recountVotes } from '../../shared/store/monitor-switches.ts'
import { findMonitorKeys } from '../../shared/store/monitors.ts'
import { announceChanges } from '../http/announce-change.ts'
import { audit } from '../http/audit.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, UUID_CURSOR, writeCursor } from '../http/cursor.ts'
import { requireRoom } from '../http/plan-limits.ts'
import { validationFailed } from '../http/validate.ts'
import type { Parts } from '../parts.ts'
import { createApiKeyHandlers, giveKey, keyTarget } from './api-keys.ts'

const NO_STORE = { 'Cache-Control': 'no-store' }

/** The agent as it is shown; `heard`: what gateways say of it. */
function toAgent(row: AgentRow, now: number, heard?: AgentPresence): AgentAnswer {
  const seenAt = lastSeenOf(row, heard)
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    monitorIds: row.monitor_ids,
    scopes: row.scopes,
    presence: presenceOf(row, heard, now),
    version: row.version,
    lastSeenAt: seenAt === null ? null : formatTimestamp(seenAt),
    createdAt: formatTimestamp(row.created_at.getTime())
  }
}

/** Another organization's monitor is as unknown as one that never was. @throws AppError validation_failed */
async function keysOfMonitors(tx: Queryable, organizationId: string, ids: readonly string[]): Promise<number[]> {
  const rows = await findMonitorKeys(tx, organizationId, ids)
  const known = new Map(rows.map((row) => [row.id, row.key]))
  const faults = ids.flatMap((id, index) =>
    known.has(id.toLowerCase())
      ? []
      : [{ pointer: `/monitorIds/${index}`, code: 'monitor_not_allowed', detail: 'There is no such monitor.' }]
  )
  if (faults.length > 0) throw validationFailed(faults)
  return [...new Set(known.values())]
}

/** The names of the fields that are not what they were. */
function changedFields(row: AgentRow, agent: AgentAnswer, body: PatchAgentBody): string[] {
  const before = { name: row.name, monitorIds: row.monitor_ids, scopes: row.scopes }
  // The names of a parsed body are those of its schema.
  const named = Object.keys(body) as Array<keyof PatchAgentBody>
  return named.filter((field) => !isDeepStrictEqual(before[field], agent[field]))
}

function targetOf({ id, name }: { id: string; name: string }) {
  return { kind: 'agent', id, name }
}

/** @throws AppError not_found */
async function reread(tx: Queryable, organizationId: string, id: string, now: number): Promise<AgentAnswer> {
  const row = await findAgent(tx, organizationId, id)
  if (row === undefined) throw new AppError('not_found')
  return toAgent(row, now)
}

type AgentHandlers = Pick<
  Handlers,
  'listAgents' | 'createAgent' | 'readAgent' | 'patchAgent' | 'deleteAgent' | 'rotateAgent'
>

function createReaders(parts: Parts): Pick<AgentHandlers, 'listAgents' | 'readAgent'> {
  const { db, clock, redis, redisPrefix } = parts

  /** What gateways say of them; without Redis the table is what is known. */
  async function heardOf(rows: readonly AgentRow[], log: Log): Promise<Map<string, AgentPresence>> {
    try {
      return await readPresence(
        redis.client,
        redisPrefix,
        rows.map(({ id }) => id)
      )
    } catch (error) {
      log.warn({ err: error }, 'who is connected could not be read')
      return new Map()
    }
  }

  return {
    listAgents: async ({ principal: { organizationId }, query, log }) => {
      const [after = null] = readCursor(query.cursor, UUID_CURSOR) ?? []
      const rows = await db.tenant(organizationId, (tx) => listAgents(tx, organizationId, after, query.limit + 1))
      const { page, nextCursor } = cutPage(rows, query.limit, (last) => writeCursor(last.id))
      const heard = await heardOf(page, log)
      const data = page.map((row) => toAgent(row, clock(), heard.get(row.id)))
      return { status: 200, body: { data, nextCursor } }
    },

    readAgent: async ({ principal: { organizationId }, params, log }) => {
      const row = await db.tenant(organizationId, (tx) => findAgent(tx, organizationId, params.id))
      if (row === undefined) throw new AppError('not_found')
      const heard = await heardOf([row], log)
      return { status: 200, body: toAgent(row, clock(), heard.get(row.id)) }
    }
  }
}

function createWriters(parts: Parts): Pick<AgentHandlers, 'createAgent' | 'patchAgent'> {
  const { db, secrets, clock } = parts
  return {
    createAgent: async (call) => {
      const { body } = call
      const { organizationId, plan } = call.principal
      const id = uuidv7()
      const made = await db.tenant(organizationId, async (tx) => {
        await requireRoom(tx, organizationId, plan, 'agents')
        const keys = await keysOfMonitors(tx, organizationId, body.monitorIds)
        const scopes = [...new Set(body.scopes)]
        await insertAgent(tx, organizationId, { id, name: body.name, kind: body.kind, scopes })
        await replaceAgentMonitors(tx, organizationId, id, keys)
        const key = await giveKey(tx, secrets, organizationId, { id, kind: body.kind })
        await audit(tx, call, 'agent.created', {
          target: targetOf({ id, name: body.name }),
          details: { kind: body.kind, scopes, monitors: keys.length, keyId: key.id }
        })
        return { ...(await reread(tx, organizationId, id, clock())), apiKey: key.apiKey }
      })
      return { status: 201, body: made, headers: NO_STORE }
    },

    patchAgent: async (call) => {
      const { body } = call
      const { id } = call.params
      const { organizationId } = call.principal
      const agent = await db.tenant(organizationId, async (tx) => {
        const row = await lockAgent(tx, organizationId, id)
        if (row === undefined) throw new AppError('not_found')
        const scopes = [...new Set(body.scopes ?? row.scopes)]
        await updateAgent(tx, organizationId, id, { name: body.name ?? row.name, scopes })
        if (body.monitorIds !== undefined) {
          const keys = await keysOfMonitors(tx, organizationId, body.monitorIds)
          await replaceAgentMonitors(tx, organizationId, id, keys)
          await recountVotes(tx, { organizationId, ids: row.monitor_ids, at: new Date(clock()) })
        }
        const now = await reread(tx, organizationId, id, clock())
        const fields = changedFields(row, now, body)
        if (fields.length > 0) await audit(tx, call, 'agent.changed', { target: targetOf(now), details: { fields } })
        return now
      })
      await announceChanges(parts, [{ type: 'agent_changed', organizationId, agentId: id }])
      return { status: 200, body: agent }
    }
  }
}

/** What ends keys that somebody may be using. */
function createEnders(parts: Parts): Pick<AgentHandlers, 'deleteAgent' | 'rotateAgent'> {
  const { db, secrets, clock } = parts
  return {
    deleteAgent: async (call) => {
      const { id } = call.params
      const { organizationId } = call.principal
      const keyIds = await db.tenant(organizationId, async (tx) => {
        const row = await lockAgent(tx, organizationId, id)
        if (row === undefined) throw new AppError('not_found')
        const revoked = await revokeApiKeys(tx, organizationId, id)
        await recountVotes(tx, { organizationId, ids: row.monitor_ids, at: new Date(clock()) })
        await deleteAgent(tx, organizationId, id)
        await audit(tx, call, 'agent.deleted', { target: targetOf(row), details: { revokedKeyIds: revoked } })
        return revoked
      })
      await announceChanges(parts, [
        { type: 'keys_revoked', organizationId, agentId: id, keyIds },
        { type: 'agent_changed', organizationId, agentId: id }
      ])
      return { status: 204 }
    },

    rotateAgent: async (call) => {
      const { id } = call.params
      const { organizationId } = call.principal
      const { keyIds, agent } = await db.tenant(organizationId, async (tx) => {
        const row = await lockAgent(tx, organizationId, id)
        if (row === undefined) throw new AppError('not_found')
        const revoked = await revokeApiKeys(tx, organizationId, id)
        const key = await giveKey(tx, secrets, organizationId, row)
        await audit(tx, call, 'key.rotated', {
          target: keyTarget(key.id, partsToShow(key.apiKey)),
          details: { agentId: id, agentName: row.name, revokedKeyIds: revoked }
        })
        return { keyIds: revoked, agent: { ...(await reread(tx, organizationId, id, clock())), apiKey: key.apiKey } }
      })
      await announceChanges(parts, [{ type: 'keys_revoked', organizationId, agentId: id, keyIds }])
      return { status: 200, body: agent, headers: NO_STORE }
    }
  }
}

export function createAgentHandlers(
  parts: Parts
): AgentHandlers & Pick<Handlers, 'listKeys' | 'createKey' | 'deleteKey'> {
  return { ...createReaders(parts), ...createWriters(parts), ...createEnders(parts), ...createApiKeyHandlers(parts) }
}
