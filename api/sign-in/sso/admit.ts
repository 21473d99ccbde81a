import { v7 as uuidv7 } from 'uuid'
import type { AuditAction } from '../../../shared/contract/audit.ts'
import type { Database, Queryable } from '../../../shared/db.ts'
import { AppError } from '../../../shared/errors.ts'
import { insertAudit } from '../../../shared/store/audit.ts'
import { findIdentity, insertIdentity } from '../../../shared/store/identities.ts'
import { acceptInvitation, type FoundInvitation, findInvitation } from '../../../shared/store/invitations.ts'
import { listMemberships, type Membership } from '../../../shared/store/memberships.ts'
import type { Organization } from '../../../shared/store/organizations.ts'
import { lockSession } from '../../../shared/store/sessions.ts'
import { type BoundOrganization, findBoundOrganizations, joinBySso } from '../../../shared/store/sso-connections.ts'
import { findUser, findUserByEmail, insertUser, lockUser, type User } from '../../../shared/store/users.ts'
import type { Parts } from '../../parts.ts'
import type { Origin } from '../sessions.ts'
import type { Identity } from './read-identity.ts'

/** Who is let in, and where. */
export interface Admitted {
  user: User
  organization: Organization
}

/**
 * Which account an identity is, and how it becomes one. The e-mail address is never the key to an account: whoever may
 * write it at a provider would own whatever account they name.
 */
export interface Admission {
  /**
   * An identity that is linked, or one of a tenant that an organization is bound to by a proven domain: then the person
   * joins it. @throws AppError sso_not_connected, sso_email_unverified, sign_in_first, organization_suspended
   */
  enter(identity: Identity, organizationId: string | null, origin: Origin): Promise<Admitted>
  /**
   * Joins by an invitation to an address that the provider vouches for.
   * @throws AppError invitation_invalid, sso_email_unverified, invitation_of_another, sign_in_first, sso_wrong_tenant
   */
  accept(identity: Identity, token: string, origin: Origin): Promise<Admitted>
  /** Links to the account of a session that is still open. @throws AppError sso_identity_taken, sso_state_invalid */
  link(identity: Identity, to: LinkTarget, origin: Origin): Promise<void>
}

export interface LinkTarget {
  userId: string
  organizationId: string
  sessionId: string
}

interface Change {
  organizationId: string
  userId: string
  origin: Origin
}

type Target = Parameters<typeof insertAudit>[1]['target']

function note(
  tx: Queryable,
  { organizationId, userId, origin }: Change,
  action: AuditAction,
  what: { target?: NonNullable<Target>; details?: Record<string, unknown> }
): Promise<void> {
  const { address, requestId } = origin
  return insertAudit(tx, { organizationId, actor: { kind: 'user', id: userId }, action, ...what, address, requestId })
}

/** In a transaction of the person and of the organization that tells of it. */
async function linkIdentity(tx: Queryable, identity: Identity, change: Change): Promise<void> {
  const { provider, tenant, subject, email } = identity
  const { userId } = change
  await insertIdentity(tx, { provider, tenant, subject, userId, email })
  const target = { kind: 'user', id: userId, name: email }
  await note(tx, change, 'sso.identity_linked', { target, details: { provider, tenant } })
}

/** An account without a password. @throws AppError sign_in_first when the address has an account already. */
async function insertPerson(tx: Queryable, user: User): Promise<void> {
  try {
    await insertUser(tx, { ...user, passwordHash: null })
  } catch (error) {
    if (error instanceof AppError && error.code === 'email_in_use')
      throw new AppError('sign_in_first', { cause: error })
    throw error
  }
}

function personOf({ name }: Identity, email: string): User {
  const shown = (name ?? email).replaceAll('\u0000', '').trim().slice(0, 200)
  return { id: uuidv7(), name: shown === '' ? email : shown, email }
}

/**
 * The organization's owner has proven the domain and bound the tenant to it, so an address in it is the tenant's to give.
 * Anybody may bind a tenant that is not theirs, but not to the domain of its people.
 */
function mayJoin({ email, emailVerified, provider }: Identity, { domain, suspended }: BoundOrganization): boolean {
  if (suspended || email === null) return false
  const vouched = provider === 'google' ? emailVerified === true : emailVerified !== false
  return vouched && email.endsWith(`@${domain}`)
}

function chooseConnection(identity: Identity, offered: BoundOrganization[]): BoundOrganization {
  const [first] = offered
  if (first === undefined) throw new AppError('sso_not_connected')
  const fitting = offered.find((one) => mayJoin(identity, one))
  if (fitting !== undefined) return fitting
  throw new AppError(offered.every(({ suspended }) => suspended) ? 'organization_suspended' : 'sso_email_unverified')
}

/** Where single sign-on is required, only a tenant that the organization is bound to leads in. */
function isOpen(
  { sso_required, organization_id }: Pick<Membership, 'sso_required' | 'organization_id'>,
  bound: BoundOrganization[]
): boolean {
  return !sso_required || bound.some((one) => one.organization_id === organization_id)
}

type Named = Pick<Membership, 'organization_id' | 'organization_name' | 'plan'>

function organizationOf({ organization_id: id, organization_name: name, plan }: Named): Organization {
  return { id, name, plan }
}

