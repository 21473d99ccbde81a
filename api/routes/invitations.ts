import { v7 as uuidv7 } from 'uuid'
import type { InvitationAnswer } from '../../shared/contract/team.ts'
import { AppError } from '../../shared/errors.ts'
import { randomBase62 } from '../../shared/identity/api-key.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import {
  deleteInvitation,
  findOpenInvitation,
  findOpenInvitationOf,
  type InvitationRow,
  insertInvitation,
  listInvitations
} from '../../shared/store/invitations.ts'
import { hasMemberOf } from '../../shared/store/memberships.ts'
import { audit } from '../http/audit.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, UUID_CURSOR, writeCursor } from '../http/cursor.ts'
import { requireQuota } from '../http/rate-limit-headers.ts'
import { invitationMail } from '../mail/invitation-mail.ts'
import type { MailMessage } from '../mail/mail.ts'
import type { Addresses, Parts } from '../parts.ts'
import { normalizeEmail } from '../sign-in/email.ts'
import { lockTeam, requireManage } from './lock-team.ts'

const LIFE_MS = 7 * 86_400_000
const TOKEN_LENGTH = 43
/** Invitations of one organization in a minute: each is a mail to somebody who may not have asked for it. */
const PER_MINUTE = 30

function toInvitation(row: InvitationRow): InvitationAnswer {
  const { inviter_id: id, inviter_name: name } = row
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    invitedBy: id === null || name === null ? null : { id, name },
    createdAt: formatTimestamp(row.created_at.getTime()),
    expiresAt: formatTimestamp(row.expires_at.getTime())
  }
}

type InvitationHandlers = Pick<Handlers, 'createInvitation' | 'listInvitations' | 'deleteInvitation'>

/** Writes an invitation in the place of an older one for the same address; returns it with the names for the letter. */
function createInviter({ db, secrets, clock }: Parts) {
  return (call: Parameters<Handlers['createInvitation']>[0], token: string) => {
    const { principal, body } = call
    const { organizationId } = principal
    const email = normalizeEmail(body.email)
    return db.tenant(organizationId, async (tx) => {
      const { organization, actor } = await lockTeam(tx, principal, 'team:write')
      const older = await findOpenInvitationOf(tx, organizationId, email)
      requireManage(actor, body.role, ...(older === undefined ? [] : [older.role]))
      if (await hasMemberOf(tx, organizationId, email)) throw new AppError('already_member')
      if (older !== undefined) await deleteInvitation(tx, organizationId, older.id)
      const id = uuidv7()
      const createdAt = new Date(clock())
      const expiresAt = new Date(clock() + LIFE_MS)
      await insertInvitation(tx, {
        id,
        organizationId,
        email,
        role: body.role,
        tokenDigest: secrets.digest(token),
        pepperVersion: secrets.version,
        invitedBy: actor.id,
        createdAt,
        expiresAt
      })
      await audit(tx, call, 'invitation.created', {
        target: { kind: 'invitation', id, name: email },
        details: { role: body.role, ...(older === undefined ? {} : { instead: older.id }) }
      })
      const row: InvitationRow = {
        id,
        email,
        role: body.role,
        inviter_id: actor.id,
        inviter_name: actor.name,
        created_at: createdAt,
        expires_at: expiresAt
      }
      return { row, inviterName: actor.name, organizationName: organization.name }
    })
  }
}

export function createInvitationHandlers(parts: Parts, { appUrl }: Addresses): InvitationHandlers {
  const { db, mail, counts, rateLimitScale } = parts
  const invite = createInviter(parts)
  const quota = counts.limit('invitations', Math.ceil(PER_MINUTE * rateLimitScale))

  /** Whether the mail server took it. Why it did not is in the log, written by `mail`. */
  async function sent(message: MailMessage): Promise<boolean> {
    if (!mail.configured) return false
    return mail.send(message).then(
      () => true,
      () => false
    )
  }

  return {
    createInvitation: async (call) => {
      requireQuota(quota.take(call.principal.organizationId))
      const token = `pgi_${randomBase62(TOKEN_LENGTH)}`
      const { row, ...names } = await invite(call, token)
      const url = `${appUrl}/invitations/${token}`
      const letter = invitationMail({ ...names, to: row.email, role: row.role, url, expiresAt: row.expires_at })
      const isSent = await sent(letter)
      return {
        status: 201,
        body: { ...toInvitation(row), ...(isSent ? {} : { url }) },
        headers: { 'Cache-Control': 'no-store' }
      }
    },

    listInvitations: async ({ principal: { organizationId }, query }) => {
      const [after = null] = readCursor(query.cursor, UUID_CURSOR) ?? []
      const rows = await db.tenant(organizationId, (tx) => listInvitations(tx, organizationId, after, query.limit + 1))
      const { page, nextCursor } = cutPage(rows, query.limit, (last) => writeCursor(last.id))
      return { status: 200, body: { data: page.map(toInvitation), nextCursor } }
    },

    deleteInvitation: async (call) => {
      const { principal, params } = call
      await db.tenant(principal.organizationId, async (tx) => {
        const { actor } = await lockTeam(tx, principal, 'team:write')
        const invitation = await findOpenInvitation(tx, principal.organizationId, params.id)
        if (invitation === undefined) throw new AppError('not_found')
        requireManage(actor, invitation.role)
        // Accepted since it was found: then there is nothing to take back.
        if (!(await deleteInvitation(tx, principal.organizationId, invitation.id))) throw new AppError('not_found')
        await audit(tx, call, 'invitation.revoked', {
          target: { kind: 'invitation', id: invitation.id, name: invitation.email }
        })
      })
      return { status: 204 }
    }
  }
}
