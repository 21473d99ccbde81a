import type { Handlers } from '../http/contract.ts'
import type { Addresses, Parts } from '../parts.ts'
import { createPasswords } from '../sign-in/password.ts'
import type { Sessions } from '../sign-in/sessions.ts'
import type { Tokens } from '../sign-in/tokens.ts'
import { createAgentHandlers } from './agents.ts'
import { createAuditHandlers } from './audit.ts'
import { createAuthHandlers } from './auth.ts'
import { createHeartbeatHandlers } from './heartbeats.ts'
import { createInstallationHandlers } from './installation.ts'
import { createMonitorHandlers } from './monitors.ts'
import { createPushHandlers } from './push.ts'

/** What the handlers work with. */
export interface HandlerOptions {
  parts: Parts
  addresses: Addresses
  tokens: Tokens
  sessions: Sessions
}

/** A route of the contract without a handler here does not compile. */
export function createHandlers(options: HandlerOptions): Handlers {
  return {
    ...createAuthHandlers({ ...options, passwords: createPasswords() }),
    ...createAgentHandlers(options.parts),
    ...createAuditHandlers(options.parts),
    ...createMonitorHandlers(options.parts, options.addresses),
    ...createHeartbeatHandlers(options.parts),
    ...createPushHandlers(options.parts),
    ...createInstallationHandlers(options)
  }
}
