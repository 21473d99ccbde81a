import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TearsDown } from './database.ts'

/** A TCP proxy whose connections can be made half-open: they stay, and nothing comes through any more. */
export interface SwallowingProxy {
  readonly port: number
  /** Connections accepted so far. */
  accepted(): number
  /** From now on swallows all that the present connections send, either way; later ones work. */
  swallow(): void
}

/** Passes bytes on to a port of this machine until the test ends. */
export async function proxyTo(t: TearsDown, port: number): Promise<SwallowingProxy> {
  const open = new Set<Socket>()
  const swallows: Array<() => void> = []
  let accepted = 0
  const server = createServer((near) => {
    accepted++
    const far = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near]
    ] as const) {
      open.add(from)
      from.on('close', () => open.delete(from))
      // A peer that resets its end ends the other.
      from.on('error', () => to.destroy())
      from.pipe(to)
      swallows.push(() => from.unpipe(to).resume())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    port: (server.address() as AddressInfo).port,
    accepted: () => accepted,
    swallow: () => {
      for (const swallow of swallows.splice(0)) swallow()
    }
  }
}