type Stores = Pick<Parts, 'db' | 'secrets' | 'clock'>

async function readUser(db: Database, userId: string): Promise<User> {
  const user = await db.person(userId, null, (tx) => findUser(tx, userId))
  // Deleted since the identity was found.
  if (user === undefined) throw new AppError('sso_not_connected')
  return user
}

interface Joining {
  identity: Identity
  /** Whose account it is already; null: the account is made now. */
  known: User | null
  origin: Origin
}

/** Just in time: the connection is looked at again by the database as the person joins. */
async function join({ db }: Stores, { identity, known, origin }: Joining, to: BoundOrganization): Promise<Admitted> {
  const user = known ?? personOf(identity, identity.email ?? '')
  const change = { organizationId: to.organization_id, userId: user.id, origin }
  await db.person(user.id, to.organization_id, async (tx) => {
    if (known === null) await insertPerson(tx, user)
    if (!(await joinBySso(tx, to.id, user.id))) throw new AppError('sso_not_connected')
    if (known === null) await linkIdentity(tx, identity, change)
    const target = { kind: 'user', id: user.id, name: user.email }
    await note(tx, change, 'member.joined', { target, details: { by: 'sso', role: 'member', connectionId: to.id } })
  })
  return { user, organization: organizationOf(to) }
}

function createEnter(stores: Stores): Admission['enter'] {
  const { db } = stores
  return async (identity, organizationId, origin) => {
    const userId = await findIdentity(db, identity)
    const bound = await findBoundOrganizations(db, identity)
    const isWanted = (one: { organization_id: string }) =>
      organizationId === null || one.organization_id === organizationId
    const offered = bound.filter(isWanted)
    if (userId === null) return join(stores, { identity, known: null, origin }, chooseConnection(identity, offered))
    const known = await readUser(db, userId)
    const memberships = (await listMemberships(db, userId)).filter(isWanted)
    const open = memberships.filter((one) => isOpen(one, bound))
    const chosen = open.find((one) => !one.suspended) ?? open[0]
    if (chosen?.suspended) throw new AppError('organization_suspended')
    if (chosen !== undefined) return { user: known, organization: organizationOf(chosen) }
    if (memberships.length > 0) throw new AppError('sso_wrong_tenant')
    return join(stores, { identity, known, origin }, chooseConnection(identity, offered))
  }
}

/** @throws AppError invitation_invalid */
async function requireInvitation({ db, secrets, clock }: Stores, token: string): Promise<FoundInvitation> {
  const invitation = await findInvitation(db, secrets.digest(token))
  if (invitation === undefined || invitation.accepted_at !== null || invitation.expires_at.getTime() <= clock()) {
    throw new AppError('invitation_invalid')
  }
  return invitation
}

/** Whose identity it is, or null for a new account. @throws AppError sign_in_first */
async function inviteeOf({ db }: Stores, identity: Identity, { email }: FoundInvitation): Promise<User | null> {
  const userId = await findIdentity(db, identity)
  if (userId !== null) return readUser(db, userId)
  // An account with this address, however it came about, is its owner's to link.
  if ((await findUserByEmail(db, email)) !== undefined) throw new AppError('sign_in_first')
  return null
}

function createAccept(stores: Stores): Admission['accept'] {
  const { db, secrets, clock } = stores
  return async (identity, token, origin) => {
    const invitation = await requireInvitation(stores, token)
    if (identity.emailVerified !== true) throw new AppError('sso_email_unverified')
    if (identity.email !== invitation.email) throw new AppError('invitation_of_another')
    if (!isOpen(invitation, await findBoundOrganizations(db, identity))) throw new AppError('sso_wrong_tenant')
    const known = await inviteeOf(stores, identity, invitation)
    const user = known ?? personOf(identity, invitation.email)
    const { id, organization_id: organizationId, email, role } = invitation
    const change = { organizationId, userId: user.id, origin }
    await db.person(user.id, organizationId, async (tx) => {
      if (known === null) await insertPerson(tx, user)
      if (!(await acceptInvitation(tx, secrets.digest(token), user.id, new Date(clock())))) {
        throw new AppError('invitation_invalid')
      }
      if (known === null) await linkIdentity(tx, identity, change)
      const target = { kind: 'invitation', id, name: email }
      await note(tx, change, 'invitation.accepted', { target, details: { role, by: 'sso' } })
    })
    return { user, organization: organizationOf(invitation) }
  }
}

function createLink({ db }: Stores): Admission['link'] {
  return async (identity, { userId, organizationId, sessionId }, origin) => {
    const holder = await findIdentity(db, identity)
    if (holder === userId) return
    if (holder !== null) throw new AppError('sso_identity_taken')
    await db.person(userId, organizationId, async (tx) => {
      // A reset password ends sessions and unlinks in one go: nothing may be linked by such a session after that.
      await lockUser(tx, userId)
      const session = await lockSession(tx, userId, sessionId)
      if (session === undefined || session.ended_at !== null) throw new AppError('sso_state_invalid')
      await linkIdentity(tx, identity, { organizationId, userId, origin })
    })
  }
}

export function createAdmission(stores: Stores): Admission {
  return { enter: createEnter(stores), accept: createAccept(stores), link: createLink(stores) }
}
