import { v7 as uuidv7 } from 'uuid'
import type { AuditAction } from '../../../shared/contract/audit.ts'
import type { Database, Queryable } from '../../../shared/db.ts'
import { AppError } from '../../../shared/errors.ts'
import { insertAudit } from '../../../shared/store/audit.ts'
import { findIdentity, insertIdentity } from '../../../shared/store/identities.ts'
import { acceptInvitation, findInvitation } from '../../../shared/store/invitations.ts'
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
   * Without an invitation: an identity that is linked, or one of a tenant that an organization is bound to by a proven
   * domain; then the person joins it. With one: by an address that the provider vouches for. `proven` may take an
   * identity that is not linked yet.
   * @throws AppError sign_in_first, sso_email_unverified, sso_wrong_tenant, sso_not_connected, sso_identity_taken,
   * organization_suspended, invitation_invalid, invitation_of_another
   */
  admit(asked: Asked, origin: Origin, proven?: Proven): Promise<Admitted>
  /** Links to the account of a session that is still open. @throws AppError sso_identity_taken, sso_state_invalid */
  link(identity: Identity, to: LinkTarget, origin: Origin): Promise<void>
}

export interface Asked {
  identity: Identity
  /** Null: whichever it leads into. */
  organizationId: string | null
  /** The token of an invitation to accept. */
  invitation: string | null
}

/** The account with the address of an identity; its person has just shown the password that has this hash. */
export interface Proven {
  user: User
  passwordHash: string
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

/** Whose the identity is, or comes to be when it is let in. */
type Holder =
  | { user: User; comes: 'linked' }
  /** A new account without a password. */
  | { user: User; comes: 'anew' }
  | { user: User; comes: 'proven'; passwordHash: string }

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

/** @throws AppError sso_identity_taken when it became another account's than the one that is proven */
async function holderOf({ db }: Stores, identity: Identity, proven: Proven | undefined): Promise<Holder> {
  const userId = await findIdentity(db, identity)
  if (userId !== null && proven !== undefined && proven.user.id !== userId) throw new AppError('sso_identity_taken')
  if (userId !== null) return { user: await readUser(db, userId), comes: 'linked' }
  if (proven !== undefined) return { ...proven, comes: 'proven' }
  return { user: personOf(identity, identity.email ?? ''), comes: 'anew' }
}

/** @throws AppError sign_in_first when the address has an account already */
async function insertPerson(tx: Queryable, user: User): Promise<void> {
  try {
    await insertUser(tx, { ...user, passwordHash: null })
  } catch (error) {
    if (error instanceof AppError && error.code === 'email_in_use')
      throw new AppError('sign_in_first', { cause: error })
    throw error
  }
}

/** Makes the identity the holder's. In a transaction of theirs and of the organization that tells of it. */
async function settle(tx: Queryable, identity: Identity, holder: Holder, change: Change): Promise<void> {
  if (holder.comes === 'linked') return
  const { user } = holder
  if (holder.comes === 'anew') await insertPerson(tx, user)
  else {
    await lockUser(tx, user.id)
    // A password that is reset meanwhile proves nothing any more.
    const account = await findUserByEmail(tx, user.email)
    if (account?.id !== user.id || account.password_hash !== holder.passwordHash) {
      throw new AppError('invalid_credentials')
    }
  }
  await linkIdentity(tx, identity, change)
}

interface Joining {
  identity: Identity
  holder: Holder
  origin: Origin
}

/** Just in time: the connection is looked at again by the database as the person joins. */
async function join({ db }: Stores, { identity, holder, origin }: Joining, to: BoundOrganization): Promise<Admitted> {
  const { user } = holder
  const change = { organizationId: to.organization_id, userId: user.id, origin }
  await db.person(user.id, to.organization_id, async (tx) => {
    await settle(tx, identity, holder, change)
    if (!(await joinBySso(tx, to.id, user.id))) throw new AppError('sso_not_connected')
    const target = { kind: 'user', id: user.id, name: user.email }
    await note(tx, change, 'member.joined', { target, details: { by: 'sso', role: 'member', connectionId: to.id } })
  })
  return { user, organization: organizationOf(to) }
}

/** Where the person comes to: into an organization of theirs, or into a new one. */
async function enter(stores: Stores, joining: Joining, organizationId: string | null): Promise<Admitted> {
  const { db } = stores
  const { identity, holder, origin } = joining
  const { user } = holder
  const bound = await findBoundOrganizations(db, identity)
  const isWanted = (one: { organization_id: string }) =>
    organizationId === null || one.organization_id === organizationId
  const offered = bound.filter(isWanted)
  // What is not linked leads only where its tenant does.
  const to = holder.comes === 'linked' ? null : chooseConnection(identity, offered)
  const memberships = (await listMemberships(db, user.id)).filter(
    (one) => isWanted(one) && (to === null || offered.some((other) => other.organization_id === one.organization_id))
  )
  const open = memberships.filter((one) => isOpen(one, bound))
  const chosen = open.find((one) => !one.suspended) ?? open[0]
  if (chosen?.suspended) throw new AppError('organization_suspended')
  if (chosen !== undefined) {
    const change = { organizationId: chosen.organization_id, userId: user.id, origin }
    if (to !== null) await db.person(user.id, chosen.organization_id, (tx) => settle(tx, identity, holder, change))
    return { user, organization: organizationOf(chosen) }
  }
  if (memberships.length > 0) throw new AppError('sso_wrong_tenant')
  return join(stores, joining, to ?? chooseConnection(identity, offered))
}

async function accept(
  { db, secrets, clock }: Stores,
  { identity, holder, origin }: Joining,
  token: string
): Promise<Admitted> {
  const found = await secrets.find(token, (digest) => findInvitation(db, digest))
  if (found === undefined) throw new AppError('invitation_invalid')
  const { row: invitation, digest } = found
  if (invitation.accepted_at !== null || invitation.expires_at.getTime() <= clock()) {
    throw new AppError('invitation_invalid')
  }
  if (identity.emailVerified !== true) throw new AppError('sso_email_unverified')
  if (identity.email !== invitation.email) throw new AppError('invitation_of_another')
  if (!isOpen(invitation, await findBoundOrganizations(db, identity))) throw new AppError('sso_wrong_tenant')
  const { user } = holder
  const { id, organization_id: organizationId, email, role } = invitation
  const change = { organizationId, userId: user.id, origin }
  await db.person(user.id, organizationId, async (tx) => {
    await settle(tx, identity, holder, change)
    if (!(await acceptInvitation(tx, digest, user.id, new Date(clock())))) {
      throw new AppError('invitation_invalid')
    }
    const target = { kind: 'invitation', id, name: email }
    await note(tx, change, 'invitation.accepted', { target, details: { role, by: 'sso' } })
  })
  return { user, organization: organizationOf(invitation) }
}

function createAdmit(stores: Stores): Admission['admit'] {
  return async ({ identity, organizationId, invitation }, origin, proven) => {
    const joining = { identity, holder: await holderOf(stores, identity, proven), origin }
    return invitation === null ? enter(stores, joining, organizationId) : accept(stores, joining, invitation)
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
  return { admit: createAdmit(stores), link: createLink(stores) }
}
