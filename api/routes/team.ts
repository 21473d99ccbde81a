import type { MemberAnswer } from '../../shared/contract/team.ts'
import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { formatTimestamp } from '../../shared/protocol/timestamp.ts'
import {
  deleteMembership,
  findMember,
  listMembers,
  type MemberRow,
  updateRole
} from '../../shared/store/memberships.ts'
import { audit } from '../http/audit.ts'
import type { Handlers } from '../http/contract.ts'
import { cutPage, readCursor, writeCursor } from '../http/cursor.ts'
import type { Parts } from '../parts.ts'
import { CLEARED_COOKIE } from '../sign-in/sessions.ts'
import { type AskedByPerson, lockTeam, requireAnotherOwner, requireManage, takeInvitationsBack } from './lock-team.ts'

/** Microseconds of joining, and the person. */
const MEMBER_CURSOR = /^\d{1,16}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function toMember(row: MemberRow): MemberAnswer {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    role: row.role,
    joinedAt: formatTimestamp(row.joined_at.getTime()),
    lastSeenAt: row.last_seen_at === null ? null : formatTimestamp(row.last_seen_at.getTime())
  }
}

/** @throws AppError not_found */
async function requireMember(tx: Queryable, organizationId: string, id: string): Promise<MemberRow> {
  const member = await findMember(tx, organizationId, id)
  if (member === undefined) throw new AppError('not_found')
  return member
}

/** Ends a membership, and with it the person's sessions in the organization. @throws AppError last_owner */
async function endMembership(tx: Queryable, call: AskedByPerson, member: MemberRow): Promise<void> {
  const { organizationId, userId } = call.principal
  await requireAnotherOwner(tx, organizationId, member)
  await takeInvitationsBack(tx, call, member, null)
  // Before the deletion: afterwards the organization no longer sees the names of who has left.
  await audit(tx, call, member.id === userId ? 'member.left' : 'member.removed', {
    target: { kind: 'user', id: member.id, name: member.email },
    details: { role: member.role }
  })
  await deleteMembership(tx, organizationId, member.id)
}

type TeamHandlers = Pick<Handlers, 'listMembers' | 'patchMember' | 'deleteMember' | 'leaveOrganization'>

export function createTeamHandlers({ db }: Parts): TeamHandlers {
  return {
    listMembers: async ({ principal: { organizationId }, query }) => {
      const [joinedUs, id] = readCursor(query.cursor, MEMBER_CURSOR) ?? []
      const after = joinedUs === undefined || id === undefined ? null : { joinedUs: Number(joinedUs), id }
      const rows = await db.tenant(organizationId, (tx) => listMembers(tx, organizationId, after, query.limit + 1))
      const { page, nextCursor } = cutPage(rows, query.limit, (last) => writeCursor(last.joined_us, last.id))
      return { status: 200, body: { data: page.map(toMember), nextCursor } }
    },

    patchMember: async (call) => {
      const { principal, params, body } = call
      const { organizationId } = principal
      const changed = await db.tenant(organizationId, async (tx) => {
        const { actor } = await lockTeam(tx, principal, 'team:write')
        const member = await requireMember(tx, organizationId, params.id)
        requireManage(actor, member.role, body.role)
        if (member.role === body.role) return member
        await requireAnotherOwner(tx, organizationId, member)
        await takeInvitationsBack(tx, call, member, body.role)
        await updateRole(tx, organizationId, member.id, body.role)
        await audit(tx, call, 'member.role_changed', {
          target: { kind: 'user', id: member.id, name: member.email },
          details: { from: member.role, to: body.role }
        })
        return { ...member, role: body.role }
      })
      return { status: 200, body: toMember(changed) }
    },

    deleteMember: async (call) => {
      const { principal, params } = call
      await db.tenant(principal.organizationId, async (tx) => {
        const { actor } = await lockTeam(tx, principal, 'team:write')
        const member = await requireMember(tx, principal.organizationId, params.id)
        requireManage(actor, member.role)
        await endMembership(tx, call, member)
      })
      return { status: 204 }
    },

    leaveOrganization: async (call) => {
      const { principal } = call
      await db.tenant(principal.organizationId, async (tx) => {
        const { actor } = await lockTeam(tx, principal, 'account')
        await endMembership(tx, call, actor)
      })
      return { status: 204, headers: principal.shown === 'session' ? { 'Set-Cookie': CLEARED_COOKIE } : {} }
    }
  }
}
