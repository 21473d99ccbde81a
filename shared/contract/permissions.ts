/** Roles of people in an organization, the most powerful first. */
export const ROLES = ['owner', 'admin', 'member'] as const
export type UserRole = (typeof ROLES)[number]

/** What a key may be allowed to do. */
export const SCOPES = ['heartbeats:write', 'heartbeats:read', 'monitors:read'] as const
export type Scope = (typeof SCOPES)[number]

interface Grant {
  /** People of these roles may. */
  readonly roles: readonly UserRole[]
  /** Keys with this scope may as well; absent: no key may. */
  readonly scope?: Scope
}

const EVERYBODY = ROLES
const ADMINS = ['owner', 'admin'] as const
const OWNERS = ['owner'] as const

/**
 * The one table of who may do what; every route names one of these, and `api/http/authenticate.ts` applies it. Admins do
 * not touch owners: that depends on whom it is done to, so the routes of the team ask `mayManage` besides.
 */
export const PERMISSIONS = {
  /** One's own account and sessions. */
  account: { roles: EVERYBODY },
  'monitors:read': { roles: EVERYBODY, scope: 'monitors:read' },
  'monitors:write': { roles: EVERYBODY },
  'heartbeats:read': { roles: EVERYBODY, scope: 'heartbeats:read' },
  'heartbeats:write': { roles: EVERYBODY, scope: 'heartbeats:write' },
  'organization:read': { roles: EVERYBODY },
  'organization:write': { roles: ADMINS },
  'organization:delete': { roles: OWNERS },
  'team:read': { roles: EVERYBODY },
  'team:write': { roles: ADMINS },
  /** Agents, services and their keys. */
  'agents:read': { roles: ADMINS },
  'agents:write': { roles: ADMINS },
  'sso:read': { roles: ADMINS },
  'sso:write': { roles: OWNERS },
  'audit:read': { roles: ADMINS },
  /** By which people are told, and what they were told. */
  'channels:read': { roles: ADMINS },
  'channels:write': { roles: ADMINS },
  /** The stream of what happens. */
  live: { roles: EVERYBODY },
  'maintenance:read': { roles: EVERYBODY },
  'maintenance:write': { roles: EVERYBODY }
} as const satisfies Record<string, Grant>

export type Permission = keyof typeof PERMISSIONS
export type PermissionOfKeys = {
  [P in Permission]: (typeof PERMISSIONS)[P] extends { scope: Scope } ? P : never
}[Permission]

/** The scope that lets a key do it, or null. */
export function scopeOf(permission: Permission): Scope | null {
  const grant: Grant = PERMISSIONS[permission]
  return grant.scope ?? null
}

export function mayRole(role: UserRole, permission: Permission): boolean {
  const grant: Grant = PERMISSIONS[permission]
  return grant.roles.includes(role)
}

/** May people of this role invite, change and remove those of the other? Only owners touch owners. */
export function mayManage(role: UserRole, other: UserRole): boolean {
  return mayRole(role, 'team:write') && (other !== 'owner' || role === 'owner')
}
