import { v7 as uuidv7 } from 'uuid'
import { AppError } from '../../shared/errors.ts'
import { insertAudit, insertPersonAudit } from '../../shared/store/audit.ts'
import { listMemberships, type Membership } from '../../shared/store/memberships.ts'
import { foundOrganization, type Organization } from '../../shared/store/organizations.ts'
import { findUserByEmail, insertUser, replacePasswordHash, type User } from '../../shared/store/users.ts'
import type { Handlers } from '../http/contract.ts'
import type { Parts } from '../parts.ts'
import { normalizeEmail } from '../sign-in/email.ts'
import { createGuard } from '../sign-in/guard.ts'
import type { Passwords } from '../sign-in/password.ts'
import { originOf, type Sessions, type SignIn } from '../sign-in/sessions.ts'
import { createConnect } from '../sign-in/sso/connect.ts'
import { CLEARED_PENDING_COOKIE } from '../sign-in/sso/pending.ts'

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

type SignupCall = Parameters<Handlers['signup']>[0]

/** Makes the account, or finds the one of a person who left every organization, and founds the organization. */
function createFounding({ db, defaultPlan }: Parts, passwords: Passwords) {
  /** The account that may found again: it belongs nowhere, so signing in leads to nothing. @throws AppError email_in_use */
  async function returning(email: string, password: string): Promise<User | null> {
    const account = await findUserByEmail(db, email)
    if (account === undefined) return null
    const { id, name, password_hash: stored } = account
    if ((await listMemberships(db, id)).length > 0) throw new AppError('email_in_use')
    if (!(await passwords.matches(password, stored))) throw new AppError('email_in_use')
    return { id, name, email }
  }

  return async (email: string, { body, address, requestId }: SignupCall): Promise<[User, Organization]> => {
    const known = await returning(email, body.password)
    const passwordHash = known === null ? await passwords.hashNew(body.password) : null
    const user = known ?? { id: uuidv7(), name: body.name, email }
    const organization = { id: uuidv7(), name: body.organizationName, plan: defaultPlan }
    await db.person(user.id, organization.id, async (tx) => {
      if (known === null) await insertUser(tx, { ...user, passwordHash })
      await foundOrganization(tx, organization, user.id)
      await insertAudit(tx, {
        organizationId: organization.id,
        actor: { kind: 'user', id: user.id },
        action: 'organization.created',
        target: { kind: 'organization', id: organization.id, name: organization.name },
        address,
        requestId
      })
    })
    return [user, organization]
  }
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

type LoginCall = Parameters<Handlers['login']>[0]

/** Where a password leads. @throws AppError invalid_credentials, organization_suspended */
function createByPassword({ db }: Parts, aftermath: ReturnType<typeof createAftermath>) {
  return async (user: User, call: LoginCall): Promise<SignIn> => {
    const membership = chooseMembership(await listMemberships(db, user.id), call.body.organizationId)
    if (membership === undefined) {
      aftermath.failed(user, 'no_organization_for_password', call)
      throw new AppError('invalid_credentials')
    }
    if (membership.suspended) throw new AppError('organization_suspended')
    return { user, organization: organizationOf(membership), method: 'password' }
  }
}

export function createAuthHandlers({ parts, sessions, passwords }: Options): Pick<Handlers, 'signup' | 'login'> {
  const { db } = parts
  const guard = createGuard(parts)
  const aftermath = createAftermath(parts, passwords)
  const byPassword = createByPassword(parts, aftermath)
  const connect = createConnect(parts)
  const found = createFounding(parts, passwords)

  return {
    signup: async (call) => {
      const { body, address } = call
      const email = normalizeEmail(body.email)
      passwords.judge(body.password)
      // A taken e-mail is told, so asking is limited like guessing.
      await guard.enter(email, address)
      const [user, organization] = await found(email, call)
      await guard.passed(email, address)
      const started = await sessions.start({ user, organization, method: 'password' }, originOf(call))
      return { status: 201, body: started.body, headers: started.headers }
    },

    login: async (call) => {
      const { body, address, request } = call
      const isConnecting = body.connect === true
      const email = normalizeEmail(body.email)
      if (isConnecting) await connect.require(email, request.headers.cookie)
      await guard.enter(email, address)
      const account = await findUserByEmail(db, email)
      const stored = account?.password_hash ?? null
      const matches = await passwords.matches(body.password, stored)
      if (account === undefined || stored === null || !matches) {
        if (account !== undefined) aftermath.failed(account, 'wrong_password', call)
        throw new AppError('invalid_credentials')
      }
      const user = { id: account.id, name: account.name, email }
      const origin = originOf(call)
      const signIn = isConnecting
        ? await connect.admit({ user, passwordHash: stored }, origin)
        : await byPassword(user, call)
      await guard.passed(email, address)
      aftermath.passed(account, body.password)
      const { body: answer, headers } = await sessions.start({ ...signIn, remember: body.remember }, origin)
      if (!isConnecting) return { status: 200, body: answer, headers }
      const cookies = [headers['Set-Cookie'] ?? '', CLEARED_PENDING_COOKIE]
      return { status: 200, body: answer, headers: { ...headers, 'Set-Cookie': cookies } }
    }
  }
}
