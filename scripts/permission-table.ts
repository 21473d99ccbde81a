import { mayRole, PERMISSIONS, type Permission, ROLES, scopeOf } from '../shared/contract/permissions.ts'

const BEGIN = '<!-- permissions: written by npm run generate -->'
const END = '<!-- /permissions -->'

function row(permission: Permission): string {
  const scope = scopeOf(permission)
  const roles = ROLES.map((role) => (mayRole(role, permission) ? 'yes' : '–'))
  return `| \`${permission}\` | ${roles.join(' | ')} | ${scope === null ? '–' : `with \`${scope}\``} |`
}

function table(): string {
  // The keys of the table are the permissions.
  const permissions = Object.keys(PERMISSIONS) as Permission[]
  return [
    `| permission | ${ROLES.join(' | ')} | API key |`,
    `| --- | ${ROLES.map(() => '---').join(' | ')} | --- |`,
    ...permissions.map(row)
  ].join('\n')
}

/** The page with its table of who may do what as `shared/contract/permissions.ts` says. @throws when it has no place for it. */
export function withPermissionTable(page: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`the page has no place for the table of permissions: ${BEGIN} … ${END}`)
  return `${page.slice(0, begin)}${BEGIN}\n\n${table()}\n\n${page.slice(end)}`
}
