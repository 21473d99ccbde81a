import { v7 as uuidv7 } from 'uuid'
import type { AgentAnswer } from '../../shared/contract/agents.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { type KeyHolder, mintApiKey, partsToShow } from '../../shared/identity/api-key.ts'
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
import { insertApiKey, revokeApiKeys } from '../../shared/store/api-keys.ts'
import { findMonitorKeys } from '../../shared/store/monitors.ts'
import { announceChanges } from '../http/announce-change.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, UUID_CURSOR, writeCursor } from '../http/cursor.ts'
import { validationFailed } from '../http/validate.ts'
import type { Parts } from '../parts.ts'

/** The gateway notes about every 30 s that an agent was heard. */
const ONLINE_MS = 60_000
const STALE_MS = 120_000
const NO_STORE = { 'Cache-Control': 'no-store' }

function presenceOf(row: AgentRow, now: number): AgentAnswer['presence'] {
  if (!row.has_key) return 'revoked'
  if (row.last_seen_at === null) return 'never_connected'
  const silentMs = now - row.last_seen_at.getTime()
  if (silentMs <= ONLINE_MS) return 'online'
  return silentMs <= STALE_MS ? 'stale' : 'offline'
}

function toAgent(row: AgentRow, now: number): AgentAnswer {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    monitorIds: row.monitor_ids,
    scopes: row.scopes,
    presence: presenceOf(row, now),
    version: row.version,
    lastSeenAt: row.last_seen_at === null ? null : formatTimestamp(row.last_seen_at.getTime()),
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

type AgentHandlers = Pick<
  Handlers,
  'listAgents' | 'createAgent' | 'readAgent' | 'patchAgent' | 'deleteAgent' | 'rotateAgent'
>

function createTools({ secrets, clock }: Parts) {
  return {
    /** Makes the key and stores only what recognises it. */
    giveKey: async (tx: Queryable, organizationId: string, agentId: string, kind: KeyHolder): Promise<string> => {
      const apiKey = mintApiKey(kind)
      const digest = secrets.digest(apiKey)
      const shown = partsToShow(apiKey)
      await insertApiKey(tx, {
        id: uuidv7(),
        organizationId,
        agentId,
        digest,
        pepperVersion: secrets.version,
        ...shown
      })
      return apiKey
    },
    /** @throws AppError not_found */
    reread: async (tx: Queryable, organizationId: string, id: string): Promise<AgentAnswer> => {
      const row = await findAgent(tx, organizationId, id)
      if (row === undefined) throw new AppError('not_found')
      return toAgent(row, clock())
    }
  }
}

function createReaders(parts: Parts): Pick<AgentHandlers, 'listAgents' | 'readAgent'> {
  const { db, clock } = parts
  const { reread } = createTools(parts)
  return {
    listAgents: async ({ principal: { organizationId }, query }) => {
      const [after = null] = readCursor(query.cursor, UUID_CURSOR) ?? []
      const rows = await db.tenant(organizationId, (tx) => listAgents(tx, organizationId, after, query.limit + 1))
      const { page, nextCursor } = cutPage(rows, query.limit, (last) => writeCursor(last.id))
      return { status: 200, body: { data: page.map((row) => toAgent(row, clock())), nextCursor } }
    },

    readAgent: async ({ principal: { organizationId }, params }) => ({
      status: 200,
      body: await db.tenant(organizationId, (tx) => reread(tx, organizationId, params.id))
    })
  }
}

function createWriters(parts: Parts): Omit<AgentHandlers, 'listAgents' | 'readAgent'> {
  const { db } = parts
  const { giveKey, reread } = createTools(parts)
  return {
    createAgent: async ({ principal: { organizationId }, body }) => {
      const id = uuidv7()
      const made = await db.tenant(organizationId, async (tx) => {
        const keys = await keysOfMonitors(tx, organizationId, body.monitorIds)
        await insertAgent(tx, organizationId, {
          id,
          name: body.name,
          kind: body.kind,
          scopes: [...new Set(body.scopes)]
        })
        await replaceAgentMonitors(tx, organizationId, id, keys)
        const apiKey = await giveKey(tx, organizationId, id, body.kind)
        return { ...(await reread(tx, organizationId, id)), apiKey }
      })
      return { status: 201, body: made, headers: NO_STORE }
    },

    patchAgent: async ({ principal: { organizationId }, params: { id }, body }) => {
      const agent = await db.tenant(organizationId, async (tx) => {
        const row = await lockAgent(tx, organizationId, id)
        if (row === undefined) throw new AppError('not_found')
        const scopes = [...new Set(body.scopes ?? row.scopes)]
        await updateAgent(tx, organizationId, id, { name: body.name ?? row.name, scopes })
        if (body.monitorIds !== undefined) {
          const keys = await keysOfMonitors(tx, organizationId, body.monitorIds)
          await replaceAgentMonitors(tx, organizationId, id, keys)
        }
        return reread(tx, organizationId, id)
      })
      await announceChanges(parts, [{ type: 'agent_changed', organizationId, agentId: id }])
      return { status: 200, body: agent }
    },

    deleteAgent: async ({ principal: { organizationId }, params: { id } }) => {
      const keyIds = await db.tenant(organizationId, async (tx) => {
        const revoked = await revokeApiKeys(tx, organizationId, id)
        if (!(await deleteAgent(tx, organizationId, id))) throw new AppError('not_found')
        return revoked
      })
      await announceChanges(parts, [
        { type: 'keys_revoked', organizationId, agentId: id, keyIds },
        { type: 'agent_changed', organizationId, agentId: id }
      ])
      return { status: 204 }
    },

    rotateAgent: async ({ principal: { organizationId }, params: { id } }) => {
      const { keyIds, agent } = await db.tenant(organizationId, async (tx) => {
        const row = await lockAgent(tx, organizationId, id)
        if (row === undefined) throw new AppError('not_found')
        const revoked = await revokeApiKeys(tx, organizationId, id)
        const apiKey = await giveKey(tx, organizationId, id, row.kind)
        return { keyIds: revoked, agent: { ...(await reread(tx, organizationId, id)), apiKey } }
      })
      await announceChanges(parts, [{ type: 'keys_revoked', organizationId, agentId: id, keyIds }])
      return { status: 200, body: agent, headers: NO_STORE }
    }
  }
}

export function createAgentHandlers(parts: Parts): AgentHandlers {
  return { ...createReaders(parts), ...createWriters(parts) }
}
