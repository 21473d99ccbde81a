import { v7 as uuidv7 } from 'uuid'
import type { OrganizationAnswer } from '../../shared/contract/organization.ts'
import { AppError } from '../../shared/errors.ts'
import { planOf } from '../../shared/plans.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import { insertAudit } from '../../shared/store/audit.ts'
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

function toOrganization(row: OrganizationRow): OrganizationAnswer {
  const { retention, limits } = planOf(row.plan)
  return {
    id: row.id,
    name: row.name,
    plan: row.plan,
    retentionDays: retention,
    limits,
    ssoRequired: row.sso_required,
    createdAt: formatTimestamp(row.created_at.getTime())
  }
}

type OrganizationHandlers = Pick<
  Handlers,
  'foundOrganization' | 'readOrganization' | 'patchOrganization' | 'deleteOrganization'
>

function createChangers(parts: Parts): Pick<OrganizationHandlers, 'patchOrganization' | 'deleteOrganization'> {
  const { db } = parts
  return {
    patchOrganization: async (call) => {
      const { principal, body } = call
      const changed = await db.tenant(principal.organizationId, async (tx) => {
        const { organization } = await lockTeam(tx, principal, 'organization:write')
        const { id, name } = organization
        if (body.name === undefined || body.name === name) return organization
        await renameOrganization(tx, id, body.name)
        await audit(tx, call, 'organization.changed', {
          target: { kind: 'organization', id, name: body.name },
          details: { name: { from: name, to: body.name } }
        })
        return { ...organization, name: body.name }
      })
      return { status: 200, body: toOrganization(changed) }
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
  const { db } = parts
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
      const row = await db.tenant(organizationId, (tx) => findOrganization(tx, organizationId))
      if (row === undefined) throw new AppError('unauthorized')
      return { status: 200, body: toOrganization(row) }
    },

    ...createChangers(parts)
  }
}
