import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { decode, encode } from 'dns-packet'
import type { TearsDown } from './database.ts'

/** `name error`: there is no such name. */
const NXDOMAIN = 3

export interface DnsServer {
  /** Asks this server only. */
  resolver: Resolver
  /** TXT records by name; each is its strings, as they stand in the record. */
  records: Map<string, string[][]>
}

/** A name server on loopback that knows the TXT records of `records`, and nothing else. */
export async function dnsServerFor(t: TearsDown): Promise<DnsServer> {
  const records = new Map<string, string[][]>()
  const socket = createSocket('udp4')
  socket.on('message', (message, { port, address }) => {
    const { id, questions } = decode(message)
    const [question] = questions
    const found = question?.type === 'TXT' ? records.get(question.name.toLowerCase()) : undefined
    const answers = (found ?? []).map((data) => ({ type: 'TXT' as const, name: question?.name ?? '', ttl: 1, data }))
    const flags = found === undefined ? NXDOMAIN : 0
    socket.send(encode({ type: 'response', id, flags, questions, answers }), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())))
  const resolver = new Resolver({ timeout: 500, tries: 1 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return { resolver, records }
}
