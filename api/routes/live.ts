import { LIVE_TYPE } from '../../shared/contract/live.ts'
import { mayRole } from '../../shared/contract/permissions.ts'
import { AppError } from '../../shared/errors.ts'
import { findMonitor } from '../../shared/store/monitors.ts'
import type { Authenticate, UserPrincipal } from '../http/authenticate.ts'
import type { Handlers } from '../http/contract.ts'
import { streamLive } from '../live/stream.ts'
import type { Parts } from '../parts.ts'

/** Proxies must pass events on as they come. */
const HEADERS = { 'Content-Type': LIVE_TYPE, 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }

/** Is it the same person in the same organization, who may still see this? */
async function isAllowed(
  authenticate: Authenticate,
  headers: Parameters<Authenticate>[0],
  { userId, organizationId }: UserPrincipal
): Promise<boolean> {
  try {
    const now = await authenticate(headers)
    const isSame = now.kind === 'user' && now.userId === userId && now.organizationId === organizationId
    return isSame && mayRole(now.role, 'live')
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

export function createLiveHandlers(parts: Parts, authenticate: Authenticate): Pick<Handlers, 'readLive'> {
  return {
    readLive: async ({ principal, query, request }) => {
      const { organizationId } = principal
      const monitorId = query.monitorId?.toLowerCase() ?? null
      if (monitorId !== null) {
        const monitor = await parts.db.tenant(organizationId, (tx) => findMonitor(tx, organizationId, monitorId))
        if (monitor === undefined) throw new AppError('not_found')
      }
      const stream = streamLive(parts, {
        organizationId,
        monitorId,
        lastEventId: request.headersDistinct['last-event-id']?.[0],
        isAllowed: () => isAllowed(authenticate, request.headers, principal),
        signal: parts.stopping.signal
      })
      return { status: 200, stream, headers: HEADERS }
    }
  }
}
