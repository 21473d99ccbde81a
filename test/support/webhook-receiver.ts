import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TearsDown } from './database.ts'

export interface ReceivedMessage {
  headers: IncomingHttpHeaders
  /** As it was sent: the signature is of these bytes. */
  text: string
  body: Record<string, unknown>
}

export interface WebhookReceiver {
  url: string
  port: number
  received: ReceivedMessage[]
  /** What the next messages are answered; 204 unless changed. Absent response: hang. */
  answer: (response: ServerResponse) => void
}

/** A server on loopback that takes messages. */
export async function receiverFor(t: TearsDown): Promise<WebhookReceiver> {
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    request.on('end', () => {
      receiver.received.push({ headers: request.headers, text, body: JSON.parse(text) })
      receiver.answer(response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })
  const { port } = server.address() as AddressInfo
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received: [],
    answer: (response) => response.writeHead(204).end()
  }
  return receiver
}

/** Is the message signed with this secret? As the specification of Standard Webhooks 1.0 says, by our own hand. */
export function isSigned({ headers, text }: ReceivedMessage, secret: string): boolean {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return headers['webhook-signature'] === `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}
