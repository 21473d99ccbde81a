import type { IncomingMessage } from 'node:http'
import { v7 as uuidv7 } from 'uuid'
import type { SignedIn } from '../../shared/contract/auth.ts'
import type { Database, Queryable } from '../../shared/db.ts'
import { randomBase62 } from '../../shared/identity/api-key.ts'
import type { Secrets } from '../../shared/secrets.ts'
import { insertAudit } from '../../shared/store/audit.ts'
import type { Organization } from '../../shared/store/organizations.ts'
import { insertRefreshToken } from '../../shared/store/refresh-tokens.ts'
import {
  deleteOldSessions,
  endSession,
  type FoundSession,
  findSession,
  insertSession,
  type SignInMethod,
  touchSession
} from '../../shared/store/sessions.ts'
import type { User } from '../../shared/store/users.ts'
import { hostCookie, readCookie } from './cookies.ts'
import { JWT_SECONDS, type Tokens } from './tokens.ts'
import { createTurns } from './turns.ts'

export const SESSION_COOKIE = '__Host-session'
const DAY_MS = 86_400_000
/** A session that nobody uses ends after 14 days, and any after 30. */
export const IDLE_MS = 14 * DAY_MS
const LIFE_MS = 30 * DAY_MS
/** `last_used_at` is written at most this often. */
const TOUCH_MS = 60_000
const TOKEN_LENGTH = 43
/**
 * Sessions that are written at once, and that may wait for it. Each holds a database connection until the disk has it, and
 * a rush of sign-ins must leave connections to all other requests.
 */
const OPENING = 3
const MAX_WAITING = 200

/** Where a sign-in came from. */
export interface Origin {
  address: string
  userAgent: string | null
  requestId: string
  /** The `Cookie` header: a session that it shows gives way to the new one. */
  cookie?: string | undefined
}

/** Of a `Call`. */
export function originOf({
  address,
  request,
  requestId
}: {
  address: string
  request: IncomingMessage
  requestId: string
}): Origin {
  const { 'user-agent': userAgent = null, cookie } = request.headers
  return { address, userAgent, requestId, cookie }
}

export interface SignIn {
  user: User
  organization: Organization
  method: SignInMethod
  /** Answer with a refresh token as well. */
  remember?: boolean | undefined
  /** When the person proved who they are, where that was earlier than now; epoch ms. */
  authenticatedAt?: number
  /** Of the session that this one goes on from: it ends no later than that; epoch ms. */
  expiresAt?: number
}

export interface StartedSession {
  id: string
  body: SignedIn
  /** The cookie, and that nobody keeps the answer. */
  headers: Record<string, string>
}

export interface Sessions {
  /** Opens a session and signs its first JWT. A session that the browser had gives way, whosever it was. */
  start(signIn: SignIn, origin: Origin): Promise<StartedSession>
  /** The session of this `Cookie` header, or null; notes that it was used. */
  find(cookieHeader: string | undefined): Promise<FoundSession | null>
  /** A JWT of a session that is open. */
  issueJwt(session: {
    id: string
    userId: string
    organizationId: string
    method: SignInMethod
    authenticatedAt: Date
  }): Promise<string>
  /** A new refresh token for a session, in a transaction of its person. */
  giveRefreshToken(tx: Queryable, sessionId: string): Promise<string>
}

interface Options {
  db: Database
  secrets: Secrets
  tokens: Tokens
  clock: () => number
}

function cookieHeader(value: string, maxAgeSeconds: number): string {
  return hostCookie(SESSION_COOKIE, value, { maxAgeSeconds, sameSite: 'lax' })
}

/** Takes the session's cookie out of the browser. */
export const CLEARED_COOKIE = cookieHeader('', 0)

/** Does the request show a session's cookie, good or not? */
export function showsSession(header: string | undefined): boolean {
  return tokenOf(header) !== undefined
}

function tokenOf(header: string | undefined): string | undefined {
  return readCookie(header, SESSION_COOKIE)
}

