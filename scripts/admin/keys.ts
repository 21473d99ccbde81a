import { findHeldApiKey, type HeldApiKeyRow, listHeldApiKeys, revokeApiKey } from '../../shared/store/api-keys.ts'
import { findOrganization } from '../../shared/store/organizations.ts'
import { announce, auditOperator, type Operator, Refusal, tableLines, timeOf } from './operator.ts'

function nameOf({ prefix, suffix }: HeldApiKeyRow): string {
  return `${prefix}…${suffix}`
}

export async function showKeys({ db, say }: Operator, organizationId: string): Promise<void> {
  if ((await findOrganization(db, organizationId)) === undefined) {
    throw new Refusal(`There is no organization ${organizationId}.`)
  }
  const rows = await listHeldApiKeys(db, organizationId)
  const lines = rows.map((row) => [
    row.id,
    nameOf(row),
    row.revoked_at === null ? 'active' : 'revoked',
    `made ${timeOf(row.created_at)}`,
    `used ${timeOf(row.last_used_at)}`,
    row.agent_name
  ])
  for (const line of tableLines(lines)) say(line)
  say(rows.length === 1 ? '1 key.' : `${rows.length} keys.`)
}

/** Its sockets are closed and its requests refused within a second. */
export async function revokeKey(operator: Operator, keyId: string): Promise<void> {
  const { key, changed } = await operator.db.transaction(async (tx) => {
    const key = await findHeldApiKey(tx, keyId)
    if (key === undefined) throw new Refusal(`There is no key ${keyId}.`)
    const { organization_id: organizationId, agent_id: agentId, agent_name: agentName } = key
    const changed = await revokeApiKey(tx, organizationId, keyId)
    const target = { kind: 'key', id: keyId, name: nameOf(key) }
    if (changed) {
      await auditOperator(tx, { organizationId, action: 'key.revoked', target, details: { agentId, agentName } })
    }
    return { key, changed }
  })
  const { organization_id: organizationId, agent_id: agentId } = key
  // Told again of a key that was revoked before: the message of that time may have been lost.
  await announce(operator, { type: 'keys_revoked', organizationId, agentId, keyIds: [keyId] })
  operator.say(`The key ${nameOf(key)} of ${key.agent_name} is revoked${changed ? '' : ' already'}.`)
}
