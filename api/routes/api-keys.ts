import { v7 as uuidv7 } from 'uuid'
import { type ApiKeyAnswer, MAX_ACTIVE_KEYS } from '../../shared/contract/agents.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { type KeyHolder, mintApiKey, partsToShow } from '../../shared/identity/api-key.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import type { Secrets } from '../../shared/secrets.ts'
import { type AgentRow, findAgent, lockAgent } from '../../shared/store/agents.ts'
import {
  type ApiKeyRow,
  countActiveKeys,
  findApiKeyById,
  insertApiKey,
  listApiKeys,
  revokeApiKey
} from '../../shared/store/api-keys.ts'
import { announceChanges } from '../http/announce-change.ts'
import { audit } from '../http/audit.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, UUID_CURSOR, writeCursor } from '../http/cursor.ts'
import type { Parts } from '../parts.ts'

/** A key that was just made: only here it can be read. */
export interface GivenKey {
  id: string
  apiKey: string
}

/** Makes a key for an agent and stores only what recognises it. */
export async function giveKey(
  tx: Queryable,
  secrets: Secrets,
  organizationId: string,
  agent: { id: string; kind: KeyHolder }
): Promise<GivenKey> {
  const [id, apiKey] = [uuidv7(), mintApiKey(agent.kind)]
  await insertApiKey(tx, {
    id,
    organizationId,
    agentId: agent.id,
    digest: secrets.digest(apiKey),
    pepperVersion: secrets.version,
    ...partsToShow(apiKey)
  })
  return { id, apiKey }
}

/** How the audit trail names a key: as lists show it. */
export function keyTarget(id: string, { prefix, suffix }: { prefix: string; suffix: string }) {
  return { kind: 'key', id, name: `${prefix}…${suffix}` }
}

function timeOrNull(time: Date | null): string | null {
  return time === null ? null : formatTimestamp(time.getTime())
}

function toKey(row: ApiKeyRow): ApiKeyAnswer {
  return {
    id: row.id,
    prefix: row.prefix,
    suffix: row.suffix,
    createdAt: formatTimestamp(row.created_at.getTime()),
    lastUsedAt: timeOrNull(row.last_used_at),
    revokedAt: timeOrNull(row.revoked_at)
  }
}

function orNotFound<T>(row: T | undefined): T {
  if (row === undefined) throw new AppError('not_found')
  return row
}

function ofAgent({ id, name }: AgentRow) {
  return { agentId: id, agentName: name }
}

export function createApiKeyHandlers(parts: Parts): Pick<Handlers, 'listKeys' | 'createKey' | 'deleteKey'> {
  const { db, secrets } = parts
  return {
    listKeys: async ({ principal: { organizationId }, params: { id }, query: { cursor, limit } }) => {
      const [after = null] = readCursor(cursor, UUID_CURSOR) ?? []
      const rows = await db.tenant(organizationId, async (tx) => {
        orNotFound(await findAgent(tx, organizationId, id))
        return listApiKeys(tx, organizationId, id, { after, limit: limit + 1 })
      })
      const { page, nextCursor } = cutPage(rows, limit, (last) => writeCursor(last.id))
      return { status: 200, body: { data: page.map(toKey), nextCursor } }
    },

    createKey: async (call) => {
      const { organizationId } = call.principal
      const body = await db.tenant(organizationId, async (tx) => {
        // Locked: of two requests at once only one may give the last key.
        const agent = orNotFound(await lockAgent(tx, organizationId, call.params.id))
        if ((await countActiveKeys(tx, organizationId, agent.id)) >= MAX_ACTIVE_KEYS) {
          throw new AppError('limit_reached', {
            detail: `The agent has ${MAX_ACTIVE_KEYS} active keys; revoke one of them first.`
          })
        }
        const { id, apiKey } = await giveKey(tx, secrets, organizationId, agent)
        await audit(tx, call, 'key.created', { target: keyTarget(id, partsToShow(apiKey)), details: ofAgent(agent) })
        return { ...toKey(orNotFound(await findApiKeyById(tx, organizationId, agent.id, id))), apiKey }
      })
      return { status: 201, body, headers: { 'Cache-Control': 'no-store' } }
    },

    deleteKey: async (call) => {
      const { organizationId } = call.principal
      const { id: agentId, keyId } = call.params
      await db.tenant(organizationId, async (tx) => {
        const agent = orNotFound(await lockAgent(tx, organizationId, agentId))
        const key = orNotFound(await findApiKeyById(tx, organizationId, agentId, keyId))
        if (!(await revokeApiKey(tx, organizationId, keyId))) return
        await audit(tx, call, 'key.revoked', { target: keyTarget(keyId, key), details: ofAgent(agent) })
      })
      // Told again of a key that was revoked before: the message of that time may have been lost.
      await announceChanges(parts, [{ type: 'keys_revoked', organizationId, agentId, keyIds: [keyId] }])
      return { status: 204 }
    }
  }
}
