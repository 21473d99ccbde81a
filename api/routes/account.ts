import type { OwnSessionAnswer } from '../../shared/contract/account.ts'
import { AppError } from '../../shared/errors.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { insertAudit, insertPersonAudit } from '../../shared/store/audit.ts'
import { voidEmailChange } from '../../shared/store/email-changes.ts'
import { listMemberships } from '../../shared/store/memberships.ts'
import { voidPasswordResets } from '../../shared/store/password-resets.ts'
import {
  endSession,
  endSessionsOf,
  findSessionOf,
  listSessionsOf,
  type SessionRow
} from '../../shared/store/sessions.ts'
import { findUser, findUserByEmail, renameUser, replacePasswordHash, type User } from '../../shared/store/users.ts'
import { audit } from '../http/audit.ts'
import type { UserPrincipal } from '../http/authenticate.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, UUID_CURSOR, writeCursor } from '../http/cursor.ts'
import type { Parts } from '../parts.ts'
import { createGuard } from '../sign-in/guard.ts'
import type { Passwords } from '../sign-in/password.ts'
import { IDLE_MS } from '../sign-in/sessions.ts'

interface Options {
  parts: Parts
  passwords: Passwords
}

type SessionHandlers = Pick<Handlers, 'listSessions' | 'endSession' | 'endOtherSessions'>
type PersonHandlers = Pick<Handlers, 'me' | 'patchMe' | 'changePassword'>

function toMe(user: User | undefined, { organizationId, organizationName, plan, role }: UserPrincipal) {
  if (user === undefined) throw new AppError('unauthorized')
  return { user, organization: { id: organizationId, name: organizationName, plan }, role }
}

function toSession(row: SessionRow, organizationName: string, currentId: string): OwnSessionAnswer {
  return {
    id: row.id,
    organization: { id: row.organization_id, name: organizationName },
    method: row.method,
    createdAt: formatTimestamp(row.created_at.getTime()),
    lastUsedAt: formatTimestamp(row.last_used_at.getTime()),
    expiresAt: formatTimestamp(row.expires_at.getTime()),
    userAgent: row.user_agent,
    address: row.address,
    current: row.id === currentId
  }
}

function createPersonHandlers({ parts, passwords }: Options): PersonHandlers {
  const { db, clock } = parts
  const guard = createGuard(parts)

  /** @throws AppError rate_limited, invalid_credentials, also for who has no password */
  async function requirePassword(email: string, password: string, address: string): Promise<string> {
    await guard.enter(email, address)
    const stored = (await findUserByEmail(db, email))?.password_hash ?? null
    const matches = await passwords.matches(password, stored)
    if (stored === null || !matches) throw new AppError('invalid_credentials', { detail: 'This is not your password.' })
    await guard.passed(email, address)
    return stored
  }

  return {
    me: async ({ principal }) => {
      const user = await db.tenant(principal.organizationId, (tx) => findUser(tx, principal.userId))
      return { status: 200, body: toMe(user, principal) }
    },

    patchMe: async (call) => {
      const { principal, body } = call
      const { userId: id, organizationId } = principal
      const user = await db.person(id, organizationId, async (tx) => {
        const before = await findUser(tx, id)
        if (before === undefined || body.name === undefined || body.name === before.name) return before
        await renameUser(tx, id, body.name)
        await audit(tx, call, 'account.changed', {
          target: { kind: 'user', id, name: before.email },
          details: { name: { from: before.name, to: body.name } }
        })
        return { ...before, name: body.name }
      })
      return { status: 200, body: toMe(user, principal) }
    },

    changePassword: async ({ principal, body, address, requestId }) => {
      const { userId, organizationId, sessionId } = principal
      passwords.judge(body.newPassword, '/newPassword')
      const { user } = toMe(await db.tenant(organizationId, (tx) => findUser(tx, userId)), principal)
      const oldHash = await requirePassword(user.email, body.currentPassword, address)
      const newHash = await passwords.hashNew(body.newPassword)
      await db.person(userId, organizationId, async (tx) => {
        const at = new Date(clock())
        // Somebody else changed it meanwhile: then what was shown is no longer the password.
        if (!(await replacePasswordHash(tx, userId, oldHash, newHash))) throw new AppError('invalid_credentials')
        await voidPasswordResets(tx, userId, at)
        await voidEmailChange(tx, userId)
        const sessionsEnded = await endSessionsOf(tx, userId, sessionId, at)
        const details = { sessionsEnded }
        await insertPersonAudit(tx, { userId, action: 'password.changed', details, address, requestId })
      })
      return { status: 204 }
    }
  }
}

function createSessionHandlers({ db, clock }: Parts): SessionHandlers {
  return {
    listSessions: async ({ principal: { userId, sessionId }, query }) => {
      const [after = null] = readCursor(query.cursor, UUID_CURSOR) ?? []
      const now = clock()
      const open = { now: new Date(now), usedSince: new Date(now - IDLE_MS), after, limit: query.limit + 1 }
      const rows = await db.person(userId, null, (tx) => listSessionsOf(tx, userId, open))
      const memberships = await listMemberships(db, userId)
      const names = new Map(memberships.map((one) => [one.organization_id, one.organization_name]))
      const { page, nextCursor } = cutPage(rows, query.limit, (last) => writeCursor(last.id))
      const data = page.map((row) => toSession(row, names.get(row.organization_id) ?? '', sessionId))
      return { status: 200, body: { data, nextCursor } }
    },

    endSession: async ({ principal: { userId }, params: { id }, address, requestId }) => {
      const session = await db.person(userId, null, (tx) => findSessionOf(tx, userId, id))
      if (session === undefined) throw new AppError('not_found')
      const { organization_id: organizationId } = session
      await db.person(userId, organizationId, async (tx) => {
        if (!(await endSession(tx, session.id, new Date(clock())))) throw new AppError('not_found')
        await insertAudit(tx, {
          organizationId,
          actor: { kind: 'user', id: userId },
          action: 'session.ended',
          target: { kind: 'session', id: session.id },
          details: { reason: 'ended_by_person' },
          address,
          requestId
        })
      })
      return { status: 204 }
    },

    endOtherSessions: async ({ principal: { userId, sessionId }, address, requestId }) => {
      await db.person(userId, null, async (tx) => {
        const sessionsEnded = await endSessionsOf(tx, userId, sessionId, new Date(clock()))
        if (sessionsEnded === 0) return
        const details = { reason: 'ended_by_person', sessionsEnded }
        await insertPersonAudit(tx, { userId, action: 'session.ended', details, address, requestId })
      })
      return { status: 204 }
    }
  }
}

export function createAccountHandlers(options: Options): PersonHandlers & SessionHandlers {
  return { ...createPersonHandlers(options), ...createSessionHandlers(options.parts) }
}
