import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { type ChannelAnswer, type DeliveryAnswer, MAX_CHANNELS } from '../../shared/contract/alerts.ts'
import { AppError } from '../../shared/errors.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import {
  type ChannelRow,
  channelContext,
  countChannels,
  deleteChannel,
  findChannel,
  insertChannel,
  listChannels,
  lockChannel,
  replaceChannelSecret,
  type SeenChannelRow,
  updateChannel
} from '../../shared/store/channels.ts'
import { type DeliveryRow, insertTest, listDeliveries, resendDelivery } from '../../shared/store/deliveries.ts'
import { lockOrganization } from '../../shared/store/organizations.ts'
import { AddressRefused } from '../../shared/webhooks/address-guard.ts'
import { sendWebhook } from '../../shared/webhooks/send.ts'
import { mintWebhookSecret } from '../../shared/webhooks/signature.ts'
import { audit } from '../http/audit.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, UUID_CURSOR, writeCursor } from '../http/cursor.ts'
import { validationFailed } from '../http/validate.ts'
import type { Parts } from '../parts.ts'

const NO_STORE = { 'Cache-Control': 'no-store' }
const TEST_TYPE = 'channel.test'
/** Longest wait for DNS when a channel is made; the delivery looks again. */
const RESOLVE_MS = 3000

function timeOf(time: Date | null): string | null {
  return time === null ? null : formatTimestamp(time.getTime())
}

function toChannel(row: SeenChannelRow): ChannelAnswer {
  const { id, kind, name, url, events, enabled } = row
  const createdAt = formatTimestamp(row.created_at.getTime())
  return { id, kind, name, url, events, enabled, failingSince: timeOf(row.failing_since), createdAt }
}

function toDelivery(row: DeliveryRow): DeliveryAnswer {
  return {
    id: row.id,
    type: row.type,
    body: row.body,
    status: row.status,
    attempts: row.attempts,
    createdAt: formatTimestamp(row.created_at.getTime()),
    lastAttemptAt: timeOf(row.last_attempt_at),
    nextAttemptAt: row.status === 'waiting' ? timeOf(row.next_at) : null,
    statusCode: row.status_code,
    error: row.error,
    response: row.response
  }
}

function targetOf({ id, name }: { id: string; name: string }) {
  return { kind: 'channel', id, name }
}

/** @throws AppError not_found */
function found<R extends ChannelRow>(row: R | undefined): R {
  if (row === undefined) throw new AppError('not_found')
  return row
}

/**
 * A host that cannot be found now may be found later, and is looked at again at every delivery.
 * @throws AppError validation_failed when it leads to where webhooks must not go
 */
async function requirePublic({ webhookGuard }: Parts, url: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, RESOLVE_MS)
  })
  try {
    await Promise.race([webhookGuard.resolve(new URL(url).hostname), late])
  } catch (error) {
    if (!(error instanceof AddressRefused)) return
    const detail =
      'The host leads to a private or otherwise special address; the operator can permit it by WEBHOOK_ALLOW.'
    throw validationFailed([{ pointer: '/url', code: 'private_address', detail }])
  } finally {
    clearTimeout(timer)
  }
}

type ChannelHandlers = Pick<
  Handlers,
  | 'listChannels'
  | 'createChannel'
  | 'readChannel'
  | 'patchChannel'
  | 'deleteChannel'
  | 'rotateChannelSecret'
  | 'testChannel'
  | 'listDeliveries'
  | 'resendDelivery'
>

type Readers = 'listChannels' | 'readChannel' | 'listDeliveries'

function createReaders({ db }: Parts): Pick<ChannelHandlers, Readers> {
  return {
    listChannels: async ({ principal: { organizationId }, query }) => {
      const [after = null] = readCursor(query.cursor, UUID_CURSOR) ?? []
      const rows = await db.tenant(organizationId, (tx) => listChannels(tx, organizationId, after, query.limit + 1))
      const { page, nextCursor } = cutPage(rows, query.limit, (last) => writeCursor(last.id))
      return { status: 200, body: { data: page.map(toChannel), nextCursor } }
    },

    readChannel: async ({ principal: { organizationId }, params }) => {
      const row = await db.tenant(organizationId, (tx) => findChannel(tx, organizationId, params.id))
      return { status: 200, body: toChannel(found(row)) }
    },

    listDeliveries: async ({ principal: { organizationId }, params, query }) => {
      const [after = null] = readCursor(query.cursor, UUID_CURSOR) ?? []
      const rows = await db.tenant(organizationId, async (tx) => {
        found(await findChannel(tx, organizationId, params.id))
        return listDeliveries(tx, organizationId, params.id, after, query.limit + 1)
      })
      const { page, nextCursor } = cutPage(rows, query.limit, (last) => writeCursor(last.id))
      return { status: 200, body: { data: page.map(toDelivery), nextCursor } }
    }
  }
}

