import { v7 as uuidv7 } from 'uuid'
import { CHALLENGE_LABEL, type SsoAnswer, type SsoConnectionAnswer } from '../../shared/contract/sso.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { randomBase62 } from '../../shared/identity/api-key.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { listIdentities } from '../../shared/store/identities.ts'
import { findOrganization, setSsoRequired } from '../../shared/store/organizations.ts'
import { endSessionsIn } from '../../shared/store/sessions.ts'
import {
  deleteSsoConnection,
  findSsoConnection,
  insertSsoConnection,
  listSsoConnections,
  proveSsoConnection,
  type SsoConnection
} from '../../shared/store/sso-connections.ts'
import { lockUser } from '../../shared/store/users.ts'
import { audit } from '../http/audit.ts'
import type { UserPrincipal } from '../http/authenticate.ts'
import type { Handlers } from '../http/contract.ts'
import type { Parts } from '../parts.ts'
import { lockTeam } from './lock-team.ts'

const MOST_CONNECTIONS = 20
const TOKEN_LENGTH = 43

function challengeName(domain: string): string {
  return `${CHALLENGE_LABEL}.${domain}`
}

function challengeValue(token: string): string {
  return `pulsegate-verification=${token}`
}

function toConnection(row: SsoConnection): SsoConnectionAnswer {
  const { id, provider, tenant, domain, proof_token: token, proven_at: provenAt, created_at: createdAt } = row
  return {
    id,
    provider,
    tenant,
    domain,
    proof: { type: 'TXT', name: challengeName(domain), value: challengeValue(token) },
    provenAt: provenAt === null ? null : formatTimestamp(provenAt.getTime()),
    createdAt: formatTimestamp(createdAt.getTime())
  }
}

function targetOf({ id, provider, domain }: SsoConnection) {
  return { kind: 'sso_connection', id, name: `${provider} ${domain}` }
}

/** @throws AppError not_found */
async function requireConnection(tx: Queryable, organizationId: string, id: string): Promise<SsoConnection> {
  const row = await findSsoConnection(tx, organizationId, id)
  if (row === undefined) throw new AppError('not_found')
  return row
}

/** Whoever requires single sign-on, or changes what it hangs on, has to be able to come back. @throws AppError sso_not_ready */
async function requireWayIn(tx: Queryable, userId: string, connections: SsoConnection[]): Promise<void> {
  await lockUser(tx, userId)
  const proven = connections.filter((one) => one.proven_at !== null)
  const identities = await listIdentities(tx, userId)
  const leadsIn = ({ provider, tenant }: { provider: string; tenant: string }) =>
    proven.some((one) => one.provider === provider && one.tenant === tenant)
  if (identities.some(leadsIn)) return
  throw new AppError('sso_not_ready', {
    detail: 'A proven connection is needed, and an identity of its tenant that is linked to your own account.'
  })
}

async function readSettings(tx: Queryable, organizationId: string): Promise<SsoAnswer> {
  const organization = await findOrganization(tx, organizationId)
  const connections = await listSsoConnections(tx, organizationId)
  return { required: organization?.sso_required === true, connections: connections.map(toConnection) }
}

/** The texts at a name of DNS, or none; why there is none says nothing that would help an owner more. */
async function readTexts({ dns, log }: Parts, name: string): Promise<string[]> {
  try {
    return (await dns.resolveTxt(name)).map((parts) => parts.join(''))
  } catch (error) {
    log.info({ err: error }, 'a DNS record was not found')
    return []
  }
}

/**
 * No open session tells which tenant it came by, so all of the organization but that of who asks begin anew. Returns what
 * the audit trail is told of it.
 */
async function endWaysIn(tx: Queryable, { organizationId, sessionId }: UserPrincipal, now: number) {
  return { sessionsEnded: await endSessionsIn(tx, organizationId, sessionId, new Date(now)) }
}

type Settings = Pick<Handlers, 'readSso' | 'patchSso'>
type Connections = Pick<Handlers, 'createSsoConnection' | 'deleteSsoConnection' | 'verifySsoConnection'>

