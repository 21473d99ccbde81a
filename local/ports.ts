import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { readIfThere, replaceFile } from '../shared/kept-file.ts'

// Below every usual ephemeral range (Linux 32768, macOS and Windows 49152): a client that retries a dead port inside that
// range can be given the same number as its own source port and then connects to itself, and the store cannot come back.
const LOWEST = 20_000
const HIGHEST = 32_000

/** Whether a TCP server could listen on `port` of `host` (every address when absent) right now. */
export function isPortFree(port: number, host?: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => server.close(() => resolve(true)))
  })
}

/** A port outside the ephemeral range that nobody listens on now. Rejects when a hundred tries found none. */
export async function freePort(host?: string): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(LOWEST, HIGHEST)
    if (await isPortFree(port, host)) return port
  }
  throw new Error(`No free TCP port between ${LOWEST} and ${HIGHEST} was found.`)
}

/**
 * The port of a store: `wanted`, else the one kept in `file` while it is free (so that a restarted store comes back
 * where its clients look for it), else a free one. Writes it to `file`.
 */
export async function chooseStorePort(file: string, wanted?: number): Promise<number> {
  const kept = Number(readIfThere(file))
  const usable = kept > 0 && kept < 65_536 && (await isPortFree(kept, '127.0.0.1'))
  const port = wanted ?? (usable ? kept : await freePort('127.0.0.1'))
  if (port !== kept) replaceFile(file, `${port}\n`)
  return port
}
