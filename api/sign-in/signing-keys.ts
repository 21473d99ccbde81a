import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import type { Database, Queryable } from '../../shared/db.ts'
import type { Log } from '../../shared/log.ts'
import type { Secrets } from '../../shared/secrets.ts'
import {
  deleteSigningKeys,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  moveSigningKey,
  type SigningKeyRow,
  type SigningKeyState
} from '../../shared/store/signing-keys.ts'

export const ALGORITHM = 'ES256'
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A key signs for so long. */
const ACTIVE_MS = 90 * DAY_MS
/** And is published before for so long: others may cache the key set for an hour, and each of our processes for a minute. */
const PUBLISHED_MS = 2 * HOUR_MS
/** A token lives for 24 hours, and its key a little longer. */
const RETIRING_MS = 25 * HOUR_MS
/** How often each process looks whether it is time. */
const STEP_MS = HOUR_MS
/** Other processes change the keys as well, so they are read again. */
const REREAD_MS = 60_000
/** An unknown `kid` makes us read the keys again, at most this often: anybody can invent one. */
const RELOAD_MS = 1000

type Materials = Pick<Options, 'secrets' | 'clock'>

interface Options {
  db: Database
  secrets: Secrets
  clock: () => number
  log: Log
}

interface KeySet {
  active: { kid: string; privateKey: CryptoKey }
  publicKeys: ReadonlyMap<string, CryptoKey>
  publicJwks: Array<Record<string, unknown>>
}

export interface SigningKeys {
  /** What signs now. */
  active(): Promise<{ kid: string; privateKey: CryptoKey }>
  /** Undefined: no key of ours, or no longer. */
  publicKey(kid: string): Promise<CryptoKey | undefined>
  /** All public keys, those that are yet to sign included. */
  jwks(): Promise<Array<Record<string, unknown>>>
  stop(): Promise<void>
}

function sealContext(kid: string): string {
  return `signing-key/${kid}`
}

function kidsOf(rows: readonly SigningKeyRow[]): string[] {
  return rows.map(({ kid }) => kid)
}

async function importKey(jwk: JWK): Promise<CryptoKey> {
  // Only symmetric keys come as bytes, and ours are elliptic.
  return (await importJWK(jwk, ALGORITHM)) as CryptoKey
}

async function makeKey(tx: Queryable, { secrets, clock }: Materials, state: SigningKeyState): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { extractable: true })
  const publicPart = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(publicPart)
  await insertSigningKey(tx, {
    kid,
    state,
    state_since: new Date(clock()),
    public_jwk: { ...publicPart, kid, alg: ALGORITHM, use: 'sig' },
    private_sealed: secrets.seal(JSON.stringify(await exportJWK(privateKey)), sealContext(kid))
  })
  return kid
}

/** What a step of rotation did. */
export type KeyStep = 'nothing' | 'first_key_made' | 'next_key_published' | 'next_key_signs'

async function step(tx: Queryable, materials: Materials, early: boolean): Promise<KeyStep> {
  await lockSigningKeys(tx)
  const at = materials.clock()
  const ageOf = (row: SigningKeyRow) => at - row.state_since.getTime()
  const rows = await listSigningKeys(tx)
  const over = rows.filter((row) => row.state === 'retiring' && ageOf(row) >= RETIRING_MS)
  await deleteSigningKeys(tx, kidsOf(over))
  const active = rows.find((row) => row.state === 'active')
  if (active === undefined) {
    // Nothing was signed that anybody could want to verify, so it need not be published first.
    await makeKey(tx, materials, 'active')
    return 'first_key_made'
  }
  const next = rows.find((row) => row.state === 'next')
  if (next === undefined) {
    if (!early && ageOf(active) < ACTIVE_MS - PUBLISHED_MS) return 'nothing'
    await makeKey(tx, materials, 'next')
    return 'next_key_published'
  }
  if (ageOf(next) < PUBLISHED_MS) return 'nothing'
  // In this order: an index lets one key be active at any moment.
  await moveSigningKey(tx, active.kid, 'retiring', new Date(at))
  await moveSigningKey(tx, next.kid, 'active', new Date(at))
  return 'next_key_signs'
}

/** Does what the time asks for; any number of processes may. */
export function stepSigningKeys(db: Database, materials: Materials): Promise<KeyStep> {
  return db.transaction((tx) => step(tx, materials, false))
}

/** Publishes the next key now, whatever the age of the active one; the hourly step lets it sign two hours later. */
export function beginKeyRotation(db: Database, materials: Materials): Promise<KeyStep> {
  return db.transaction((tx) => step(tx, materials, true))
}

/**
 * For a key that others know: a new one signs at once and all others are gone. Within a minute every process refuses every
 * JWT that was signed before; sessions go on. Returns the `kid` of the new key.
 */
export function replaceSigningKeys(db: Database, materials: Materials): Promise<string> {
  return db.transaction(async (tx) => {
    await lockSigningKeys(tx)
    await deleteSigningKeys(tx, kidsOf(await listSigningKeys(tx)))
    return makeKey(tx, materials, 'active')
  })
}

async function readKeys({ db, secrets, clock }: Pick<Options, 'db' | 'secrets' | 'clock'>): Promise<KeySet> {
  let rows = await listSigningKeys(db)
  if (!rows.some((row) => row.state === 'active')) {
    await stepSigningKeys(db, { secrets, clock })
    rows = await listSigningKeys(db)
  }
  // One there is: keys are never left without an active one, and the step has just made the first.
  const active = rows.find((row) => row.state === 'active') as SigningKeyRow
  const opened = JSON.parse(secrets.open(active.private_sealed, sealContext(active.kid))) as JWK
  const publicKeys = new Map<string, CryptoKey>()
  for (const row of rows) publicKeys.set(row.kid, await importKey(row.public_jwk as JWK))
  return {
    active: { kid: active.kid, privateKey: await importKey(opened) },
    publicKeys,
    publicJwks: rows.map((row) => row.public_jwk)
  }
}

/** The step at once and then every hour. */
function startSteps({ db, secrets, clock, log }: Options) {
  let running: Promise<void> = Promise.resolve()
  const run = () => {
    running = stepSigningKeys(db, { secrets, clock }).then(
      (done) => {
        if (done !== 'nothing') log.info({ step: done }, 'signing keys changed')
      },
      (error) => log.warn({ err: error }, 'signing keys could not be looked after')
    )
  }
  run()
  const timer = setInterval(run, STEP_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      await running
    }
  }
}

/**
 * The keys that sign JWTs. They are kept encrypted in the database, made at the first need, and rotated by whichever process
 * comes first: `next` is published, `active` signs, `retiring` still verifies.
 */
export function createSigningKeys(options: Options): SigningKeys {
  const { clock } = options
  const steps = startSteps(options)
  let reading: Promise<KeySet> | null = null
  let readAt = Number.NEGATIVE_INFINITY

  function read(): Promise<KeySet> {
    readAt = clock()
    reading = readKeys(options).catch((error) => {
      reading = null
      throw error
    })
    return reading
  }

  function keys(freshWithinMs: number): Promise<KeySet> {
    return reading === null || clock() - readAt >= freshWithinMs ? read() : reading
  }

  return {
    active: async () => (await keys(REREAD_MS)).active,
    publicKey: async (kid) => {
      const key = (await keys(REREAD_MS)).publicKeys.get(kid)
      return key ?? (await keys(RELOAD_MS)).publicKeys.get(kid)
    },
    jwks: async () => (await keys(REREAD_MS)).publicJwks,
    stop: steps.stop
  }
}
