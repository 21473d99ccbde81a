import type { IncomingMessage } from 'node:http'
import { v7 as uuidv7 } from 'uuid'
import { AppError, type FieldFault } from '../../shared/errors.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { insertAudit } from '../../shared/store/audit.ts'
import { acceptInvitation, type FoundInvitation, findInvitation } from '../../shared/store/invitations.ts'
import { listMemberships } from '../../shared/store/memberships.ts'
import { findUserByEmail, insertUser } from '../../shared/store/users.ts'
import type { Authenticate } from '../http/authenticate.ts'
import type { Handlers } from '../http/contract.ts'
import { validationFailed } from '../http/validate.ts'
import type { Parts } from '../parts.ts'
import { createGuard } from '../sign-in/guard.ts'
import type { Passwords } from '../sign-in/password.ts'
import { originOf, type Sessions, type SignIn } from '../sign-in/sessions.ts'
import { signedInPerson } from '../sign-in/signed-in-person.ts'

interface Options {
  parts: Parts
  sessions: Sessions
  passwords: Passwords
  authenticate: Authenticate
}

type Person = Pick<SignIn, 'user' | 'method' | 'authenticatedAt' | 'expiresAt'>
type Account = NonNullable<Awaited<ReturnType<typeof findUserByEmail>>>
type AcceptCall = Parameters<Handlers['acceptInvitation']>[0]

/** The person with the hash of their new password, or null for one who has an account. */
interface Invited {
  person: Person
  passwordHash: string | null
}

function missing(field: string): FieldFault {
  return { pointer: `/${field}`, code: 'missing_field', detail: 'This field is required.' }
}

/** Who calls, if anybody is signed in. @throws AppError unauthorized, forbidden */
function createSignedIn({ parts, sessions, authenticate }: Options) {
  return async ({ headers }: IncomingMessage): Promise<Person | null> => {
    if (headers.authorization === undefined && (await sessions.find(headers.cookie)) === null) return null
    const principal = await authenticate(headers)
    if (principal.kind === 'user') return signedInPerson(parts, principal)
    throw new AppError('forbidden', { detail: 'This is for people; an API key cannot do it.' })
  }
}

/**
 * For who is not signed in with the invited address. An account is never taken over by the link alone. One that can sign in
 * has to; one that cannot, because it belongs to no organization any more, shows its password here.
 */
function createByPassword({ parts, passwords }: Options) {
  const guard = createGuard(parts)

  async function known({ id, name, email, password_hash: hash }: Account, password: string, address: string) {
    const memberships = await listMemberships(parts.db, id)
    if (!memberships.every(({ suspended }) => suspended)) throw new AppError('sign_in_first')
    await guard.enter(email, address)
    if (!(await passwords.matches(password, hash))) throw new AppError('invalid_credentials')
    await guard.passed(email, address)
    return { person: { user: { id, name, email }, method: 'password' }, passwordHash: null } as const
  }

  return async (email: string, { name, password }: AcceptCall['body'], address: string): Promise<Invited> => {
    const account = await findUserByEmail(parts.db, email)
    if (account !== undefined) {
      if (password === undefined) throw new AppError('sign_in_first')
      return known(account, password, address)
    }
    if (name === undefined || password === undefined) {
      throw validationFailed([
        ...(name === undefined ? [missing('name')] : []),
        ...(password === undefined ? [missing('password')] : [])
      ])
    }
    passwords.judge(password)
    const passwordHash = await passwords.hashNew(password)
    return { person: { user: { id: uuidv7(), name, email }, method: 'password' }, passwordHash }
  }
}

/** Finds out, by what the call shows, who the invited person is. */
function createIdentify(options: Options) {
  const signedInBy = createSignedIn(options)
  const byPassword = createByPassword(options)
  return async (invitation: FoundInvitation, { request, address, body }: AcceptCall): Promise<Invited> => {
    if (invitation.sso_required) throw new AppError('sso_required')
    const person = await signedInBy(request)
    if (person?.user.email === invitation.email) return { person, passwordHash: null }
    // Whoever sends a password speaks for the invited person, whoever the browser happens to be signed in as.
    if (person !== null && body.password === undefined) throw new AppError('invitation_of_another')
    return byPassword(invitation.email, body, address)
  }
}

/** Makes the invited person a member, with an account where they have none. */
function createJoin({ parts: { db, clock } }: Options) {
  return (
    { id, organization_id: organizationId, role }: FoundInvitation,
    tokenDigest: Buffer,
    { person: { user }, passwordHash }: Invited,
    { address, requestId }: AcceptCall
  ): Promise<void> =>
    db.person(user.id, organizationId, async (tx) => {
      if (passwordHash !== null) await insertUser(tx, { ...user, passwordHash })
      if (!(await acceptInvitation(tx, tokenDigest, user.id, new Date(clock())))) throw new AppError('not_found')
      await insertAudit(tx, {
        organizationId,
        actor: { kind: 'user', id: user.id },
        action: 'invitation.accepted',
        target: { kind: 'invitation', id, name: user.email },
        details: { role },
        address,
        requestId
      })
    })
}

export function createAcceptHandlers(options: Options): Pick<Handlers, 'readInvitation' | 'acceptInvitation'> {
  const { parts, sessions } = options
  const { db, secrets, clock } = parts
  const guard = createGuard(parts)
  const identify = createIdentify(options)
  const join = createJoin(options)

  /** Unknown, taken back, accepted or too old: all alike. @throws AppError rate_limited, not_found */
  async function open(token: string, address: string): Promise<{ invitation: FoundInvitation; digest: Buffer }> {
    guard.ask('invitation', address)
    const found = await secrets.find(token, (digest) => findInvitation(db, digest))
    if (found === undefined || found.row.accepted_at !== null || found.row.expires_at.getTime() <= clock()) {
      throw new AppError('not_found', { detail: 'There is no such invitation, or no longer. Ask for a new one.' })
    }
    return { invitation: found.row, digest: found.digest }
  }

  return {
    readInvitation: async ({ params, address }) => {
      const { invitation } = await open(params.token, address)
      const { email, role } = invitation
      return {
        status: 200,
        body: {
          organizationName: invitation.organization_name,
          email,
          role,
          expiresAt: formatTimestamp(invitation.expires_at.getTime()),
          accountExists: (await findUserByEmail(db, email)) !== undefined,
          ssoRequired: invitation.sso_required
        }
      }
    },

    acceptInvitation: async (call) => {
      const { invitation, digest } = await open(call.params.token, call.address)
      const { organization_id: id, organization_name: name, plan } = invitation
      const who = await identify(invitation, call)
      await join(invitation, digest, who, call)
      const started = await sessions.start({ ...who.person, organization: { id, name, plan } }, originOf(call))
      return { status: 200, body: started.body, headers: started.headers }
    }
  }
}
