import { get, type IncomingMessage } from 'node:http'
import type { Test } from 'tap'
import type { TestApi } from './api.ts'
import { waitFor } from './wait-for.ts'

/** A server-sent event. */
export interface Seen {
  id: string | undefined
  event: string
  data: Record<string, unknown>
}

function parse(block: string): Seen | null {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
  const event = field('event')
  return event === undefined ? null : { id: field('id'), event, data: JSON.parse(field('data') ?? '{}') }
}

/** Opens `/v1/live` as the person with this JWT; closed with the test. */
export async function watchLive(t: Test, to: TestApi, as: string, { query = '', lastEventId = '' } = {}) {
  const headers = { authorization: `Bearer ${as}`, ...(lastEventId && { 'last-event-id': lastEventId }) }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ host: 'localhost', port: to.port, path: `/v1/live${query}`, headers, agent: false }, resolve).on(
      'error',
      reject
    )
  })
  let text = ''
  let ended = false
  response.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  response
    .on('error', () => undefined)
    .on('close', () => {
      ended = true
    })
  const close = async () => {
    response.destroy()
  }
  t.teardown(close)
  const events = (event: string) =>
    text
      .split('\n\n')
      .flatMap((block) => parse(block) ?? [])
      .filter((one) => one.event === event)
  const come = (event: string, count = 1, timeoutMs = 10_000) =>
    waitFor(() => events(event).length >= count && events(event), { what: `${count} ${event}: ${text}`, timeoutMs })
  return { response, events, come, close, text: () => text, ended: () => ended }
}
