import { accountRoutes } from './account.ts'
import { agentRoutes } from './agents.ts'
import { alertRoutes } from './alerts.ts'
import { auditRoutes } from './audit.ts'
import { signInRoutes } from './auth.ts'
import { heartbeatRoutes } from './heartbeats.ts'
import { historyRoutes } from './history.ts'
import { liveRoutes } from './live.ts'
import { maintenanceRoutes } from './maintenance.ts'
import { monitorRoutes } from './monitors.ts'
import { organizationRoutes } from './organization.ts'
import { pushRoutes } from './push.ts'
import { ssoRoutes } from './sso.ts'
import { installationRoutes } from './system.ts'
import { teamRoutes } from './team.ts'

/** Every address of the HTTP API. */
export const ROUTES = {
  ...signInRoutes,
  ...accountRoutes,
  ...organizationRoutes,
  ...teamRoutes,
  ...ssoRoutes,
  ...agentRoutes,
  ...auditRoutes,
  ...monitorRoutes,
  ...heartbeatRoutes,
  ...historyRoutes,
  ...pushRoutes,
  ...alertRoutes,
  ...maintenanceRoutes,
  ...liveRoutes,
  ...installationRoutes
} as const
export type Routes = typeof ROUTES
export type RouteName = keyof Routes
