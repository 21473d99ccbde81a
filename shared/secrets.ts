import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

/** Version of the keys that are derived now; stored beside every digest and inside every sealed value. */
export const SECRETS_VERSION = 1

const IV_BYTES = 12
const TAG_BYTES = 16

export interface Secrets {
  readonly version: number
  /** HMAC-SHA-256 of a high-entropy secret, for storing and looking up: 32 bytes. */
  digest(secret: string): Buffer
  /** The same in base64, a third cheaper than by way of the bytes: for the check of a key at every request. */
  digestText(secret: string): string
  /** Encrypts for storage: version byte, nonce, ciphertext, tag (AES-256-GCM). `context` must be the same to open it. */
  seal(plain: string, context: string): Buffer
  /** @throws when the value was sealed with another key or context, or was changed. */
  open(sealed: Buffer, context: string): string
}

function derive(masterKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `pulsegate/${purpose}/v${SECRETS_VERSION}`, 32))
}

/** Derives pepper and encryption key from `SECRETS_KEY` (base64, 32 bytes) by HKDF-SHA-256. */
export function createSecrets(secretsKey: string): Secrets {
  const master = Buffer.from(secretsKey, 'base64')
  const pepper = derive(master, 'pepper')
  const sealing = derive(master, 'seal')
  return {
    version: SECRETS_VERSION,
    digest: (secret) => createHmac('sha256', pepper).update(secret).digest(),
    digestText: (secret) => createHmac('sha256', pepper).update(secret).digest('base64'),
    seal: (plain, context) => {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', sealing, iv).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(SECRETS_VERSION), iv, body, cipher.getAuthTag()])
    },
    open: (sealed, context) => {
      if (sealed[0] !== SECRETS_VERSION || sealed.length < 1 + IV_BYTES + TAG_BYTES) {
        throw new Error('not a sealed value of a known version')
      }
      const iv = sealed.subarray(1, 1 + IV_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', sealing, iv).setAAD(Buffer.from(context))
      decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
      const body = sealed.subarray(1 + IV_BYTES, sealed.length - TAG_BYTES)
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
    }
  }
}
