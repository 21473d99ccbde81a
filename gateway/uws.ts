import type * as Uws from 'uWebSockets.js'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StartupError } from '../shared/env.ts'

/** The only door to uWebSockets.js. */
export type UwsModule = typeof Uws
export type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
  WebSocket,
  WebSocketBehavior
} from 'uWebSockets.js'

export interface LoadedUws {
  readonly module: UwsModule
  /** Which build it is, for the log. */
  readonly build: string
}

const require = createRequire(import.meta.url)

/** `send` returns it when the message was dropped because the peer reads too slowly (SendStatus of uWebSockets.js). */
export const SEND_DROPPED = 2

/**
 * The official build needs glibc 2.38; an older build serves systems from glibc 2.27 on, with Node 20 (docs/adr/0002).
 * The older package is entered by its binary, so that its pure-JavaScript twin can never take its place.
 * @throws StartupError when neither loads.
 */
export function loadUws(): LoadedUws {
  const faults: string[] = []
  try {
    return { module: require('uWebSockets.js') as UwsModule, build: 'uWebSockets.js 20.56.0' }
  } catch (error) {
    faults.push(firstLine(error))
  }
  try {
    const folder = dirname(require.resolve('uws-older-glibc/package.json'))
    const binary = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`
    return {
      module: require(join(folder, 'binaries', binary)) as UwsModule,
      build: 'uWebSockets.js 20.30.0 (older glibc)'
    }
  } catch (error) {
    faults.push(firstLine(error))
  }
  throw new StartupError(
    `uWebSockets.js does not load with Node ${process.version} here. Use Node 20 on glibc 2.27 or newer, or Node 22 or 24 on ` +
      `glibc 2.38 or newer (Debian 13, Ubuntu 24.04). (${faults.join('; ')})`
  )
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? ''
}
