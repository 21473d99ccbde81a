import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

/** Version of the keys that are derived now; stored beside every digest and inside every sealed value. */
export const SECRETS_VERSION = 1

const IV_BYTES = 12
const TAG_BYTES = 16

export interface Found<T> {
  row: T
  digest: Buffer
}

export interface Secrets {
  readonly version: number
  /** HMAC-SHA-256 of a high-entropy secret, for storing and looking up: 32 bytes. */
  digest(secret: string): Buffer
  /**
   * All digests by which a secret may be stored, in base64 and with a space between them: nearly always one. Cheaper than by way
   * of the bytes, for the check of a key at every request.
   */
  digestText(secret: string): string
  /** What is stored by a digest of the secret, by that of SECRETS_KEY first. */
  find<T>(secret: string, look: (digest: Buffer) => Promise<T | undefined>): Promise<Found<T> | undefined>
  /** Is it a digest of the secret, by whichever key? */
  matches(secret: string, digest: Buffer): boolean
  /** Encrypts for storage: version byte, nonce, ciphertext, tag (AES-256-GCM). `context` must be the same to open it. */
  seal(plain: string, context: string): Buffer
  /** @throws when the value was sealed with another key or context, or was changed. */
  open(sealed: Buffer, context: string): string
}

function derive(masterKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `pulsegate/${purpose}/v${SECRETS_VERSION}`, 32))
}

interface Keys {
  pepper: Buffer
  sealing: Buffer
}

/** Derives pepper and encryption key (base64, 32 bytes) by HKDF-SHA-256. */
function keysOf(secretsKey: string): Keys {
  const master = Buffer.from(secretsKey, 'base64')
  return { pepper: derive(master, 'pepper'), sealing: derive(master, 'seal') }
}

function hmac({ pepper }: Keys, secret: string) {
  return createHmac('sha256', pepper).update(secret)
}

function openWith({ sealing }: Keys, sealed: Buffer, context: string): string {
  if (sealed[0] !== SECRETS_VERSION || sealed.length < 1 + IV_BYTES + TAG_BYTES) {
    throw new Error('not a sealed value of a known version')
  }
  const iv = sealed.subarray(1, 1 + IV_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', sealing, iv).setAAD(Buffer.from(context))
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
  const body = sealed.subarray(1 + IV_BYTES, sealed.length - TAG_BYTES)
  return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
}

/** By `SECRETS_KEY`; what was made with `SECRETS_KEY_OTHER` is recognised and opened as well. */
export function createSecrets(secretsKey: string, otherKey?: string): Secrets {
  const now = keysOf(secretsKey)
  const other = otherKey === undefined ? undefined : keysOf(otherKey)
  const all = other === undefined ? [now] : [now, other]
  return {
    version: SECRETS_VERSION,
    digest: (secret) => hmac(now, secret).digest(),
    digestText: (secret) =>
      other === undefined
        ? hmac(now, secret).digest('base64')
        : all.map((keys) => hmac(keys, secret).digest('base64')).join(' '),
    find: async (secret, look) => {
      for (const keys of all) {
        const digest = hmac(keys, secret).digest()
        const row = await look(digest)
        if (row !== undefined) return { row, digest }
      }
      return undefined
    },
    matches: (secret, digest) =>
      all.some((keys) => {
        const own = hmac(keys, secret).digest()
        return own.length === digest.length && timingSafeEqual(own, digest)
      }),
    seal: (plain, context) => {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', now.sealing, iv).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(SECRETS_VERSION), iv, body, cipher.getAuthTag()])
    },
    open: (sealed, context) => {
      try {
        return openWith(now, sealed, context)
      } catch (error) {
        if (other === undefined) throw error
        return openWith(other, sealed, context)
      }
    }
  }
}
