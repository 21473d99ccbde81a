import { createHmac, randomBytes } from 'node:crypto'

/** Standard Webhooks 1.0: at least 24 bytes. */
const SECRET_BYTES = 32
const PREFIX = 'whsec_'

export function mintWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/** The headers of Standard Webhooks 1.0: the secret signs id, time and body, as they are sent. `at` is epoch ms. */
export function signedHeaders(secret: string, id: string, at: number, body: string): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000))
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
