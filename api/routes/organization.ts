import { v7 as uuidv7 } from 'uuid'
import type { OrganizationAnswer } from '../../shared/contract/organization.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { planOf, scheduledCut } from '../../shared/plans.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { insertAudit } from '../../shared/store/audit.ts'
import { countOf } from '../../shared/store/counts.ts'
import {
  deleteOrganization,
  findOrganization,
  foundOrganization,
  type OrganizationRow,
  renameOrganization
} from '../../shared/store/organizations.ts'
import { announceChanges } from '../http/announce-change.ts'
import { audit } from '../http/audit.ts'
import type { Handlers } from '../http/contract.ts'
import { validationFailed } from '../http/validate.ts'
import type { Parts } from '../parts.ts'
import { CLEARED_COOKIE, originOf, type Sessions } from '../sign-in/sessions.ts'
import { signedInPerson } from '../sign-in/signed-in-person.ts'
import { lockTeam } from './lock-team.ts'

async function toOrganization(tx: Queryable, row: OrganizationRow, now: number): Promise<OrganizationAnswer> {
  const { retention, limits } = planOf(row.plan)
  const cut = scheduledCut(row, now)
  return {
    id: row.id,
    name: row.name,
    plan: row.plan,
    retentionDays: retention,
    scheduledCut: cut === null ? null : { at: formatTimestamp(cut.at), retentionDays: cut.retention },
    limits,
    usage: { monitors: await countOf(tx, row.id, 'monitors'), agents: await countOf(tx, row.id, 'agents') },
    ssoRequired: row.sso_required,
    createdAt: formatTimestamp(row.created_at.getTime())
  }
}

type OrganizationHandlers = Pick<
  Handlers,
  'foundOrganization' | 'readOrganization' | 'patchOrganization' | 'deleteOrganization'
>

function createChangers(parts: Parts): Pick<OrganizationHandlers, 'patchOrganization' | 'deleteOrganization'> {
  const { db, clock } = parts
  return {
    patchOrganization: async (call) => {
      const { principal, body: wanted } = call
      const body = await db.tenant(principal.organizationId, async (tx) => {
        const { organization } = await lockTeam(tx, principal, 'organization:write')
        const { id, name } = organization
        if (wanted.name === undefined || wanted.name === name) return toOrganization(tx, organization, clock())
        await renameOrganization(tx, id, wanted.name)
        await audit(tx, call, 'organization.changed', {
          target: { kind: 'organization', id, name: wanted.name },
          details: { name: { from: name, to: wanted.name } }
        })
        return toOrganization(tx, { ...organization, name: wanted.name }, clock())
      })
      return { status: 200, body }
    },

    deleteOrganization: async ({ principal, body, log }) => {
      const { organizationId, userId } = principal
      await db.tenant(organizationId, async (tx) => {
        const { organization } = await lockTeam(tx, principal, 'organization:delete')
        if (body.name !== organization.name) {
          const detail = 'This is not the name of the organization.'
          throw validationFailed([{ pointer: '/name', code: 'invalid_value', detail }])
        }
        await deleteOrganization(tx, organizationId)
      })
      // The audit trail went with the organization.
      log.info({ organizationId, userId }, 'an organization was deleted by its owner')
      await announceChanges(parts, [{ type: 'organization_changed', organizationId, deleted: true }])
      return { status: 204, headers: principal.shown === 'session' ? { 'Set-Cookie': CLEARED_COOKIE } : {} }
    }
  }
}

export function createOrganizationHandlers(parts: Parts, sessions: Sessions): OrganizationHandlers {
  const { db, clock } = parts
  return {
    foundOrganization: async (call) => {
      const { principal, body, address, requestId } = call
      const person = await signedInPerson(parts, principal)
      const organization = { id: uuidv7(), name: body.name, plan: parts.defaultPlan }
      const { id: organizationId, name } = organization
      await db.person(person.user.id, organizationId, async (tx) => {
        await foundOrganization(tx, organization, person.user.id)
        await insertAudit(tx, {
          organizationId,
          actor: { kind: 'user', id: person.user.id },
          action: 'organization.created',
          target: { kind: 'organization', id: organizationId, name },
          address,
          requestId
        })
      })
      const started = await sessions.start({ ...person, organization }, originOf(call))
      return { status: 201, body: started.body, headers: started.headers }
    },

    readOrganization: async ({ principal: { organizationId } }) => {
      const body = await db.tenant(organizationId, async (tx) => {
        const row = await findOrganization(tx, organizationId)
        if (row === undefined) throw new AppError('unauthorized')
        return toOrganization(tx, row, clock())
      })
      return { status: 200, body }
    },

    ...createChangers(parts)
  }
}