function createTester({ db, secrets, webhookGuard, clock }: Parts): Pick<ChannelHandlers, 'testChannel'> {
  return {
    testChannel: async (call) => {
      const { organizationId } = call.principal
      const channel = await db.tenant(organizationId, async (tx) => {
        const row = found(await findChannel(tx, organizationId, call.params.id))
        await audit(tx, call, 'channel.tested', { target: targetOf(row) })
        return row
      })
      const id = uuidv7()
      const at = new Date(clock())
      const body = JSON.stringify({
        type: TEST_TYPE,
        at: at.toISOString(),
        channel: { id: channel.id, name: channel.name }
      })
      const secret = secrets.open(channel.secret_sealed, channelContext(channel.id))
      // No transaction is open while somebody else's server takes its time.
      const outcome = await sendWebhook({ id, url: channel.url, secret, body }, webhookGuard, clock())
      await db.tenant(organizationId, async (tx) => {
        found(await lockChannel(tx, organizationId, channel.id))
        await insertTest(tx, { id, organizationId, channelId: channel.id, type: TEST_TYPE, body }, outcome, at)
      })
      const { delivered, statusCode: status_code, error, response } = outcome
      const times = { next_at: at, last_attempt_at: at, created_at: at }
      const row = { id, type: TEST_TYPE, body, attempts: 1, status_code, error, response, ...times }
      return { status: 200, body: toDelivery({ ...row, status: delivered ? 'delivered' : 'failed' }) }
    }
  }
}

type Renewers = 'rotateChannelSecret' | 'resendDelivery'

function createRenewers({ db, secrets, clock }: Parts): Pick<ChannelHandlers, Renewers> {
  return {
    rotateChannelSecret: async (call) => {
      const { organizationId } = call.principal
      const secret = mintWebhookSecret()
      const row = await db.tenant(organizationId, async (tx) => {
        const { id, name } = found(await lockChannel(tx, organizationId, call.params.id))
        await replaceChannelSecret(tx, organizationId, id, secrets.seal(secret, channelContext(id)))
        await audit(tx, call, 'channel.secret_rotated', { target: targetOf({ id, name }) })
        return found(await findChannel(tx, organizationId, id))
      })
      return { status: 200, body: { ...toChannel(row), secret }, headers: NO_STORE }
    },

    resendDelivery: async (call) => {
      const { organizationId } = call.principal
      const { id: channelId, deliveryId } = call.params
      const row = await db.tenant(organizationId, async (tx) => {
        const channel = found(await lockChannel(tx, organizationId, channelId))
        const message = { organizationId, channelId, id: deliveryId }
        const delivery = await resendDelivery(tx, message, new Date(clock()))
        if (delivery === undefined) throw new AppError('not_found')
        await audit(tx, call, 'channel.message_resent', { target: targetOf(channel), details: { deliveryId } })
        return delivery
      })
      return { status: 202, body: toDelivery(row) }
    }
  }
}

export function createChannelHandlers(parts: Parts): ChannelHandlers {
  const { db, secrets } = parts
  return {
    ...createReaders(parts),
    ...createTester(parts),
    ...createRenewers(parts),

    createChannel: async (call) => {
      const { body } = call
      const { organizationId } = call.principal
      await requirePublic(parts, body.url)
      const id = uuidv7()
      const secret = mintWebhookSecret()
      const row = await db.tenant(organizationId, async (tx) => {
        await lockOrganization(tx, organizationId)
        if ((await countChannels(tx, organizationId)) >= MAX_CHANNELS) {
          throw new AppError('limit_reached', { detail: `An organization has ${MAX_CHANNELS} channels at most.` })
        }
        await insertChannel(tx, organizationId, {
          id,
          ...body,
          events: [...new Set(body.events)],
          secret_sealed: secrets.seal(secret, channelContext(id))
        })
        await audit(tx, call, 'channel.created', {
          target: targetOf({ id, name: body.name }),
          details: { kind: body.kind }
        })
        return found(await findChannel(tx, organizationId, id))
      })
      return { status: 201, body: { ...toChannel(row), secret }, headers: NO_STORE }
    },

    patchChannel: async (call) => {
      const { body, params } = call
      const { organizationId } = call.principal
      if (body.url !== undefined) await requirePublic(parts, body.url)
      const row = await db.tenant(organizationId, async (tx) => {
        const before = found(await lockChannel(tx, organizationId, params.id))
        const after = {
          ...before,
          name: body.name ?? before.name,
          url: body.url ?? before.url,
          enabled: body.enabled ?? before.enabled,
          events: [...new Set(body.events ?? before.events)]
        }
        await updateChannel(tx, organizationId, after)
        // The names of a parsed body are those of its schema; a URL may hold a secret.
        const named = Object.keys(body) as Array<keyof typeof body>
        const fields = named.filter((field) => !isDeepStrictEqual(before[field], after[field]))
        if (fields.length > 0)
          await audit(tx, call, 'channel.changed', { target: targetOf(after), details: { fields } })
        return found(await findChannel(tx, organizationId, params.id))
      })
      return { status: 200, body: toChannel(row) }
    },

    deleteChannel: async (call) => {
      const { organizationId } = call.principal
      await db.tenant(organizationId, async (tx) => {
        const row = found(await lockChannel(tx, organizationId, call.params.id))
        await deleteChannel(tx, organizationId, row.id)
        await audit(tx, call, 'channel.deleted', { target: targetOf(row) })
      })
      return { status: 204 }
    }
  }
}
