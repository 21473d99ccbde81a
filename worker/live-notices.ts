import type { Database } from '../shared/db.ts'
import { appendLive, LISTENED_MS, type LiveEvent, readListened } from '../shared/live.ts'
import { presenceOf, readPresence } from '../shared/presence.ts'
import { formatTimestamp } from '../shared/protocol/timestamp.ts'
import type { RedisClient } from '../shared/redis.ts'
import { listAgentsSeen } from '../shared/store/agents.ts'
import { listMaintenanceOf, untilOf } from '../shared/store/maintenance.ts'

interface Deps {
  db: Database
  client: RedisClient
  prefix: string
  /** Epoch ms. */
  clock: () => number
}

/** `agent <id>` and `maintenance <id>`, each with what was last told of it. */
type Noticed = Record<string, string>

const ACTIVE = 'active'

/** What of these organizations changes without anybody writing it down. */
async function look({ db, client, prefix }: Deps, organizationIds: string[], now: number) {
  const noticed = new Map<string, Noticed>(organizationIds.map((id) => [id, {}]))
  const note = (organizationId: string, field: string, value: string) => {
    const own = noticed.get(organizationId)
    if (own !== undefined) own[field] = value
  }
  const agents = await listAgentsSeen(db, organizationIds)
  const heard = await readPresence(
    client,
    prefix,
    agents.map(({ id }) => id)
  )
  for (const row of agents) {
    note(row.organization_id, `agent ${row.id}`, presenceOf(row, heard.get(row.id), now))
  }
  for (const row of await listMaintenanceOf(db, organizationIds, new Date(now))) {
    // A change makes a new version, which is told even when it is no more active than before.
    note(row.organization_id, `maintenance ${row.id}`, `${row.version} ${untilOf(row, now) === null ? '' : ACTIVE}`)
  }
  return noticed
}

function eventsOf(before: Noticed, after: Noticed, now: number): LiveEvent[] {
  const at = formatTimestamp(now)
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return fields
    .filter((field) => before[field] !== after[field])
    .map((field) => {
      const [kind, id] = field.split(' ')
      const value = after[field]
      if (kind === 'agent') return { event: 'presence', data: { agentId: id, presence: value ?? 'revoked', at } }
      return { event: 'maintenance', data: { maintenanceId: id, active: value?.endsWith(ACTIVE) === true, at } }
    })
}

/**
 * Tells who watches which agents came and went and which maintenance began, ended or was changed, by comparing with what was
 * told last. To be called by one process at a time. The first look at an organization tells nothing: who begins to watch
 * reads what is there.
 */
export async function tellNotices(deps: Deps): Promise<void> {
  const { client, prefix, clock } = deps
  const now = clock()
  const organizationIds = [...(await readListened(client, prefix, now)).keys()]
  if (organizationIds.length === 0) return
  for (const [organizationId, after] of await look(deps, organizationIds, now)) {
    const key = `${prefix}:live-noticed:${organizationId}`
    const before = await client.get(key)
    const events = before === null ? [] : eventsOf(JSON.parse(before) as Noticed, after, now)
    if (events.length > 0) await appendLive(client, prefix, organizationId, events, now)
    // After the events: told twice is better than not at all.
    if (before === null || events.length > 0) await client.set(key, JSON.stringify(after), 'PX', LISTENED_MS)
    else await client.pexpire(key, LISTENED_MS)
  }
}
