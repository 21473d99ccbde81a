import { randomUUID } from 'node:crypto'
import {
  type CryptoKey,
  calculateJwkThumbprint,
  decodeProtectedHeader,
  errors,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
  SignJWT
} from 'jose'
import type { Database } from '../../shared/db.ts'
import type { Secrets } from '../../shared/secrets.ts'
import { insertActiveSigningKey, listSigningKeys, type SigningKeyRow } from '../../shared/store/signing-keys.ts'

/** The life of a JWT from sign-in, in seconds: exactly 24 hours. */
export const JWT_SECONDS = 86_400
const ALGORITHM = 'ES256'
const TYPE = 'at+jwt'
/** Seconds by which the clocks of our processes may differ: a token may seem to come from the future, never live longer. */
const TOLERANCE_SECONDS = 5
/** An unknown `kid` makes us read the keys again, at most this often: anybody can invent one. */
const RELOAD_MS = 1000

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

export type VerifiedClaims = Omit<Claims, 'amr'>

export interface Tokens {
  /** A JWT with the claims of RFC 9068. */
  issue(claims: Claims): Promise<string>
  /** Null: not ours, changed, or no longer valid. */
  verify(jwt: string): Promise<VerifiedClaims | null>
  /** Public keys, as a JWK set. */
  jwks(): Promise<{ keys: Array<Record<string, unknown>> }>
}

interface Options {
  db: Database
  secrets: Secrets
  issuer: string
  audience: string
  clock: () => number
}

interface KeySet {
  readAt: number
  active: { kid: string; privateKey: CryptoKey }
  publicKeys: ReadonlyMap<string, CryptoKey>
  publicJwks: Array<Record<string, unknown>>
}

function sealContext(kid: string): string {
  return `signing-key/${kid}`
}

async function importKey(jwk: JWK): Promise<CryptoKey> {
  // Only symmetric keys come as bytes, and ours are elliptic.
  return (await importJWK(jwk, ALGORITHM)) as CryptoKey
}

async function makeKey(db: Database, secrets: Secrets): Promise<void> {
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { extractable: true })
  const publicPart = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(publicPart)
  await insertActiveSigningKey(db, {
    kid,
    public_jwk: { ...publicPart, kid, alg: ALGORITHM, use: 'sig' },
    private_sealed: secrets.seal(JSON.stringify(await exportJWK(privateKey)), sealContext(kid))
  })
}

async function readKeys({ db, secrets, clock }: Options): Promise<KeySet> {
  let rows = await listSigningKeys(db)
  if (!rows.some((row) => row.state === 'active')) {
    // Of several processes that find none, the unique index lets one win; all then read the same key.
    await makeKey(db, secrets)
    rows = await listSigningKeys(db)
  }
  const active = rows.find((row) => row.state === 'active') as SigningKeyRow
  const opened = JSON.parse(secrets.open(active.private_sealed, sealContext(active.kid))) as JWK
  const publicKeys = new Map<string, CryptoKey>()
  for (const row of rows) publicKeys.set(row.kid, await importKey(row.public_jwk as JWK))
  return {
    readAt: clock(),
    active: { kid: active.kid, privateKey: await importKey(opened) },
    publicKeys,
    publicJwks: rows.map((row) => row.public_jwk)
  }
}

function kidOf(jwt: string): string | null {
  try {
    return decodeProtectedHeader(jwt).kid ?? null
  } catch (error) {
    if (error instanceof TypeError || error instanceof errors.JOSEError) return null
    throw error
  }
}

function claimsOf({ sub, org, sid, auth_time: seconds }: JWTPayload): VerifiedClaims | null {
  if (typeof sub !== 'string' || typeof org !== 'string' || typeof sid !== 'string') return null
  return typeof seconds === 'number'
    ? { userId: sub, organizationId: org, sessionId: sid, authenticatedAt: seconds * 1000 }
    : null
}

/** Issues and verifies our JWTs; the keys are made at the first need and kept encrypted in the database. */
export function createTokens(options: Options): Tokens {
  const { issuer, audience, clock } = options
  let reading: Promise<KeySet> | null = null

  function keys(): Promise<KeySet> {
    reading ??= readKeys(options).catch((error) => {
      reading = null
      throw error
    })
    return reading
  }

  async function publicKeyOf(kid: string): Promise<CryptoKey | undefined> {
    const known = await keys()
    const key = known.publicKeys.get(kid)
    if (key !== undefined || clock() - known.readAt < RELOAD_MS) return key
    reading = null
    return (await keys()).publicKeys.get(kid)
  }

  return {
    issue: async ({ userId, organizationId, sessionId, authenticatedAt, amr }) => {
      const { active } = await keys()
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
      const key = kid === null ? undefined : await publicKeyOf(kid)
      if (key === undefined) return null
      try {
        const { payload } = await jwtVerify(jwt, key, {
          algorithms: [ALGORITHM],
          issuer,
          audience,
          typ: TYPE,
          clockTolerance: TOLERANCE_SECONDS,
          maxTokenAge: JWT_SECONDS,
          requiredClaims: ['sub', 'org', 'sid', 'auth_time', 'exp', 'jti', 'client_id'],
          currentDate: new Date(clock())
        })
        if ((payload.exp ?? 0) * 1000 <= clock()) return null
        return claimsOf(payload)
      } catch (error) {
        if (error instanceof errors.JOSEError) return null
        throw error
      }
    },
    jwks: async () => ({ keys: (await keys()).publicJwks })
  }
}