/** Reads a session, if it is still good, and notes now and then that it was used. */
async function find(header: string | undefined, { db, secrets, clock }: Options): Promise<FoundSession | null> {
  const token = tokenOf(header)
  if (token === undefined) return null
  const session = (await secrets.find(token, (digest) => findSession(db, digest)))?.row
  if (session === undefined) return null
  const now = clock()
  const idleMs = now - session.last_used_at.getTime()
  if (idleMs > IDLE_MS || session.expires_at.getTime() <= now) return null
  if (idleMs > TOUCH_MS) {
    await db.person(session.user_id, null, (tx) => touchSession(tx, session.id, new Date(now)))
  }
  return session
}

/** A browser holds one session; the one before would only lie about, for who finds its cookie. */
async function endShown({ cookie, address, requestId }: Origin, options: Options): Promise<void> {
  const shown = await find(cookie, options)
  if (shown === null) return
  const { id, user_id: userId, organization_id: organizationId } = shown
  await options.db.person(userId, organizationId, async (tx) => {
    if (!(await endSession(tx, id, new Date(options.clock())))) return
    await insertAudit(tx, {
      organizationId,
      actor: { kind: 'user', id: userId },
      action: 'session.ended',
      target: { kind: 'session', id },
      details: { reason: 'replaced' },
      address,
      requestId
    })
  })
}

function noteStart(
  tx: Queryable,
  id: string,
  { user, organization, method }: SignIn,
  { address, requestId }: Origin
): Promise<void> {
  return insertAudit(tx, {
    organizationId: organization.id,
    actor: { kind: 'user', id: user.id },
    action: 'session.started',
    target: { kind: 'session', id },
    details: { method },
    address,
    requestId
  })
}

export function createSessions(options: Options): Sessions {
  const { db, secrets, tokens, clock } = options
  const turn = createTurns(OPENING, MAX_WAITING)
  const giveRefreshToken: Sessions['giveRefreshToken'] = async (tx, sessionId) => {
    const refreshToken = `pgr_${randomBase62(TOKEN_LENGTH)}`
    await insertRefreshToken(tx, { digest: secrets.digest(refreshToken), pepperVersion: secrets.version, sessionId })
    return refreshToken
  }

  const issueJwt: Sessions['issueJwt'] = ({ id, userId, organizationId, method, authenticatedAt }) =>
    tokens.issue({
      userId,
      organizationId,
      sessionId: id,
      authenticatedAt: authenticatedAt.getTime(),
      amr: [method === 'password' ? 'pwd' : 'fed']
    })

  return {
    giveRefreshToken,
    issueJwt,

    start: async (signIn, origin) => {
      const now = clock()
      const { user, organization, method, remember = false } = signIn
      const { authenticatedAt = now, expiresAt = now + LIFE_MS } = signIn
      const { id: userId, name, email } = user
      const [id, cookie] = [uuidv7(), randomBase62(TOKEN_LENGTH)]
      await endShown(origin, options)
      const session = {
        id,
        userId,
        organizationId: organization.id,
        method,
        authenticatedAt: new Date(authenticatedAt)
      }
      const open = async (tx: Queryable) => {
        await deleteOldSessions(tx, userId, new Date(now - LIFE_MS))
        await insertSession(tx, {
          ...session,
          createdAt: new Date(now),
          cookieDigest: secrets.digest(cookie),
          pepperVersion: secrets.version,
          expiresAt: new Date(expiresAt),
          userAgent: origin.userAgent?.slice(0, 500) ?? null,
          address: origin.address
        })
        await noteStart(tx, id, signIn, origin)
        return remember ? giveRefreshToken(tx, id) : undefined
      }
      const refreshToken = await turn(() => db.person(userId, organization.id, open))
      const body: SignedIn = {
        jwt: await issueJwt(session),
        tokenType: 'Bearer',
        expiresIn: JWT_SECONDS,
        user: { id: userId, name, email },
        organization,
        ...(refreshToken === undefined ? {} : { refreshToken })
      }
      return {
        id,
        body,
        headers: {
          'Set-Cookie': cookieHeader(cookie, Math.floor((expiresAt - now) / 1000)),
          'Cache-Control': 'no-store'
        }
      }
    },

    find: (header) => find(header, options)
  }
}
