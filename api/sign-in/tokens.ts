import { randomUUID } from 'node:crypto'
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { ALGORITHM, type SigningKeys } from './signing-keys.ts'

/** The life of a JWT from sign-in, in seconds: exactly 24 hours. */
export const JWT_SECONDS = 86_400
const TYPE = 'at+jwt'
/** Seconds by which the clocks of our processes may differ: a token may seem to come from the future, never live longer. */
const TOLERANCE_SECONDS = 5

export interface Claims {
  userId: string
  organizationId: string
  /** The session that the token came from; it ends without ending the token. */
  sessionId: string
  /** When the person proved who they are, epoch ms. */
  authenticatedAt: number
  /** How, in the words of RFC 8176: `pwd`, or `fed` for an identity provider. */
  amr: readonly ['pwd' | 'fed']
}

export interface Tokens {
  /** A JWT with the claims of RFC 9068. */
  issue(claims: Claims): Promise<string>
  /** Null: not ours, changed, or no longer valid. */
  verify(jwt: string): Promise<Claims | null>
  /** Public keys, as a JWK set. */
  jwks(): Promise<{ keys: Array<Record<string, unknown>> }>
}

interface Options {
  signingKeys: SigningKeys
  issuer: string
  audience: string
  clock: () => number
}

function kidOf(jwt: string): string | null {
  try {
    return decodeProtectedHeader(jwt).kid ?? null
  } catch (error) {
    if (error instanceof TypeError || error instanceof errors.JOSEError) return null
    throw error
  }
}

function claimsOf({ sub, org, sid, auth_time: seconds, amr }: JWTPayload): Claims | null {
  if (typeof sub !== 'string' || typeof org !== 'string' || typeof sid !== 'string') return null
  const [how] = Array.isArray(amr) ? amr : []
  if (typeof seconds !== 'number' || (how !== 'pwd' && how !== 'fed')) return null
  return { userId: sub, organizationId: org, sessionId: sid, authenticatedAt: seconds * 1000, amr: [how] }
}

/** Issues and verifies our JWTs. */
export function createTokens({ signingKeys, issuer, audience, clock }: Options): Tokens {
  return {
    issue: async ({ userId, organizationId, sessionId, authenticatedAt, amr }) => {
      const active = await signingKeys.active()
      const now = Math.floor(clock() / 1000)
      return new SignJWT({
        client_id: 'first-party',
        org: organizationId,
        sid: sessionId,
        amr,
        auth_time: Math.floor(authenticatedAt / 1000)
      })
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid: active.kid })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(userId)
        .setIssuedAt(now)
        .setExpirationTime(now + JWT_SECONDS)
        .setJti(randomUUID())
        .sign(active.privateKey)
    },
    verify: async (jwt) => {
      const kid = kidOf(jwt)
      const key = kid === null ? undefined : await signingKeys.publicKey(kid)
      if (key === undefined) return null
      try {
        const { payload } = await jwtVerify(jwt, key, {
          algorithms: [ALGORITHM],
          issuer,
          audience,
          typ: TYPE,
          clockTolerance: TOLERANCE_SECONDS,
          maxTokenAge: JWT_SECONDS,
          requiredClaims: ['sub', 'org', 'sid', 'auth_time', 'amr', 'exp', 'jti', 'client_id'],
          currentDate: new Date(clock())
        })
        if ((payload.exp ?? 0) * 1000 <= clock()) return null
        return claimsOf(payload)
      } catch (error) {
        if (error instanceof errors.JOSEError) return null
        throw error
      }
    },
    jwks: async () => ({ keys: await signingKeys.jwks() })
  }
}
