import { v7 as uuidv7 } from 'uuid'
import { AppError } from '../../shared/errors.ts'
import { insertAudit, insertPersonAudit } from '../../shared/store/audit.ts'
import { insertMembership, listMemberships, type Membership } from '../../shared/store/memberships.ts'
import { insertOrganization, type Organization } from '../../shared/store/organizations.ts'
import { findUserByEmail, insertUser, replacePasswordHash, type User } from '../../shared/store/users.ts'
import type { Handlers } from '../http/contract.ts'
import type { Parts } from '../parts.ts'
import { normalizeEmail } from '../sign-in/email.ts'
import { createGuard } from '../sign-in/guard.ts'
import type { Passwords } from '../sign-in/password.ts'
import { originOf, type Sessions } from '../sign-in/sessions.ts'

interface Options {
  parts: Parts
  sessions: Sessions
  passwords: Passwords
}

function organizationOf(membership: Membership): Organization {
  return { id: membership.organization_id, name: membership.organization_name, plan: membership.plan }
}

/** An organization that asks for single sign-on is to a password as if the person did not belong to it. */
function chooseMembership(memberships: Membership[], organizationId: string | undefined): Membership | undefined {
  const id = organizationId?.toLowerCase()
  const wanted = memberships.filter((one) => (id === undefined || one.organization_id === id) && !one.sso_required)
  return wanted.find((one) => !one.suspended) ?? wanted[0]
}

/** What is done after a sign-in was judged, so that its time tells nothing. */
function createAftermath({ db, afterwards }: Parts, passwords: Passwords) {
  return {
    failed: ({ id: userId }: User, reason: string, { address, requestId }: { address: string; requestId: string }) =>
      afterwards.run('note of a failed sign-in', () => {
        const entry = { userId, action: 'session.failed', details: { method: 'password', reason } } as const
        return insertPersonAudit(db, { ...entry, address, requestId })
      }),
    /** A hash of an older cost is made anew while the password is at hand. */
    passed: ({ id, password_hash: stored }: User & { password_hash: string | null }, password: string) => {
      if (stored === null || !passwords.isOutdated(stored)) return
      afterwards.run('new hash of a password', async () =>
        replacePasswordHash(db, id, stored, await passwords.hashNew(password))
      )
    }
  }
}

export function createAuthHandlers({ parts, sessions, passwords }: Options): Pick<Handlers, 'signup' | 'login'> {
  const { db } = parts
  const guard = createGuard(parts)
  const aftermath = createAftermath(parts, passwords)

  return {
    signup: async ({ body, address, request, requestId }) => {
      const email = normalizeEmail(body.email)
      passwords.judge(body.password)
      // A taken e-mail is told, so asking is limited like guessing.
      await guard.enter(email, address)
      const passwordHash = await passwords.hashNew(body.password)
      const user = { id: uuidv7(), name: body.name, email }
      const organization = { id: uuidv7(), name: body.organizationName, plan: parts.defaultPlan }
      await db.tenant(organization.id, async (tx) => {
        await insertOrganization(tx, organization)
        await insertUser(tx, { ...user, passwordHash })
        await insertMembership(tx, { organizationId: organization.id, userId: user.id, role: 'owner' })
        await insertAudit(tx, {
          organizationId: organization.id,
          actor: { kind: 'user', id: user.id },
          action: 'organization.created',
          target: { kind: 'organization', id: organization.id, name: organization.name },
          address,
          requestId
        })
      })
      await guard.passed(email, address)
      const started = await sessions.start(
        { user, organization, method: 'password' },
        originOf({ address, request, requestId })
      )
      return { status: 201, body: started.body, headers: started.headers }
    },

    login: async ({ body, address, request, requestId }) => {
      const email = normalizeEmail(body.email)
      await guard.enter(email, address)
      const user = await findUserByEmail(db, email)
      const matches = await passwords.matches(body.password, user?.password_hash ?? null)
      if (user === undefined || !matches) {
        if (user !== undefined) aftermath.failed(user, 'wrong_password', { address, requestId })
        throw new AppError('invalid_credentials')
      }
      const membership = chooseMembership(await listMemberships(db, user.id), body.organizationId)
      if (membership === undefined) {
        aftermath.failed(user, 'no_organization_for_password', { address, requestId })
        throw new AppError('invalid_credentials')
      }
      if (membership.suspended) throw new AppError('organization_suspended')
      await guard.passed(email, address)
      aftermath.passed(user, body.password)
      const organization = organizationOf(membership)
      const signIn = { user, organization, method: 'password', remember: body.remember } as const
      const started = await sessions.start(signIn, originOf({ address, request, requestId }))
      return { status: 200, body: started.body, headers: started.headers }
    }
  }
}
