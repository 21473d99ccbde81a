import type { Authenticate } from '../http/authenticate.ts'
import type { Handlers } from '../http/contract.ts'
import type { Addresses, Parts } from '../parts.ts'
import type { Sessions } from '../sign-in/sessions.ts'
import type { Tokens } from '../sign-in/tokens.ts'
import { createAcceptHandlers } from './accept-invitation.ts'
import { createAccountHandlers } from './account.ts'
import { createAgentHandlers } from './agents.ts'
import { createChannelHandlers } from './alerts.ts'
import { createAuditHandlers } from './audit.ts'
import { createAuthHandlers } from './auth.ts'
import { createEmailHandlers } from './email-change.ts'
import { createHeartbeatHandlers } from './heartbeats.ts'
import { createHistoryHandlers } from './history.ts'
import { createIdentityHandlers } from './identities.ts'
import { createInstallationHandlers } from './installation.ts'
import { createInvitationHandlers } from './invitations.ts'
import { createLiveHandlers } from './live.ts'
import { createMaintenanceHandlers } from './maintenance.ts'
import { createMonitorHandlers } from './monitors.ts'
import { createOrganizationHandlers } from './organization.ts'
import { createPasswordResetHandlers } from './password-reset.ts'
import { createPushHandlers } from './push.ts'
import { createSessionHandlers } from './session.ts'
import { createSsoHandlers } from './sso.ts'
import { createSsoConnectionHandlers } from './sso-connections.ts'
import { createTeamHandlers } from './team.ts'

/** What the handlers work with. */
export interface HandlerOptions {
  parts: Parts
  addresses: Addresses
  /** The authority of a generated certificate, in PEM. */
  ca: string | null
  tokens: Tokens
  sessions: Sessions
  authenticate: Authenticate
}

/** A route of the contract without a handler here does not compile. */
export function createHandlers(options: HandlerOptions): Handlers {
  const { passwords } = options.parts
  return {
    ...createAuthHandlers({ ...options, passwords }),
    ...createSessionHandlers(options),
    ...createPasswordResetHandlers({ ...options, passwords }),
    ...createAccountHandlers({ ...options, passwords }),
    ...createEmailHandlers(options.parts, options.addresses),
    ...createOrganizationHandlers(options.parts, options.sessions),
    ...createTeamHandlers(options.parts),
    ...createInvitationHandlers(options.parts, options.addresses),
    ...createAcceptHandlers({ ...options, passwords }),
    ...createSsoHandlers(options),
    ...createSsoConnectionHandlers(options.parts),
    ...createIdentityHandlers(options.parts),
    ...createAgentHandlers(options.parts),
    ...createAuditHandlers(options.parts),
    ...createMonitorHandlers(options.parts, options.addresses),
    ...createHeartbeatHandlers(options.parts),
    ...createHistoryHandlers(options.parts),
    ...createPushHandlers(options.parts),
    ...createChannelHandlers(options.parts),
    ...createMaintenanceHandlers(options.parts),
    ...createLiveHandlers(options.parts, options.authenticate),
    ...createInstallationHandlers(options)
  }
}