function createSettings({ db, clock }: Parts): Settings {
  return {
    readSso: async ({ principal: { organizationId } }) => ({
      status: 200,
      body: await db.tenant(organizationId, (tx) => readSettings(tx, organizationId))
    }),

    patchSso: async (call) => {
      const { principal, body } = call
      const { organizationId, userId } = principal
      const settings = await db.person(userId, organizationId, async (tx) => {
        const { organization } = await lockTeam(tx, principal, 'sso:write')
        if (body.required) await requireWayIn(tx, userId, await listSsoConnections(tx, organizationId))
        if (body.required !== organization.sso_required) {
          await setSsoRequired(tx, organizationId, body.required)
          await audit(tx, call, 'organization.changed', {
            target: { kind: 'organization', id: organizationId, name: organization.name },
            details: {
              ssoRequired: { from: organization.sso_required, to: body.required },
              ...(body.required ? await endWaysIn(tx, principal, clock()) : {})
            }
          })
        }
        return readSettings(tx, organizationId)
      })
      return { status: 200, body: settings }
    }
  }
}

function createConnections(parts: Parts): Connections {
  const { db, clock } = parts
  return {
    createSsoConnection: async (call) => {
      const { principal, body } = call
      const { organizationId } = principal
      const { provider, domain } = body
      const id = uuidv7()
      const made = await db.tenant(organizationId, async (tx) => {
        await lockTeam(tx, principal, 'sso:write')
        if ((await listSsoConnections(tx, organizationId)).length >= MOST_CONNECTIONS) {
          throw new AppError('limit_reached', {
            detail: `An organization has at most ${MOST_CONNECTIONS} connections.`
          })
        }
        const tenant = body.provider === 'entra' ? body.tenant : domain
        const proofToken = randomBase62(TOKEN_LENGTH)
        await insertSsoConnection(tx, organizationId, { id, provider, tenant, domain, proofToken })
        const row = await requireConnection(tx, organizationId, id)
        await audit(tx, call, 'sso.connection_created', {
          target: targetOf(row),
          details: { provider, tenant, domain }
        })
        return row
      })
      return { status: 201, body: toConnection(made) }
    },

    deleteSsoConnection: async (call) => {
      const { principal, params } = call
      const { organizationId, userId } = principal
      await db.person(userId, organizationId, async (tx) => {
        const { organization } = await lockTeam(tx, principal, 'sso:write')
        const row = await requireConnection(tx, organizationId, params.id)
        await deleteSsoConnection(tx, organizationId, row.id)
        if (organization.sso_required) await requireWayIn(tx, userId, await listSsoConnections(tx, organizationId))
        const { provider, tenant, domain } = row
        await audit(tx, call, 'sso.connection_deleted', {
          target: targetOf(row),
          details: {
            ...{ provider, tenant, domain },
            ...(organization.sso_required && row.proven_at !== null ? await endWaysIn(tx, principal, clock()) : {})
          }
        })
      })
      return { status: 204 }
    },

    verifySsoConnection: async (call) => {
      const { principal, params } = call
      const { organizationId } = principal
      const found = await db.tenant(organizationId, (tx) => requireConnection(tx, organizationId, params.id))
      // A transaction does not wait for somebody's name server.
      const texts = found.proven_at === null ? await readTexts(parts, challengeName(found.domain)) : null
      if (texts !== null && !texts.includes(challengeValue(found.proof_token))) {
        const record = `${challengeName(found.domain)} TXT "${challengeValue(found.proof_token)}"`
        throw new AppError('sso_domain_unproven', { detail: `Make the DNS record ${record} and try again.` })
      }
      const proven = await db.tenant(organizationId, async (tx) => {
        await lockTeam(tx, principal, 'sso:write')
        if (await proveSsoConnection(tx, organizationId, found.id, new Date(clock()))) {
          const { provider, tenant, domain } = found
          await audit(tx, call, 'sso.connection_proven', {
            target: targetOf(found),
            details: { provider, tenant, domain }
          })
        }
        return requireConnection(tx, organizationId, found.id)
      })
      return { status: 200, body: toConnection(proven) }
    }
  }
}

export function createSsoConnectionHandlers(parts: Parts): Settings & Connections {
  return { ...createSettings(parts), ...createConnections(parts) }
}
