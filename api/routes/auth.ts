import { v7 as uuidv7 } from 'uuid'
import { AppError } from '../../shared/errors.ts'
import { insertAudit } from '../../shared/store/audit.ts'
import { insertMembership, listMemberships, type Membership } from '../../shared/store/memberships.ts'
import { insertOrganization, type Organization } from '../../shared/store/organizations.ts'
import { findUser, findUserByEmail, insertUser } from '../../shared/store/users.ts'
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

function chooseMembership(memberships: Membership[], organizationId: string | undefined): Membership {
  const wanted = memberships.filter((one) => organizationId === undefined || one.organization_id === organizationId)
  const chosen = wanted.find((one) => !one.suspended) ?? wanted[0]
  if (chosen === undefined) throw new AppError('invalid_credentials')
  if (chosen.suspended) throw new AppError('organization_suspended')
  return chosen
}

export function createAuthHandlers({ parts, sessions, passwords }: Options): Pick<Handlers, 'signup' | 'login' | 'me'> {
  const { db } = parts
  const guard = createGuard(parts)

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
      if (user === undefined || !matches) throw new AppError('invalid_credentials')
      const membership = chooseMembership(await listMemberships(db, user.id), body.organizationId)
      await guard.passed(email, address)
      const organization = organizationOf(membership)
      const signIn = { user, organization, method: 'password', remember: body.remember } as const
      const started = await sessions.start(signIn, originOf({ address, request, requestId }))
      return { status: 200, body: started.body, headers: started.headers }
    },

    me: async ({ principal }) => {
      const user = await db.tenant(principal.organizationId, (tx) => findUser(tx, principal.userId))
      if (user === undefined) throw new AppError('unauthorized')
      const organization = { id: principal.organizationId, name: principal.organizationName, plan: principal.plan }
      return { status: 200, body: { user, organization, role: principal.role } }
    }
  }
}
